#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs models through Picket's engine and ONNX Runtime and compares the outputs.

Prints one line per case (`ok - name`, `not ok - name: why`, `skip - name: why`); exits 1 when one
is not ok. --picketctl may be any program that takes the arguments of `picketctl engine run`.
"""

import argparse
import collections
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime as ort

sys.path.insert(0, str(Path(__file__).resolve().parent))
import node_tests  # noqa: E402
import single_op  # noqa: E402
from case import Case, Suite, difference  # noqa: E402

ENGINE_TIMEOUT_S = 300
# What the importer says of models that are right but outside of what it takes.
REFUSED = (
    r"not supported|computed at run time|does not compute|must be (one )?constant|is newer|"
    r"export the model for inference"
)


def suites():
    table = [
        Suite("single-op", single_op.cases),
        Suite("node-tests", node_tests.cases),
    ]
    if importlib.util.find_spec("models") is None:
        return table
    import models

    return table + [Suite("models", models.cases)]


def oracle(case: Case, path: Path) -> dict:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # Unoptimised: what the nodes say, not what fusions make of them.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, case.inputs)))


def as_engine_input(array: np.ndarray) -> np.ndarray:
    """The engine computes f16, bf16 and f64 in f32 and takes them so."""
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def run_engine(case: Case, path: Path, folder: Path, options):
    """(outputs by file stem, None) or (None, error text)."""
    out = folder / "out"
    out.mkdir()
    command = [options.picketctl, "engine", "run", str(path), "--runtime", "cpu", "--json"]
    for i, (name, array) in enumerate(case.inputs.items()):
        file = folder / f"in{i}.npy"
        np.save(file, np.ascontiguousarray(as_engine_input(array)).reshape(array.shape))
        command += ["--input", f"{name}={file}"]
    for name, dims in case.shapes.items():
        command += ["--shape", f"{name}={'x'.join(map(str, dims))}"]
    command += ["--output-dir", str(out)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=ENGINE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no answer within {ENGINE_TIMEOUT_S} s"
    if done.returncode < 0:
        return None, f"died of signal {-done.returncode}"
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return None, lines[-1] if lines else f"exit {done.returncode}"
    return {f.stem: np.load(f) for f in out.glob("*.npy")}, None


def judge(case: Case, folder: Path, options) -> tuple:
    """(verdict, why)"""
    if case.skip:
        return "skip", case.skip
    path = folder / "model.onnx"
    if isinstance(case.model, bytes):
        path.write_bytes(case.model)
    else:
        path = Path(case.model)
    got, error = run_engine(case, path, folder, options)
    if case.refusal is not None:
        if error is None:
            return "not ok", "accepted, a refusal was wanted"
        found = re.search(case.refusal, error)
        return ("ok", "") if found else ("not ok", f"refused with: {error}")
    if error is not None:
        refused = case.may_refuse and re.search(REFUSED, error)
        return ("skip", f"refused: {error}") if refused else ("not ok", error)
    try:
        wanted = case.expected if case.expected is not None else oracle(case, path)
    except Exception as e:  # noqa: BLE001: whatever ONNX Runtime throws, it is no oracle here
        return "skip", f"ONNX Runtime: {str(e).splitlines()[0][:200]}"
    for name, want in wanted.items():
        stem = name.replace("/", "_")
        if stem not in got:
            return "not ok", f"output `{name}` is missing"
        why = difference(got[stem], np.asarray(want), case.tolerance)
        if why:
            return "not ok", f"output `{name}`: {why}"
    return "ok", ""


def run_case(case: Case, options) -> tuple:
    with tempfile.TemporaryDirectory(prefix="picket-onnx-") as folder:
        return judge(case, Path(folder), options)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picketctl", required=True)
    parser.add_argument("--long", action="store_true", help="more shapes, more models")
    parser.add_argument("--suite", action="append", help="only these suites")
    parser.add_argument("--match", help="only cases whose name has this regular expression")
    parser.add_argument("--node-tests", help="folder of ONNX backend tests (…/data)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", help="write {suite: {passed, failed, skipped, failures}} here")
    return parser.parse_args()


def main() -> int:
    options = parse_args()
    figures = {}
    for suite in suites():
        if options.suite and suite.name not in options.suite:
            continue
        cases = [
            c for c in suite.cases(options) if not options.match or re.search(options.match, c.name)
        ]
        counts = collections.Counter()
        failures = []
        with ThreadPoolExecutor(options.jobs) as pool:
            for case, (verdict, why) in zip(cases, pool.map(lambda c: run_case(c, options), cases)):
                counts[verdict] += 1
                print(f"{verdict} - {suite.name}/{case.name}" + (f": {why}" if why else ""))
                if verdict == "not ok":
                    failures.append({"name": case.name, "why": why})
        figures[suite.name] = {
            "passed": counts["ok"],
            "failed": counts["not ok"],
            "skipped": counts["skip"],
            "failures": failures,
        }
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    failed = sum(f["failed"] for f in figures.values())
    passed = sum(f["passed"] for f in figures.values())
    skipped = sum(f["skipped"] for f in figures.values())
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
