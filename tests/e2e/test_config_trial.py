#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Configs over the control socket: planned, applied, on trial, confirmed, taken back."""

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
import tiny_model  # noqa: E402
from story import check, picket  # noqa: E402

CONFIG = """runtime: {{chain: [cpu]}}
models:
  tiny: {{artifact: oci:{root}/registry:stable}}
cameras:
  belt: {{source: {{kind: test, rate: {rate}/s}}, model: tiny}}
{more}"""
BROKEN_CAMERA = "  gate: {source: {kind: file, uri: /nowhere.mp4}, model: tiny}\n"


class ConfigNode(picket.Node):
    def text(self, rate: int = 10, more: str = "") -> str:
        return CONFIG.format(root=self.root, rate=rate, more=more)

    def new(self, text: str) -> str:
        path = self.path("new.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def config(self, *verb: str, code: int = 0) -> str:
        done = self.ctl("config", *verb)
        check(done.returncode == code, f"config {verb}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def on_disk(self) -> str:
        with open(self.config_path, encoding="utf-8") as f:
            return f.read()

    def wait_running(self, n: int = 1):
        def running(status):
            return sum(c["state"] == "running" for c in status["cameras"]) >= n

        self.wait_for(running, 20, f"{n} cameras running")

    def wait_disk(self, text: str, timeout: float = 10):
        self.wait_for(lambda _s: self.on_disk() == text, timeout, "the config of before")


@contextlib.contextmanager
def config_node():
    folder = tempfile.mkdtemp(prefix="picket-trial-")
    node = ConfigNode(folder, story.BUILD)
    try:
        node.bundle(*tiny_model.write(folder, 1))
        node.write_config(node.text())
        node.start()
        node.wait_running()
        yield node
    finally:
        node.stop()
        shutil.rmtree(folder, ignore_errors=True)


def plan_says_what_restarts_and_changes_nothing():
    with config_node() as node:
        before = node.on_disk()
        text = node.config("plan", node.new(node.text(rate=20)))
        check("belt" in text and "restarted" in text, text)
        check("nothing changes" in node.config("plan", node.new(before)), "the same config")
        mistake = node.new(before.replace("cameras", "camreas"))
        text = node.config("plan", mistake, code=2)
        check("picket.yaml:" in text and "camreas" in text, text)
        check(node.on_disk() == before, "plan wrote the file")


def apply_takes_a_good_config_and_no_bad_one():
    with config_node() as node:
        before = node.on_disk()
        node.config("apply", node.new(before + "wrong: 1\n"), code=2)
        check(node.on_disk() == before, "a bad config was written")
        node.config("apply", node.new(node.text(rate=20)))
        check(node.on_disk() == node.text(rate=20), "it was not written")
        node.wait_running()
        node.config("confirm", code=1)
        node.config("revert", code=1)


def trial_ends_by_itself():
    with config_node() as node:
        before = node.on_disk()
        answer = json.loads(
            node.config("apply", node.new(node.text(rate=20)), "--confirm", "2s", "--json")
        )
        check(answer["ok"] and answer["confirm_s"] == 2, f"{answer}")
        check(node.status()["config"]["confirm_s"] is not None, "status does not tell")
        check("trial" in node.config("apply", node.new(before), code=1), "two trials at once")
        node.wait_disk(before)
        names = [e["name"] for e in node.events()]
        check("config-pending" in names and "config-reverted" in names, f"{names}")
        node.wait_running()


def confirmed_config_stays():
    with config_node() as node:
        after = node.text(rate=20)
        node.config("apply", node.new(after), "--confirm", "4s")
        check("belt" in node.config("confirm", code=1), "confirmed before the camera was back")

        def confirmed(_status):
            return node.ctl("config", "confirm").returncode == 0

        node.wait_for(confirmed, 4, "the camera to come back")
        time.sleep(4.5)
        check(node.on_disk() == after, "it was taken back")
        check(node.status()["config"]["confirm_s"] is None, "it is still on trial")


def camera_that_does_not_come_back_is_no_confirmation():
    with config_node() as node:
        before = node.on_disk()
        node.config("apply", node.new(node.text(more=BROKEN_CAMERA)), "--confirm", "4s")
        text = node.config("confirm", code=1)
        check("gate" in text, text)
        node.config("revert")
        check(node.on_disk() == before, "it was not taken back")


def trial_survives_picketd():
    with config_node() as node:
        before, after = node.on_disk(), node.text(rate=20)
        node.config("apply", node.new(after), "--confirm", "5s")
        os.killpg(node.child.pid, signal.SIGKILL)
        node.child.wait()
        node.start()
        node.wait_running()
        check(node.on_disk() == after, "taken back too early")
        check(node.status()["config"]["confirm_s"] is not None, "the trial is forgotten")
        node.wait_disk(before)
        # Its time ends while nobody runs: the next start begins with the config of before.
        node.config("apply", node.new(after), "--confirm", "1s")
        os.killpg(node.child.pid, signal.SIGKILL)
        node.child.wait()
        time.sleep(1.2)
        node.start()
        node.wait_running()
        check(node.on_disk() == before, "an overdue trial is still in force")
        check(node.status()["config"]["confirm_s"] is None, "the trial goes on")


sys.exit(
    story.run(
        plan_says_what_restarts_and_changes_nothing,
        apply_takes_a_good_config_and_no_bad_one,
        trial_ends_by_itself,
        confirmed_config_stays,
        camera_that_does_not_come_back_is_no_confirmation,
        trial_survives_picketd,
    )
)
