# SPDX-License-Identifier: Apache-2.0
"""Small models of what runtimes and importers have got wrong, each with the right behaviour.

Where ONNX Runtime is right it is the oracle; elsewhere the expectation stands in the case.
"""

import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from case import Case

F = TensorProto.FLOAT


def _rng(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def _noise(name, *shape):
    return _rng(name).standard_normal(shape).astype(np.float32)


def _model(nodes, inputs, outputs, opset, constants=None, domains=()):
    """inputs: name -> array; outputs: names; constants: name -> array."""
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info(
                n, helper.np_dtype_to_tensor_dtype(a.dtype), list(a.shape)
            )
            for n, a in inputs.items()
        ],
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _typed(model):
    """With the types of its outputs, which ONNX Runtime wants."""
    return onnx.shape_inference.infer_shapes(model, strict_mode=False)


def _case(name, nodes, inputs, opset, constants=None, outputs=("y",), **more):
    model = _typed(_model(nodes, inputs, outputs, opset, constants))
    return Case(name, model.SerializeToString(), inputs, **more)


N = helper.make_node


def _i64(*v):
    return np.array(v, np.int64)


def _f32(*v):
    return np.array(v, np.float32)


def resize():
    ramp = _f32(0, 1, 0, 1).reshape(1, 1, 2, 2)
    scales = {"s": _f32(1, 1, 2, 2)}

    def node(**attrs):
        return [N("Resize", ["x", "", "s"], ["y"], **attrs)]

    row = _f32(0, 0.25, 0.75, 1)
    yield _case(
        "resize half_pixel is not asymmetric",
        node(mode="linear"),
        {"x": ramp},
        13,
        scales,
        expected={"y": np.tile(row, (4, 1)).reshape(1, 1, 4, 4)},
    )
    x = _noise("corners", 1, 1, 3, 4)
    third = _f32(0, 1, 2, 3)
    want = np.interp(np.arange(8) * 3 / 7, third, np.arange(4)).astype(np.float32)
    yield _case(
        "resize align_corners keeps the corners",
        node(mode="linear", coordinate_transformation_mode="align_corners"),
        {"x": third.reshape(1, 1, 1, 4)},
        13,
        {"s": _f32(1, 1, 1, 2)},
        expected={"y": want.reshape(1, 1, 1, 8)},
    )
    for n_in, scale, n_out in ((13, 2.0, 26), (20, 1.5, 30), (19, 0.5, 9), (7, 1.4, 9)):
        yield _case(
            f"resize {n_in} by {scale} gives {n_out}",
            [N("Resize", ["x", "", "s"], ["r"], mode="nearest"), N("Shape", ["r"], ["y"])],
            {"x": _noise("size", 1, 1, n_in, n_in)},
            13,
            {"s": _f32(1, 1, scale, scale)},
            expected={"y": _i64(1, 1, n_out, n_out)},
        )
    yield _case(
        "resize with an unknown mode is refused",
        [N("Resize", ["x", "", "", "n"], ["y"], name="up", mode="area")],
        {"x": x},
        13,
        {"n": _i64(1, 1, 6, 8)},
        refusal=r"node `up` \(Resize-13\): mode `area` is not supported",
    )
    for mode in ("bilinear", "nearest", "bicubic"):
        yield _grid(f"grid_sample-16 {mode}", mode, 16)
    # The names of opset 20 mean the same; ONNX Runtime is asked by those of 16.
    for new, old in (("linear", "bilinear"), ("nearest", "nearest"), ("cubic", "bicubic")):
        yield _grid(f"grid_sample-20 {new} is {old}", new, 20)
    yield _grid("grid_sample-20 knows no bilinear", "bilinear", 20, r"mode `bilinear`")
    yield _grid("grid_sample-16 knows no linear", "linear", 16, r"mode `linear`")


def _grid(name, mode, opset, refusal=None):
    inputs = {"x": _noise("x", 1, 2, 5, 6), "g": 1.2 * np.tanh(_noise("g", 1, 4, 3, 2))}
    nodes = [N("GridSample", ["x", "g"], ["y"], mode=mode)]
    return _case(name, nodes, inputs, opset, refusal=refusal)


