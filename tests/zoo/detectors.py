# SPDX-License-Identifier: Apache-2.0
"""Detectors of the zoo, with the heads that their exporters write."""

import numpy as np

import mobilenets
from graph import Graph

N_CLASSES = 80
ANCHORS_V5 = (
    (10, 13, 16, 30, 33, 23),
    (30, 61, 62, 45, 59, 119),
    (116, 90, 156, 198, 373, 326),
)


def _bottleneck(g: Graph, x: str, add: bool, kernels=(1, 3), depthwise=False) -> str:
    c = g.dims[x][1]
    gain = 1.0 if add else None  # a chain of sums must not grow
    y = g.conv(x, c, kernels[0], act="silu", gain=gain)
    if depthwise:
        y = g.conv(y, c, kernels[1], g=c, act="silu")
        y = g.conv(y, c, act="silu")
    else:
        y = g.conv(y, c, kernels[1], act="silu", gain=gain)
    return g.add(x, y) if add else y


def _c3(g: Graph, x: str, out: int, n: int, add: bool = True, depthwise=False) -> str:
    y = g.conv(x, out // 2, act="silu")
    for _ in range(n):
        y = _bottleneck(g, y, add, depthwise=depthwise)
    return g.conv(g.concat([y, g.conv(x, out // 2, act="silu")]), out, act="silu")


def _c2f(g: Graph, x: str, out: int, n: int, add: bool) -> str:
    parts = g.split(g.conv(x, out, act="silu"), [out // 2, out // 2])
    for _ in range(n):
        parts.append(_bottleneck(g, parts[-1], add, kernels=(3, 3)))
    return g.conv(g.concat(parts), out, act="silu")


def _sppf(g: Graph, x: str) -> str:
    c = g.dims[x][1]
    parts = [g.conv(x, c // 2, act="silu")]
    for _ in range(3):
        parts.append(g.pool(parts[-1], k=5, s=1, p=2))
    return g.conv(g.concat(parts), c, act="silu")


def _up(g: Graph, x: str) -> str:
    return g.resize(x, scale=2)


def _pan(g: Graph, c3: str, c4: str, c5: str, block) -> list:
    """YOLO's neck: features at strides 8, 16, 32; block(x, out) is what joins them."""
    c_small, c_mid = g.dims[c3][1], g.dims[c4][1]
    lateral = g.conv(c5, c_mid, act="silu")
    mid = block(g.concat([_up(g, lateral), c4]), c_mid)
    lateral_mid = g.conv(mid, c_small, act="silu")
    p3 = block(g.concat([_up(g, lateral_mid), c3]), c_small)
    p4 = block(g.concat([g.conv(p3, c_small, 3, 2, act="silu"), lateral_mid]), c_mid)
    p5 = block(g.concat([g.conv(p4, c_mid, 3, 2, act="silu"), lateral]), g.dims[c5][1])
    return [p3, p4, p5]


def yolov5n(size: int) -> Graph:
    """Ultralytics' export: a decoded output and the raw maps."""
    g = Graph("yolov5n", opset=12, seed=5)
    g.batch = "batch"
    x = g.input("images", 1, 3, size, size)
    x = g.conv(x, 16, 6, 2, p=2, act="silu")
    x = _c3(g, g.conv(x, 32, 3, 2, act="silu"), 32, 1)
    c3 = _c3(g, g.conv(x, 64, 3, 2, act="silu"), 64, 2)
    c4 = _c3(g, g.conv(c3, 128, 3, 2, act="silu"), 128, 3)
    c5 = _sppf(g, _c3(g, g.conv(c4, 256, 3, 2, act="silu"), 256, 1))
    p3 = _pan_v5(g, c3, c4, c5)
    decoded, raw = [], []
    for feature, anchors, stride in zip(p3, ANCHORS_V5, (8, 16, 32)):
        boxes, maps = _decode_v5(g, feature, np.float32(anchors).reshape(1, 3, 1, 1, 2), stride)
        decoded.append(boxes)
        raw.append(maps)
    output = g.concat(decoded, axis=1)
    g.output(output, "output0", *g.dims[output])
    for maps in raw:
        g.output(maps, f"raw{g.dims[maps][2]}", *g.dims[maps])
    return g


def _pan_v5(g: Graph, c3: str, c4: str, c5: str) -> list:
    return _pan(g, c3, c4, c5, lambda x, out: _c3(g, x, out, 1, add=False))


def _grid(w: int, h: int) -> np.ndarray:
    x, y = np.meshgrid(np.arange(w), np.arange(h))
    return np.stack([x, y], -1).astype(np.float32)


def _decode_v5(g: Graph, x: str, anchors: np.ndarray, stride: int):
    n_values = N_CLASSES + 5
    h, w = g.dims[x][2:]
    maps = g.conv(x, 3 * n_values)
    sizes = [(g.size_of(maps, axis), g.dims[maps][axis]) for axis in (0, 2, 3)]
    maps = g.view(maps, sizes[0], 3, n_values, sizes[1], sizes[2])
    maps = g.transpose(maps, 0, 1, 3, 4, 2)
    xy, wh, rest = g.split(g.same("Sigmoid", maps), [2, 2, n_values - 4], axis=4)
    grid = _grid(w, h).reshape(1, 1, h, w, 2) - 0.5
    xy = g.mul(g.add(g.mul(xy, g.const(2.0)), g.const(grid)), g.const(float(stride)))
    wh = g.mul(g.same("Pow", g.mul(wh, g.const(2.0)), g.const(2.0)), g.const(anchors))
    boxes = g.concat([xy, wh, rest], axis=4)
    return g.view(boxes, sizes[0], 3 * h * w, n_values), maps


def yolov8n(size: int) -> Graph:
    """Ultralytics' export: distances by expectation over 16 bins, boxes by stride."""
    g = Graph("yolov8n", opset=17, seed=8)
    x = g.input("images", 1, 3, size, size)
    x = g.conv(g.conv(x, 16, 3, 2, act="silu"), 32, 3, 2, act="silu")
    x = _c2f(g, x, 32, 1, True)
    c3 = _c2f(g, g.conv(x, 64, 3, 2, act="silu"), 64, 2, True)
    c4 = _c2f(g, g.conv(c3, 128, 3, 2, act="silu"), 128, 2, True)
    c5 = _sppf(g, _c2f(g, g.conv(c4, 256, 3, 2, act="silu"), 256, 1, True))
    features = _pan_v8(g, c3, c4, c5)
    maps = []
    for feature in features:
        box = g.conv(g.conv(feature, 64, 3, act="silu"), 64, 3, act="silu")
        cls = g.conv(g.conv(feature, 80, 3, act="silu"), 80, 3, act="silu")
        both = g.concat([g.conv(box, 64), g.conv(cls, N_CLASSES)])
        maps.append(g.reshape(both, 1, 64 + N_CLASSES, -1))
    output = _decode_v8(g, g.concat(maps, axis=2), [g.dims[f][2:] for f in features])
    g.output(output, "output0", *g.dims[output])
    return g


def _pan_v8(g: Graph, c3: str, c4: str, c5: str) -> list:
    """Without the lateral convolutions of version 5."""
    mid = _c2f(g, g.concat([_up(g, c5), c4]), g.dims[c4][1], 1, False)
    p3 = _c2f(g, g.concat([_up(g, mid), c3]), g.dims[c3][1], 1, False)
    down = g.conv(p3, g.dims[c3][1], 3, 2, act="silu")
    p4 = _c2f(g, g.concat([down, mid]), g.dims[c4][1], 1, False)
    down = g.conv(p4, g.dims[c4][1], 3, 2, act="silu")
    return [p3, p4, _c2f(g, g.concat([down, c5]), g.dims[c5][1], 1, False)]


def _decode_v8(g: Graph, x: str, levels: list) -> str:
    n = g.dims[x][2]
    box, cls = g.split(x, [64, N_CLASSES])
    bins = g.transpose(g.reshape(box, 1, 4, 16, n), 0, 2, 1, 3)
    bins = g.same("Softmax", bins, axis=1)
    expectation = g.weight(np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1), "dfl")
    ltrb = g.node("Conv", [bins, expectation], dims=(1, 1, 4, n), kernel_shape=[1, 1])
    ltrb = g.reshape(ltrb, 1, 4, n)
    centres = [_grid(w, h).reshape(-1, 2) + 0.5 for h, w in levels]
    centres = g.const(np.concatenate(centres).T[None])
    low = g.node("Sub", [centres, g.slice(ltrb, 0, 2, 1)], dims=(1, 2, n))
    high = g.node("Add", [centres, g.slice(ltrb, 2, 4, 1)], dims=(1, 2, n))
    middle = g.div(g.add(low, high), g.const(2.0))
    boxes = g.concat([middle, g.sub(high, low)], axis=1)
    strides = [np.full(h * w, 8 * 2**i) for i, (h, w) in enumerate(levels)]
    boxes = g.mul(boxes, g.const(np.concatenate(strides)[None]))
    return g.concat([boxes, g.same("Sigmoid", cls)], axis=1)


def yolox_nano(size: int) -> Graph:
    """Focus stem, depthwise blocks, decoupled head; boxes are left to the decoder."""
    g = Graph("yolox_nano", opset=11, seed=10)
    x = g.input("images", 1, 3, size, size)
    parts = [
        g.slice(g.slice(x, row, 2**31 - 1, 2, 2), column, 2**31 - 1, 3, 2)
        for column in (0, 1)
        for row in (0, 1)
    ]
    x = g.conv(g.concat(parts), 16, 3, act="silu")
    x = _c3(g, _separable(g, x, 32, 2), 32, 1, depthwise=True)
    c3 = _c3(g, _separable(g, x, 64, 2), 64, 3, depthwise=True)
    c4 = _c3(g, _separable(g, c3, 128, 2), 128, 3, depthwise=True)
    c5 = _spp(g, _separable(g, c4, 256, 2))
    c5 = _c3(g, c5, 256, 1, add=False, depthwise=True)
    features = _pan(g, c3, c4, c5, lambda v, out: _c3(g, v, out, 1, False, depthwise=True))
    maps = [_yolox_head(g, f) for f in features]
    flat = [g.reshape(m, 1, N_CLASSES + 5, -1) for m in maps]
    output = g.transpose(g.concat(flat, axis=2), 0, 2, 1)
    g.output(output, "output", *g.dims[output])
    return g


def _separable(g: Graph, x: str, out: int, stride: int = 1) -> str:
    return g.conv(g.conv(x, g.dims[x][1], 3, stride, g=g.dims[x][1], act="silu"), out, act="silu")


def _spp(g: Graph, x: str) -> str:
    c = g.dims[x][1]
    x = g.conv(x, c // 2, act="silu")
    pools = [g.pool(x, k=k, s=1, p=k // 2) for k in (5, 9, 13)]
    return g.conv(g.concat([x, *pools]), c, act="silu")


def _yolox_head(g: Graph, x: str) -> str:
    x = g.conv(x, 64, act="silu")
    cls = _separable(g, _separable(g, x, 64), 64)
    reg = _separable(g, _separable(g, x, 64), 64)
    scores = g.conv(cls, N_CLASSES, act="sigmoid", gain=2.0)
    return g.concat([g.conv(reg, 4), g.conv(reg, 1, act="sigmoid", gain=2.0), scores])


def ssdlite_mobilenet_v2(size: int) -> Graph:
    """Six levels, two outputs: class probabilities and decoded corners."""
    g = Graph("ssdlite_mobilenet_v2", opset=12, seed=300)
    features = mobilenets.v2_features(g, g.input("image", 1, 3, size, size))
    levels = [features[13], g.conv_bn(features[-1], 1280, act="relu6")]
    for out in (512, 256, 256, 128):
        x = g.conv_bn(levels[-1], out // 2, act="relu6")
        levels.append(g.conv_bn(g.depthwise(x, 3, 2, act="relu6"), out, act="relu6"))
    n_classes, n_anchors = 21, 6
    scores = [_ssd_head(g, x, n_anchors, n_classes) for x in levels]
    boxes = [_ssd_head(g, x, n_anchors, 4) for x in levels]
    scores = g.concat(scores, axis=1)
    scores = g.same("Softmax", scores, axis=2)
    corners = _ssd_decode(g, g.concat(boxes, axis=1), _ssd_anchors(g, levels, n_anchors))
    g.output(scores, "scores", *g.dims[scores])
    g.output(corners, "boxes", *g.dims[corners])
    return g


def _ssd_head(g: Graph, x: str, n_anchors: int, n_values: int) -> str:
    x = g.conv(g.depthwise(x, act="relu6"), n_anchors * n_values)
    x = g.transpose(x, 0, 2, 3, 1)
    return g.view(x, (g.size_of(x, 0), 1), -1, n_values)


def _ssd_anchors(g: Graph, levels: list, n_anchors: int) -> np.ndarray:
    anchors = []
    for i, level in enumerate(levels):
        h, w = g.dims[level][2:]
        centres = (np.repeat(_grid(w, h).reshape(-1, 2), n_anchors, 0) + 0.5) / (w, h)
        sides = np.tile(np.linspace(0.1, 0.2, n_anchors) * (i + 1), h * w)
        anchors.append(np.concatenate([centres, np.stack([sides, sides[::-1]], 1)], 1))
    return np.concatenate(anchors).astype(np.float32)[None]


def _ssd_decode(g: Graph, x: str, anchors: np.ndarray) -> str:
    xy, wh = g.split(x, [2, 2], axis=2)
    sides = g.const(anchors[..., 2:])
    xy = g.add(g.mul(g.mul(xy, g.const(0.1)), sides), g.const(anchors[..., :2]))
    wh = g.mul(g.same("Exp", g.mul(wh, g.const(0.2))), sides)
    half = g.mul(wh, g.const(0.5))
    return g.concat([g.sub(xy, half), g.add(xy, half)], axis=2)
