#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds are governed: shut in, held back by heat and unclean boots, and what they cost."""

import json
import os
import random
import struct
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


def write_colours(node):
    """class.onnx, class.yaml, golden/: the mean of each colour is that class's score."""
    weights = [
        (3.0 if channel == label else 0.0) / 64**2
        for label in range(3)
        for channel in range(3)
        for _ in range(64 * 64)
    ]
    field = tiny_model.field
    body = field(1, tiny_model.node("Conv", ["images", "w"], "output0")) + field(2, "colours")
    body += field(5, tiny_model.tensor("w", [3, 3, 64, 64], 1, tiny_model.floats(weights)))
    body += field(11, tiny_model.value_info("images", [1, 3, 64, 64]))
    body += field(12, tiny_model.value_info("output0", [1, 3, 1, 1]))
    put(node.root, "class.yaml", CLASSIFIER)
    with open(node.path("class.onnx"), "wb") as f:
        f.write(field(1, 8) + field(7, body) + field(8, field(1, "") + field(2, 17)))
    samples = []
    for i, label in enumerate(("red", "green", "blue")):
        picture = bytes(255 if at % 3 == i else 0 for at in range(64 * 64 * 3))
        os.makedirs(node.path("golden"), exist_ok=True)
        with open(node.path("golden", label + ".rgb"), "wb") as f:
            f.write(picture)
        found = [{"label": label, "box": [0, 0, 64, 64], "score": 0.908}]
        samples.append({"file": label + ".rgb", "width": 64, "height": 64, "detections": found})
    put(node.root, "golden/golden.json", json.dumps({"samples": samples}))


def inspect_engine(node, other: str = "") -> dict:
    """What the file says of the engine that serves, once it is another one than before."""

    def engine(status):
        model = status["models"][0]
        path = (model["engine"] or {}).get("path", "")
        return path if model["rung"] == "engine" and path != other else None

    path = node.wait_for(engine, 60, "an engine")
    return {**json.loads(node.ctl("engine", "inspect", path, "--json").stdout), "path": path}


def classifiers_are_judged_by_their_winner():
    with tiny_node(observe="0", start=False) as node:
        write_colours(node)
        golden = ["--golden", node.path("golden")]
        node.pack(node.path("class.onnx"), node.path("class.yaml"), *golden)
        node.start()
        rows = {row["check"]: row for row in inspect_engine(node)["gate"]["checks"]}
        check(rows["G4"]["state"] == "passed", f"{rows['G4']}")
        check(rows["G5"]["state"] == "passed", f"{rows['G5']}")


def write_noise(node) -> list[str]:
    """noise.onnx, whose layers have something to count, and how to calibrate it."""
    rng, field = random.Random(8), tiny_model.field
    first = [rng.uniform(-0.4, 0.4) for _ in range(8 * 3 * 9)]
    second = [rng.uniform(-0.05, 0.05) for _ in range(6 * 8 * 64)]
    pads = [tiny_model.ints_attribute("pads", [1, 1, 1, 1])]
    strides = [tiny_model.ints_attribute("strides", [8, 8])]
    body = field(1, tiny_model.node("Conv", ["images", "a"], "wide", pads))
    body += field(1, tiny_model.node("Relu", ["wide"], "up"))
    body += field(1, tiny_model.node("Conv", ["up", "b"], "grid", strides))
    body += field(1, tiny_model.node("Reshape", ["grid", "shape"], "output0")) + field(2, "noise")
    body += field(5, tiny_model.tensor("a", [8, 3, 3, 3], 1, tiny_model.floats(first)))
    body += field(5, tiny_model.tensor("b", [6, 8, 8, 8], 1, tiny_model.floats(second)))
    body += field(5, tiny_model.tensor("shape", [3], 7, struct.pack("<3q", 1, 6, 64)))
    body += field(11, tiny_model.value_info("images", [1, 3, 64, 64]))
    body += field(12, tiny_model.value_info("output0", [1, 6, 64]))
    with open(node.path("noise.onnx"), "wb") as f:
        f.write(field(1, 8) + field(7, body) + field(8, field(1, "") + field(2, 17)))
    os.makedirs(node.path("samples"))
    for i in range(8):
        with open(node.path("samples", f"{i}.rgb"), "wb") as f:
            f.write(rng.randbytes(64 * 64 * 3))
    model, card = node.path("noise.onnx"), node.path("tiny.yaml")
    return ["engine", "calibrate", model, "--card", card, "--samples", node.path("samples")]


def int8_where_the_config_and_the_artifact_say_so():
    with tiny_node(observe="0", more="    precision: int8", start=False) as node:
        ranges = node.path("calibration.json")
        made = node.ctl(*write_noise(node), "--method", "minmax", "--out", ranges)
        check(made.returncode == 0, made.stderr)
        files = node.path("noise.onnx"), node.path("tiny.yaml")
        node.pack(*files, "--calibration", ranges)
        node.start()
        engine = inspect_engine(node)
        check(engine["key"]["options"]["precision"] == "int8", f"{engine['key']}")
        check(engine["gate"]["precision"] == "int8" and engine["gate"]["passed"], engine["gate"])
        node.configure("0")
        check(node.ctl("reload").returncode == 0, "reload")
        other = inspect_engine(node, engine["path"])
        check(other["key"]["options"]["precision"] == "fp32", f"{other['key']}")
        node.configure("0", "    precision: int8")
        check(node.ctl("reload").returncode == 0, "reload")
        check(inspect_engine(node, other["path"])["path"] == engine["path"], "another engine")
        node.wait_active(node.pack(*files))
        node.wait_event("it brings no calibration: its engine is fp32")


sys.exit(
    story.run(
        builder_is_shut_in,
        crashing_builder_costs_one_event,
        build_without_memory_is_tried_cheaper_then_left,
        heat_holds_builds_and_sheds_load,
        unclean_boots_hold_builds_until_an_operator_says_so,
        classifiers_are_judged_by_their_winner,
        int8_where_the_config_and_the_artifact_say_so,
    )
)
