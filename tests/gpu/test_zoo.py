#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whole models of the zoo through the cuda runtime, without a GPU: on the test double of the NVIDIA
libraries, with the kernels built for the host. The gate compares each engine with the reference;
fp32 engines must come as near as the cpu's do. Two small models; all with PICKET_LONG.

Figures: gpu_zoo [{model, precision, max_rel_err, layers, islands, s}].
"""

import json
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tests/zoo"), os.path.join(TOP, "tests/lib")]
import story  # noqa: E402

VENV = os.path.join(TOP, "build/venv/bin/python")
try:
    import zoo  # noqa: E402
except ImportError:  # the generators' packages are in the test environment
    if not os.path.isfile(VENV) or sys.executable == VENV:
        print("skip - whole_models_equal_the_reference: scripts/setup oracle has not run")
        sys.exit(77)
    os.execv(VENV, [VENV, *sys.argv])

LONG = bool(os.environ.get("PICKET_LONG"))
DEFAULT = {
    ("mobilenet_v3_small", "fp32"),
    ("mobilenet_v3_small", "fp16"),
    ("squeezenet1_1", "fp32"),
}
DOUBLE = os.path.join(story.BUILD, "tests/lib/fake_cuda")
KERNELS = os.path.join(story.BUILD, "tests/gpu/libpicket-host-kernels.so")
MAX_ERROR = {"fp32": 1e-4, "fp16": 2e-2}  # of an output's range
BUILD_S = 3000 if LONG else 600
figures = []


def ctl(*arguments: str) -> dict:
    """The answer of `picketctl engine …` on the double; raises with what it said."""
    command = [os.path.join(story.BUILD, "cli/picketctl"), "engine", *arguments]
    env = {**os.environ, "LD_LIBRARY_PATH": DOUBLE, "PICKET_FAKE_KERNELS": KERNELS}
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    if done.returncode:
        raise AssertionError(f"{' '.join(arguments)}: {done.stdout[-300:]} {done.stderr[-800:]}")
    return json.loads(done.stdout)


def build(model: zoo.Model, precision: str) -> dict:
    """The build's report, with the gate's largest error. The double is slow: nothing is tuned."""
    path = str(zoo.path_of(model, LONG))
    with tempfile.TemporaryDirectory(prefix="picket-gpu-zoo-") as folder:
        engine = os.path.join(folder, "x.engine")
        shape = ["--shape", model.bind] if model.bind else []
        options = ["--runtime", "cuda", "--precision", precision, "--opt", "0", *shape]
        report = ctl("build", "--json", *options, "--out", engine, path)
        verdict = ctl("gate", "--json", "--onnx", path, *shape, engine)
    error = next(check for check in verdict["checks"] if check["name"] == "error")
    return {**report, "max_rel_err": error["value"]}


def try_model(model: zoo.Model, precision: str):
    start = time.monotonic()
    report = build(model, precision)
    figure = {
        "model": model.name,
        "precision": precision,
        "max_rel_err": report["max_rel_err"],
        "layers": report["layers"],
        "islands": report["n_islands"],
        "s": round(time.monotonic() - start, 1),
    }
    figures.append(figure)
    print(f"  {figure}", flush=True)
    story.check(report["max_rel_err"] <= MAX_ERROR[precision], f"too far off: {figure}")


def whole_models_equal_the_reference():
    if not os.path.isfile(KERNELS):
        raise story.Skip("the kernels are not built for the host: no C++ compiler")
    for model in zoo.MODELS:
        for precision in MAX_ERROR:
            if LONG or (model.name, precision) in DEFAULT:
                try_model(model, precision)
    story.keep_figures(gpu_zoo=figures)


sys.exit(story.run(whole_models_equal_the_reference))
