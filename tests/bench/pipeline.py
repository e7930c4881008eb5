#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From camera to result: cost of the way between decoding and inference, and frame age.

A paced 1080p30 H.264 clip, a 256 x 256 face detector, one inference thread; beside it the same job
with OpenCV, NumPy and ONNX Runtime, in turn, medians of the rounds' ratios. Age is counted from the
moment at which a live camera would have sent the encoded picture: nobody decodes it before."""

import argparse
import json
import os
import resource
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
import story  # noqa: E402
from story import picket  # noqa: E402
import assets  # noqa: E402

TOP = story.TOP
WORK = os.path.join(TOP, "build/bench")
CLIP = os.path.join(WORK, "busy-1080p30.mp4")
LONG_CLIP = os.path.join(WORK, "busy-long.mp4")  # what cannot be looped
SECONDS_OF_CLIP, TURNS = 12, 10
SLOW_MS = 200
RATE = 30
TICKS = os.sysconf("SC_CLK_TCK")

CARD = """card: 1
name: faces
task: detect
inputs:
  - name: "input:0"
    shape: [1, 256, 256, 3]
    layout: nhwc
    color: rgb
    resize: {mode: letterbox, anchor: center, pad: [0, 0, 0]}
    normalize: {scale: 0.00784313725490196, mean: [1, 1, 1], std: [1, 1, 1]}
outputs:
OUTPUTS
decode:
  family: blazeface
  classes: 1
  score: {activation: sigmoid}
  strides: [16, 32]
  anchors_per_cell: [2, 6]
postprocess: {conf: 0.5, nms: {type: hard, iou: 0.3}, max_det: 10}
labels: [face]
"""

CONFIG = """runtime: {{chain: [cpu]}}
telemetry: {{interval: 1h}}
models:
  faces: {{artifact: "oci:{registry}:stable"}}
cameras:
{cameras}
sinks:
  results: {{kind: jsonl, path: {out}/results.jsonl, rotate: 0}}
"""
CAMERA = """  cam{i}:
    source: {{kind: file, uri: {clip}, loop: true, paced: true}}
    model: faces
    sinks: [results]
"""
# Encoded pictures come when they are due, as from a live camera.
LIVE_CAMERA = """  cam{i}:
    source:
      kind: gst
      launch: "filesrc location={clip} ! qtdemux ! h264parse ! clocksync ! avdec_h264 max-threads=1"
    max_late: {late}ms
    model: faces
    sinks: [results]
