# SPDX-License-Identifier: Apache-2.0
"""Whole models against ONNX Runtime: the generated zoo, tuned and untuned, and without passes."""

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import onnxruntime as ort

from case import Case

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/zoo"))
import zoo  # noqa: E402

TIMING = TOP / "build/zoo/timing"
# A vision node has little memory to spare while it serves: the builder of the common detector.
MAX_BUILD_MIB = {"yolov8n": 400}
PARTS = {"yolov5n": (2, 4), "yolov8n": (1, 4), "yolox_nano": (2, 4)}  # boxes | scores
PASSES_ON = ("mobilenet_v3_small", "detr")
MAX_LOAD_BYTES = 2 << 20


inputs = functools.cache(zoo.inputs)


@functools.cache
def expected(path: Path) -> dict:
    """What ONNX Runtime says, unoptimised; several cases share a model."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs(path))))


def pass_names() -> list:
    """The rows of the engine's own table, each name once."""
    text = (TOP / "engine/passes/pass.c").read_text(encoding="utf-8")
    names = re.findall(r'^\t\{"(\w+)", \d', text, re.MULTILINE)
    assert len(names) >= 10, "the pass table reads differently now"
    return list(dict.fromkeys(names))


def _case(model: zoo.Model, options, suffix: str = "", *build: str) -> Case:
    path = zoo.path_of(model, options.long)
    return Case(
        name=model.name + suffix,
        model=str(path),
        inputs=inputs(path),
        expected=functools.partial(expected, path),
        build=[*build, *(["--shape", model.bind] if model.bind else [])],
        parts=PARTS.get(model.name, ()),
    )


def cases(options):
    for model in zoo.MODELS:
        tuned = _case(model, options, "", "--timing", str(TIMING))
        tuned.max_build_mib = MAX_BUILD_MIB.get(model.name, 0)
        yield tuned
    for model in zoo.MODELS:
        yield _case(model, options, " untuned", "--opt", "0")
    for name in PASSES_ON:
        for row in pass_names():
            case = _case(zoo.by_name(name), options, f" without {row}", "--opt", "0")
            case.build += ["--disable-pass", row]
            yield case
    yield Case(name="resnet50 loads without a copy of its weights", model=b"", check=check_load)


def check_load(options, folder: Path):
    """Loads a ResNet-50 engine and looks at the heap."""
    tool = Path(options.picketctl).parent.parent / "tests/unit/engine/engine-heap"
    if not tool.exists():
        return f"{tool} is not built"
    engine = str(folder / "resnet50.engine")
    model = str(zoo.path_of(zoo.by_name("resnet50")))
    build = [options.picketctl, "engine", "build", model, "--opt", "0", "--out", engine]
    subprocess.run(build, capture_output=True, check=True)
    done = subprocess.run([str(tool), engine], capture_output=True, check=True)
    found = json.loads(done.stdout)
    if found["weight_bytes"] < 90 << 20:
        return f"only {found['weight_bytes']} bytes of weights"
    if found["heap_bytes"] > MAX_LOAD_BYTES:
        return f"loading took {found['heap_bytes']} bytes of heap, allowed {MAX_LOAD_BYTES}"
    check_load.measured = found
    return None


def figures(done: list) -> dict:
    tuned = [c for c in done if "build" in c.measured and " " not in c.name]
    planned = [(c.name, c.measured["build"]) for c in tuned]
    return {
        "zoo": [
            {"model": c.name, "max_rel_err": c.measured["max_rel_err"]}
            for c in tuned
            if "max_rel_err" in c.measured
        ],
        "planner": [
            {"model": name, "peak": build["peak_bytes"], "lower_bound": build["lower_bound_bytes"]}
            for name, build in planned
        ],
        "build": [
            {"model": name, "peak_rss_mib": build["peak_rss_mib"], "wall_ms": build["wall_ms"]}
            for name, build in planned
        ],
        "load": getattr(check_load, "measured", None),
    }
