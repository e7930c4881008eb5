#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cpu runtime beside ONNX Runtime, OpenVINO, ncnn and MNN on the zoo and on real models.

Round robin, best of a slot per round, medians of the rounds' ratios; every process stands still
outside its slots. `--models yolov8n --rounds 5 --peers onnxruntime --threads 1` is the short way
to one figure. A whole run writes its tables into docs/PERFORMANCE.md."""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(TOP, "build/bench-venv")


def enter_venv():
    """The peers live in build/bench-venv; this file runs there from its first import on."""
    if os.path.realpath(sys.prefix) == os.path.realpath(VENV):
        return
    subprocess.run([os.path.join(TOP, "scripts/setup"), "--quiet", "bench"], check=True)
    os.execv(os.path.join(VENV, "bin/python"), [os.path.join(VENV, "bin/python"), *sys.argv])


enter_venv()
sys.path[:0] = [os.path.join(TOP, path) for path in ("tests/bench/lib", "tests/zoo", "scripts/lib")]
import contenders  # noqa: E402
import entrants  # noqa: E402
import extras  # noqa: E402
import report  # noqa: E402

PEERS = ("onnxruntime", "openvino", "ncnn", "mnn")
QUICK = r"^(yolov8n|resnet50|mobilenet_v2|squeezenet1_1|demo parts)$"


def say(text):
    print(text, file=sys.stderr, flush=True)


def geomean(values):
    return statistics.geometric_mean(values) if values else None


def one_row(model, engine, threads, options, folder, notes):
    """A model at a number of threads: median times, and ratios round by round."""
    ours = contenders.Ours(options.picketctl, engine, threads)
    peers = contenders.open_peers(model, options.peers, threads, folder, notes)
    try:
        rounds = contenders.round_robin([ours, *peers], options.rounds, options.seconds)
    finally:
        for peer in peers:
            peer.close()
    row = {"name": model.name, "precision": model.precision, "threads": threads}
    row["ours_ms"] = statistics.median(r["picket"] for r in rounds)
    for peer in peers:
        times = [r[peer.name] for r in rounds]
        row[report.SHORT[peer.name] + "_ms"] = statistics.median(times)
        row["ratio" if peer.name == "onnxruntime" else "ratio_" + peer.name] = statistics.median(
            r[peer.name] / r["picket"] for r in rounds
        )
    others = [p.name for p in peers if p.name != "onnxruntime"]
    if others:
        row["ratio_best_other"] = statistics.median(
            min(r[name] for name in others) / r["picket"] for r in rounds
        )
    return row


def run_models(models, options, work, notes):
    rows, start = [], time.monotonic()
    for i, model in enumerate(models):
        left = ""
        if i:
            left = f", {(time.monotonic() - start) / i * (len(models) - i) / 60:.0f} min left"
        say(f"bench: {model.name} ({i + 1} of {len(models)}{left})")
        try:
            engine = entrants.build(model, options.picketctl, work)
        except contenders.Failed as why:
            notes.setdefault("picket", {})[model.name] = str(why)
            continue
        with tempfile.TemporaryDirectory(prefix="picket-bench-") as folder:
            for threads in options.threads:
                try:
                    row = one_row(model, engine, threads, options, folder, notes)
                except contenders.Failed as why:
                    notes.setdefault(f"{threads} threads", {})[model.name] = str(why)
                    continue
                rows.append(row)
                say(f"bench:   {report.one_line(row)}")
    return rows


def summary(rows):
    """The figures with bars that follow from the rows."""
    found = {}
    for threads in (1, 2):
        ratios = [
            r["ratio"]
            for r in rows
            if r["threads"] == threads and r["precision"] == "fp32" and "ratio" in r
        ]
        found[f"geomean_{threads}t"] = geomean(ratios)
        found[f"worst_{threads}t"] = min(ratios, default=None)
    first = [r for r in rows if r["threads"] == 1]
    found["geomean_best_other_1t"] = geomean(
        [
            r["ratio_best_other"]
            for r in first
            if "ratio_best_other" in r and r["precision"] == "fp32"
        ]
    )
    for name in ("yolov8n", "yolov8n_qdq", "resnet50_qdq"):
        found[f"{name}_1t"] = next((r.get("ratio") for r in first if r["name"] == name), None)
    return found


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--quick", action="store_true", help="few models, few rounds, no docs")
    parser.add_argument("--models", metavar="REGEX", help="only models with such a name")
    parser.add_argument("--peers", default=",".join(PEERS), help="some of " + ",".join(PEERS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, help="default: 9, with --quick 3")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each slot")
    parser.add_argument("--extras", action="store_true", help="also with --models all else")
    parser.add_argument("--write-docs", action="store_true", help="although not all models ran")
    options = parser.parse_args()
    build = os.environ.get("PICKET_BUILD", os.path.join(TOP, "build/release"))
    options.picketctl = os.path.join(build, "cli/picketctl")
    options.build = build
    options.rounds = options.rounds or (3 if options.quick else 9)
    options.peers = [p for p in options.peers.split(",") if p]
    options.threads = [int(n) for n in options.threads.split(",")]
    is_whole = not (options.quick or options.models)
    options.write_docs = options.write_docs or is_whole
    options.extras = options.extras or not options.models
    options.pattern = options.models or (QUICK if options.quick else "")
    unknown = set(options.peers) - set(PEERS)
    if unknown:
        parser.error(f"unknown peers: {', '.join(sorted(unknown))}")
    return options


def main():
    options = parse_args()
    work = os.path.join(TOP, "build/bench/cpu")
    os.makedirs(work, exist_ok=True)
    notes = {}
    wanted = [m for m in entrants.TABLE if re.search(options.pattern, m.name)]
    if not wanted:
        sys.exit(f"bench: no model matches {options.pattern}")
    models = entrants.fetch(wanted, work, notes)
    figures = {"machine": report.machine(), "rounds": options.rounds, "notes": notes}
    figures["n_entrants"] = [len(models), len(entrants.TABLE)]
    figures["models"] = run_models(models, options, work, notes)
    figures.update(summary(figures["models"]))
    if options.extras:
        figures.update(extras.measure(options, work, notes, say))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(figures, f, indent=1)
            f.write("\n")
    text = report.markdown(figures)
    print(text)
    if options.write_docs:
        report.write(os.path.join(TOP, "docs/PERFORMANCE.md"), text)
    return 0


sys.exit(main())