"""


def say(text):
    print(text, file=sys.stderr, flush=True)


def make_clip():
    """Moving shapes under some noise, at the rate that cameras have: 6 Mbit/s."""
    if os.path.isfile(LONG_CLIP):
        return
    os.makedirs(WORK, exist_ok=True)
    say("bench: encoding the clip, once")
    subprocess.run(
        ["ffmpeg", "-y", "-loglevel", "error", "-f", "lavfi"]
        + ["-i", f"testsrc2=size=1920x1080:rate={RATE}:duration={SECONDS_OF_CLIP}"]
        + ["-vf", "noise=alls=4:allf=t", "-c:v", "libx264", "-preset", "veryfast"]
        + ["-b:v", "6M", "-maxrate", "6M", "-bufsize", "6M", "-g", "60"]
        + ["-pix_fmt", "yuv420p", "-bf", "0", CLIP + ".part.mp4"],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    os.rename(CLIP + ".part.mp4", CLIP)
    subprocess.run(
        ["ffmpeg", "-y", "-loglevel", "error", "-stream_loop", str(TURNS - 1), "-i", CLIP]
        + ["-c", "copy", LONG_CLIP + ".part.mp4"],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    os.rename(LONG_CLIP + ".part.mp4", LONG_CLIP)


def outputs_of(model):
    """Lines of the card: scores and boxes of the two grids, told apart by their sizes."""
    python = os.path.join(TOP, "build/venv/bin/python")
    code = (
        "import onnxruntime as o,sys,json;s=o.InferenceSession(sys.argv[1]);"
        "print(json.dumps([[x.name,x.shape] for x in s.get_outputs()]))"
    )
    done = subprocess.run([python, "-c", code, model], check=True, capture_output=True, text=True)
    shapes = json.loads(done.stdout)
    order = sorted(shapes, key=lambda item: (-item[1][1], item[1][2]))  # the finer grid first
    lines = []
    for name, shape in order:
        lines.append(f'  - {{name: "{name}", role: {"scores" if shape[2] == 1 else "boxes"}}}')
    return "\n".join(lines)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        for line in f:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


def read_count(path):
    with open(path, "rb") as f:
        return struct.unpack("Q", f.read(8))[0]


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p / 100))]


class Fleet:
    """A node with cameras on the clip."""

    def __init__(self, model, card, env=None, camera=CAMERA, clip=CLIP):
        self.folder = tempfile.TemporaryDirectory(prefix="picket-bench-")
        self.node = picket.Node(self.folder.name, story.BUILD)
        self.node.bundle(model, card)
        self.camera, self.clip, self.late_ms = camera, clip, 250
        self.write(1)
        self.env = {k: v.replace("NODE", self.node.root) for k, v in (env or {}).items()}
        self.counts = "PICKET_MALLOC_COUNT" in self.env

    def write(self, n_cameras):
        values = {"clip": self.clip, "late": self.late_ms}
        cameras = [self.camera.format(i=i, **values) for i in range(n_cameras)]
        self.node.write_config(
            CONFIG.format(
                registry=self.node.path("registry"),
                out=self.node.path("out"),
                cameras="".join(cameras),
            )
        )

    def rewind(self):
        """Another config of the camera starts it anew, at the beginning of its clip."""
        self.late_ms += 1
        self.resize(1)

    def resize(self, n_cameras):
        self.write(n_cameras)
        self.node.child.send_signal(signal.SIGHUP)
        time.sleep(1)  # the figures of before are no answer
        self.node.wait_for(
            lambda s: len(s["cameras"]) == n_cameras
            and all(c["captured"] > 0 for c in s["cameras"]),
            60,
            f"{n_cameras} cameras",
        )

    def __enter__(self):
        try:
            self.node.start(env=self.env)
            self.node.wait_rung("faces", "engine", timeout=300)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        self.node.stop()
        self.folder.cleanup()

    def measure(self, seconds, warm=2):
        """Figures of a window: per result CPU of the worker, ages, losses, allocations."""
        time.sleep(warm)
        pid = self.node.status()["worker"]["pid"]
        before = {c["name"]: c for c in self.node.status()["cameras"]}
        lines = len(self.node.results())
        cpu, start, rss = cpu_seconds(pid), time.monotonic(), rss_mib(pid)
        mallocs = read_count(self.node.path("mallocs")) if self.counts else 0
        time.sleep(seconds)
        took = time.monotonic() - start
        cpu = cpu_seconds(pid) - cpu
        counted = read_count(self.node.path("mallocs")) - mallocs if self.counts else None
        after = {c["name"]: c for c in self.node.status()["cameras"]}
        results = self.node.results()[lines:]
        ages = [r["age_ms"] for r in results]

        def grown(key):
            return sum(after[name][key] - before[name][key] for name in after)

        return {
            "results": len(results),
            "captured": grown("captured"),
            "lost": grown("dropped"),
            "late": grown("late"),
            "inference_p50_ms": statistics.median(c["inference_p50_ms"] for c in after.values()),
            "fps": len(results) / took,
            "cpu_ms": 1000 * cpu / max(1, len(results)),
            "age_p50_ms": percentile(ages, 50),
            "age_p99_ms": percentile(ages, 99),
            "age_max_ms": max(ages),
            "copies": grown("copies") / max(1, grown("captured")),
            "mallocs": None if counted is None else counted / max(1, len(results)),
            "rss_mib": rss_mib(pid),
            "rss_slope_mib_per_min": (rss_mib(pid) - rss) / took * 60,
        }


def decode_ms(clip):
    """CPU of decoding alone, a frame, by the same elements without anything behind them."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        ["gst-launch-1.0", "-q", "filesrc", f"location={clip}", "!", "qtdemux", "!", "h264parse"]
        + ["!", "avdec_h264", "!", "fakesink", "sync=true"],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * used / (SECONDS_OF_CLIP * RATE)


def inference_ms(node, model):
    """CPU of the engine alone, a run."""
    engines = os.path.join(node.root, "var/lib/picket/engines")
    engine = max((os.path.join(engines, name) for name in os.listdir(engines)), key=os.path.getsize)
    done = node.ctl("engine", "bench", "--json", engine)
    figures = json.loads(done.stdout)
    return figures["p50_ms"] if "p50_ms" in figures else figures["median_ms"]


def usual(model, seconds, live=False):
    python = os.path.join(TOP, "build/bench-venv/bin/python")
    # One decoding thread is what a live stream is best served with: more add age.
    env = {"OPENCV_FFMPEG_CAPTURE_OPTIONS": "threads;1"} if live else {}
    done = subprocess.run(
        [python, os.path.join(HERE, "usual_pipeline.py"), CLIP, model, str(seconds)]
        + (["live"] if live else []),
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    return json.loads(done.stdout.splitlines()[-1])


def preload(name):
    path = os.path.join(WORK, name + ".so")
    source = os.path.join(HERE, name + ".c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", path, source, "-ldl"], check=True)
    return path


