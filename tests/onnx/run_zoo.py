#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole generated models as engines against ONNX Runtime: tuned, untuned, and without passes.

Prints one line per case (`ok - name`, `not ok - name: why`); exits 1 when one is not ok. Figures:
zoo [{model, max_rel_err}], planner [{model, peak, lower_bound}], build [{model, peak_rss_mib,
wall_ms}], load {heap_bytes, weight_bytes}.
"""

import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnxruntime as ort

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path[:0] = [str(HERE), str(TOP / "tests/zoo")]
import zoo  # noqa: E402
from case import Case, difference  # noqa: E402
from run import ENGINE_TIMEOUT_S, run_engine  # noqa: E402

TOLERANCE = 1e-4  # of the output's range
MAX_PEAK = 1.10  # of the memory planner's lower bound
TIMING = TOP / "build/zoo/timing"
# A vision node has little memory to spare while it serves: the builder on the common detector.
MAX_BUILD_MIB = {"yolov8n": 400}
# (axis, index): boxes and scores are held against their own ranges.
PARTS = {"yolov5n": (2, 4), "yolov8n": (1, 4), "yolox_nano": (2, 4)}
PASSES_ON = ("mobilenet_v3_small", "detr")
MAX_LOAD_BYTES = 2 << 20
MIN_WEIGHT_BYTES = 90 << 20  # of the engine that is loaded for that


@dataclass
class Trial:
    model: zoo.Model
    name: str
    build: list = field(default_factory=list)  # arguments of `picketctl engine build`
    report: dict = field(default_factory=dict)  # what the build said, and peak_rss_mib
    max_rel_err: float = 0.0


def pass_names() -> list:
    """The rows of the engine's own tables, each name once."""
    text = "".join(f.read_text(encoding="utf-8") for f in (TOP / "engine/passes").glob("pass*.c"))
    names = re.findall(r'^\t\{"(\w+)", \d', text, re.MULTILINE)
    assert len(names) >= 10, "the pass table reads differently now"
    return list(dict.fromkeys(names))


def trials() -> list:
    found = [Trial(m, m.name, ["--timing", str(TIMING)]) for m in zoo.MODELS]
    found += [Trial(m, f"{m.name} untuned", ["--opt", "0"]) for m in zoo.MODELS]
    for name in PASSES_ON:
        found += [
            Trial(zoo.by_name(name), f"{name} without {row}", ["--opt", "0", "--disable-pass", row])
            for row in pass_names()
        ]
    for trial in found:
        trial.build += ["--shape", trial.model.bind] if trial.model.bind else []
    return found


inputs = functools.cache(zoo.inputs)


