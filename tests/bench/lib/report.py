# SPDX-License-Identifier: Apache-2.0
"""The cpu bench's figures as text: lines while it runs, and the tables of docs/PERFORMANCE.md."""

import os
import platform
import statistics
import time

BEGIN = "<!-- scripts/bench cpu: begin -->"
END = "<!-- scripts/bench cpu: end -->"
HEADING = "## The cpu runtime beside others"
SHORT = {"onnxruntime": "ort", "openvino": "openvino", "ncnn": "ncnn", "mnn": "mnn"}

# (figure, what it is, bar, least or most)
BARS = (
    ("geomean_1t", "geometric mean of ORT time / ours, fp32, 1 thread", 1.30, "least"),
    ("geomean_2t", "the same, 2 threads", 1.20, "least"),
    ("worst_1t", "worst single model, 1 thread", 1.0, "least"),
    ("worst_2t", "worst single model, 2 threads", 0.97, "least"),
    ("yolov8n_1t", "YOLOv8n 640, fp32, 1 thread", 1.40, "least"),
    ("geomean_best_other_1t", "against the best of the other peers a model, 1 thread", 1.10,
     "least"),
    ("resnet50_qdq_1t", "ResNet-50 INT8 (QDQ), 1 thread", 1.1, "least"),
    ("yolov8n_qdq_1t", "YOLOv8n INT8 (QDQ), 1 thread", 1.1, "least"),
    ("direct_peak_share", "median share of the FMA peak, 1 x 1 and direct 3 x 3 layers", 0.85,
     "least"),
    ("preprocess_ms", "1080p NV12 to 640 x 640, 1 thread, ms", 1.5, "most"),
    ("preprocess_ratio", "GStreamer's videoconvertscale / ours, CPU", 3, "least"),
    ("rss_ratio", "peak memory beside ORT, YOLOv8n", 0.6, "most"),
    ("load_ratio", "ORT session creation / engine load, YOLOv8n", 20, "least"),
    ("build_warm_ratio", "cold / warm build, YOLOv8n, gate included", 5, "least"),
    ("second_start_measures", "tactics that the second build measures", 0, "most"),
)  # fmt: skip


def machine():
    model = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith(("model name", "CPU part")):
                model = line.split(":", 1)[1].strip()
                break
    load = os.getloadavg()[0]
    return {
        "core": model,
        "n_cores": len(os.sched_getaffinity(0)),
        "arch": platform.machine(),
        "load_at_end": round(load, 1),
        "date": time.strftime("%Y-%m-%d"),
    }


def one_line(row):
    parts = [f"{row['threads']} thr", f"ours {row['ours_ms']:.2f} ms"]
    for name, short in SHORT.items():
        if short + "_ms" in row:
            ratio = row["ratio" if name == "onnxruntime" else "ratio_" + name]
            parts.append(f"{short} {row[short + '_ms']:.2f} ({ratio:.2f}x)")
    return ", ".join(parts)


def cell(value, form=".2f"):
    return "–" if value is None else format(value, form)


def bars_table(figures):
    lines = ["| figure | measured | bar |", "|---|---|---|"]
    for key, what, bar, kind in BARS:
        value = figures.get(key)
        if value is None:
            continue
        met = value >= bar if kind == "least" else value <= bar
        sign = "≥" if kind == "least" else "≤"
        wanted = f"{sign} {bar}" if met else f"**{sign} {bar}: missed**"
        lines.append(f"| {what} | {cell(value)} | {wanted} |")
    return lines


def models_table(figures):
    head = "| model | threads | ours, ms | ORT | OpenVINO | ncnn | MNN |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for row in figures["models"]:
        ratios = [row.get("ratio")] + [row.get("ratio_" + p) for p in ("openvino", "ncnn", "mnn")]
        cells = " | ".join(cell(r) for r in ratios)
        lines.append(f"| {row['name']} | {row['threads']} | {row['ours_ms']:.2f} | {cells} |")
    return lines


