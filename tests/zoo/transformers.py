# SPDX-License-Identifier: Apache-2.0
"""Transformers of the zoo: a detector's, a plain one, a windowed one."""

import numpy as np

from graph import Graph



def detr(size: int) -> Graph:
    """A small convolutional stem, two encoder layers, two decoder layers, two heads."""
    g = Graph("detr", opset=17, seed=77)
    g.batch = "batch_size"
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


def vit(size: int) -> Graph:
    """Patches of 16, a class token, pre-norm blocks; the token is expanded to the batch."""
    g = Graph("vit", opset=14, seed=16)
    g.batch = "batch_size"
    x = g.conv(g.input("pixel_values", 1, 3, size, size), 96, 16, 16, p=0)
    batch = g.unsqueeze(g.size_of(x, 0), 0)
    c, side = g.dims[x][1:3]
    x = g.transpose(g.flatten_from(x, 2), 0, 2, 1)
    token = g.weight(g.noise(1, 1, c), "cls_token")
    wanted = g.node("Concat", [batch, g.ints(-1), g.ints(-1)], axis=0)
    ones = g.node("ConstantOfShape", [g.ints(3)], value=_int_tensor(1))
    minus = g.node("Equal", [wanted, g.node("Mul", [ones, g.const(-1, np.int64)])])
    target = g.node("Where", [minus, ones, wanted])
    token = g.node("Expand", [token, target], dims=(1, 1, c))
    x = g.concat([token, x], axis=1)
    x = g.add(x, g.weight(g.noise(1, side * side + 1, c, std=0.3), "places"))
    for _ in range(4):
        y = _layer_norm_parts(g, x)
        x = g.add(x, _attention(g, y, y, y, 6))
        x = g.add(x, _feed_forward(g, _layer_norm_parts(g, x)))
    x = _layer_norm_parts(g, x)
    first = g.node("Gather", [x, g.const(0, np.int64)], dims=(1, c), axis=1)
    g.output(g.gemm(first, 100), "logits", 1, 100)
    return g


def _int_tensor(value: int):
    from onnx import numpy_helper

    return numpy_helper.from_array(np.array([value], np.int64))


def swin(size: int) -> Graph:
    """Two stages of plain and shifted windows of 7, then patches are merged."""
    g = Graph("swin", opset=16, seed=7)
    x = g.conv(g.input("input", 1, 3, size, size), 48, 4, 4, p=0)
    x = _layer_norm_parts(g, g.transpose(x, 0, 2, 3, 1))
    for stage, heads in enumerate((3, 6)):
        if stage:
            x = _merge_patches(g, x)
        for shift in (0, 3):
            y = _layer_norm_parts(g, x)
            x = g.add(x, _window_attention(g, y, heads, shift))
            x = g.add(x, _feed_forward(g, _layer_norm_parts(g, x)))
    x = g.mean(_layer_norm_parts(g, x), [1, 2], keep=False)
    g.output(g.gemm(x, 100), "logits", 1, 100)
    return g


def _roll(g: Graph, x: str, shift: int, axis: int) -> str:
    """torch.roll by -shift."""
    return g.concat([g.slice(x, shift, 2**63 - 1, axis), g.slice(x, 0, shift, axis)], axis)


def _merge_patches(g: Graph, x: str) -> str:
    end = 2**63 - 1
    parts = [
        g.slice(g.slice(x, row, end, 1, 2), column, end, 2, 2)
        for column in (0, 1)
        for row in (0, 1)
    ]
    x = _layer_norm_parts(g, g.concat(parts, axis=3))
    return g.linear(x, g.dims[x][3] // 2)


def _window_attention(g: Graph, x: str, n_heads: int, shift: int, window: int = 7) -> str:
    n, h, w, c = g.dims[x]
    if shift:
        x = _roll(g, _roll(g, x, shift, 1), shift, 2)
    x = g.reshape(x, n, h // window, window, w // window, window, c)
    x = g.reshape(g.transpose(x, 0, 1, 3, 2, 4, 5), -1, window * window, c)
    n_windows, tokens = g.dims[x][:2]
    qkv = g.reshape(g.linear(x, 3 * c), n_windows, tokens, 3, n_heads, c // n_heads)
    qkv = g.transpose(qkv, 2, 0, 3, 1, 4)
    q, k, v = (
        g.node("Gather", [qkv, g.const(i, np.int64)], dims=g.dims[qkv][1:], axis=0)
        for i in range(3)
    )
    q = g.mul(q, g.const((c // n_heads) ** -0.5))
    scores = g.matmul(q, g.transpose(k, 0, 1, 3, 2))
    scores = g.add(scores, g.weight(g.noise(1, n_heads, tokens, tokens, std=0.5), "places"))
    if shift:
        scores = _mask_windows(g, scores, n)
    mixed = g.matmul(g.same("Softmax", scores, axis=-1), v)
    mixed = g.reshape(g.transpose(mixed, 0, 2, 1, 3), n_windows, tokens, c)
    x = g.reshape(g.linear(mixed, c), n, h // window, w // window, window, window, c)
    x = g.reshape(g.transpose(x, 0, 1, 3, 2, 4, 5), n, h, w, c)
    return _roll(g, _roll(g, x, h - shift, 1), w - shift, 2) if shift else x


def _mask_windows(g: Graph, scores: str, n: int) -> str:
    n_windows, n_heads, tokens, _ = g.dims[scores]
    mask = np.where(g.rng.uniform(size=(1, n_windows // n, 1, tokens, tokens)) < 0.2, -100, 0)
    split = g.reshape(scores, n, n_windows // n, n_heads, tokens, tokens)
    return g.reshape(g.add(split, g.const(mask)), -1, n_heads, tokens, tokens)
