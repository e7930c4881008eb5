#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds are governed: shut in, held back by heat and unclean boots, and what they cost."""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
import tiny_model  # noqa: E402
from story import check, demo_node  # noqa: E402
from tiny_node import tiny_node  # noqa: E402


def put(root: str, path: str, text: str):
    whole = os.path.join(root, path)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with open(whole, "w", encoding="utf-8") as f:
        f.write(text)


def zone(root: str, celsius: float):
    put(root, "sys/class/thermal/thermal_zone0/type", "gpu-thermal\n")
    put(root, "sys/class/thermal/thermal_zone0/trip_point_0_type", "passive\n")
    put(root, "sys/class/thermal/thermal_zone0/trip_point_0_temp", "90000\n")
    put(root, "sys/class/thermal/thermal_zone0/temp", f"{int(celsius * 1000)}\n")


def named(node, name: str) -> list[dict]:
    return [e for e in node.events() if e["name"] == name]


def process_status(pid: int) -> dict:
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def builder_is_shut_in():
    """From outside: filter and no new privileges; from inside: what it says when it tries."""
    tried = subprocess.run(
        [os.path.join(story.BUILD, "daemon/picket-build"), "--try-sandbox"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    check(tried.returncode == 0, f"went through: {tried.stdout}")
    with demo_node() as node:

        def shut_in(status):
            """What /proc says of a builder that has shut itself in; one may end meanwhile."""
            builder = status["builder"]
            try:
                state = process_status(builder["pid"])
                with open(f"/proc/{builder['pid']}/oom_score_adj", encoding="utf-8") as f:
                    state["oom_score_adj"] = int(f.read())
            except OSError:
                return None
            return state if state["Seccomp"].strip() == "2" else None

        state = node.wait_for(shut_in, 30, "a build in its sandbox")
        check(state["NoNewPrivs"].strip() == "1", f"NoNewPrivs: {state['NoNewPrivs']}")
        check(state["oom_score_adj"] >= 500, f"oom_score_adj: {state['oom_score_adj']}")
        node.wait_rung("parts", "engine")
        check(not os.path.exists(node.path("var/lib/picket/build/timing")), "timing left behind")


class broken_builder:
    """A libexec folder whose picket-build does something else, shut in by nothing."""

    def __init__(self, folder: str, script: str):
        self.folder = os.path.join(folder, "libexec")
        os.makedirs(self.folder)
        os.symlink(
            os.path.join(story.BUILD, "daemon/picket-worker"),
            os.path.join(self.folder, "picket-worker"),
        )
        self.program = os.path.join(self.folder, "picket-build")
        with open(self.program, "w", encoding="utf-8") as f:
            f.write(script)
        os.chmod(self.program, 0o755)


def crashing_builder_costs_one_event():
    with demo_node(start=False) as node:
        fake = broken_builder(node.root, "#!/bin/sh\nkill -SEGV $$\n")
        node.write_config(
            open(node.config_path, encoding="utf-8")
            .read()
            .replace("build: {retry_min: 1s, retry_max: 5s}", "build: {retry_min: 10m}")
        )
        node.start("--libexec", fake.folder)
        first = node.wait_event("picket-build: killed by SIGSEGV", 20)
        check(first["name"] == "artifact-failed", f"{first}")
        node.wait_for(lambda _s: node.results(), 30, "video")
        # Admission is the first thing that looks at a model: one event for each try.
        failed = [
            e for e in node.events() if "SIGSEGV" in e["message"] and "no update" in e["message"]
        ]
        check(len(failed) <= 2, f"{len(failed)} events")


def build_without_memory_is_tried_cheaper_then_left():
    """20 MiB of address space: too little for this model, whatever is left out."""
    with demo_node(start=False) as node:
        text = open(node.config_path, encoding="utf-8").read()
        node.write_config(
            text.replace("retry_min: 1s, retry_max: 5s", "retry_min: 10m, memory: 20MiB")
        )
        node.start()
        event = node.wait_event("tuned engine: build failed", 60)
        check("out of memory" in event["message"], event["message"])
        check(event["fields"]["permanent"] == "0", "want of memory is no permanent failure")
        cheaper = named(node, "build-cheaper")
        check(len(cheaper) == 4, f"{len(cheaper)} cheaper tries of two engines")
        check(len(named(node, "build-failed")) == 2, "one event for each engine")
        check(node.results(), "video does not flow")


def heat_holds_builds_and_sheds_load():
    with demo_node(start=False) as node:
        machine = node.path("machine")
        zone(machine, 84)
        node.write_config(
            "health: {interval: 500ms}\n" + open(node.config_path, encoding="utf-8").read()
        )
        node.start(env={"PICKET_SYSROOT": machine})
        waits = node.wait_event("builds wait", 30)
        check("gpu-thermal at 84" in waits["message"], waits["message"])
        node.wait_rung("parts", "building", 30)  # a quick engine serves meanwhile
        zone(machine, 87)
        shed = node.wait_event("inference steps back to level 1", 10)
        check("slows down at 90" in shed["fields"]["cause"], shed["fields"]["cause"])

        def held_back(status):
            camera = status["cameras"][0]
            return camera["fps"] < 9 and "steps back" in status["status"]

        node.wait_for(held_back, 40, "a camera at half its rate")
        zone(machine, 50)
        node.wait_event("builds go on", 10)
        node.wait_rung("parts", "engine", 60)
        node.wait_event("all cameras have their full rate", 45)


def unclean_boots_hold_builds_until_an_operator_says_so():
    with demo_node(start=False) as node:
        machine = node.path("machine")
        put(machine, "proc/sys/kernel/random/boot_id", "third\n")
        put(node.root, "var/lib/picket/state/build-mark", "second 1 building\n")
        node.start(env={"PICKET_SYSROOT": machine})
        held = node.wait_event("went down during builds 2 times", 20)
        check(held["name"] == "builds-held" and held["priority"] == 1, f"{held}")
        status = node.wait_for(
            lambda s: s if s["models"][0]["runtime"] == "cpu" else None, 30, "the quick engine"
        )
        check(any(a["model"] == "" for a in status["alarms"]), f"no alarm: {status['alarms']}")
        time.sleep(1)
        check(node.status()["builder"]["state"] == "waiting", f"{node.status()['builder']}")
        done = node.ctl("model", "rebuild", "parts")
        check(done.returncode == 0, done.stderr)
        node.wait_rung("parts", "engine", 60)
        check(not node.status()["alarms"], "the alarm stays")
        check(not os.path.exists(node.path("var/lib/picket/state/build-mark")), "the mark stays")


CLASSIFIER = """card: 1
name: tiny
task: classify
inputs:
  - name: images
    shape: [1, 3, 64, 64]
    layout: nchw
    dtype: f32
    color: rgb
    resize: {mode: stretch}
    normalize: {scale: 0.0039, mean: [0, 0, 0], std: [1, 1, 1]}
outputs:
  - {name: output0, role: logits}
decode: {family: classify, classes: 3, score: {activation: softmax}}
postprocess: {conf: 0.2}
labels: [red, green, blue]
"""


def classifiers_are_judged_by_their_winner():
    """The mean of each colour is that class's score."""
    weights = [
        (3.0 if channel == label else 0.0) / 64**2
        for label in range(3)
        for channel in range(3)
        for _ in range(64 * 64)
    ]
    nodes = [tiny_model.node("Conv", ["images", "w"], "output0")]
    body = b"".join(tiny_model.field(1, n) for n in nodes) + tiny_model.field(2, "colours")
    body += tiny_model.field(
        5, tiny_model.tensor("w", [3, 3, 64, 64], 1, tiny_model.floats(weights))
    )
    body += tiny_model.field(11, tiny_model.value_info("images", [1, 3, 64, 64]))
    body += tiny_model.field(12, tiny_model.value_info("output0", [1, 3, 1, 1]))
    opset = tiny_model.field(8, tiny_model.field(1, "") + tiny_model.field(2, 17))
    with tiny_node(observe="0", start=False) as node:
        golden, samples = node.path("golden"), []
        os.makedirs(golden)
        for i, label in enumerate(("red", "green", "blue")):
            picture = bytes(255 if at % 3 == i else 0 for at in range(64 * 64 * 3))
            with open(os.path.join(golden, label + ".rgb"), "wb") as f:
                f.write(picture)
            found = [{"label": label, "box": [0, 0, 64, 64], "score": 0.908}]
            samples.append({"file": label + ".rgb", "width": 64, "height": 64, "detections": found})
        for name, text in (
            ("golden/golden.json", json.dumps({"samples": samples})),
            ("class.yaml", CLASSIFIER),
        ):
            with open(node.path(name), "w", encoding="utf-8") as f:
                f.write(text)
        with open(node.path("class.onnx"), "wb") as f:
            f.write(tiny_model.field(1, 8) + tiny_model.field(7, body) + opset)
        node.pack(node.path("class.onnx"), node.path("class.yaml"), "--golden", golden)
        node.start()
        engine = node.wait_rung("tiny", "engine", 60)["engine"]["path"]
        seen = json.loads(node.ctl("engine", "inspect", engine, "--json").stdout)
        rows = {row["check"]: row for row in seen["gate"]["checks"]}
        check(rows["G4"]["state"] == "passed", f"{rows['G4']}")
        check(rows["G5"]["state"] == "passed", f"{rows['G5']}")


sys.exit(
    story.run(
        builder_is_shut_in,
        crashing_builder_costs_one_event,
        build_without_memory_is_tried_cheaper_then_left,
        heat_holds_builds_and_sheds_load,
        unclean_boots_hold_builds_until_an_operator_says_so,
        classifiers_are_judged_by_their_winner,
    )
)
