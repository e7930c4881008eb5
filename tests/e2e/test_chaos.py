#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Everything is broken at random, again and again; video comes back, with the right causes.

100 s of faults, 30 min with PICKET_LONG, PICKET_CHAOS_SECONDS of them where that is given. The seed
is printed; PICKET_SEED replays the same order.
"""

import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import check  # noqa: E402

SECONDS = int(
    os.environ.get("PICKET_CHAOS_SECONDS") or (1800 if os.environ.get("PICKET_LONG") else 100)
)
SEED = int(os.environ.get("PICKET_SEED") or time.time_ns() % 1_000_000)
VIDEO_S = 3.0  # after a fault that ends the worker
STUCK_S = 10.0  # a worker that stands still is given up after so long
ANSWER_S = 0.1
CAMERAS = ("belt-a", "belt-b")
DISK = "200m"


def delivers(status: dict) -> bool:
    """Each camera gives pictures; on a machine with other work to do some may be late."""
    return all(c["state"] in ("running", "degraded") for c in status["cameras"])


class Watch(threading.Thread):
    """Looks at the video and at the control socket all the time."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.node, self.ended = node, False
        self.last = {name: time.monotonic() for name in CAMERAS}
        self.gaps, self.answers, self.failed = [], [], 0
        self.position, self.results = 0, node.path("out/results.jsonl")

    def read_results(self):
        now = time.monotonic()
        try:
            size = os.path.getsize(self.results)
            if size < self.position:
                self.position = 0
            with open(self.results, "rb") as f:
                f.seek(self.position)
                data = f.read()
            self.position += len(data)
        except OSError:
            data = b""
        for name in CAMERAS:
            if f'"camera":"{name}"'.encode() in data:
                self.last[name] = now

    def run(self):
        while not self.ended:
            self.read_results()
            now = time.monotonic()
            self.gaps.append((now, max(now - last for last in self.last.values())))
            try:
                self.node.get("/v1/cameras")
                self.answers.append(time.monotonic() - now)
            except Exception:  # noqa: BLE001 - any failure counts
                self.failed += 1
            time.sleep(0.05)

    def worst_gap(self, since: float, until: float) -> float:
        return max([gap for at, gap in self.gaps if since <= at <= until] or [0])


