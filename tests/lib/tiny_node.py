# SPDX-License-Identifier: Apache-2.0
"""A node that follows one tag of a registry folder with tiny models."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile

import story
import tiny_model
from story import check, picket

CONFIG = """{top}
telemetry: {{interval: 2s}}
runtime: {{chain: [cpu]}}
node: {{name: tester, id: tester}}
build: {{retry_min: 1s, retry_max: 2s}}
models:
  tiny:
    artifact: oci:{registry}:stable
    poll: {{interval: 1s, backoff_max: 1s}}
    check: {{observe: {observe}, min_fps_ratio: 0.5, max_p95_ratio: 6}}
{more}
cameras:
  belt:
    source: {{kind: test, width: 128, height: 96, rate: 25/s}}
    model: tiny
    sinks: [results]
sinks:
  results: {{kind: jsonl, path: {out}/results.jsonl}}
"""


class TinyNode(picket.Node):
    """A node that follows one tag of a registry folder."""

    def __init__(self, folder: str):
        super().__init__(folder, story.BUILD)
        self.key = None
        os.makedirs(self.path("out"), exist_ok=True)

    def configure(self, observe: str = "2s", more: str = "", top: str = ""):
        paths = {"registry": self.path("registry"), "out": self.path("out")}
        self.write_config(CONFIG.format(**paths, observe=observe, more=more, top=top))

    def make_key(self):
        self.key = self.path("key.pem")
        for command in (
            ["genpkey", "-algorithm", "ed25519", "-out", self.key],
            ["pkey", "-in", self.key, "-pubout", "-out", self.path("pub.pem")],
        ):
            subprocess.run(["openssl", *command], check=True, capture_output=True)

    def pack(self, onnx: str, card: str, *more: str) -> str:
        """Moves the tag; the digest."""
        out = f"oci:{self.path('registry')}:stable"
        command = ["bundle", "create", "--onnx", onnx, "--card", card, "--out", out]
        done = self.ctl(*command, "--json", *more)
        check(done.returncode == 0, done.stderr)
        if self.key:
            signed = self.ctl("bundle", "sign", out, "--key", self.key)
            check(signed.returncode == 0, signed.stderr)
        return json.loads(done.stdout)["digest"]

    def push(self, seed: int, *more: str, **options) -> str:
        onnx, card = tiny_model.write(self.root, seed, **options)
        return self.pack(onnx, card, *more)

    def model(self) -> dict:
        return self.get("/v1/models/tiny")

    def update(self) -> dict:
        return self.model()["update"]

    def active(self) -> str:
        return (self.update()["active"] or {}).get("digest", "")

    def wait_update(self, what, timeout: float, why: str) -> dict:
        def look(status):
            update = status["models"][0]["update"]
            return update if what(update) else None

        return self.wait_for(look, timeout, why)

    def wait_active(self, digest: str, timeout: float = 30) -> dict:
        return self.wait_update(
            lambda u: (u["active"] or {}).get("digest") == digest and u["phase"] == "idle",
            timeout,
            f"{digest[:19]} active",
        )

    def wait_reason(self, text: str, timeout: float = 30) -> dict:
        return self.wait_update(lambda u: text in u["reason"], timeout, f"reason `{text}`")

    def model_verb(self, *verb: str, fails: bool = False) -> str:
        done = self.ctl("model", *verb)
        check((done.returncode != 0) == fails, f"model {verb}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def event_names(self, after: int = 0) -> list[str]:
        return [e["name"] for e in self.events(after)]

    def record(self) -> dict:
        """What the state file says, read as a crash left it."""
        path = self.path("var/lib/picket/state/tiny.json")
        path = path if os.path.exists(path) else path + ".prev"  # cut between two renames
        with open(path, encoding="utf-8") as f:
            return json.loads(f.read().split("\n", 1)[1])


@contextlib.contextmanager
def tiny_node(observe: str = "2s", more: str = "", start: bool = True):
    folder = tempfile.mkdtemp(prefix="picket-up-")
    node = TinyNode(folder)
    try:
        node.configure(observe, more)
        node.first = node.push(1)
        if start:
            node.start()
            node.wait_rung("tiny", "engine", 60)
            node.wait_active(node.first)
        yield node
    finally:
        node.stop()
        shutil.rmtree(folder, ignore_errors=True)


def wait_gone(node, digest: str):
    """A bad model was looked at and given up."""
    node.wait_update(
        lambda u: any(q["digest"] == digest for q in u["quarantine"]) and u["phase"] == "idle",
        30,
        f"{digest[:19]} quarantined",
    )