def layers_table(figures):
    """One row for the layers of a model that one kernel runs; each layer's own is in the JSON."""
    kinds = {}
    for row in figures.get("layers", []):
        kinds.setdefault((row["model"], row["window"], row["kernel"]), []).append(row)
    lines = []
    if kinds:
        lines = [
            f"Share of the measured FMA peak ({figures['fma_peak_gflops']:.0f} GFLOP/s a core); "
            "Winograd counts the arithmetic of the plain form. Each layer: `--json`.",
            "",
            "| model | window | kernel | layers | GFLOP/s, median | share: least, median, most |",
            "|---|---|---|---|---|---|",
        ]
    for (model, window, kernel), rows in kinds.items():
        shares = [100 * row["peak_share"] for row in rows]
        spread = f"{min(shares):.0f}, {statistics.median(shares):.0f}, {max(shares):.0f} %"
        speed = statistics.median(row["gflops"] for row in rows)
        lines.append(f"| {model} | {window} | {kernel} | {len(rows)} | {speed:.0f} | {spread} |")
    return lines


def details(figures):
    lines = []
    if "preprocess" in figures:
        per_format = ", ".join(f"{k} {v:.2f}" for k, v in figures["preprocess"].items())
        lines.append(
            f"- 1080p to 640 x 640 letterboxed floats, 1 thread, ms: {per_format}. GStreamer's "
            f"converter to bytes: {figures['preprocess_gst_ms']:.2f} (CPU a frame)."
        )
    if "rss_mib" in figures:
        lines.append(
            f"- Memory, YOLOv8n: {figures['rss_mib']:.0f} MiB beside {figures['rss_ort_mib']:.0f} "
            "MiB of ORT (Python and NumPy subtracted)."
        )
    if "load_ms" in figures:
        lines.append(
            f"- Load, YOLOv8n, CPU time: {figures['load_ms']:.1f} ms beside "
            f"{figures['load_ort_ms']:.0f} ms."
        )
    if "build_cold_ms" in figures:
        lines.append(
            f"- Build, YOLOv8n: {figures['build_cold_ms'] / 1000:.1f} s cold, "
            f"{figures['build_warm_ms'] / 1000:.1f} s with a full timing cache."
        )
    if "stolen_core_slowdown" in figures:
        lines.append(
            f"- Two threads while a busy sibling holds one of the cores: "
            f"{figures['stolen_core_slowdown']:.2f} times as long (ORT "
            f"{figures['stolen_core_slowdown_ort']:.2f}); ORT's time / ours then: "
            f"{figures['stolen_core_ratio']:.2f}."
        )
    for who, models in figures.get("notes", {}).items():
        for name, why in models.items():
            lines.append(f"- {who}, {name}: {' '.join(why.split())[:160]}")
    return lines


def markdown(figures):
    m = figures["machine"]
    lines = [
        f"`scripts/bench cpu`, {m['date']}: {m['core']}, {m['n_cores']} cores, {m['arch']}, load "
        f"{m['load_at_end']} beside it. Round robin, {figures['rounds']} rounds, best of a slot of "
        "each round, medians of the rounds' ratios (peer's time / ours: above 1 we are faster); "
        "denormals flushed on both sides, each process stopped outside its slots. One thread: CPU "
        "time of a run; two: wall clock, so a busy machine shows. Our engines are of opt "
        "level 2. ORT is the "
        "newest onnxruntime of PyPI with all its optimisations.",
        "",
    ]
    n, n_all = figures["n_entrants"]
    if n < n_all:
        lines += [f"**Part of a run: {n} of {n_all} models.**", ""]
    lines += bars_table(figures) + [""] + details(figures) + [""] + models_table(figures)
    layers = layers_table(figures)
    return "\n".join(lines + ([""] + layers if layers else []))


def write(path, text):
    """Between the markers; they are put at the end the first time."""
    with open(path, encoding="utf-8") as f:
        content = f.read()
    if BEGIN not in content:
        content = content.rstrip("\n") + f"\n\n{HEADING}\n\n{BEGIN}\n{END}\n"
    before, rest = content.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    with open(path + ".part", "w", encoding="utf-8") as f:
        f.write(f"{before}{BEGIN}\n{text}\n{END}{after}")
    os.replace(path + ".part", path)
