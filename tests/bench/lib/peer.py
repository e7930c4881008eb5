#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One peer runtime on one model, in a process of its own: peer.py JOB.json.

Speaks JSON lines: {ready, load_ms} or {failed} first; then {"run": seconds} gives {min_ms,
min_cpu_ms, runs}, {"reload": 1} {load_ms}, {"outputs": FILE.npz} {}, {"memory": 1} {peak_kib,
bare_kib}. Zeros are timed, noise is compared. fp32 everywhere, denormals flushed, latency rather
than throughput. Loads are CPU time."""

import json
import os
import subprocess
import sys
import time

import numpy as np

CONVERT_TIMEOUT_S = 180


def peak_kib():
    with open("/proc/self/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


def noise(inputs):
    rng = np.random.default_rng(7)
    return {name: rng.uniform(0, 1, dims).astype(np.float32) for name, dims in inputs.items()}


def zeros(inputs):
    return {name: np.zeros(dims, np.float32) for name, dims in inputs.items()}


def convert(command, **kwargs):
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=CONVERT_TIMEOUT_S,
        check=False,
        **kwargs,
    )
    if done.returncode:
        tail = done.stdout.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"{os.path.basename(command[0])}: {' '.join(tail)[:200]}")


class OnnxRuntime:
    def __init__(self, job):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = job["threads"]
        options.inter_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
        for name, value in job["bind"].items():
            options.add_free_dimension_override_by_name(name, value)
        self.session = ort.InferenceSession(
            job["model"], options, providers=["CPUExecutionProvider"]
        )

    def set_inputs(self, arrays):
        self.feed = arrays

    def run(self):
        return self.session.run(None, self.feed)


class OpenVino:
    def __init__(self, job):
        import openvino as ov

        core = ov.Core()
        model = core.read_model(job["model"])
        model.reshape({name: list(dims) for name, dims in job["inputs"].items()})
        self.compiled = core.compile_model(
            model,
            "CPU",
            {
                "PERFORMANCE_HINT": "LATENCY",
                "NUM_STREAMS": "1",
                "INFERENCE_NUM_THREADS": str(job["threads"]),
                "INFERENCE_PRECISION_HINT": "f32",
                "CPU_DENORMALS_OPTIMIZATION": "YES",
            },
        )
        self.request = self.compiled.create_infer_request()

    def set_inputs(self, arrays):
        for name, array in arrays.items():
            self.request.get_tensor(name).data[:] = array

    def run(self):
        self.request.infer()
        return [self.request.get_tensor(output).data for output in self.compiled.outputs]


class Ncnn:
    def __init__(self, job):
        import ncnn

        self.ncnn, self.names = ncnn, list(job["inputs"])
        stem = os.path.join(job["folder"], "ncnn")
        param = stem + ".ncnn.param"
        if not os.path.exists(param):
            self.convert(job, stem)
        self.net = ncnn.Net()
        options = self.net.opt
        options.num_threads = job["threads"]
        options.use_vulkan_compute = False
        for name in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
            setattr(options, "use_" + name, False)
        if self.net.load_param(param) or self.net.load_model(stem + ".ncnn.bin"):
            raise RuntimeError("ncnn cannot load what pnnx wrote")

    @staticmethod
    def convert(job, stem):
        import importlib.util

        package = os.path.dirname(importlib.util.find_spec("pnnx").origin)
        shapes = ",".join("[" + ",".join(map(str, d)) + "]" for d in job["inputs"].values())
        program = os.path.join(package, "pnnx")
        os.chmod(program, 0o755)
        names = ("pnnxparam", "pnnxbin", "pnnxpy", "pnnxonnx", "ncnnparam", "ncnnbin", "ncnnpy")
        ends = ("param", "bin", "py", "onnx", "ncnn.param", "ncnn.bin", "ncnn.py")
        outputs = [f"{name}={stem}.{end}" for name, end in zip(names, ends)]
        convert(
            [program, job["model"], "inputshape=" + shapes, "fp16=0", *outputs],
            cwd=job["folder"],
        )
        if not os.path.exists(stem + ".ncnn.param"):
            raise RuntimeError("pnnx wrote no ncnn model")

    def set_inputs(self, arrays):
        self.mats = [
            self.ncnn.Mat(np.ascontiguousarray(arrays[name][0])).clone() for name in self.names
        ]

    def run(self):
        extractor = self.net.create_extractor()
        for i, mat in enumerate(self.mats):
            extractor.input(f"in{i}", mat)
        outputs = []
        for name in self.net.output_names():
            status, mat = extractor.extract(name)
            if status:
                raise RuntimeError(f"ncnn cannot compute {name}")
            outputs.append(np.array(mat))
        return outputs


class Mnn:
    def __init__(self, job):
        import MNN

        self.mnn = MNN
        path = os.path.join(job["folder"], "model.mnn")
        if not os.path.exists(path):
            program = os.path.join(os.path.dirname(sys.executable), "mnnconvert")
            convert(
                [program, "-f", "ONNX", "--modelFile", job["model"], "--MNNModel", path]
                + ["--bizCode", "bench"]
            )
        self.interpreter = MNN.Interpreter(path)
        self.session = self.interpreter.createSession(
            {"backend": "CPU", "numThread": job["threads"], "precision": "high"}
        )
        for name, dims in job["inputs"].items():
            tensor = self.interpreter.getSessionInput(self.session, name)
            if tuple(tensor.getShape()) != tuple(dims):
                self.interpreter.resizeTensor(tensor, tuple(dims))
        self.interpreter.resizeSession(self.session)

    def set_inputs(self, arrays):
        mnn = self.mnn
        for name, array in arrays.items():
            tensor = self.interpreter.getSessionInput(self.session, name)
            host = mnn.Tensor(
                array.shape, mnn.Halide_Type_Float, array, mnn.Tensor_DimensionType_Caffe
            )
            tensor.copyFrom(host)

    def run(self):
        self.interpreter.runSession(self.session)
        outputs = []
        for tensor in self.interpreter.getSessionOutputAll(self.session).values():
            host = self.mnn.Tensor(tensor, self.mnn.Tensor_DimensionType_Caffe)
            tensor.copyToHostTensor(host)
            outputs.append(np.array(host.getNumpyData()))
        return outputs


BACKENDS = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "ncnn": Ncnn, "mnn": Mnn}


def load(job):
    start = time.process_time()
    peer = BACKENDS[job["backend"]](job)
    load_ms = 1000 * (time.process_time() - start)
    peer.set_inputs(zeros(job["inputs"]))
    return peer, load_ms


def timed(peer, seconds):
    best, best_cpu, runs, end = float("inf"), float("inf"), 0, time.perf_counter() + seconds
    peer.run()
    while runs < 3 or time.perf_counter() < end:
        start, cpu_start = time.perf_counter(), time.process_time()
        peer.run()
        best_cpu = min(best_cpu, time.process_time() - cpu_start)
        best = min(best, time.perf_counter() - start)
        runs += 1
    return {"min_ms": 1000 * best, "min_cpu_ms": 1000 * best_cpu, "runs": runs}


def save_outputs(peer, job, path):
    peer.set_inputs(noise(job["inputs"]))
    np.savez(path, *[np.asarray(o) for o in peer.run()])
    peer.set_inputs(zeros(job["inputs"]))


def answer(peer, job, request, bare):
    if "run" in request:
        return timed(peer, request["run"])
    if "reload" in request:
        return {"load_ms": load(job)[1]}
    if "outputs" in request:
        save_outputs(peer, job, request["outputs"])
        return {}
    return {"peak_kib": peak_kib(), "bare_kib": bare}


def main():
    bare = peak_kib()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print is no answer
    with open(sys.argv[1], encoding="utf-8") as f:
        job = json.load(f)

    def say(message):
        print(json.dumps(message), file=answers, flush=True)

    try:
        peer, load_ms = load(job)
        peer.run()
    except Exception as error:  # pylint: disable=broad-except
        say({"failed": f"{type(error).__name__}: {error}"[:300]})
        return 1
    say({"ready": True, "load_ms": load_ms})
    for line in sys.stdin:
        say(answer(peer, job, json.loads(line), bare))
    return 0


if __name__ == "__main__":
    sys.exit(main())
