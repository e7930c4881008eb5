# SPDX-License-Identifier: Apache-2.0
"""Detectors of one convolution, as ONNX files: built in a moment, they find the same everywhere."""

import os
import random
import struct

SIZE, STRIDE = 64, 8
CELLS = (SIZE // STRIDE) ** 2

CARD = """card: 1
name: tiny
task: detect
inputs:
  - name: images
    shape: [1, 3, 64, 64]
    layout: nchw
    dtype: f32
    color: rgb
    resize: {{mode: letterbox, anchor: center, pad: [114, 114, 114]}}
    normalize: {{scale: 0.0039, mean: [0, 0, 0], std: [1, 1, 1]}}
outputs:
  - {{name: output0, role: pred}}
decode:
  family: yolo-v8
  classes: {classes}
  pred_axis: last
  box: {{format: cxcywh, units: pixel, order: xy}}
  score: {{activation: none}}
postprocess: {{conf: 0.25, nms: {{type: hard, iou: 0.45}}, max_det: 300}}
labels: [{labels}]
"""


def varint(value: int) -> bytes:
    out = b""
    while True:
        value, low = value >> 7, value & 0x7F
        out += bytes([low | (0x80 if value else 0)])
        if not value:
            return out


def field(number: int, value) -> bytes:
    """A protobuf field: bytes and texts by length, whole numbers as varints."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name: str, dims: list[int], kind: int, raw: bytes) -> bytes:
    head = b"".join(field(1, d) for d in dims)
    return head + field(2, kind) + field(8, name) + field(9, raw)


def floats(values) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def ints_attribute(name: str, values: list[int]) -> bytes:
    return field(1, name) + b"".join(field(8, v) for v in values) + field(20, 7)


def node(op: str, inputs: list[str], output: str, attributes: list[bytes] = ()) -> bytes:
    body = b"".join(field(1, i) for i in inputs) + field(2, output) + field(4, op)
    return body + b"".join(field(5, a) for a in attributes)


def value_info(name: str, dims: list[int]) -> bytes:
    shape = b"".join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def convolution(rng, name: str, out: int, into: int, size: int, bias) -> tuple[bytes, bytes]:
    weights = [rng.uniform(-1e-6, 1e-6) for _ in range(out * into * size * size)]
    return (
        tensor(name + ".w", [out, into, size, size], 1, floats(weights)),
        tensor(name + ".b", [out], 1, floats(bias)),
    )


def onnx_model(seed: int, score: float = 0.9, classes: int = 2, layers: int = 0) -> bytes:
    """seed: another one, another digest. score: what it says of each picture; under 0.25 it finds
    nothing. layers: so many wide convolutions before, to make it slow."""
    rng = random.Random(seed)
    nodes, initializers, at, channels = [], [], "images", 3
    for i in range(layers):
        initializers += convolution(rng, f"slow{i}", 48, channels, 3, [0.0] * 48)
        pads = [ints_attribute("pads", [1, 1, 1, 1])]
        nodes.append(node("Conv", [at, f"slow{i}.w", f"slow{i}.b"], f"slow{i}", pads))
        at, channels = f"slow{i}", 48
    bias = [32.0, 32.0, 30.0, 30.0, score] + [0.01] * (classes - 1)
    initializers += convolution(rng, "head", 4 + classes, channels, STRIDE, bias)
    strides = [ints_attribute("strides", [STRIDE, STRIDE])]
    nodes.append(node("Conv", [at, "head.w", "head.b"], "grid", strides))
    initializers.append(tensor("shape", [3], 7, struct.pack("<3q", 1, 4 + classes, CELLS)))
    nodes.append(node("Reshape", ["grid", "shape"], "output0"))
    graph = b"".join(field(1, n) for n in nodes) + field(2, "tiny")
    graph += b"".join(field(5, i) for i in initializers)
    graph += field(11, value_info("images", [1, 3, SIZE, SIZE]))
    graph += field(12, value_info("output0", [1, 4 + classes, CELLS]))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


def write(folder: str, seed: int, card_classes: int = 2, **options) -> tuple[str, str]:
    """(model, card) as files in a folder."""
    onnx, card = os.path.join(folder, "tiny.onnx"), os.path.join(folder, "tiny.yaml")
    labels = ", ".join(f"thing{i}" for i in range(card_classes))
    with open(onnx, "wb") as f:
        f.write(onnx_model(seed, **options))
    with open(card, "w", encoding="utf-8") as f:
        f.write(CARD.format(classes=card_classes, labels=labels))
    return onnx, card
