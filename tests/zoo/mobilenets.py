# SPDX-License-Identifier: Apache-2.0
"""MobileNet V2 and V3: classifiers, and backbones of detectors and segmenters."""

from graph import Graph

N_CLASSES = 1000
V2_BLOCKS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
# (kernel, expanded, out, squeeze, activation, stride)
V3_LARGE = (
    (3, 16, 16, False, "relu", 1),
    (3, 64, 24, False, "relu", 2),
    (3, 72, 24, False, "relu", 1),
    (5, 72, 40, True, "relu", 2),
    (5, 120, 40, True, "relu", 1),
    (5, 120, 40, True, "relu", 1),
    (3, 240, 80, False, "hswish", 2),
    (3, 200, 80, False, "hswish", 1),
    (3, 184, 80, False, "hswish", 1),
    (3, 184, 80, False, "hswish", 1),
    (3, 480, 112, True, "hswish", 1),
    (3, 672, 112, True, "hswish", 1),
    (5, 672, 160, True, "hswish", 2),
    (5, 960, 160, True, "hswish", 1),
    (5, 960, 160, True, "hswish", 1),
)
V3_SMALL = (
    (3, 16, 16, True, "relu", 2),
    (3, 72, 24, False, "relu", 2),
    (3, 88, 24, False, "relu", 1),
    (5, 96, 40, True, "hswish", 2),
    (5, 240, 40, True, "hswish", 1),
    (5, 240, 40, True, "hswish", 1),
    (5, 120, 48, True, "hswish", 1),
    (5, 144, 48, True, "hswish", 1),
    (5, 288, 96, True, "hswish", 2),
    (5, 576, 96, True, "hswish", 1),
    (5, 576, 96, True, "hswish", 1),
)


def v2_block(g: Graph, x: str, expand: int, out: int, stride: int) -> str:
    c = g.dims[x][1]
    y = g.conv_bn(x, c * expand, act="relu6") if expand > 1 else x
    y = g.conv_bn(g.depthwise(y, 3, stride, act="relu6"), out, act=None, scale=0.8)
    return g.add(x, y) if stride == 1 and c == out else y


def v2_features(g: Graph, x: str) -> list:
    """The output of every block; the last one has 320 channels at stride 32."""
    features = [g.conv_bn(x, 32, 3, 2, act="relu6")]
    for expand, out, n, stride in V2_BLOCKS:
        for i in range(n):
            features.append(v2_block(g, features[-1], expand, out, stride if i == 0 else 1))
    return features


def v3_block(g: Graph, x: str, row: tuple, dilation: int = 1) -> str:
    k, expanded, out, squeeze, act, stride = row
    c = g.dims[x][1]
    y = g.conv_bn(x, expanded, act=act) if expanded != c else x
    y = g.depthwise(y, k, stride, act=act, d=dilation)
    if squeeze:
        s = g.conv(g.gap(y), max(8, expanded // 4), act="relu")
        s = g.same("HardSigmoid", g.conv(s, expanded, gain=2.0), alpha=1 / 6, beta=0.5)
        y = g.node("Mul", [s, y], dims=g.dims[y])
    y = g.conv_bn(y, out, act=None, scale=0.8)
    return g.add(y, x) if stride == 1 and c == out else y


def mobilenet_v2(size: int) -> Graph:
    g = Graph("mobilenet_v2", opset=11, seed=22)
    g.batch = "batch_size"
    x = v2_features(g, g.input("input", 1, 3, size, size))[-1]
    x = g.gap(g.conv_bn(x, 1280, act="relu6"))
    x = g.view(x, (g.size_of(x, 0), 1), -1)
    g.output(g.gemm(x, N_CLASSES), "output", 1, N_CLASSES)
    return g


def _v3(g: Graph, rows: tuple, last: int, size: int) -> Graph:
    x = g.conv_bn(g.input("input", 1, 3, size, size), 16, 3, 2, act="hswish")
    for row in rows:
        x = v3_block(g, x, row)
    x = g.flatten(g.gap(g.conv_bn(x, rows[-1][1], act="hswish")))
    g.output(g.gemm(g.gemm(x, last, "hswish"), N_CLASSES), "output", 1, N_CLASSES)
    return g


def mobilenet_v3_large(size: int) -> Graph:
    return _v3(Graph("mobilenet_v3_large", opset=14, seed=31), V3_LARGE, 1280, size)


def mobilenet_v3_small(size: int) -> Graph:
    """Opset 11 knows no HardSwish: written out with Clip."""
    return _v3(Graph("mobilenet_v3_small", 11, seed=32, hswish="clip"), V3_SMALL, 1024, size)
