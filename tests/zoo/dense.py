# SPDX-License-Identifier: Apache-2.0
"""Segmenters of the zoo, and a detector's transformer."""

import numpy as np

import mobilenets
from graph import Graph


def unet(size: int) -> Graph:
    """Transposed convolutions on the way up; half as wide as the paper's half."""
    g = Graph("unet", opset=11, seed=64)
    x = g.input("input", 1, 3, size, size)
    widths, skips = (16, 32, 64, 128, 256), []
    for i, width in enumerate(widths):
        x = g.conv_bn(g.conv_bn(x, width, 3), width, 3)
        if i < len(widths) - 1:
            skips.append(x)
            x = g.pool(x, k=2, s=2)
    for width, skip in zip(reversed(widths[:-1]), reversed(skips)):
        x = g.concat([skip, g.conv_transpose(x, width)])
        x = g.conv_bn(g.conv_bn(x, width, 3), width, 3)
    x = g.act(g.conv(x, 2), "sigmoid")
    g.output(x, "mask", *g.dims[x])
    return g


def deeplabv3_mobilenet(size: int) -> Graph:
    """torchvision's DeepLabV3 over MobileNetV3-Large, the last stage dilated."""
    g = Graph("deeplabv3_mobilenet_v3", opset=13, seed=3, hswish="sigmoid")
    picture = g.input("input", 1, 3, size, size)
    x = g.conv_bn(picture, 16, 3, 2, act="hswish")
    for i, row in enumerate(mobilenets.V3_LARGE):
        k, expanded, out, squeeze, act, stride = row
        late = i >= 12
        x = mobilenets.v3_block(
            g, x, (k, expanded, out, squeeze, act, 1 if late else stride), 2 if late else 1
        )
    x = _aspp(g, g.conv_bn(x, 960, act="hswish"))
    x = g.conv(g.conv_bn(x, 128, 3), 21)
    output = g.resize(
        x, size=_size_like(g, x, picture), mode="linear", coord="pytorch_half_pixel"
    )
    g.output(output, "out", *g.dims[output])
    return g


def _size_like(g: Graph, x: str, other: str):
    """Sizes for Resize: channels of x, plane of other; (name, dims)."""
    planes = g.node("Slice", [g.node("Shape", [other]), g.ints(2), g.ints(4), g.ints(0)])
    lead = g.node("Slice", [g.node("Shape", [x]), g.ints(0), g.ints(2), g.ints(0)])
    name = g.node("Concat", [lead, g.node("Cast", [planes], to=7)], axis=0)
    return name, (*g.dims[x][:2], *g.dims[other][2:])


def _aspp(g: Graph, x: str) -> str:
    parts = [g.conv_bn(x, 128)]
    parts += [g.conv_bn(x, 128, 3, d=rate) for rate in (6, 12, 18)]
    pooled = g.conv_bn(g.gap(x), 128)
    size = _size_like(g, pooled, x)
    parts.append(g.resize(pooled, size=size, mode="linear", coord="pytorch_half_pixel"))
    return g.conv_bn(g.concat(parts), 128)


def detr(size: int) -> Graph:
    """A small convolutional stem, two encoder layers, two decoder layers, two heads."""
    g = Graph("detr", opset=17, seed=77)
    x = g.input("pixel_values", 1, 3, size, size)
    for width in (24, 48, 96, 128):
        x = g.conv_bn(x, width, 3, 2)
    c, h, w = g.dims[x][1:]
    x = g.transpose(g.view(x, (g.size_of(x, 0), 1), c, -1), 0, 2, 1)
    places = g.weight(g.noise(1, h * w, c, std=0.5), "places")
    for _ in range(2):
        x = _layer_norm_parts(g, g.add(x, _attention(g, g.add(x, places), g.add(x, places), x, 8)))
        x = _layer_norm_parts(g, g.add(x, _feed_forward(g, x)))
    n_queries = 50
    queries = g.weight(g.noise(1, n_queries, c), "queries")
    y = g.weight(g.noise(1, n_queries, c, std=0.3), "start")
    for _ in range(2):
        own = g.add(y, queries)
        y = _layer_norm(g, g.add(y, _attention(g, own, own, y, 8)))
        y = _layer_norm(g, g.add(y, _attention(g, g.add(y, queries), g.add(x, places), x, 8)))
        y = _layer_norm(g, g.add(y, _feed_forward(g, y)))
    logits = g.linear(y, 92)
    boxes = g.act(g.linear(y, c), "gelu")
    boxes = g.act(g.linear(boxes, 4), "sigmoid")
    g.output(logits, "logits", *g.dims[logits])
    g.output(boxes, "pred_boxes", *g.dims[boxes])
    return g


def _heads(g: Graph, x: str, n_heads: int) -> str:
    n, tokens, c = g.dims[x]
    sizes = [(g.size_of(x, 0), n), (g.size_of(x, 1), tokens)]
    return g.view(x, *sizes, n_heads, c // n_heads)


def _attention(g: Graph, query: str, key: str, value: str, n_heads: int) -> str:
    n, tokens, c = g.dims[query]
    q = g.transpose(_heads(g, g.linear(query, c), n_heads), 0, 2, 1, 3)
    k = g.transpose(_heads(g, g.linear(key, c), n_heads), 0, 2, 3, 1)
    v = g.transpose(_heads(g, g.linear(value, c), n_heads), 0, 2, 1, 3)
    scores = g.div(g.matmul(q, k), g.const((c // n_heads) ** 0.5))
    mixed = g.matmul(g.same("Softmax", scores, axis=-1), v)
    mixed = g.transpose(mixed, 0, 2, 1, 3)
    joined = g.view(mixed, (g.size_of(mixed, 0), n), (g.size_of(mixed, 1), tokens), c)
    return g.linear(joined, c)


def _feed_forward(g: Graph, x: str) -> str:
    c = g.dims[x][-1]
    return g.linear(g.act(g.linear(x, 4 * c), "gelu"), c)


def _norm_weights(g: Graph, c: int):
    scale = g.weight(g.rng.normal(1, 0.1, c).astype(np.float32), "gamma")
    return scale, g.weight(g.noise(c, std=0.1), "beta")


def _layer_norm(g: Graph, x: str) -> str:
    scale, shift = _norm_weights(g, g.dims[x][-1])
    return g.same("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-5)


def _layer_norm_parts(g: Graph, x: str) -> str:
    """As PyTorch wrote it before opset 17."""
    scale, shift = _norm_weights(g, g.dims[x][-1])
    centred = g.sub(x, g.mean(x, [-1 % 3], keep=True))
    square = g.same("Pow", centred, g.const(2.0))
    deviation = g.same("Sqrt", g.add(g.mean(square, [-1 % 3], keep=True), g.const(1e-5)))
    return g.add(g.mul(g.div(centred, deviation), scale), shift)
