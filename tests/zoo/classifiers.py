# SPDX-License-Identifier: Apache-2.0
"""Picture classifiers of the zoo."""

from graph import Graph

N_CLASSES = 1000


def resnet50(size: int) -> Graph:
    g = Graph("resnet50", opset=12, seed=50)
    x = g.input("input", 1, 3, size, size)
    x = g.conv_bn(x, 64, 7, 2, p=3)
    x = g.pool(x, k=3, s=2, p=1)
    for width, n, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(n):
            s = stride if i == 0 else 1
            y = g.conv_bn(g.conv_bn(g.conv_bn(x, width), width, 3, s), width * 4, act=None,
                          scale=0.4)  # fmt: skip
            shortcut = g.conv_bn(x, width * 4, 1, s, act=None) if i == 0 else x
            x = g.act(g.add(y, shortcut), "relu")
    g.output(g.gemm(g.flatten(g.gap(x)), N_CLASSES), "output", 1, N_CLASSES)
    return g


def squeezenet(size: int) -> Graph:
    g = Graph("squeezenet1_1", opset=11, seed=11)
    x = g.input("data", 1, 3, size, size)
    x = g.pool(g.conv(x, 64, 3, 2, p=0, act="relu"), k=3, s=2, ceil=1)
    plan = [(16, 64), (16, 64), None, (32, 128), (32, 128), None]
    plan += [(48, 192), (48, 192), (64, 256), (64, 256)]
    for fire in plan:
        if fire is None:
            x = g.pool(x, k=3, s=2, ceil=1)
            continue
        squeeze, expand = fire
        y = g.conv(x, squeeze, act="relu")
        x = g.concat([g.conv(y, expand, act="relu"), g.conv(y, expand, 3, act="relu")])
    x = g.conv(x, N_CLASSES, act="relu")
    g.output(g.flatten(g.gap(x)), "softmaxout", 1, N_CLASSES)
    return g


def efficientnet_b0(size: int) -> Graph:
    """As tf2onnx writes it: pictures last-channel, TensorFlow's one-sided padding."""
    g = Graph("efficientnet_b0", opset=13, seed=0)
    x = g.transpose(g.input("input_1", 1, size, size, 3), 0, 3, 1, 2)
    x = g.conv_bn(x, 32, 3, 2, act="silu", pads=[0, 0, 1, 1])
    blocks = (
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    )
    for expand, out, n, stride, k in blocks:
        for i in range(n):
            x = _mb_block(g, x, expand, out, stride if i == 0 else 1, k)
    x = g.conv_bn(x, 1280, act="silu")
    x = g.gemm(g.mean(x, [2, 3], keep=False), N_CLASSES)
    g.output(g.node("Softmax", [x], dims=(1, N_CLASSES), axis=-1), "predictions", 1, N_CLASSES)
    return g