class Chaos:
    def __init__(self, node, rng, watch):
        self.node, self.rng, self.watch = node, rng, watch
        self.done = {}
        self.allowed = []  # (since, until, seconds): longer gaps that are due

    def event(self, text: str, after: int, timeout: float = 15) -> dict:
        return self.node.wait_event(text, timeout, after)

    def worker(self) -> int:
        return self.node.wait_for(
            lambda s: s["worker"]["pid"] if s["worker"]["up"] else 0, 20, "a worker"
        )

    def kill_worker(self):
        after = self.node.last_event_id()
        os.kill(self.worker(), signal.SIGKILL)
        ended = self.event("worker ended", after)
        check("killed by SIGKILL" in ended["message"], ended["message"])

    def crash_worker(self):
        after = self.node.last_event_id()
        os.kill(self.worker(), signal.SIGSEGV)
        ended = self.event("worker ended", after)
        check("killed by SIGSEGV" in ended["message"], ended["message"])

    def stop_worker(self):
        after, start = self.node.last_event_id(), time.monotonic()
        os.kill(self.worker(), signal.SIGSTOP)
        ended = self.event("worker ended", after, STUCK_S + 5)
        check("no heartbeat" in ended["message"], ended["message"])
        self.allowed.append((start, time.monotonic() + VIDEO_S, STUCK_S + VIDEO_S))

    def build(self) -> int:
        """The pid of a tuned build that was asked for."""
        self.node.request("POST", "/v1/models/parts/rebuild")

        def pid(status):
            builder = status["builder"]
            return builder["pid"] if builder["state"] == "building" else 0

        try:
            return self.node.wait_for(pid, 10, "a build")
        except AssertionError:
            return 0  # it was over before it was seen

    def build_ends(self, after: int) -> str:
        """The message of the first build that ended since."""
        ends = ("build-failed", "build-done")
        return next((e["message"] for e in self.node.events(after) if e["name"] in ends), "")

    def kill_builder(self):
        after = self.node.last_event_id()
        pid = self.build()
        if pid:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                return  # it was done
            told = self.node.wait_for(lambda _s: self.build_ends(after), 15, "the build's end")
            check("killed by SIGKILL" in told or "built in" in told, told)

    def starve_builder(self):
        pid = self.build()
        if pid:
            subprocess.run(
                ["prlimit", f"--pid={pid}", "--as=1000000:1000000"],
                check=False,
                capture_output=True,
            )

    def corrupt_engine(self):
        after = self.node.last_event_id()
        files = glob.glob(self.node.path("var/lib/picket/engines/*.engine"))
        if not files:
            return
        for path in files:
            copy = path + ".broken"  # never into what the worker has mapped
            shutil.copy(path, copy)
            with open(copy, "r+b") as f:
                f.seek(os.path.getsize(copy) // 2)
                f.write(bytes(self.rng.randrange(256) for _ in range(64)))
            os.rename(copy, path)
        os.kill(self.worker(), signal.SIGKILL)
        self.event("not taken", after, 30)

    def fill_disk(self):
        path = self.node.path("var/lib/picket/filler")
        try:
            with open(path, "wb") as f:
                while True:
                    f.write(bytes(1 << 20))
        except OSError:
            pass
        try:
            time.sleep(self.rng.uniform(0.5, 1.5))
            start = time.monotonic()
            check(self.node.status(), "picketd does not answer on a full disk")
            # Results cannot be written either: the gap is the disk's.
            self.allowed.append((start - 3, time.monotonic() + 6, 10))
        finally:
            os.unlink(path)

    def reload_config(self):
        after = self.node.last_event_id()
        with open(self.node.config_path, encoding="utf-8") as f:
            text = f.read()
        self.node.write_config(
            text.replace("retry_max: 5s", "retry_max: 6s")
            if "retry_max: 5s" in text
            else text.replace("retry_max: 6s", "retry_max: 5s")
        )
        self.node.child.send_signal(signal.SIGHUP)
        self.event("config taken", after)

    def reload_nonsense(self):
        after = self.node.last_event_id()
        with open(self.node.config_path, encoding="utf-8") as f:
            text = f.read()
        self.node.write_config(text + "nonsense: [\n")
        status, _ = self.node.request("POST", "/v1/reload")
        self.node.write_config(text)
        check(status == 409, f"nonsense was taken: {status}")
        self.event("config not taken", after)

    def flap_registry(self):
        folder, away = self.node.path("registry"), self.node.path("registry.away")
        os.rename(folder, away)
        self.node.request("POST", "/v1/reload")
        time.sleep(self.rng.uniform(0.2, 1))
        os.rename(away, folder)
        self.node.request("POST", "/v1/reload")

    def jump_clock(self):
        after = self.node.last_event_id()
        offset = self.rng.choice((-int(time.time()), 10 * 365 * 86400, 0))
        with open(self.node.path("offset"), "w", encoding="utf-8") as f:
            f.write(f"{offset}\n")
        if offset != self.done.get("offset", 0):
            self.event("wall clock jumped", after)
        self.done["offset"] = offset

    ACTIONS = (
        "kill_worker kill_worker crash_worker stop_worker kill_builder starve_builder"
        " corrupt_engine fill_disk reload_config reload_nonsense flap_registry jump_clock"
    ).split()

    def run(self, seconds: float):
        end = time.monotonic() + seconds
        bag = []
        while time.monotonic() < end:
            if not bag:  # each at least once a round, in another order
                bag = list(self.ACTIONS)
                self.rng.shuffle(bag)
            name = bag.pop()
            start = time.monotonic()
            getattr(self, name)()
            self.done[name] = self.done.get(name, 0) + 1
            print(f"#   {name}: {time.monotonic() - start:.1f} s", flush=True)
            self.node.wait_for(delivers, 20, "video")
            time.sleep(self.rng.uniform(1, 4))


def resources(pid: int) -> dict:
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        fields = dict(line.split(":", 1) for line in f)
    return {
        "fds": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": int(fields["Threads"]),
        "rss_mib": int(fields["VmRSS"].split()[0]) / 1024,
    }


def judge(chaos, watch, since: float):
    unexpected = [
        (at, gap)
        for at, gap in watch.gaps
        if at >= since
        and gap > VIDEO_S
        and not any(a <= at <= b and gap <= limit for a, b, limit in chaos.allowed)
    ]
    usual = [
        gap
        for at, gap in watch.gaps
        if at >= since and not any(a <= at <= b for a, b, _ in chaos.allowed)
    ]
    answers = sorted(watch.answers)
    p99 = answers[int(len(answers) * 0.99)]
    figures = {
        "chaos_seed": SEED,
        "chaos_faults": sum(v for k, v in chaos.done.items() if k != "offset"),
        "chaos_worst_gap_s": round(max(usual or [0]), 2),
        "chaos_worst_gap_of_hangs_s": round(max(g for _, g in watch.gaps), 2),
        "chaos_answer_p99_ms": round(p99 * 1000, 1),
        "chaos_answer_max_ms": round(answers[-1] * 1000, 1),
    }
    print(f"#   {figures}", flush=True)
    story.keep_figures(**figures)
    check(not unexpected, f"no video for {max(g for _, g in unexpected or [(0, 0)]):.1f} s")
    check(watch.failed == 0, f"{watch.failed} requests failed")
    check(p99 < ANSWER_S, f"answers: p99 {p99 * 1000:.0f} ms")


def everything_breaks_and_comes_back():
    print(f"#   seed {SEED} (PICKET_SEED={SEED} replays it), {SECONDS} s", flush=True)
    shim = os.path.join(story.BUILD, "tests/lib/libpicket-wall-clock.so")
    with tempfile.TemporaryDirectory(prefix="picket-chaos-") as folder:
        mounted = os.environ.get("PICKET_CHAOS_MOUNT") and not subprocess.call(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder]
        )
        node = story.picket.Node(folder, story.BUILD)
        story.demo_bundle(node)
        node.write_config("health: {interval: 500ms}\n" + story.config(node, *CAMERAS))
        node.start(env={"LD_PRELOAD": shim, "PICKET_WALL_OFFSET": node.path("offset")})
        watch = Watch(node)
        chaos = Chaos(node, random.Random(SEED), watch)
        if not mounted:
            Chaos.ACTIONS = [a for a in Chaos.ACTIONS if a != "fill_disk"]
            print("#   fill_disk is left out: needs root and a mount namespace", flush=True)
        try:
            node.wait_rung("parts", "engine")
            node.wait_for(delivers, 20, "video")
            watch.start()
            time.sleep(1)
            before, since = resources(node.child.pid), time.monotonic()
            chaos.run(SECONDS)
            node.request("POST", "/v1/models/parts/rebuild")
            node.wait_rung("parts", "engine", 90)
            watch.ended = True
            watch.join()
            status, after = node.status(), resources(node.child.pid)
            check(not status["alarms"], f"alarms stay: {status['alarms']}")
            print(f"#   before {before}, after {after}", flush=True)
            check(after["fds"] <= before["fds"] + 4, f"descriptors: {before} {after}")
            check(after["threads"] <= before["threads"], f"threads: {before} {after}")
            check(after["rss_mib"] < before["rss_mib"] + 6, f"memory: {before} {after}")
            judge(chaos, watch, since)
        finally:
            watch.ended = True
            node.stop()
            if mounted:
                subprocess.call(["umount", folder])


def main() -> int:
    if not os.environ.get("PICKET_CHAOS_MOUNT") and os.geteuid() == 0 and shutil.which("unshare"):
        command = ["unshare", "-m", "--propagation", "private", sys.executable, __file__]
        return subprocess.call(command, env={**os.environ, "PICKET_CHAOS_MOUNT": "1"})
    return story.run(everything_breaks_and_comes_back)


sys.exit(main())