def measure_slow(model, card, seconds):
    """Every inference takes SLOW_MS longer: what is late is dropped, and nothing piles up."""
    env = {"LD_PRELOAD": preload("slow_inference"), "PICKET_SLOW_MS": str(SLOW_MS)}
    with Fleet(model, card, env=env) as fleet:
        figures = fleet.measure(max(seconds, 20), warm=15)  # figures are over the last 10 s
    inference = figures["inference_p50_ms"]
    assert inference >= SLOW_MS, f"inference was not slowed: {inference} ms"
    possible = 1000 / inference
    return {
        "inference_p50_ms": inference,
        "age_p99_ms": figures["age_p99_ms"],
        "age_max_ms": figures["age_max_ms"],
        "age_max_inferences": figures["age_max_ms"] / inference,
        "results": figures["results"],
        "results_of_possible": figures["fps"] / possible,
        "captured": figures["captured"],
        "dropped": figures["lost"],
        "rss_slope": figures["rss_slope_mib_per_min"],
    }


def measure_live(model, card, options):
    """Ages beside the usual way, both fed as by a live camera."""
    ours, theirs = [], []
    with Fleet(model, card, camera=LIVE_CAMERA, clip=LONG_CLIP) as fleet:
        for _ in range(options.rounds):
            fleet.rewind()
            ours.append(fleet.measure(options.seconds))
            theirs.append(usual(model, options.seconds, live=True))
    return ours, theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    subprocess.run([os.path.join(TOP, "scripts/setup"), "--quiet", "bench"], check=True)
    make_clip()
    model = assets.asset("blazeface_back.onnx")
    with tempfile.TemporaryDirectory(prefix="picket-bench-") as folder:
        card = os.path.join(folder, "card.yaml")
        with open(card, "w", encoding="utf-8") as f:
            f.write(CARD.replace("OUTPUTS", outputs_of(model)))
        report = run(options, model, card)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=2)
            f.write("\n")
    show(report)


def run(options, model, card):
    ours, theirs, rows = [], [], []
    count = {"LD_PRELOAD": preload("count_mallocs"), "PICKET_MALLOC_COUNT": "NODE/mallocs"}
    inference = None
    for i in range(options.rounds):
        say(f"bench: round {i + 1} of {options.rounds}")
        with Fleet(model, card) as fleet:
            ours.append(fleet.measure(options.seconds))
            inference = inference or inference_ms(fleet.node, model)
        ours[-1]["decode_ms"] = decode_ms(CLIP)
        theirs.append(usual(model, options.seconds))
    say("bench: ages, live")
    live, usual_live = measure_live(model, card, options)
    say("bench: slow inference")
    slow = measure_slow(model, card, options.seconds)
    with Fleet(model, card, env=count) as fleet:
        counted = fleet.measure(options.seconds)
    with Fleet(model, card) as fleet:
        for n in (1, 2, 4, 8):
            say(f"bench: {n} cameras")
            fleet.resize(n)
            rows.append({"cameras": n, **fleet.measure(options.seconds)})
    median = statistics.median

    def ratio(key, a=ours, b=theirs):
        return median(x[key] / y[key] for x, y in zip(a, b))

    four = next(row for row in rows if row["cameras"] == 4)
    return {
        "decode_ms": median(o["decode_ms"] for o in ours),
        "inference_ms": inference,
        "total_ms": median(o["cpu_ms"] for o in ours),
        "usual_total_ms": median(t["cpu_ms"] for t in theirs),
        "overhead_ms_per_frame": median(o["cpu_ms"] - o["decode_ms"] for o in ours) - inference,
        "mallocs_per_frame": counted["mallocs"],
        "copies_per_frame": median(o["copies"] for o in ours),
        "cpu_ratio": ratio("cpu_ms"),
        "age_p50_ms": median(o["age_p50_ms"] for o in live),
        "age_p99_ms": median(o["age_p99_ms"] for o in live),
        "usual_age_p50_ms": median(t["age_p50_ms"] for t in usual_live),
        "usual_age_p99_ms": median(t["age_p99_ms"] for t in usual_live),
        "age_p50_ratio": ratio("age_p50_ms", live, usual_live),
        "age_p99_ratio": ratio("age_p99_ms", live, usual_live),
        "slow": slow,
        "four_cameras": {"lost": four["lost"], "age_p99_ms": four["age_p99_ms"]},
        "rows": rows,
    }


def show(report):
    for key, value in report.items():
        if key == "rows":
            continue
        print(f"{key:24} {value:.3f}" if isinstance(value, float) else f"{key:24} {value}")
    heads = (("cameras", 8), ("fps", 7), ("lost", 6), ("late", 6), ("age p50", 8), ("age p99", 8))
    print(" ".join(f"{name:>{width}}" for name, width in (*heads, ("RSS MiB", 8))))
    for row in report["rows"]:
        print(
            f"{row['cameras']:8} {row['fps']:7.1f} {row['lost']:6} {row['late']:6}"
            f" {row['age_p50_ms']:8.1f} {row['age_p99_ms']:8.1f} {row['rss_mib']:8.1f}"
        )


main()