def softmax():
    x = _noise("softmax", 2, 3, 4, 5)
    flat = np.exp(x.reshape(2, 60).astype(np.float64))
    matrix = (flat / flat.sum(1, keepdims=True)).reshape(x.shape).astype(np.float32)
    e = np.exp(x.astype(np.float64))
    last = (e / e.sum(-1, keepdims=True)).astype(np.float32)
    for label, attrs, opset, want in (
        ("opset 11 axis 1 sums over 60", {"axis": 1}, 11, matrix),
        ("opset 11 default axis is 1", {}, 11, matrix),
        ("opset 13 default axis is the last", {}, 13, last),
    ):
        node = [N("Softmax", ["x"], ["y"], **attrs)]
        yield _case(f"softmax {label}", node, {"x": x}, opset, expected={"y": want})
    for axis in range(-4, 4):
        for op in ("Softmax", "LogSoftmax", "Hardmax"):
            node = [N(op, ["x"], ["y"], axis=axis)]
            yield _case(f"{op} axis {axis}", node, {"x": x}, 13)
    node = [N("Softmax", ["x"], ["y"], name="s", axis=4)]
    yield _case("softmax axis out of range", node, {"x": x}, 13, refusal=r"node `s`.*axis 4")


def _pooled(size, kernel, pad):
    """Windows along an axis: rounded up, but none that starts in the padding at the end."""
    windows = -(-(size + 2 * pad - kernel) // 2) + 1
    return windows - ((windows - 1) * 2 >= size + pad)


def pooling():
    for op in ("MaxPool", "AveragePool"):
        for kernel in (2, 3):
            for size in range(4, 10):
                x = _noise(f"{op}{size}", 1, 2, size, size)
                attrs = {
                    "kernel_shape": [kernel] * 2,
                    "strides": [2, 2],
                    "pads": [1] * 4,
                    "ceil_mode": 1,
                }
                n = _pooled(size, kernel, 1)
                nodes = [
                    N(op, ["x"], ["p"], **attrs),
                    N("Shape", ["p"], ["y"]),
                    N("Cast", ["nan"], ["bad"], to=TensorProto.INT32),
                    N("IsNaN", ["p"], ["nan"]),
                ]
                yield _case(
                    f"{op} ceil_mode {size} by {kernel}: no window of padding",
                    nodes,
                    {"x": x},
                    13,
                    outputs=("y", "bad"),
                    expected={"y": _i64(1, 2, n, n), "bad": np.zeros((1, 2, n, n), np.int32)},
                )
    for op, size in (("MaxPool", 7), ("AveragePool", 8)):
        for pad in ("SAME_UPPER", "SAME_LOWER"):
            attrs = {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": pad}
            yield _case(f"{op} {pad} {size}", [N(op, ["x"], ["y"], **attrs)],
                        {"x": _noise(pad, 1, 2, size, size)}, 13)  # fmt: skip
    for size in (7, 8):
        node = N("Conv", ["x", "w"], ["c"], auto_pad="SAME_UPPER", strides=[2, 2])
        yield _case(
            f"Conv SAME_UPPER with stride 2 halves {size}",
            [node, N("Shape", ["c"], ["y"])],
            {"x": _noise("same", 1, 1, size, size)},
            13,
            {"w": _noise("w", 1, 1, 3, 3)},
            expected={"y": _i64(1, 1, 4, 4)},
        )


def transposed():
    x = np.zeros((1, 1, 1, 4), np.float32)
    x[0, 0, 0, 1] = 1
    kernel = _f32(1, 2, 3).reshape(1, 1, 1, 3)
    # Nine cells of a full result, one too many for 2 x 4: it goes at the end for SAME_UPPER.
    full = np.zeros(9, np.float32)
    full[2:5] = 1, 2, 3
    for pad, want in (("SAME_UPPER", full[:8]), ("SAME_LOWER", full[1:])):
        yield _case(
            f"ConvTranspose {pad}",
            [N("ConvTranspose", ["x", "w"], ["y"], auto_pad=pad, strides=[1, 2])],
            {"x": x},
            13,
            {"w": kernel},
            expected={"y": want.reshape(1, 1, 1, 8)},
        )
    yield _case(
        "ConvTranspose output_padding and dilation",
        [N("ConvTranspose", ["x", "w"], ["y"], strides=[3, 2], output_padding=[2, 1],
           pads=[1, 0, 0, 1], dilations=[1, 2], group=2)],
        {"x": _noise("deconv", 1, 4, 3, 5)},
        13,
        {"w": _noise("deconv w", 4, 3, 3, 2)},
    )  # fmt: skip


def fusion():
    x = _noise("fusion", 1, 4, 6, 6)
    weights = {"w": _noise("w", 4, 2, 3, 3)}
    conv = N("Conv", ["x", "w"], ["c"], group=2, pads=[1] * 4)
    for shape in ((1, 1, 6, 6), (1, 4, 1, 1), (6, 6), (1, 4, 6, 6), (1,)):
        yield _case(
            f"group Conv and Add of {list(shape)}",
            [conv, N("Add", ["c", "b"], ["y"])],
            {"x": x},
            13,
            {**weights, "b": _noise("b", *shape)},
        )
    yield _case(
        "every declared output survives",
        [
            conv,
            N("BatchNormalization", ["c", "v", "v", "v", "v"], ["n"]),
            N("Relu", ["n"], ["r"]),
            N("Add", ["r", "x"], ["y"]),
        ],
        {"x": x},
        13,
        {**weights, "v": _f32(0.5, 1, 1.5, 2)},
        outputs=("c", "n", "r", "y"),
    )
    yield _case(
        "a shortcut that is a slice of a later concat",
        [
            N("Conv", ["x", "p"], ["a"]),
            N("Split", ["a", "two"], ["l", "r"], axis=1),
            N("Conv", ["r", "q"], ["m"], pads=[1] * 4),
            N("Relu", ["m"], ["n"]),
            N("Add", ["n", "r"], ["o"]),
            N("Concat", ["l", "r", "o"], ["y"], axis=1),
        ],
        {"x": x},
        13,
        {"p": _noise("p", 4, 4, 1, 1), "q": _noise("q", 2, 2, 3, 3), "two": _i64(2, 2)},
    )
    yield _case(
        "transposes of an attention block keep their strides",
        [
            N("MatMul", ["t", "w"], ["qkv"]),
            N("Reshape", ["qkv", "heads"], ["h"]),
            N("Transpose", ["h"], ["s"], perm=[2, 0, 3, 1, 4]),
            N("Split", ["s"], ["q", "k", "v"], axis=0),
            N("Transpose", ["k"], ["kt"], perm=[0, 1, 2, 4, 3]),
            N("MatMul", ["q", "kt"], ["a"]),
            N("Softmax", ["a"], ["p"], axis=-1),
            N("MatMul", ["p", "v"], ["o"]),
            N("Transpose", ["o"], ["u"], perm=[0, 1, 3, 2, 4]),
            N("Reshape", ["u", "flat"], ["y"]),
        ],
        {"t": _noise("tokens", 2, 5, 8)},
        13,
        {"w": _noise("qkv", 8, 24), "heads": _i64(2, 5, 3, 2, 4), "flat": _i64(2, 5, 8)},
    )


def constants():
    x = _f32(-1e9, -1, 0, 3, 1e9)
    yield _case(
        "Clip with only max leaves the low end",
        [N("Clip", ["x", "", "high"], ["y"])],
        {"x": x},
        13,
        {"high": np.float32(2)},
        expected={"y": _f32(-1e9, -1, 0, 2, 2)},
    )
    yield _case(
        "Clip with min above max gives max",
        [N("Clip", ["x", "low", "high"], ["y"])],
        {"x": x},
        13,
        {"low": np.float32(5), "high": np.float32(2)},
        expected={"y": _f32(2, 2, 2, 2, 2)},
    )
    top, low = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for label, starts, ends, steps, want in (
        ("ends at INT64_MAX", 1, top, 1, x[1:]),
        ("goes back to INT64_MIN", -1, low, -1, x[::-1]),
        ("goes back by two", top, -6, -2, x[::-2]),
        ("is empty", 3, 1, 1, x[3:1]),
    ):
        operands = {"s": _i64(starts), "e": _i64(ends), "a": _i64(-1), "t": _i64(steps)}
        node = [N("Slice", ["x", "s", "e", "a", "t"], ["y"])]
        yield _case(f"Slice {label}", node, {"x": x}, 13, operands, expected={"y": want})
    yield _case(
        "Slice from the shape of another tensor",
        [
            N("Shape", ["z"], ["sz"]),
            N("Gather", ["sz", "two"], ["n"], axis=0),
            N("Slice", ["x", "zero", "n"], ["y"]),
        ],
        {"x": x, "z": _noise("z", 1, 2, 3)},
        13,
        {"two": _i64(2), "zero": _i64(0)},
        expected={"y": x[:3]},
    )
    yield _case(
        "Slice from data is refused",
        [N("Slice", ["x", "s", "e"], ["y"], name="cut")],
        {"x": x, "s": _i64(1)},
        13,
        {"e": _i64(3)},
        refusal=r"node `cut` \(Slice-13\): .*computed at run time",
    )
    yield _case(
        "a chain of shapes folds",
        [
            N("Shape", ["x"], ["s"]),
            N("Gather", ["s", "i0"], ["b"], axis=0),
            N("Gather", ["s", "i3"], ["w"], axis=0),
            N("Div", ["w", "half"], ["h"]),
            N("Unsqueeze", ["b", "ax"], ["b1"]),
            N("Unsqueeze", ["h", "ax"], ["h1"]),
            N("Concat", ["b1", "rest", "h1"], ["t"], axis=0),
            N("Reshape", ["x", "t"], ["y"]),
        ],
        {"x": _noise("chain", 2, 3, 4, 7)},
        13,
        {
            "i0": np.int64(0),
            "i3": np.int64(-1),
            "half": np.int64(2),
            "ax": _i64(0),
            "rest": _i64(-1),
        },
        expected={"y": _noise("chain", 2, 3, 4, 7).reshape(2, 28, 3)},
    )
    yield _case(
        "a uint8 constant goes through Cast",
        [N("Cast", ["u"], ["f"], to=F), N("Mul", ["x", "f"], ["y"])],
        {"x": x[1:4]},
        13,
        {"u": np.array([0, 128, 255], np.uint8)},
        expected={"y": _f32(0, 0, 765)},
    )
    yield _case(
        "a tensor of no elements is fine",
        [N("Concat", ["x", "none"], ["y"], axis=0)],
        {"x": x},
        13,
        {"none": np.zeros(0, np.float32)},
        expected={"y": x},
    )
    model = _model([N("Add", ["x", "b"], ["y"])], {"x": x}, ["y"], 13)
    model.graph.initializer.append(TensorProto(name="b", data_type=F, dims=[5]))
    yield Case("a tensor without data is refused", model.SerializeToString(), {"x": x},
               refusal=r"`b`")  # fmt: skip


def _branch(name, nodes, output, extra=None):
    infos = [helper.make_tensor_value_info(output, F, None)]
    inits = [numpy_helper.from_array(a, n) for n, a in (extra or {}).items()]
    return helper.make_graph(nodes, name, [], infos, inits)


def _if(name, then, other, condition, inputs, expected=None, refusal=None):
    nodes = [N("If", ["c"], ["y"], name="choose", then_branch=then, else_branch=other)]
    constants = {} if "c" in inputs else {"c": np.array(condition)}
    return _case(name, nodes, inputs, 13, constants, expected=expected, refusal=refusal)


def subgraphs():
    x = _noise("branches", 2, 3)
    # Both branches use the name `n` for their node and see x of the graph around them.
    then = _branch("t", [N("Relu", ["x"], ["r"], name="n")], "r")
    other = _branch("e", [N("Neg", ["x"], ["r"], name="n")], "r")
    for condition, want in ((True, np.maximum(x, 0)), (False, -x)):
        label = f"If {condition} sees the scope around it, names in both branches"
        yield _if(label, then, other, condition, {"x": x}, {"y": want})
    wide = _branch("e", [N("Transpose", ["x"], ["r"])], "r")
    yield _if("If with branches of unlike shape", then, wide, False, {"x": x}, {"y": x.T})
    inner = N("If", ["c"], ["q"], then_branch=then, else_branch=other)
    nested = _branch("t", [inner, N("Mul", ["q", "k"], ["o"])], "o", {"k": _f32(2)})
    yield _if("nested If with a constant of its own", nested, other, True, {"x": x},
              {"y": 2 * np.maximum(x, 0)})  # fmt: skip
    run_time = {"x": x, "c": np.array(True)}
    yield _if("If of data is refused", then, other, None, run_time,
              refusal=r"node `choose` .*its condition is computed at run time")  # fmt: skip
    shape_nodes = [
        N("Shape", ["x"], ["s"]),
        N("Gather", ["s", "zero"], ["n"], axis=0),
        N("Equal", ["n", "two"], ["c"]),
        N("If", ["c"], ["y"], then_branch=then, else_branch=other),
    ]
    numbers = {"zero": np.int64(0), "two": np.int64(2)}
    yield _case("If of a shape is decided", shape_nodes, {"x": x}, 13, numbers,
                expected={"y": np.maximum(x, 0)})  # fmt: skip


def loops():
    x = _noise("loop", 2, 3)
    body = helper.make_graph(
        [
            N("Add", ["v", "x"], ["next"]),
            N("Identity", ["on"], ["still"]),
            N("Cast", ["i"], ["f"], to=F),
            N("Mul", ["next", "f"], ["scan"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", F, [2, 3]),
        ],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", F, [2, 3]),
            helper.make_tensor_value_info("scan", F, [2, 3]),
        ],
    )
    node = N("Loop", ["m", "", "zero"], ["y", "z"], name="again", body=body)
    numbers = {"zero": np.zeros((2, 3), np.float32), "m": np.int64(3)}
    want = {"y": 3 * x, "z": np.stack([0 * x, 2 * x, 6 * x])}
    yield _case("Loop of three is unrolled and sees the scope around it", [node], {"x": x}, 13,
                numbers, outputs=("y", "z"), expected=want)  # fmt: skip
    data = {"x": x, "m": np.array(3, np.int64)}
    del numbers["m"]
    yield _case("Loop of data is refused", [node], data, 13, numbers, outputs=("y", "z"),
                refusal=r"node `again` \(Loop-13\): its trip count")  # fmt: skip
    forever = {**numbers, "m": np.int64(2**62)}
    yield _case("Loop without end is refused", [node], {"x": x}, 13, forever, outputs=("y", "z"),
                refusal=r"node `again` \(Loop-13\): .*4096 iterations")  # fmt: skip


def functions():
    x = _noise("function", 2, 3)
    slope = N("LeakyRelu", ["v"], ["l"])
    slope.attribute.append(
        onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    )
    inner = helper.make_function(
        "own", "leak", ["v", "b"], ["w"], [slope, N("Clip", ["l", "", "b"], ["w"])],
        [helper.make_opsetid("", 13)], ["slope"],
    )  # fmt: skip
    outer = helper.make_function(
        "own", "twice", ["v", "b"], ["w"],
        [N("leak", ["v", "b"], ["m"], domain="own", slope=0.5),
         N("leak", ["m"], ["w"], domain="own", slope=0.25)],
        [helper.make_opsetid("", 13), helper.make_opsetid("own", 1)],
    )  # fmt: skip
    call = N("twice", ["x", "high"], ["y"], domain="own")
    model = _model([call], {"x": x}, ["y"], 13, {"high": np.float32(0.4)}, ["own"])
    model.functions.extend([outer, inner])
    once = np.minimum(np.where(x < 0, x * 0.5, x), 0.4)
    want = np.where(once < 0, once * 0.25, once).astype(np.float32)
    yield Case("functions are inlined, with attributes and inputs left out",
               model.SerializeToString(), {"x": x}, expected={"y": want})  # fmt: skip


def _qdq(value, scale, zero, name):
    """Nodes that quantise a value and back; the result is `name`."""
    return [
        N("QuantizeLinear", [value, scale, zero], [name + "_q"]),
        N("DequantizeLinear", [name + "_q", scale, zero], [name]),
    ]


def quantised_branches():
    """Residual Add and Concat whose branches carry their quantisation in other places: the same
    numbers everywhere, to a step of the last quantisation."""
    x = _noise("qdq x", 1, 4, 8, 8)
    weights = np.clip(np.rint(_noise("qdq w", 4, 4, 3, 3) * 40), -127, 127).astype(np.int8)
    numbers = {
        "w": weights, "ws": _f32(0.01, 0.02, 0.015, 0.005), "wz": np.zeros(4, np.int8),
        "xs": np.float32(0.03), "z": np.int8(0), "ms": np.float32(0.1), "ys": np.float32(0.12),
    }  # fmt: skip
    head = [
        *_qdq("x", "xs", "z", "a"),
        N("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0),
        N("Conv", ["a", "wd"], ["m"], pads=[1] * 4),
    ]
    left, right = _qdq("m", "ms", "z", "l"), _qdq("a", "xs", "z", "r")
    places = {
        "none": ([], "m", "a"),
        "the convolution's": (left, "l", "a"),
        "the shortcut's": (right, "m", "r"),
        "both": (left + right, "l", "r"),
    }
    for label, (nodes, first, second) in places.items():
        for order in ((first, second), (second, first)):
            tail = [N("Relu", ["s"], ["t"]), *_qdq("t", "ys", "z", "y")]
            side = "left" if order[0] == first else "right"
            yield _case(
                f"QDQ on a residual Add, {label}, convolution on the {side}",
                [*head, *nodes, N("Add", list(order), ["s"]), *tail],
                {"x": x},
                13,
                numbers,
                tolerance=1.01 / 127,
            )
        yield _case(
            f"QDQ on a Concat, {label}",
            [
                *head,
                *nodes,
                N("Concat", [first, second], ["t"], axis=1),
                *_qdq("t", "ys", "z", "y"),
            ],
            {"x": x},
            13,
            numbers,
            tolerance=1.01 / 127,
        )


def taps():
    """What is looked at stays what it was: the same graph with and without inner outputs."""
    x = _noise("tap x", 1, 3, 7, 9)
    grid = np.clip(_noise("tap grid", 1, 5, 6, 2), -1.2, 1.2)
    nodes = [
        N("Conv", ["x", "w", "b"], ["c"], pads=[1] * 4),
        N("Sigmoid", ["c"], ["g"]),
        N("Mul", ["c", "g"], ["silu"]),
        N("GridSample", ["silu", "grid"], ["s"], mode="bilinear", padding_mode="border"),
        N("Mul", ["s", "scale"], ["p"]),
        N("Add", ["p", "shift"], ["y"]),
    ]
    numbers = {
        "w": _noise("tap w", 4, 3, 3, 3), "b": _noise("tap b", 4), "grid": grid,
        "scale": _noise("tap scale", 1, 4, 1, 1), "shift": _noise("tap shift", 1, 4, 1, 1),
    }  # fmt: skip
    for label, seen in (
        ("nothing", ()),
        ("the sample", ("s",)),
        ("the gate and the sample", ("g", "s")),
        ("everything", ("c", "g", "silu", "s", "p")),
    ):
        yield _case(
            f"GridSample between fused nodes, {label} tapped",
            nodes,
            {"x": x},
            16,
            numbers,
            outputs=("y", *seen),
            tolerance=2e-6,
        )


def broken():
    x = _noise("broken", 2, 3)
    good = _model([N("Relu", ["x"], ["y"])], {"x": x}, ["y"], 13)
    data = good.SerializeToString()
    yield Case("half a file is refused", data[: len(data) // 2], {"x": x}, refusal="offset|input")
    no_type = _model([N("Relu", ["x"], ["y"])], {"x": x}, ["y"], 13)
    no_type.graph.input[0].ClearField("type")
    yield Case("an input without a type is refused", no_type.SerializeToString(), {"x": x},
               refusal="input `x`")  # fmt: skip
    for location in ("weights.bin", "../../etc/passwd", "/etc/passwd", ""):
        model = _model([N("Add", ["x", "b"], ["y"])], {"x": x}, ["y"], 13)
        tensor = TensorProto(name="b", data_type=F, dims=[3], data_location=1)
        tensor.external_data.add(key="location", value=location)
        model.graph.initializer.append(tensor)
        yield Case(f"external data `{location}` is refused", model.SerializeToString(), {"x": x},
                   refusal="tensor `b`: its data is in another file")  # fmt: skip
    wrong = x.astype(np.float16)
    for label, array in (("bytes", x[:1]), ("type", np.zeros((2, 3), np.int32))):
        yield Case(f"an input of the wrong {label} is refused", data, {"x": array},
                   shapes={"x": wrong.shape}, refusal="input `x` is f32")  # fmt: skip
    foreign = _model([N("Relu", ["x"], ["y"], domain="com.example")], {"x": x}, ["y"], 13,
                     domains=["com.example"])  # fmt: skip
    yield Case("a custom operator is refused", foreign.SerializeToString(), {"x": x},
               refusal=r"domain `com.example`\): not supported")  # fmt: skip
    boxes = {"b": _noise("b", 1, 6, 4), "s": _noise("s", 1, 2, 6)}
    yield _case(
        "NonMaxSuppression of data is refused",
        [N("NonMaxSuppression", ["b", "s", "n"], ["y"], name="nms")],
        boxes,
        13,
        {"n": np.int64(3)},
        refusal=r"node `nms` .*computed at run time.*cut the model",
    )
    # fmt: skip


def cases(options):
    for family in (resize, softmax, pooling, transposed, fusion, constants, subgraphs, loops,
                   functions, quantised_branches, taps, broken):  # fmt: skip
        yield from family()
