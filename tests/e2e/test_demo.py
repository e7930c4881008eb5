#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The demo's promises: the clip's rate, right results, fresh frames, nothing lost silently."""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import check  # noqa: E402

SECONDS = 20
CLIP_FPS = 15
FOUND = {}


def demo_runs():
    with tempfile.TemporaryDirectory(prefix="picket-demo-") as folder:
        out = os.path.join(folder, "out.json")
        done = subprocess.run(
            [
                os.path.join(story.TOP, "scripts/demo"),
                "--no-setup",
                "--seconds",
                str(SECONDS),
                "--build-dir",
                story.BUILD,
                "--run-dir",
                os.path.join(folder, "run"),
                "--json",
                out,
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )
        check(
            done.returncode == 0,
            f"exit {done.returncode}: {done.stdout[-800:]} {done.stderr[-800:]}",
        )
        with open(out, encoding="utf-8") as f:
            FOUND.update(json.load(f))
        pictures = os.listdir(os.path.join(folder, "run/out/pictures"))
        check(len(pictures) == 2, f"annotated pictures: {pictures}")
    story.keep_figures(demo=FOUND)
    check(len(FOUND["cameras"]) == 2, f"cameras: {FOUND}")


def of_each_camera(test, text):
    check(FOUND, "the demo did not run")
    for camera in FOUND["cameras"]:
        check(test(camera), f"{text}: {camera}")


def both_cameras_keep_the_clips_rate():
    of_each_camera(lambda c: abs(c["fps"] - CLIP_FPS) <= 0.05 * CLIP_FPS, "rate")


def rung_is_engine():
    of_each_camera(lambda c: c["rung"] == "engine", "rung")


def precision_and_recall_are_at_least_090():
    of_each_camera(lambda c: c["precision"] >= 0.9 and c["recall"] >= 0.9, "accuracy")


def frame_age_p99_is_under_150_ms():
    of_each_camera(lambda c: 0 < c["frame_age_p99_ms"] < 150, "frame age")


def no_frame_is_lost_silently():
    of_each_camera(lambda c: c["lost_silently"] == 0, "frames")


sys.exit(
    story.run(
        demo_runs,
        both_cameras_keep_the_clips_rate,
        rung_is_engine,
        precision_and_recall_are_at_least_090,
        frame_age_p99_is_under_150_ms,
        no_frame_is_lost_silently,
    )
)
