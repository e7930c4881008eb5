#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs models through Picket's engine and ONNX Runtime and compares the outputs.

Prints one line per case (`ok - name`, `ok - name: refused: why`, `not ok - name: why`,
`skip - name: why`); exits 1 when one is not ok. --picketctl may be any program that takes the
arguments of `picketctl engine run`. Figures go to --json and, in short, to $PICKET_FIGURES.
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

sys.path.insert(0, str(Path(__file__).resolve().parent))
import index_op  # noqa: E402
import issues  # noqa: E402
import node_tests  # noqa: E402
import single_op  # noqa: E402
from case import Case, Suite, difference  # noqa: E402

TOP = Path(__file__).resolve().parents[2]
ENGINE_TIMEOUT_S = 300
# What the importer says of models that are right but outside of what it takes, and where.
REFUSED = (
    r"(node|input|output|initialiser|constant) `.*("
    r"not supported|computed at run time|does not compute|must be (one )?constant|"
    r"is not a tensor|has no shape|does not say which opset|export the model for inference)|"
    r"is newer"
)


def suites():
    table = [
        Suite("single-op", single_op.cases),
        Suite("index-op", index_op.cases),
        Suite("issues", issues.cases),
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
        return ("refused", error) if refused else ("not ok", error)
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


def default_picketctl():
    build = os.environ.get("PICKET_BUILD")
    return os.path.join(build, "cli/picketctl") if build else None


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picketctl", default=default_picketctl())
    parser.add_argument("--long", action="store_true", help="more shapes, more models")
    parser.add_argument("--suite", action="append", help="only these suites")
    parser.add_argument("--match", help="only cases whose name has this regular expression")
    parser.add_argument("--node-tests", help="folder of ONNX backend tests (…/data)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", help="write figures and the verdict of every case here")
    options = parser.parse_args()
    options.long = options.long or bool(os.environ.get("PICKET_LONG"))
    fetched = TOP / "build/assets/onnx-testdata"
    if not options.node_tests and fetched.is_dir():
        options.node_tests = str(fetched)
    if not options.picketctl:
        parser.error("--picketctl or PICKET_BUILD is needed")
    return options


class Tally:
    """Counts of a suite, and of the groups its cases name."""

    def __init__(self):
        self.counts = collections.Counter()
        self.groups = {}
        self.failures = []
        self.verdicts = {}

    def take(self, case, verdict, why):
        self.counts[verdict] += 1
        self.verdicts[case.name] = verdict
        if case.group and verdict != "skip":
            self.groups.setdefault(case.group, collections.Counter())[verdict] += 1
        if verdict == "not ok":
            self.failures.append({"name": case.name, "why": why})

    @staticmethod
    def named(counts):
        return {
            "passed": counts["ok"],
            "refused": counts["refused"],
            "failed": counts["not ok"],
        }

    def figures(self):
        return {
            **self.named(self.counts),
            "skipped": self.counts["skip"],
            "failures": self.failures,
            "verdicts": self.verdicts,
        }


def report(suite, case, verdict, why):
    if verdict == "refused":
        verdict, why = "ok", f"refused: {why}"
    print(f"{verdict} - {suite.name}/{case.name}" + (f": {why}" if why else ""), flush=True)


def run_suite(suite, options):
    tally = Tally()
    cases = [
        c for c in suite.cases(options) if not options.match or re.search(options.match, c.name)
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        for case, (verdict, why) in zip(cases, pool.map(lambda c: run_case(c, options), cases)):
            tally.take(case, verdict, why)
            report(suite, case, verdict, why)
    return tally


def write_json(path, value):
    if path:
        Path(path).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    options = parse_args()
    chosen = [s for s in suites() if not options.suite or s.name in options.suite]
    tallies = {s.name: run_suite(s, options) for s in chosen}
    groups = {g: Tally.named(c) for t in tallies.values() for g, c in t.groups.items()}
    write_json(options.json, {**{n: t.figures() for n, t in tallies.items()}, **groups})
    write_json(os.environ.get("PICKET_FIGURES"), groups)
    total = sum((t.counts for t in tallies.values()), collections.Counter())
    for name, counts in groups.items():
        print(f"{name}: " + ", ".join(f"{n} {word}" for word, n in counts.items()))
    print(
        f"{total['ok']} passed, {total['refused']} refused, {total['not ok']} failed, "
        f"{total['skip']} skipped"
    )
    return 1 if total["not ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
