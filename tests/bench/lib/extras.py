# SPDX-License-Identifier: Apache-2.0
"""The cpu bench's other figures: memory, load, build, layers, preprocessing, a stolen core."""

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

import contenders
import entrants

TOP = entrants.TOP
SUBJECT = "yolov8n"
LAYER_MODELS = ("yolov8n", "resnet50")
GST_FRAMES = 200
# The archives under the build folder that a C program of the bench needs, and what they need.
ARCHIVES = ("engine/libpicket-engine.a", "base/libpicket-base.a")
LIBRARIES = ("libsystemd", "jansson", "openssl")


def compile_tool(source, options, work, archives=()):
    out = os.path.join(work, os.path.basename(source).removesuffix(".c"))
    flags = []
    if archives:
        done = subprocess.run(
            ["pkg-config", "--cflags", "--libs", *LIBRARIES], capture_output=True, text=True
        )
        flags = done.stdout.split()
    subprocess.run(
        ["cc", "-O2", "-D_GNU_SOURCE", f"-I{TOP}", "-ffp-contract=fast", "-o", out]
        + [os.path.join(TOP, "tests/bench", source)]
        + [os.path.join(options.build, a) for a in archives]
        + [*flags, "-lm", "-ldl", "-lpthread"],
        check=True,
    )
    return out


def memory(subject, engine, options, folder):
    """Peak of a process that runs the engine, of one that runs the peer, and of a bare one."""
    # Through a small process: a child's peak counts what it was before it became another program.
    peak = os.path.join(folder, "peak")
    command = [sys.executable, "-S", os.path.join(TOP, "tests/onnx/peak_memory.py"), peak]
    command += [options.picketctl, "engine", "bench", "--json", "--seconds", "0.5", engine]
    contenders.command_output(command)
    with open(peak, encoding="utf-8") as f:
        ours = int(f.read()) / 1024
    peer = contenders.Peer("onnxruntime", subject, 1, folder)
    peer.slot(0.5)
    theirs = peer.ask({"memory": 1})
    peer.close()
    net = theirs["peak_kib"] - theirs["bare_kib"]
    return {
        "rss_mib": ours / 1024,
        "rss_ort_mib": net / 1024,
        "rss_ratio": ours / net,
    }


def load(subject, engine, options, folder):
    """From the file in the page cache to ready to run, CPU time; again and again, in turn."""
    ours = contenders.Ours(options.picketctl, engine, 1)
    peer = contenders.Peer("onnxruntime", subject, 1, folder)
    ratios, pairs = [], []
    try:
        for _ in range(max(options.rounds, 5)):
            ours.load_ms = float("inf")
            ours.slot(0.01)
            theirs = peer.ask({"reload": 1})["load_ms"]
            ratios.append(theirs / ours.load_ms)
            pairs.append((ours.load_ms, theirs))
    finally:
        peer.close()
    return {
        "load_ms": statistics.median(p[0] for p in pairs),
        "load_ort_ms": statistics.median(p[1] for p in pairs),
        "load_ratio": statistics.median(ratios),
    }


def builds(subject, options):
    with tempfile.TemporaryDirectory(prefix="picket-bench-") as folder:
        cold, warm = entrants.build_twice(subject, options.picketctl, folder)
    return {
        "build_cold_ms": cold["wall_ms"],
        "build_warm_ms": warm["wall_ms"],
        "build_warm_ratio": cold["wall_ms"] / warm["wall_ms"],
        "second_start_measures": warm["n_measured"],
    }


WINDOW = re.compile(
    r"conv\(f32\[[\d,]+\](?:/c\d+)?,=?f32\[(\d+),(\d+),(\d+),(\d+)\]"
)  # operands may be blocked


def layer_rows(name, engine, options, peak):
    """Dense 1 x 1 and 3 x 3 convolutions, best of 20 runs each."""
    text = contenders.command_output([options.picketctl, "engine", "profile", "--json", engine])
    rows = []
    for layer in json.loads(text)["layers"]:
        found = WINDOW.match(layer["what"])
        if not found or found.group(3) not in "13" or int(found.group(2)) < 4:
            continue
        rows.append(
            {
                "model": name,
                "layer": layer["name"],
                "window": f"{found.group(3)}x{found.group(4)}",
                "kernel": layer["kernel"],
                "gflops": layer["gflops"],
                "peak_share": layer["gflops"] / peak,
            }
        )
    return rows


