#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real models on real pictures, through the whole pipeline: registry, build, camera, results."""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import Skip, check, picket  # noqa: E402
import assets  # noqa: E402

CARDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cards")

CONFIG = """runtime: {{chain: [cpu]}}
models:
  model:
    artifact: oci:{registry}:stable
cameras:
  still:
    source:
      kind: gst
      launch: >-
        filesrc location={picture} ! pngdec ! videoconvert ! imagefreeze is-live=true !
        video/x-raw,framerate=10/1
    model: model
    sinks: [results]
sinks:
  results: {{kind: jsonl, path: {out}/results.jsonl}}
"""


def fetch(name: str) -> str:
    try:
        return assets.asset(name)
    except (OSError, RuntimeError) as error:
        raise Skip(f"{name} cannot be fetched: {error}") from error


def look_at(model: str, card: str, picture: str) -> dict:
    """The first result of the model on rung engine for a still picture."""
    onnx, still = fetch(model), fetch(picture)
    with tempfile.TemporaryDirectory(prefix="picket-models-") as folder:
        node = picket.Node(folder, story.BUILD)
        node.bundle(onnx, os.path.join(CARDS, card))
        node.write_config(
            CONFIG.format(registry=node.path("registry"), out=node.path("out"), picture=still)
        )
        node.start()
        try:
            node.wait_rung("model", "engine", timeout=240)
            return node.wait_for(
                lambda _s: next((r for r in node.results() if r["rung"] == "engine"), None),
                20,
                "a result on rung engine",
            )
        finally:
            node.stop()


def blazeface_finds_the_face():
    result = look_at("blazeface_front.onnx", "blazeface.yaml", "astronaut.png")
    faces = result["detections"]
    check(result["width"] == 512 and result["height"] == 512, f"picture size {result}")
    check(len(faces) == 1, f"{len(faces)} faces")
    x1, y1, x2, y2 = faces[0]["box"]
    # The face in the photo spans about (175..275, 60..185).
    check(170 <= (x1 + x2) / 2 <= 275 and 70 <= (y1 + y2) / 2 <= 175, f"face at {faces[0]['box']}")
    check(60 <= x2 - x1 <= 190 and 60 <= y2 - y1 <= 190, f"face size {faces[0]['box']}")
    check(faces[0]["label"] == "face" and faces[0]["score"] > 0.7, f"{faces[0]}")


def ppocr_finds_the_lines_of_text():
    result = look_at("ppocr_det.onnx", "ppocr_det.yaml", "page.png")
    lines = result["detections"]
    check(result["width"] == 384 and result["height"] == 191, f"picture size {result}")
    check(5 <= len(lines) <= 60, f"{len(lines)} regions of text")
    covered = sum((d["box"][2] - d["box"][0]) * (d["box"][3] - d["box"][1]) for d in lines)
    check(0.05 < covered / (384 * 191) < 0.9, f"text covers {covered / (384 * 191):.2f} of it")
    check(all(d["label"] == "text" and d["score"] >= 0.3 for d in lines), "scores")


sys.exit(story.run(blazeface_finds_the_face, ppocr_finds_the_lines_of_text))