def _mb_block(g: Graph, x: str, expand: int, out: int, stride: int, k: int) -> str:
    c = g.dims[x][1]
    y = g.conv_bn(x, c * expand, act="silu") if expand > 1 else x
    pads = [(k - 2) // 2, (k - 2) // 2, (k - 1) // 2, (k - 1) // 2] if stride == 2 else None
    y = g.depthwise(y, k, stride, act="silu", pads=pads)
    s = g.mean(y, [2, 3], keep=True)
    s = g.conv(g.conv(s, max(1, c // 4), act="silu"), c * expand, act="sigmoid", gain=2.0)
    y = g.conv_bn(g.mul(y, s), out, act=None)
    return g.add(y, x) if stride == 1 and c == out else y


def shufflenet_v2(size: int) -> Graph:
    g = Graph("shufflenet_v2_x1_0", opset=11, seed=2)
    x = g.input("input", 1, 3, size, size)
    x = g.pool(g.conv_bn(x, 24, 3, 2), k=3, s=2, p=1)
    for out, n in ((116, 4), (232, 8), (464, 4)):
        for i in range(n):
            half = out // 2
            if i == 0:
                left = g.conv_bn(g.depthwise(x, 3, 2, act=None), half)
                right = x
            else:
                left, right = g.split(x, [half, half])
            right = g.conv_bn(right, half)
            right = g.conv_bn(g.depthwise(right, 3, 2 if i == 0 else 1, act=None), half)
            x = _shuffle(g, g.concat([left, right]), 2)
    x = g.conv_bn(x, 1024)
    g.output(g.gemm(g.mean(x, [2, 3], keep=False), N_CLASSES), "output", 1, N_CLASSES)
    return g


def _shuffle(g: Graph, x: str, groups: int) -> str:
    n, c, h, w = g.dims[x]
    sizes = [(g.size_of(x, axis), g.dims[x][axis]) for axis in range(4)]
    per_group = g.node("Div", [sizes[1][0], g.const(groups, "int64")])
    y = g.view(x, sizes[0], groups, (per_group, c // groups), sizes[2], sizes[3])
    y = g.transpose(y, 0, 2, 1, 3, 4)
    return g.view(y, sizes[0], -1, sizes[2], sizes[3])


def alexnet(size: int) -> Graph:
    """Caffe's, with local response normalisation and two groups; narrow classifier."""
    g = Graph("alexnet", opset=11, seed=12)
    x = g.input("data_0", 1, 3, size, size)
    for out, k, s, p, groups in ((96, 11, 4, 0, 1), (256, 5, 1, 2, 2)):
        x = g.conv(x, out, k, s, p=p, g=groups, act="relu")
        x = g.same("LRN", x, size=5, alpha=1e-4, beta=0.75, bias=1.0)
        x = g.pool(x, k=3, s=2)
    x = g.conv(x, 384, 3, act="relu")
    x = g.conv(x, 384, 3, g=2, act="relu")
    x = g.pool(g.conv(x, 256, 3, g=2, act="relu"), k=3, s=2)
    x = g.gemm(g.gemm(g.flatten(x), 1024, "relu"), 1024, "relu")
    x = g.gemm(x, N_CLASSES)
    g.output(g.node("Softmax", [x], dims=(1, N_CLASSES), axis=1), "prob_1", 1, N_CLASSES)
    return g


def densenet121(size: int) -> Graph:
    g = Graph("densenet121", opset=11, seed=121)
    x = g.input("data_0", 1, 3, size, size)
    x = g.pool(g.conv_bn(x, 64, 7, 2, p=3), k=3, s=2, p=1)
    for stage, n in enumerate((6, 12, 24, 16)):
        for _ in range(n):
            y = g.conv(g.act(g.bn(x), "relu"), 128, bias=False, gain=1.3)
            y = g.conv(g.act(g.bn(y), "relu"), 32, 3, bias=False, gain=1.3)
            x = g.concat([x, y])
        if stage < 3:
            x = g.conv(g.act(g.bn(x), "relu"), g.dims[x][1] // 2, bias=False, gain=1.3)
            x = g.pool(x, "AveragePool", k=2, s=2)
    x = g.gap(g.act(g.bn(x), "relu"))
    g.output(g.conv(x, N_CLASSES), "fc6_1", 1, N_CLASSES, 1, 1)
    return g


def inception_v1(size: int) -> Graph:
    g = Graph("inception_v1", opset=12, seed=1)
    x = g.input("data_0", 1, 3, size, size)
    x = g.pool(g.conv(x, 64, 7, 2, p=3, act="relu"), k=3, s=2, ceil=1)
    x = g.same("LRN", x, size=5, alpha=1e-4, beta=0.75, bias=1.0)
    x = g.conv(g.conv(x, 64, act="relu"), 192, 3, act="relu")
    x = g.same("LRN", x, size=5, alpha=1e-4, beta=0.75, bias=1.0)
    x = g.pool(x, k=3, s=2, ceil=1)
    plan = ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None)
    plan += ((192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64))
    plan += ((128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64))
    plan += ((256, 160, 320, 32, 128, 128), None)
    plan += ((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128))
    for block in plan:
        x = g.pool(x, k=3, s=2, ceil=1) if block is None else _inception(g, x, *block)
    x = g.gemm(g.flatten(g.pool(x, "AveragePool", k=g.dims[x][2], s=1)), N_CLASSES)
    g.output(g.node("Softmax", [x], dims=(1, N_CLASSES), axis=1), "prob_1", 1, N_CLASSES)
    return g


def _inception(g: Graph, x: str, one: int, r3: int, c3: int, r5: int, c5: int, pool: int) -> str:
    relu = {"act": "relu"}
    return g.concat(
        [
            g.conv(x, one, **relu),
            g.conv(g.conv(x, r3, **relu), c3, 3, **relu),
            g.conv(g.conv(x, r5, **relu), c5, 5, **relu),
            g.conv(g.pool(x, k=3, s=1, p=1), pool, **relu),
        ]
    )


def vgg19(size: int) -> Graph:
    """Half as wide as the paper's."""
    g = Graph("vgg19", opset=11, seed=19)
    x = g.input("data_0", 1, 3, size, size)
    for width, n in ((32, 2), (64, 2), (128, 4), (256, 4), (256, 4)):
        for _ in range(n):
            x = g.conv(x, width, 3, act="relu")
        x = g.pool(x, k=2, s=2)
    x = g.gemm(g.gemm(g.flatten(x), 512, "relu"), 512, "relu")
    g.output(g.gemm(x, N_CLASSES), "logits", 1, N_CLASSES)
    return g
