# SPDX-License-Identifier: Apache-2.0
"""Pictures in, pictures out: segmenters and a style transfer."""

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


def style(size: int) -> Graph:
    """Reflected borders, instance normalisation, nearest upsampling: Johnson's transform net."""
    g = Graph("style", opset=11, seed=9)
    x = g.input("input1", 1, 3, size, size)
    for width, k, s in ((16, 9, 1), (32, 3, 2), (64, 3, 2)):
        x = g.act(_style_conv(g, x, width, k, s), "relu")
    for _ in range(3):
        y = g.act(_style_conv(g, x, 64, 3, 1), "relu")
        x = g.add(_style_conv(g, y, 64, 3, 1), x)
    for width in (32, 16):
        x = g.act(_style_conv(g, g.resize(x, scale=2), width, 3, 1), "relu")
    x = _style_conv(g, x, 3, 9, 1, norm=False)
    g.output(x, "output1", *g.dims[x])
    return g


def _style_conv(g: Graph, x: str, out: int, k: int, s: int, norm: bool = True) -> str:
    n, c, h, w = g.dims[x]
    p = k // 2
    border = g.ints(0, 0, p, p, 0, 0, p, p)
    x = g.node("Pad", [x, border], dims=(n, c, h + 2 * p, w + 2 * p), mode="reflect")
    x = g.conv(x, out, k, s, p=0)
    if not norm:
        return x
    scale = g.weight(g.rng.uniform(0.5, 1.5, out).astype("float32"), "scale")
    return g.same("InstanceNormalization", x, scale, g.weight(g.noise(out, std=0.2)), epsilon=1e-5)
