# SPDX-License-Identifier: Apache-2.0
"""Who runs against whom in the cpu bench: our engines and the peers, each in its own process."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ANSWER_TIMEOUT_S = 300
# On one thread the CPU time of a run is its time on an idle machine, whatever else runs here. On
# more, waiting counts, so the wall clock does.
CLOCKS = {1: "min_cpu_ms"}
WRONG = 0.02  # of the output's range: then a peer does not compute the same thing


class Failed(Exception):
    """Why a contender cannot take part."""


def command_output(command, timeout=900):
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise Failed(lines[-1] if lines else f"exit {done.returncode}")
    return done.stdout


class Ours:
    """An engine; each slot is one `picketctl engine bench`."""

    name = "picket"

    def __init__(self, picketctl, engine, threads):
        self.command = [picketctl, "engine", "bench", "--json", "--threads", str(threads), engine]
        self.clock = CLOCKS.get(threads, "min_ms")
        self.load_ms = float("inf")

    def slot(self, seconds):
        figures = json.loads(command_output(self.command + ["--seconds", str(seconds)]))
        self.load_ms = min(self.load_ms, figures["load_cpu_ms"])
        return figures[self.clock]

    def close(self):
        pass


class Peer:
    """A peer.py process, stopped between its slots so that idle threads of it cannot spin."""

    def __init__(self, backend, model, threads, folder):
        self.name, self.clock = backend, CLOCKS.get(threads, "min_ms")
        job = {
            "backend": backend,
            "model": model.path,
            "threads": threads,
            "inputs": model.inputs,
            "bind": model.bind,
            "folder": folder,
        }
        path = os.path.join(folder, f"{backend}-{threads}.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(job, f)
        self.child = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "peer.py"), path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.stopped = False
        try:
            hello = self.read()
            if "failed" in hello:
                raise Failed(hello["failed"])
        except Failed:
            self.close()
            raise
        self.load_ms = hello["load_ms"]
        self.stop()

    def read(self):
        timer = threading.Timer(ANSWER_TIMEOUT_S, self.child.kill)
        timer.start()
        line = self.child.stdout.readline()
        timer.cancel()
        if not line:
            raise Failed(f"{self.name} ended without an answer")
        return json.loads(line)

    def stop(self):
        self.child.send_signal(signal.SIGSTOP)
        self.stopped = True

    def ask(self, request):
        self.child.send_signal(signal.SIGCONT)
        self.stopped = False
        self.child.stdin.write(json.dumps(request) + "\n")
        self.child.stdin.flush()
        answer = self.read()
        self.stop()
        return answer

    def slot(self, seconds):
        return self.ask({"run": seconds})[self.clock]

    def outputs(self, folder):
        path = os.path.join(folder, self.name + ".npz")
        self.ask({"outputs": path})
        with np.load(path) as arrays:
            return [arrays[key] for key in arrays.files]

    def close(self):
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()


def difference(wanted, got):
    """Largest difference as a part of the range, outputs paired by size; inf when they differ."""
    if sorted(a.size for a in wanted) != sorted(a.size for a in got):
        return float("inf")
    worst = 0.0
    for a in wanted:
        span = float(np.ptp(a)) or 1.0
        fits = [b for b in got if b.size == a.size]
        worst = max(worst, min(float(np.max(np.abs(a.ravel() - b.ravel()))) / span for b in fits))
    return worst


def open_peers(model, backends, threads, folder, notes):
    """Those peers that load the model and compute what the first of them does."""
    peers = []
    for backend in backends:
        try:
            peer = Peer(backend, model, threads, folder)
        except (Failed, OSError) as why:
            notes.setdefault(backend, {})[model.name] = str(why)
            continue
        try:
            outputs = peer.outputs(folder)
            wanted = outputs if not peers else wanted  # noqa: F821 of the first peer
            worst = difference(wanted, outputs)
            if not worst < WRONG:
                raise Failed(f"its output differs by {worst:.3g} of the range")
            peers.append(peer)
        except (Failed, OSError) as why:
            notes.setdefault(backend, {})[model.name] = str(why)
            peer.close()
    return peers


def round_robin(contenders, rounds, seconds):
    """[{name: best ms of its slot}] a round; the order turns."""
    found = []
    for i in range(rounds):
        order = contenders[i % len(contenders) :] + contenders[: i % len(contenders)]
        found.append({c.name: c.slot(seconds) for c in order})
    return found


class BusyCore:
    """A sibling that takes one core away, at our own priority."""

    def __enter__(self):
        code = (
            "import os\nos.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\nwhile True: pass"
        )
        self.child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL)
        time.sleep(0.2)
        return self

    def __exit__(self, *error):
        self.child.kill()
        self.child.wait()
