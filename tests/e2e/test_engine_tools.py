#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""picketctl engine gate, inspect, diff and profile on the demo's model."""

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402

MODEL = os.path.join(story.TOP, "demo/parts.onnx")
CARD = os.path.join(story.TOP, "demo/card.yaml")
GOLDEN = os.path.join(story.TOP, "demo/golden")
FOLDER = tempfile.TemporaryDirectory(prefix="picket-tools-")
ENGINE = os.path.join(FOLDER.name, "parts.engine")
GATE = ["gate", ENGINE, "--onnx", MODEL]


def engine(*args, code=0):
    """(stdout, stderr) of picketctl engine ARGS, which must end with that code."""
    done = subprocess.run(
        [os.path.join(story.BUILD, "cli/picketctl"), "engine", *args],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, f"{args}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def engine_json(*args, code=0):
    return json.loads(engine(*args, "--json", code=code)[0])


def checks_of(verdict):
    """{"G0": row, …}"""
    return {row["check"]: row for row in verdict["checks"]}


def build():
    _, told = engine("build", MODEL, "--card", CARD, "--out", ENGINE)
    for phase in ("import", "optimise", "tune", "gate", "write"):
        assert f"{phase}: " in told, f"no line on {phase}: {told}"
    assert "\r" not in told and "\033" not in told, "not plain lines"


def gate_passes():
    table, _ = engine(*GATE, "--card", CARD, "--golden", GOLDEN)
    lines = table.splitlines()
    assert lines[0] == "gate fp32: passed, 8 inputs", lines[0]
    assert len(lines) == 12, table
    verdict = engine_json(*GATE, "--card", CARD, "--golden", GOLDEN)
    rows = checks_of(verdict)
    assert verdict["passed"] and verdict["compared"] and verdict["precision"] == "fp32"
    for name in ("G0", "G1", "G2", "G3", "G4", "G5", "G6", "G8"):
        assert rows[name]["state"] == "passed", rows[name]
    assert rows["G4"]["value"] == 1, rows["G4"]


def golden_copy(change):
    """A folder of golden samples whose list went through change."""
    folder = tempfile.mkdtemp(dir=FOLDER.name)
    shutil.copytree(GOLDEN, folder, dirs_exist_ok=True)
    path = os.path.join(folder, "golden.json")
    with open(path, encoding="utf-8") as f:
        listed = json.load(f)
    change(listed)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(listed, f)
    return folder


def refused(change, check):
    """The gate's row that refuses for the changed golden samples."""
    verdict = engine_json(*GATE, "--card", CARD, "--golden", golden_copy(change), code=1)
    assert not verdict["passed"]
    row = checks_of(verdict)[check]
    assert row["state"] in ("failed", "inconclusive"), row
    return row


def gate_refuses_other_golden():
    def move(listed):
        listed["samples"][1]["detections"][0]["box"] = [0, 0, 10, 10]

    def score(listed):
        listed["samples"][0]["detections"][0]["score"] -= 0.1

    def empty(listed):
        for sample in listed["samples"]:
            sample["detections"] = []

    def forget(listed):
        del listed["samples"][2]["detections"][0]

    assert "was not found" in refused(move, "G4")["where"]
    assert "is not in the sample's list" in refused(forget, "G4")["where"]
    row = refused(score, "G5")
    assert row["figure"] == "max |score|" and abs(row["value"] - 0.1) < 0.01, row
    assert refused(empty, "G4")["state"] == "inconclusive"


def gate_keeps_average_precision():
    def label(listed):
        for sample in listed["samples"]:
            sample["labels"] = [
                {"label": d["label"], "box": d["box"]} for d in sample["detections"]
            ]

    verdict = engine_json(*GATE, "--card", CARD, "--golden", golden_copy(label))
    row = checks_of(verdict)["G7"]
    assert row["state"] == "passed" and abs(row["value"] - 1) < 1e-3, row


def gate_holds_budgets():
    verdict = engine_json(*GATE, "--budget-ms", "0.000001", code=1)
    assert checks_of(verdict)["G10"]["state"] == "failed"
    verdict = engine_json(*GATE, "--budget-ms", "60000", "--budget-mib", "500")
    assert checks_of(verdict)["G10"]["state"] == "passed"


def gate_wants_the_right_model():
    other = os.path.join(FOLDER.name, "other.onnx")
    with open(MODEL, "rb") as f:
        data = bytearray(f.read())
    at = len(data) // 2  # among the weights
    data[at] ^= 1
    with open(other, "wb") as f:
        f.write(data)
    _, told = engine("gate", ENGINE, "--onnx", other, code=1)
    assert "another model" in told, told
    engine("gate", ENGINE, code=2)


def inspect():
    seen = engine_json("inspect", ENGINE)
    layers = seen["layers"]
    assert seen["live_peak_bytes"] == max(layer["live_bytes"] for layer in layers)
    assert seen["flops"] == sum(layer["flops"] for layer in layers) > 1e8
    assert seen["traffic_bytes"] == sum(layer["bytes"] for layer in layers)
    assert seen["gate"]["passed"] is True and len(seen["gate"]["checks"]) == 11
    text, _ = engine("inspect", ENGINE)
    assert "gate fp32: passed" in text and "live peak" in text
    dot, _ = engine("inspect", ENGINE, "--dot")
    assert dot.startswith("digraph engine {") and dot.endswith("}\n")
    assert dot.count(' [label="conv\\n') == sum(layer["op"] == "conv" for layer in layers)


def profile():
    seen = engine_json("profile", ENGINE)
    assert len(seen["layers"]) == len(engine_json("inspect", ENGINE)["layers"])
    assert abs(sum(layer["share"] for layer in seen["layers"]) - 1) < 1e-6
    times = [layer["us"] for layer in seen["layers"]]
    assert times == sorted(times, reverse=True) and seen["gflops"] > 0.01
    bench = engine_json("bench", ENGINE, "--seconds", "0.2")
    assert 0 < bench["min_ms"] <= bench["p50_ms"] <= bench["p99_ms"]


def write_npy(path, dims):
    """Seeded noise in the format that `engine run` reads, without NumPy."""
    n, noise = dims[0] * dims[1] * dims[2] * dims[3], random.Random(7)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {dims}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        f.write(struct.pack(f"<{n}f", *[noise.random() for _ in range(n)]))


def threads_change_nothing():
    picture = os.path.join(FOLDER.name, "picture.npy")
    write_npy(picture, (1, 3, 192, 256))
    seen = []
    for n in ("1", "2", "3", "0"):
        out = os.path.join(FOLDER.name, "threads-" + n)
        engine("run", "--threads", n, "--input", picture, "--output-dir", out, ENGINE)
        files = {}
        for name in sorted(os.listdir(out)):
            with open(os.path.join(out, name), "rb") as f:
                files[name] = f.read()
        seen.append(files)
    assert seen[0] and all(files == seen[0] for files in seen), "results depend on threads"
    _, told = engine("run", "--threads", "65", ENGINE, code=2)
    assert "1 to 64" in told


def opt_level_2_repeats_itself():
    timing, again = os.path.join(FOLDER.name, "timing"), os.path.join(FOLDER.name, "again.engine")
    first = os.path.join(FOLDER.name, "first.engine")
    command = ["build", MODEL, "--opt", "2", "--timing", timing]
    assert engine_json(*command, "--out", first)["n_measured"] > 0
    assert engine_json(*command, "--out", again)["n_measured"] == 0
    assert engine_json("diff", first, again)["layers"] == []


def diff():
    quick = os.path.join(FOLDER.name, "quick.engine")
    engine("build", MODEL, "--opt", "0", "--disable-pass", "fuse_act", "--out", quick)
    same = engine_json("diff", ENGINE, ENGINE)
    assert same == {"key": [], "bytes": [], "layers": []}, same
    seen = engine_json("diff", ENGINE, quick)
    members = {row["name"]: row for row in seen["key"]}
    assert members["options.opt_level"]["a"] == "1" and members["options.opt_level"]["b"] == "0"
    assert set(members) == {"options.opt_level", "options.card", "options.disabled_passes"}
    assert any(row["a"] == "absent" for row in seen["layers"])
    assert "key members" in engine("diff", ENGINE, quick)[0]
    _, told = engine("diff", ENGINE, MODEL, code=1)
    assert "parts.onnx" in told


if __name__ == "__main__":
    sys.exit(
        story.run(
            build,
            gate_passes,
            gate_refuses_other_golden,
            gate_keeps_average_precision,
            gate_holds_budgets,
            gate_wants_the_right_model,
            inspect,
            profile,
            threads_change_nothing,
            opt_level_2_repeats_itself,
            diff,
        )
    )
