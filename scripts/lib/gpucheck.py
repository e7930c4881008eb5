# SPDX-License-Identifier: Apache-2.0
"""What scripts/gpu-check measures."""

import ctypes
import glob
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIP_STATUS = 77
BENCH_S = 1
WAYS_S = 30
BATCHES = (1, 8)
# CUdevice_attribute of the CUDA Driver API.
ATTRIBUTES = {
    "clock_khz": 13,
    "sms": 16,
    "integrated": 18,
    "memory_clock_khz": 36,
    "bus_bits": 37,
    "major": 75,
    "minor": 76,
}
# Dense fp16 multiply-adds of tensor cores per SM and clock, by compute capability: white papers of
# the architectures. An unknown one has no floor of arithmetic.
FP16_MACS = {"7.5": 512, "8.0": 1024, "8.6": 512, "8.7": 1024, "8.9": 512, "9.0": 2048}
# Inputs that files of the zoo leave open: name=value at batch 1; N is the batch.
OPEN_INPUTS = {
    "mobilenet_v2": "batch_size=N",
    "yolov5n": "batch=N",
    "detr": "pixel_values=Nx3x224x224",
    "vit": "pixel_values=Nx3x224x224",
}
# The same architectures in torchvision, for the peer rows.
PEERS = {
    "resnet50": "resnet50",
    "mobilenet_v2": "mobilenet_v2",
    "mobilenet_v3_large": "mobilenet_v3_large",
    "squeezenet1_1": "squeezenet1_1",
    "efficientnet_b0": "efficientnet_b0",
    "densenet121": "densenet121",
    "vgg19": "vgg19",
}
PEER_PROGRAM = """
import json, sys, time
import torch, torchvision
name, size, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
model = getattr(torchvision.models, name)(weights=None).eval().cuda().half()
model = model.to(memory_format=torch.channels_last)
x = torch.rand(batch, 3, size, size, device="cuda", dtype=torch.half)
x = x.to(memory_format=torch.channels_last)
def measure(run):
    for _ in range(10):
        run(x)
    torch.cuda.synchronize()
    times = []
    for _ in range(50):
        start = time.perf_counter()
        run(x)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times)[len(times) // 2]
with torch.inference_mode():
    out = {"eager_ms": measure(model)}
    try:
        out["compiled_ms"] = measure(torch.compile(model))
    except Exception as error:
        out["compiled"] = str(error)[:200]
print(json.dumps(out))
"""