@functools.cache
def expected(path: Path) -> dict:
    """What ONNX Runtime says, unoptimised; several trials share a model."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs(path))))


def build(trial: Trial, path: Path, folder: Path, options):
    """(engine file, None) or (None, error text); trial.report is filled in."""
    engine, peak = folder / "model.engine", folder / "peak"
    command = [sys.executable, "-S", str(HERE / "peak_memory.py"), str(peak), options.picketctl]
    command += ["engine", "build", str(path), "--json", "--out", str(engine), *trial.build]
    try:
        done = subprocess.run(command, capture_output=True, timeout=ENGINE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None, f"not built within {ENGINE_TIMEOUT_S} s"
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return None, lines[-1] if lines else f"exit {done.returncode}"
    mib = int(peak.read_text()) / 2**20
    trial.report = {**json.loads(done.stdout), "peak_rss_mib": round(mib, 1)}
    allowed = MAX_BUILD_MIB.get(trial.name)
    if allowed and mib > allowed and not options.any_memory:
        return None, f"the build took {mib:.0f} MiB of memory, allowed {allowed}"
    return engine, None


def cut(array: np.ndarray, parts) -> list:
    """Both sides of parts; the whole where it does not fit."""
    if not parts or parts[0] >= array.ndim or parts[1] >= array.shape[parts[0]]:
        return [array]
    return np.split(array, [parts[1]], axis=parts[0])


def compare(trial: Trial, got: dict, wanted: dict):
    """None, or how they differ; trial.max_rel_err is filled in."""
    parts = PARTS.get(trial.model.name)
    for name, want in wanted.items():
        stem = name.replace("/", "_")
        if stem not in got:
            return f"output `{name}` is missing"
        for got_part, want_part in zip(cut(got[stem], parts), cut(want, parts)):
            why = difference(got_part, want_part, TOLERANCE)
            if why:
                return f"output `{name}`: {why}"
            span = float(np.ptp(want_part)) or 1.0
            worst = float(np.max(np.abs(got_part - want_part.astype(np.float64)))) / span
            trial.max_rel_err = max(trial.max_rel_err, worst)
    return None


def judge(trial: Trial, options):
    """None when all is well, else what is not."""
    path = zoo.path_of(trial.model, options.long)
    with tempfile.TemporaryDirectory(prefix="picket-zoo-") as name:
        folder = Path(name)
        engine, error = build(trial, path, folder, options)
        if error is None:
            case = Case(name=trial.name, model=str(path), inputs=inputs(path))
            got, error = run_engine(case, engine, folder, options)
        return error or compare(trial, got, expected(path))


def load_figures(options) -> dict:
    """Loads a ResNet-50 engine: by how much the heap grew."""
    tool = Path(options.picketctl).parent.parent / "tests/unit/engine/engine-heap"
    model = str(zoo.path_of(zoo.by_name("resnet50"), options.long))
    with tempfile.TemporaryDirectory(prefix="picket-zoo-") as folder:
        engine = f"{folder}/resnet50.engine"
        command = [options.picketctl, "engine", "build", model, "--opt", "0", "--out", engine]
        subprocess.run(command, capture_output=True, check=True)
        done = subprocess.run([str(tool), engine], capture_output=True, check=True)
        return json.loads(done.stdout)


def judge_load(options, figures: dict):
    try:
        found = load_figures(options)
    except (OSError, subprocess.CalledProcessError) as error:
        return str(error)
    figures["load"] = found
    if found["weight_bytes"] < MIN_WEIGHT_BYTES:
        return f"only {found['weight_bytes']} bytes of weights"
    if found["heap_bytes"] > MAX_LOAD_BYTES:
        return f"loading took {found['heap_bytes']} bytes of heap, allowed {MAX_LOAD_BYTES}"
    return None


def judge_memory(row: dict):
    """(name, None or what is not): activations close to what no placement can beat."""
    ratio = row["peak"] / max(row["lower_bound"], 1)
    why = (
        f"peak is {ratio:.3f} of the lower bound, allowed {MAX_PEAK}" if ratio > MAX_PEAK else None
    )
    return f"memory of {row['model']}", why


def summary(done: list) -> dict:
    tuned = [t for t in done if t.name == t.model.name and t.report]
    return {
        "zoo": [{"model": t.name, "max_rel_err": t.max_rel_err} for t in tuned],
        "planner": [
            {
                "model": t.name,
                "peak": t.report["peak_bytes"],
                "lower_bound": t.report["lower_bound_bytes"],
            }
            for t in tuned
        ],
        "build": [
            {
                "model": t.name,
                "peak_rss_mib": t.report["peak_rss_mib"],
                "wall_ms": t.report["wall_ms"],
            }
            for t in tuned
        ],
    }


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    build_folder = os.environ.get("PICKET_BUILD", "build/gcc")
    parser.add_argument("--picketctl", default=os.path.join(build_folder, "cli/picketctl"))
    parser.add_argument(
        "--long",
        action="store_true",
        default=bool(os.environ.get("PICKET_LONG")),
        help="pictures of full size",
    )
    parser.add_argument("--match", default="", help="only names with this regular expression")
    parser.add_argument("--any-memory", action="store_true", help="for builds with sanitizers")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", default=os.environ.get("PICKET_FIGURES"))
    return parser.parse_args()


def say(name: str, why) -> bool:
    print(f"not ok - zoo/{name}: {why}" if why else f"ok - zoo/{name}", flush=True)
    return not why


def main() -> int:
    options = parse_args()
    chosen = [t for t in trials() if re.search(options.match, t.name)]
    for model in {t.model.name: t.model for t in chosen}.values():
        zoo.path_of(model, options.long)  # once, before two trials want it
    n_failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for trial, why in zip(chosen, pool.map(lambda t: judge(t, options), chosen)):
            n_failed += not say(trial.name, why)
    figures = summary(chosen)
    n_failed += sum(not say(*judge_memory(row)) for row in figures["planner"])
    load = "resnet50 loads without a copy of its weights"
    if re.search(options.match, load):
        n_failed += not say(load, judge_load(options, figures))
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