def layers(options, work):
    peak = float(contenders.command_output([compile_tool("fma_peak.c", options, work)]))
    rows = []
    for name in LAYER_MODELS:
        found = entrants.fetch([m for m in entrants.TABLE if m.name == name], work, {})
        for model in found:
            engine = entrants.build(model, options.picketctl, work)
            rows += layer_rows(name, engine, options, peak)
    direct = [r["peak_share"] for r in rows if "wino" not in r["kernel"]]
    return {
        "fma_peak_gflops": peak,
        "layers": rows,
        "direct_peak_share": statistics.median(direct) if direct else None,
    }


def gst_cpu_s(elements):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        ["gst-launch-1.0", "-q", *elements], check=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def gst_ms():
    """CPU a frame of GStreamer's converter from 1080p NV12 to 640 x 640 RGB with borders."""
    source = ["videotestsrc", "pattern=black", f"num-buffers={GST_FRAMES}", "!"]
    source += ["video/x-raw,format=NV12,width=1920,height=1080,colorimetry=bt709", "!"]
    convert = ["videoconvertscale", "add-borders=true", "n-threads=1", "method=bilinear", "!"]
    convert += ["video/x-raw,format=RGB,width=640,height=640,pixel-aspect-ratio=1/1", "!"]
    with_it = min(gst_cpu_s(source + convert + ["fakesink"]) for _ in range(3))
    without = min(gst_cpu_s(source + ["fakesink"]) for _ in range(3))
    return 1000 * (with_it - without) / GST_FRAMES


def preprocess(options, work):
    tool = compile_tool("preprocess_clock.c", options, work, ARCHIVES)
    rows = json.loads(contenders.command_output([tool]))
    theirs = gst_ms()
    return {
        "preprocess": rows,
        "preprocess_ms": rows["nv12"],
        "preprocess_gst_ms": theirs,
        "preprocess_ratio": theirs / rows["nv12"],
    }


def stolen_core(subject, engine, options, folder):
    """Two threads while a busy sibling holds one core: how much slower each becomes."""
    ours = contenders.Ours(options.picketctl, engine, 2)
    peer = contenders.Peer("onnxruntime", subject, 2, folder)
    both = [ours, peer]
    try:
        free = contenders.round_robin(both, 3, options.seconds)
        with contenders.BusyCore():
            taken = contenders.round_robin(both, 3, options.seconds)
    finally:
        peer.close()
    slower = {
        c.name: statistics.median(r[c.name] for r in taken)
        / statistics.median(r[c.name] for r in free)
        for c in both
    }
    return {
        "stolen_core_slowdown": slower["picket"],
        "stolen_core_slowdown_ort": slower["onnxruntime"],
        "stolen_core_ratio": statistics.median(r["onnxruntime"] / r["picket"] for r in taken),
    }


def measure(options, work, notes, say):
    subject = next(m for m in entrants.TABLE if m.name == SUBJECT)
    entrants.fetch([subject], work, notes)
    engine = entrants.build(subject, options.picketctl, work)
    found = {}
    with tempfile.TemporaryDirectory(prefix="picket-bench-") as folder:
        steps = {
            "memory": lambda: memory(subject, engine, options, folder),
            "load": lambda: load(subject, engine, options, folder),
            "build": lambda: builds(subject, options),
            "layers": lambda: layers(options, work),
            "preprocessing": lambda: preprocess(options, work),
            "a stolen core": lambda: stolen_core(subject, engine, options, folder),
        }
        for i, (name, step) in enumerate(steps.items()):
            say(f"bench: {name} ({i + 1} of {len(steps)} more)")
            try:
                found.update(step())
            except (contenders.Failed, subprocess.CalledProcessError, OSError) as why:
                notes.setdefault("not measured", {})[name] = str(why)
    return found
