# SPDX-License-Identifier: Apache-2.0
"""Networks of face pipelines: an embedding, a multi-level detector, a TensorFlow backbone."""

import numpy as np

from graph import Graph


def mobilefacenet(size: int) -> Graph:
    """PReLU, a depthwise convolution over the whole map, batch norm of a vector, unit length."""
    g = Graph("mobilefacenet", opset=11, seed=128)
    x = g.sub(g.input("data", 1, 3, size, size), g.const(0.5))
    x = g.mul(x, g.weight(np.float32([2.0]), "scale"))
    x = _prelu(g, g.conv_bn(x, 64, 3, 2, act=None))
    x = _prelu(g, g.depthwise(x, 3, act=None))
    for out, n, stride, expand in ((64, 2, 2, 2), (128, 3, 2, 4), (128, 2, 2, 4)):
        for i in range(n):
            c, s = g.dims[x][1], stride if i == 0 else 1
            y = _prelu(g, g.conv_bn(x, c * expand, act=None))
            y = _prelu(g, g.depthwise(y, 3, s, act=None))
            y = g.conv_bn(y, out, act=None, scale=0.8)
            x = g.add(x, y) if s == 1 and c == out else y
    x = _prelu(g, g.conv_bn(x, 512, act=None))
    x = g.flatten(g.depthwise(x, g.dims[x][2], act=None, p=0))
    x = g.bn(g.gemm(x, 128))
    length = g.node("ReduceL2", [x], dims=(1, 1), axes=[1], keepdims=1)
    length = g.same("Clip", length, g.const(1e-12))
    shape = g.node("Shape", [x])
    x = g.div(x, g.node("Expand", [length, shape], dims=(1, 128)))
    g.output(x, "fc1", 1, 128)
    return g


def _prelu(g: Graph, x: str) -> str:
    slope = g.rng.uniform(0.1, 0.4, (g.dims[x][1], 1, 1)).astype(np.float32)
    return g.same("PRelu", x, g.weight(slope, "slope"))


def scrfd(size: int) -> Graph:
    """Nine outputs; maps are upsampled to the size of another map; a learned scale per level."""
    g = Graph("scrfd", opset=11, seed=500)
    x = g.conv_bn(g.input("input.1", 1, 3, size, size), 16, 3, 2)
    features = []
    for out, n in ((32, 1), (48, 2), (64, 2), (96, 2)):
        for i in range(n):
            x = g.conv_bn(g.depthwise(x, 3, 2 if i == 0 else 1), out)
        features.append(x)
    maps = [g.conv(f, 32) for f in features[1:]]
    for i in (1, 0):
        shape = g.node("Shape", [maps[i]])
        plane = g.node("Slice", [shape, g.ints(2), g.ints(4), g.ints(0), g.ints(1)])
        lead = g.node("Slice", [g.node("Shape", [maps[i + 1]]), g.ints(0), g.ints(2), g.ints(0)])
        wanted = g.node("Concat", [lead, plane], axis=0)
        maps[i] = g.add(maps[i], g.resize(maps[i + 1], size=(wanted, g.dims[maps[i]])))
    for i, feature in enumerate(maps):
        _scrfd_head(g, g.depthwise(feature, 3), 8 << i)
    return g


def _scrfd_head(g: Graph, x: str, stride: int) -> None:
    scores = _rows(g, g.conv(x, 2), 1)
    boxes = g.mul(g.conv(x, 8), g.weight(np.float32(1.1), "scale"))
    points = g.conv(x, 20)
    for name, value, n in (
        (f"score_{stride}", g.act(scores, "sigmoid"), 1),
        (f"bbox_{stride}", _rows(g, boxes, 4), 4),
        (f"kps_{stride}", _rows(g, points, 10), 10),
    ):
        g.output(value, name, *g.dims[value])


def _rows(g: Graph, x: str, n: int) -> str:
    return g.reshape(g.transpose(x, 2, 3, 0, 1), -1, n)


def tf_mobilenet_v1(size: int) -> Graph:
    """As tf2onnx leaves it unoptimised: last-channel, transposed around every convolution."""
    g = Graph("tf_mobilenet_v1", opset=13, seed=101)
    x = g.input("input:0", 1, size, size, 3)
    x = _tf_conv(g, x, 16, 3, 2)
    plan = ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1))
    for out, stride in plan:
        x = _tf_conv(g, _tf_conv(g, x, 0, 3, stride), out, 1, 1)
    x = g.mean(x, [1, 2], keep=True)
    x = _tf_conv(g, x, 100, 1, 1, act=False)
    x = g.node("Squeeze", [x, g.ints(1, 2)], dims=(1, 100))
    g.output(g.node("Softmax", [x], dims=(1, 100), axis=1), "Softmax:0", 1, 100)
    return g


def _tf_conv(g: Graph, x: str, out: int, k: int, s: int, act: bool = True) -> str:
    """out 0: depthwise. Batch norm as the Mul and Add of constants that TensorFlow folds it to."""
    c = g.dims[x][3]
    pads = [0, 0, 1, 1] if k == 3 and s == 2 else None
    y = g.transpose(x, 0, 3, 1, 2)
    y = g.conv(y, out or c, k, s, g=1 if out else c, bias=False, gain=2**0.5, pads=pads)
    y = g.transpose(y, 0, 2, 3, 1)
    y = g.mul(y, g.weight(g.rng.normal(1, 0.1, out or c).astype(np.float32), "mul"))
    y = g.add(y, g.weight(g.noise(out or c, std=0.1), "add"))
    if not act:
        return y
    low = g.same("Max", y, g.weight(np.float32(0), "low"))
    return g.same("Min", low, g.weight(np.float32(6), "high"))
