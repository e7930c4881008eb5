# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: result lines, a node with the demo's artifact, figures."""

import json
import os
import sys
import tempfile
import traceback

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts/lib"))
import node as picket  # noqa: E402

BUILD = os.path.abspath(os.environ.get("PICKET_BUILD", os.path.join(TOP, "build/gcc")))
CLIPS = os.path.join(TOP, "build/demo-clips")
CLIP = ("belt-a", 10, 101)  # name, seconds, seed: the demo's, so that it is rendered once


class Skip(Exception):
    """What the machine lacks."""


def run(*tests) -> int:
    """Runs test functions in order, a result line each; the exit code."""
    failed = 0
    for test in tests:
        try:
            test()
            print(f"ok - {test.__name__}", flush=True)
        except Skip as why:
            print(f"skip - {test.__name__}: {why}", flush=True)
        except Exception as error:  # noqa: BLE001 - a test may fail in any way
            failed += 1
            text = " ".join(str(error).split()) or type(error).__name__
            print(f"not ok - {test.__name__}: {text[:2000]}", flush=True)
            traceback.print_exc()
    return 1 if failed else 0


def keep_figures(**figures):
    """Adds figures to what scripts/test --json writes."""
    path = os.environ.get("PICKET_FIGURES")
    if not path:
        return
    known = {}
    if os.path.isfile(path):
        with open(path, encoding="utf-8") as f:
            known = json.load(f)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({**known, **figures}, f)


def demo_clip() -> str:
    name, seconds, seed = CLIP
    return picket.render_clip(CLIPS, name, seconds, seed)[0]


def demo_bundle(node: picket.Node, onnx: str | None = None, tag: str = "stable") -> dict:
    return node.bundle(
        onnx or os.path.join(TOP, "demo/parts.onnx"),
        os.path.join(TOP, "demo/card.yaml"),
        os.path.join(TOP, "demo/golden"),
        tag,
    )


CAMERA = """  {name}:
    source: {{kind: file, uri: {clip}, loop: true, paced: true}}
    model: parts
    sinks: [results]
"""

CONFIG = """telemetry: {{interval: 2s}}
runtime: {{chain: [cpu]}}
build: {{retry_min: 1s, retry_max: 5s}}
models:
  parts:
    artifact: oci:{registry}:stable
cameras:
{cameras}sinks:
  results: {{kind: jsonl, path: {out}/results.jsonl}}
"""


def config(node: picket.Node, *cameras: str) -> str:
    clip = demo_clip()
    return CONFIG.format(
        registry=node.path("registry"),
        out=node.path("out"),
        cameras="".join(CAMERA.format(name=c, clip=clip) for c in cameras),
    )


class demo_node:
    """A context: a started node with its cameras, stopped at the end whatever happens."""

    def __init__(self, *cameras: str, onnx: str | None = None, start: bool = True):
        self.cameras, self.onnx, self.start = cameras or ("belt-a",), onnx, start

    def __enter__(self) -> picket.Node:
        self.folder = tempfile.TemporaryDirectory(prefix="picket-e2e-")
        self.node = picket.Node(self.folder.name, BUILD)
        demo_bundle(self.node, self.onnx)
        self.node.write_config(config(self.node, *self.cameras))
        if self.start:
            self.node.start()
        return self.node

    def __exit__(self, *error):
        try:
            self.node.stop()
        finally:
            self.folder.cleanup()


def check(condition, text: str):
    if not condition:
        raise AssertionError(text)
