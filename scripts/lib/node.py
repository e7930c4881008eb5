# SPDX-License-Identifier: Apache-2.0
"""A Picket node in a folder of its own: start, ask, watch and stop picketd."""

import ctypes
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent():
    """In a child: a test that is killed takes its picketd, and so its worker, along."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, timeout: float = 5):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Node:
    """One root folder with its config, store, engines and results."""

    def __init__(self, root: str, build: str):
        self.root = os.path.abspath(root)
        self.build = os.path.abspath(build)
        self.child: subprocess.Popen | None = None
        self.log_path = os.path.join(self.root, "picketd.log")
        os.makedirs(os.path.join(self.root, "etc/picket"), exist_ok=True)

    def path(self, *parts: str) -> str:
        return os.path.join(self.root, *parts)

    @property
    def config_path(self) -> str:
        return self.path("etc/picket/picket.yaml")

    def ctl(self, *args: str, **options) -> subprocess.CompletedProcess:
        """picketctl with the node's root."""
        return subprocess.run(
            [os.path.join(self.build, "cli/picketctl"), "--root", self.root, *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            **options,
        )

    def bundle(self, onnx: str, card: str, golden: str | None = None, tag: str = "stable") -> dict:
        """Makes or moves a tag of the node's registry folder."""
        command = ["bundle", "create", "--onnx", onnx, "--card", card, "--json"]
        command += ["--golden", golden] if golden else []
        done = self.ctl(*command, "--out", f"oci:{self.path('registry')}:{tag}")
        if done.returncode != 0:
            raise RuntimeError(f"bundle create: {done.stderr}")
        return json.loads(done.stdout)

    def write_config(self, text: str):
        with open(self.config_path, "w", encoding="utf-8") as f:
            f.write(text)

    def start(self, *args: str, env: dict | None = None):
        log = open(self.log_path, "ab")
        with log:
            self.child = subprocess.Popen(
                [os.path.join(self.build, "daemon/picketd"), "--root", self.root, *args],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,
                env={**os.environ, **(env or {})},
            )

    def stop(self, timeout: float = 10) -> int:
        """Exit code after SIGTERM; the group is ended whatever happens."""
        if self.child is None:
            return 0
        child, self.child = self.child, None
        try:
            child.send_signal(signal.SIGTERM)
            return child.wait(timeout)
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()

    def running(self) -> bool:
        return self.child is not None and self.child.poll() is None

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, dict]:
        connection = UnixConnection(self.path("run/picket/control.sock"))
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> dict:
        status, answer = self.request("GET", path)
        if status != 200:
            raise RuntimeError(f"GET {path}: {status} {answer}")
        return answer

    def status(self) -> dict | None:
        """The status, or None while nobody answers."""
        try:
            return self.get("/v1/status")
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def events(self, after: int = 0) -> list[dict]:
        return self.get(f"/v1/events?after={after}")["events"]

    def wait_for(self, what, timeout: float, why: str = "condition"):
        """The first true value of what(), which gets the status; fails with the log's tail."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if not self.running():
                raise AssertionError(f"picketd ended while waiting for {why}\n{self.log_tail()}")
            status = self.status()
            value = what(status) if status else None
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"{why}: not within {timeout} s; status {status}\n{self.log_tail()}")

    def wait_rung(self, model: str, rung: str, timeout: float = 120) -> dict:
        def reached(status):
            return next(
                (m for m in status["models"] if m["name"] == model and m["rung"] == rung), None
            )

        return self.wait_for(reached, timeout, f"model {model} on rung {rung}")

    def wait_event(self, text: str, timeout: float = 10, after: int = 0) -> dict:
        """The first event after an id whose message holds text."""

        def seen(_status):
            return next((e for e in self.events(after) if text in e["message"]), None)

        return self.wait_for(seen, timeout, f"an event with `{text}`")

    def last_event_id(self) -> int:
        return self.get("/v1/events?after=0")["last_id"]

    def log_tail(self, n: int = 40) -> str:
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as f:
                return "".join(f.readlines()[-n:])
        except OSError:
            return ""

    def results(self, name: str = "results.jsonl") -> list[dict]:
        """All whole lines of a results file below out/."""
        return read_results(self.path("out", name))

    def clear(self):
        shutil.rmtree(self.root, ignore_errors=True)
        os.makedirs(self.path("etc/picket"))


def read_results(path: str) -> list[dict]:
    found = []
    for one in (path + ".1", path):  # a rotated file comes first
        try:
            with open(one, encoding="utf-8") as f:
                found += [json.loads(line) for line in f if line.endswith("\n")]
        except FileNotFoundError:
            pass
    return found


def build_programs(build: str):
    """Configures (once) and compiles; says what is being done when it takes a while."""
    if not os.path.isfile(os.path.join(build, "build.ninja")):
        subprocess.run(
            ["meson", "setup", build, "-Dtests=false"],
            cwd=TOP,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    subprocess.run(
        ["ninja", "-C", build, "-j2", "--quiet"], cwd=TOP, check=True, stdin=subprocess.DEVNULL
    )


def render_clip(folder: str, name: str, seconds: float, seed: int) -> tuple[str, str]:
    """(clip, truth) of the conveyor, rendered unless it is there already."""
    clip = os.path.join(folder, f"{name}.mp4")
    truth = os.path.join(folder, f"{name}.truth.jsonl")
    if not (os.path.isfile(clip) and os.path.isfile(truth)):
        os.makedirs(folder, exist_ok=True)
        part = clip + ".part.mp4"
        subprocess.run(
            [
                "/usr/bin/python3",
                os.path.join(TOP, "demo/render.py"),
                "--out",
                part,
                "--truth",
                truth,
                "--seconds",
                str(seconds),
                "--seed",
                str(seed),
            ],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.rename(part, clip)
    return clip, truth
