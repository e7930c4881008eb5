# SPDX-License-Identifier: Apache-2.0
"""Models of the cpu bench: the zoo at full size, real models, quantised forms; their engines."""

import hashlib
import json
import os
import subprocess
from dataclasses import dataclass, field

import numpy as np
import onnx

import assets
import contenders
import zoo

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CALIBRATION_RUNS = 4


@dataclass
class Entrant:
    name: str
    source: object  # zoo.Model, or an asset's name, or a path
    inputs: dict = field(default_factory=dict)  # name: dims, where the file leaves them open
    bind: dict = field(default_factory=dict)  # symbolic dimension: value
    precision: str = "fp32"
    path: str = ""


def zoo_entrant(model, **more):
    """A binding of a zoo row is NAME=4 or INPUT=1x3x224x224."""
    bind = {}
    if model.bind and "x" not in model.bind.split("=")[1]:
        bind = {model.bind.split("=")[0]: int(model.bind.split("=")[1])}
    return Entrant(more.pop("name", model.name), model, bind=bind, **more)


TABLE = [zoo_entrant(m) for m in zoo.MODELS]
TABLE += [
    Entrant("demo parts", os.path.join(TOP, "demo/parts.onnx")),
    Entrant("blazeface front", "blazeface_front.onnx", {"input:0": [1, 128, 128, 3]}),
    Entrant("blazeface back", "blazeface_back.onnx", {"input:0": [1, 256, 256, 3]}),
    Entrant("PP-OCRv4 det", "ppocr_det.onnx", {"x": [1, 3, 640, 640]}),
    Entrant("PP-OCRv4 rec", "ppocr_rec.onnx", {"x": [1, 3, 48, 320]}),
    Entrant("PP-OCR cls", "ppocr_cls.onnx", {"x": [1, 3, 48, 192]}),
]
TABLE += [
    zoo_entrant(zoo.by_name(name), name=name + "_qdq", precision="int8")
    for name in ("resnet50", "yolov8n")
]


class Noise:
    """What onnxruntime.quantization asks for: a few pictures of noise."""

    def __init__(self, inputs):
        rng = np.random.default_rng(11)
        self.left = [
            {name: rng.uniform(0, 1, dims).astype(np.float32) for name, dims in inputs.items()}
            for _ in range(CALIBRATION_RUNS)
        ]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantized(path, inputs, work):
    """The QDQ form as the peer's own tool writes it: per channel, s8 weights, u8 activations."""
    from onnxruntime import quantization as q

    out = os.path.join(work, os.path.basename(path).replace(".onnx", "-qdq.onnx"))
    if not os.path.exists(out):
        q.quantize_static(
            path,
            out + ".part",
            Noise(inputs),
            quant_format=q.QuantFormat.QDQ,
            per_channel=True,
            activation_type=q.QuantType.QUInt8,
            weight_type=q.QuantType.QInt8,
            op_types_to_quantize=["Conv", "MatMul", "Gemm", "Add", "MaxPool", "Concat", "Resize"],
        )
        os.rename(out + ".part", out)
    return out


def inputs_of(path, bind):
    """{name: dims} of a file, open dimensions by bind, else 1."""
    graph = onnx.load(path, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    found = {}
    for value in graph.input:
        if value.name not in constants:
            dims = value.type.tensor_type.shape.dim
            found[value.name] = [bind.get(d.dim_param, d.dim_value or 1) for d in dims]
    return found


def bound_input(source):
    """{INPUT: dims} of a zoo row that binds a whole input."""
    if isinstance(source, zoo.Model) and "x" in source.bind.partition("=")[2]:
        name, _, dims = source.bind.partition("=")
        return {name: [int(d) for d in dims.split("x")]}
    return {}


def path_of(source):
    if isinstance(source, zoo.Model):
        return str(zoo.path_of(source, True))
    return source if os.path.isabs(source) else assets.asset(source)


def fetch(wanted, work, notes):
    """Those of the wanted whose files can be had, with their paths."""
    found = []
    for model in wanted:
        try:
            model.path = path_of(model.source)
            model.inputs = model.inputs or bound_input(model.source)
            model.inputs = model.inputs or inputs_of(model.path, model.bind)
            if model.precision == "int8":
                model.path = quantized(model.path, model.inputs, work)
        except (OSError, RuntimeError) as why:
            notes.setdefault("not fetched", {})[model.name] = str(why)
            continue
        found.append(model)
    return found


def digest(paths):
    total = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            total.update(hashlib.file_digest(f, "sha256").digest())
    return total.hexdigest()[:16]


def build_command(model, picketctl, engine, timing):
    command = [picketctl, "engine", "build", model.path, "--json", "--out", engine]
    command += ["--timing", timing, "--opt", "2"]
    shapes = {name: "x".join(map(str, dims)) for name, dims in model.inputs.items()}
    shapes = {name: str(value) for name, value in model.bind.items()} or shapes
    for name, value in shapes.items():
        command += ["--shape", f"{name}={value}"]
    return command


def build(model, picketctl, work):
    """The engine's path; built again whenever the program or the model is another."""
    stem = f"{model.name.replace(' ', '-')}-{digest([picketctl, model.path])}"
    engine = os.path.join(work, stem + ".engine")
    if not os.path.exists(engine):
        for old in os.listdir(work):
            if old.startswith(model.name.replace(" ", "-") + "-") and old.endswith(".engine"):
                os.unlink(os.path.join(work, old))
        timing = os.path.join(work, f"timing-{digest([picketctl])}")
        try:
            contenders.command_output(build_command(model, picketctl, engine + ".part", timing))
        except subprocess.TimeoutExpired as why:
            raise contenders.Failed("not built in time") from why
        os.rename(engine + ".part", engine)
    return engine


def build_twice(model, picketctl, folder):
    """(cold, warm): what two builds with one new timing cache report."""
    engine, timing = os.path.join(folder, "twice.engine"), os.path.join(folder, "timing")
    command = build_command(model, picketctl, engine, timing)
    return [json.loads(contenders.command_output(command)) for _ in range(2)]
