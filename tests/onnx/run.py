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
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime as ort

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import node_tests  # noqa: E402
import single_op  # noqa: E402
import zoo_suite  # noqa: E402
from case import Case, Suite, cut, difference, error_of_range  # noqa: E402

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
        Suite("zoo", zoo_suite.cases, zoo_suite.figures),
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


def complaint(done: subprocess.CompletedProcess):
    """What a finished picketctl had to say; None when all went well."""
    if done.returncode < 0:
        return f"died of signal {-done.returncode}"
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit {done.returncode}"
    return None


def build_engine(case: Case, path: Path, folder: Path, options):
    """(engine file, None) or (None, error text); case.measured gets the report."""
    engine, peak = folder / "model.engine", folder / "peak"
    command = [sys.executable, "-S", str(HERE / "peak_memory.py"), str(peak), options.picketctl]
    command += ["engine", "build", str(path), "--json", "--out", str(engine), *case.build]
    try:
        done = subprocess.run(command, capture_output=True, timeout=ENGINE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None, f"not built within {ENGINE_TIMEOUT_S} s"
    error = complaint(done)
    if error:
        return None, error
    mib = int(peak.read_text()) / 2**20
    case.measured["build"] = {**json.loads(done.stdout), "peak_rss_mib": round(mib, 1)}
    if case.max_build_mib and mib > case.max_build_mib:
        return None, f"the build took {mib:.0f} MiB of memory, allowed {case.max_build_mib:g}"
    return engine, None


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
        if dims:  # a scalar has nothing to bind
            command += ["--shape", f"{name}={'x'.join(map(str, dims))}"]
    command += ["--output-dir", str(out)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=ENGINE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no answer within {ENGINE_TIMEOUT_S} s"
    error = complaint(done)
    if error:
        return None, error
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
    if case.check is not None:
        why = case.check(options, folder)
        return ("not ok", why) if why else ("ok", "")
    engine = path
    if case.build is not None:
        engine, error = build_engine(case, path, folder, options)
        if error is not None:
            return "not ok", error
    got, error = run_engine(case, engine, folder, options)
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
        wanted = wanted() if callable(wanted) else wanted
    except Exception as e:  # noqa: BLE001: whatever ONNX Runtime throws, it is no oracle here
        return "skip", f"ONNX Runtime: {str(e).splitlines()[0][:200]}"
    return compare(case, got, wanted)


def compare(case: Case, got: dict, wanted: dict) -> tuple:
    """(verdict, why); case.measured gets the worst error."""
    for name, want in wanted.items():
        stem, want = name.replace("/", "_"), np.asarray(want)
        if stem not in got:
            return "not ok", f"output `{name}` is missing"
        for part, want_part in zip(cut(got[stem], case.parts), cut(want, case.parts)):
            why = difference(part, want_part, case.tolerance)
            if why:
                return "not ok", f"output `{name}`: {why}"
            if case.build is not None and want.dtype.kind == "f":
                worst = error_of_range(part, want_part)
                case.measured["max_rel_err"] = max(worst, case.measured.get("max_rel_err", 0))
    return "ok", ""


def run_case(case: Case, options) -> tuple:
    with tempfile.TemporaryDirectory(prefix="picket-onnx-") as folder:
        return judge(case, Path(folder), options)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    build = os.environ.get("PICKET_BUILD", "build/gcc")
    parser.add_argument("--picketctl", default=os.path.join(build, "cli/picketctl"))
    parser.add_argument(
        "--long",
        action="store_true",
        default=bool(os.environ.get("PICKET_LONG")),
        help="more shapes, more models",
    )
    parser.add_argument("--suite", action="append", help="only these suites")
    parser.add_argument("--match", help="only cases whose name has this regular expression")
    parser.add_argument("--node-tests", help="folder of ONNX backend tests (…/data)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--json",
        default=os.environ.get("PICKET_FIGURES"),
        help="write {suite: {passed, failed, skipped, failures}} here",
    )
    return parser.parse_args()


def main() -> int:
    options = parse_args()
    figures = {}
    totals = collections.Counter()
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
                line = f"{verdict} - {suite.name}/{case.name}" + (f": {why}" if why else "")
                print(line, flush=True)
                if verdict == "not ok":
                    failures.append({"name": case.name, "why": why})
        totals.update(counts)
        if suite.figures is not None:
            figures.update(suite.figures(cases))
            continue
        figures[suite.name] = {
            "passed": counts["ok"],
            "failed": counts["not ok"],
            "skipped": counts["skip"],
            "failures": failures,
        }
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(f"{totals['ok']} passed, {totals['not ok']} failed, {totals['skip']} skipped")
    return 1 if totals["not ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