def device():
    """(what the driver says of its first GPU, "") or (None, why there is none)."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, "no driver library"
    count, version, value = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value < 1:
        return None, "the driver lists no device"
    name = ctypes.create_string_buffer(128)
    driver.cuDeviceGetName(name, len(name), 0)
    driver.cuDriverGetVersion(ctypes.byref(version))
    found = {"name": name.value.decode("utf-8", "replace"), "driver": version.value}
    for key, attribute in ATTRIBUTES.items():
        known = driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0) == 0
        found[key] = value.value if known else 0
    return found, ""


def floor_ms(gpu, flops, n_bytes):
    """The least time that arithmetic on fp16 tensor cores and memory traffic allow, or None."""
    macs = FP16_MACS.get(f"{gpu['major']}.{gpu['minor']}", 0)
    flops_per_ms = 2.0 * macs * gpu["sms"] * gpu["clock_khz"]
    bytes_per_ms = 2.0 * gpu["memory_clock_khz"] * gpu["bus_bits"] / 8
    if not flops_per_ms or not bytes_per_ms:
        return None
    return max(flops / flops_per_ms, n_bytes / bytes_per_ms)


def default_models():
    zoo = sorted(glob.glob(f"{TOP}/build/zoo/*/*.onnx"), key=os.path.getsize)
    return [os.path.join(TOP, "demo/parts.onnx")] + zoo


class Check:
    """One run."""

    def __init__(self, options, gpu):
        self.options, self.gpu = options, gpu
        self.models = options.models or default_models()
        self.until = time.monotonic() + options.minutes * 60
        self.folder = tempfile.TemporaryDirectory(prefix="picket-gpu-check-")
        self.picketctl = os.path.join(options.build, "cli/picketctl")
        self.rows, self.not_run, self.peers = [], [], []
        self.peer_skip = "asked for" if options.no_torch else self.torch_missing()

    def left(self):
        return max(0.0, self.until - time.monotonic())

    def tell(self, text):
        print(f"{self.left():5.0f} s left: {text}", file=sys.stderr, flush=True)

    def call(self, *arguments):
        """(the JSON that a command printed, "") or (None, why not)."""
        try:
            done = subprocess.run(
                arguments, capture_output=True, text=True, timeout=max(self.left(), 1), check=False
            )
        except subprocess.TimeoutExpired:
            return None, "out of time"
        if done.returncode:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            return None, lines[-1] if lines else f"exit {done.returncode}"
        return json.loads(done.stdout), ""

    def build(self, model, precision, batch, calibration):
        """A row's engine and the report of its build, or why there is none."""
        name = os.path.basename(model).rsplit("-", 1)[0].replace(".onnx", "")
        stem = os.path.join(self.folder.name, f"{name}-{precision}-{batch}")
        command = [self.picketctl, "engine", "build", "--runtime", "cuda", "--json"]
        command += ["--precision", precision, "--timing", stem + ".timing"]
        command += ["--out", stem + ".engine"]
        if name in OPEN_INPUTS:
            command += ["--shape", OPEN_INPUTS[name].replace("N", str(batch))]
        if calibration:
            command += ["--calibration", calibration]
        report, why = self.call(*command, model)
        return name, stem, command, report, why

    def calibrate(self, model):
        """Only the demo brings samples."""
        record = os.path.join(self.folder.name, "calibration.json")
        if os.path.exists(record):
            return record, ""
        command = [self.picketctl, "engine", "calibrate", "--samples", f"{TOP}/demo/golden"]
        command += ["--card", f"{TOP}/demo/card.yaml", "--out", record, model]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return (record, "") if done.returncode == 0 else (None, done.stderr.strip()[-200:])

    def measure(self, model, precision, batch):
        calibration = None
        if precision == "int8":
            if not model.endswith("parts.onnx"):
                return
            calibration, why = self.calibrate(model)
            if not calibration:
                self.not_run.append(f"parts int8: {why}")
                return
        name, stem, command, report, why = self.build(model, precision, batch, calibration)
        self.tell(f"{name} {precision} batch {batch}: {why or 'built'}")
        row = {"model": name, "precision": precision, "batch": batch, "right": report is not None}
        if not report:
            row["why"] = why
            if why == "out of time":
                self.not_run.append(f"{name} {precision} batch {batch}")
            else:
                self.rows.append(row)
            return
        row.update({key: report[key] for key in ("max_rel_err", "min_cosine", "n_measured")})
        row["build_cold_s"] = round(report["wall_ms"] / 1e3, 2)
        self.warm_and_times(row, stem, command + [model])
        self.rows.append(row)

    def warm_and_times(self, row, stem, command):
        warm, _ = self.call(*command)
        if warm:
            row["build_warm_s"] = round(warm["wall_ms"] / 1e3, 2)
            row["warm_measured"] = warm["n_measured"]
        engine = stem + ".engine"
        times, why = self.call(
            self.picketctl, "engine", "bench", "--seconds", str(BENCH_S), "--json", engine
        )
        if not times:
            row["why"] = why
            return
        row["p50_ms"], row["p99_ms"] = round(times["p50_ms"], 3), round(times["p99_ms"], 3)
        row["per_s"] = round(1e3 * row["batch"] / times["p50_ms"], 1)
        profile, _ = self.call(self.picketctl, "engine", "profile", "--json", engine)
        if profile:
            floor = floor_ms(self.gpu, profile["flops"], profile["bytes"] // 2)
            row["floor_ms"] = floor and round(floor, 4)

    @staticmethod
    def torch_missing():
        test = "import torch, torchvision, sys; sys.exit(not torch.cuda.is_available())"
        done = subprocess.run([sys.executable, "-c", test], capture_output=True, check=False)
        return "no torch with CUDA and torchvision" if done.returncode else ""

    def peer(self, model, batch):
        name, _, size = os.path.basename(model).replace(".onnx", "").rpartition("-")
        if self.peer_skip or name not in PEERS:
            return
        found, why = self.call(sys.executable, "-c", PEER_PROGRAM, PEERS[name], size, str(batch))
        self.peers.append({"model": name, "batch": batch, **(found or {"why": why})})

    def ways(self):
        """Every way of every operation of the first model."""
        tool = os.path.join(self.options.build, "tests/gpu/gpu-ways")
        if not os.access(tool, os.X_OK):
            return {"why": "gpu-ways is not built (meson option tests)"}
        seconds = str(int(min(WAYS_S, self.left())))
        done = subprocess.run(
            [tool, "--seconds", seconds, self.models[0]],
            capture_output=True,
            text=True,
            check=False,
        )
        found = [json.loads(line) for line in done.stdout.splitlines()]
        bad = [way for way in found if way["error"] and way["text"].find("reference") >= 0]
        ended = done.returncode == 0  # else it is no proof of anything
        why = done.stderr.strip()[-200:]
        return {"tried": len(found), "wrong": bad, "ended": ended, "why": why}

    def sanitizer(self):
        program = shutil.which("compute-sanitizer")
        engines = glob.glob(f"{self.folder.name}/*.engine")
        if not program or not engines:
            return {"why": "no compute-sanitizer here" if not program else "no engine"}
        command = [program, "--error-exitcode", "9", self.picketctl, "engine", "bench"]
        command += ["--seconds", "1", min(engines, key=os.path.getsize)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return {"why": "not done in 60 s"}
        return {"clean": done.returncode == 0, "text": done.stdout[-400:]}

    def batches_of(self, model):
        name = os.path.basename(model).rsplit("-", 1)[0]
        return BATCHES if name in OPEN_INPUTS else (1,)

    def run(self):
        ways = self.ways()
        for precision in self.options.precision:
            for model in self.models:
                for batch in self.batches_of(model):
                    if self.left() < 5:
                        self.not_run.append(f"{os.path.basename(model)} {precision} {batch}")
                        continue
                    self.measure(model, precision, batch)
                    if precision == "fp16":
                        self.peer(model, batch)
        sanitizer = self.sanitizer()
        wrong = [row for row in self.rows if not row["right"]]
        return {
            "machine": platform.node(),
            "device": self.gpu,
            "rows": self.rows,
            "peers": self.peers,
            "peers_not_run": self.peer_skip,
            "ways": ways,
            "sanitizer": sanitizer,
            "not_run": self.not_run,
            "wrong": len(wrong)
            + len(ways.get("wrong", []))
            + (ways.get("ended") is False)
            + (sanitizer.get("clean") is False),
        }


COLUMNS = (
    ("model", 22),
    ("precision", 9),
    ("batch", 5),
    ("right", 5),
    ("max_rel_err", 11),
    ("p50_ms", 8),
    ("p99_ms", 8),
    ("per_s", 8),
    ("floor_ms", 8),
    ("build_cold_s", 12),
    ("build_warm_s", 12),
)


def cell(value):
    return (
        ""
        if value is None
        else f"{value:.2e}" if isinstance(value, float) and value < 0.01 else str(value)
    )


def table(report):
    """Lines for a person; the reason stands behind a row that has one."""
    gpu = report["device"]
    lines = [
        f"{gpu['name']}, sm_{gpu['major']}{gpu['minor']}, {gpu['sms']} SMs, driver {gpu['driver']}"
    ]
    lines.append("  ".join(name.ljust(width) for name, width in COLUMNS))
    for row in report["rows"]:
        cells = "  ".join(cell(row.get(name)).ljust(width) for name, width in COLUMNS)
        lines.append(cells + (f"  {row['why']}" if row.get("why") else ""))
    lines += [f"torch {peer}" for peer in report["peers"]]
    if report["peers_not_run"]:
        lines.append(f"torch: not run: {report['peers_not_run']}")
    ways = report["ways"]
    lines.append(
        f"ways: {ways.get('tried', 0)} tried, {len(ways.get('wrong', []))} wrong {ways['why']}"
    )
    lines.append(f"sanitizer: {report['sanitizer']}")
    lines += [f"not run, out of time: {what}" for what in report["not_run"]]
    return "\n".join(lines)
