# SPDX-License-Identifier: Apache-2.0
"""Models of one node, over the opsets at which the operator's meaning or form changed."""

import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from case import Case

MAX_OPSET = 22


class Const:
    """An operand that is an initialiser."""

    def __init__(self, value, dtype=None):
        self.array = np.asarray(value, dtype)


def i64(*v):
    return Const(list(v), np.int64)


def f32(*v):
    return Const(list(v), np.float32)


def scalar(v, dtype=np.float32):
    return Const(np.array(v, dtype))


class Builder:
    """Collects cases; arrays come from a generator seeded by the case's name."""

    def __init__(self):
        self.cases = []

    def add(
        self, op, opsets, operands, label="", n_outputs=1, tolerance=1e-4, refusal=None, **attrs
    ):
        """operands: shapes (tuples) or arrays for inputs, Const for initialisers, None: none."""
        for opset in opsets:
            name = f"{op}-{opset}" + (f"-{label}" if label else "")
            self.cases.append(
                self._case(name, op, opset, operands, n_outputs, tolerance, refusal, attrs)
            )

    def _case(self, name, op, opset, operands, n_outputs, tolerance, refusal, attrs):
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        inputs, names, infos, constants = {}, [], [], []
        for i, operand in enumerate(operands):
            if operand is None:
                names.append("")
                continue
            names.append(f"x{i}")
            if isinstance(operand, Const):
                constants.append(numpy_helper.from_array(operand.array, f"x{i}"))
                continue
            if isinstance(operand, tuple):
                operand = rng.standard_normal(operand).astype(np.float32)
            inputs[f"x{i}"] = operand
            kind = helper.np_dtype_to_tensor_dtype(operand.dtype)
            infos.append(helper.make_tensor_value_info(f"x{i}", kind, operand.shape))
        outputs = [f"y{i}" for i in range(n_outputs)]
        node = helper.make_node(op, names, outputs, name="n", **attrs)
        graph = helper.make_graph(
            [node], "g", infos, [onnx.ValueInfoProto(name=o) for o in outputs], constants
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
        )
        # A dim of 0 in the file means "dynamic": only a binding makes an empty tensor.
        shapes = {n: a.shape for n, a in inputs.items() if 0 in a.shape}
        return Case(name, model.SerializeToString(), inputs, shapes, tolerance, refusal)


def windows(b):
    x2, w = (2, 4, 9, 11), (6, 4, 3, 3)
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        b.add("Conv", (7, 11, 22), [x2, w, (6,)], auto_pad, auto_pad=auto_pad, strides=[2, 3])
        for op in ("MaxPool", "AveragePool"):
            b.add(
                op,
                (7, 10, 12, 19, 22),
                [x2],
                auto_pad,
                auto_pad=auto_pad,
                kernel_shape=[3, 2],
                strides=[2, 3],
            )
    b.add("Conv", (7, 22), [x2, w], "plain")
    b.add(
        "Conv",
        (7, 22),
        [x2, w, (6,)],
        "asymmetric",
        pads=[0, 1, 2, 1],
        strides=[2, 1],
        kernel_shape=[3, 3],
    )
    b.add("Conv", (7, 22), [x2, (8, 2, 3, 3), (8,)], "group", group=2, pads=[1, 1, 1, 1])
    b.add("Conv", (7, 22), [x2, (4, 1, 3, 3), (4,)], "depthwise", group=4, dilations=[2, 2])
    b.add("Conv", (11,), [(1, 3, 17), (5, 3, 4), (5,)], "1d", strides=[2], pads=[1, 2])
    b.add("Conv", (11,), [(1, 2, 5, 6, 7), (3, 2, 2, 3, 3)], "3d", pads=[1, 0, 1, 0, 1, 1])
    b.add("Conv", (11,), [x2, (6, 3, 3, 3)], "bad-channels", refusal=r"node `n` \(Conv-11\)")

    t = (1, 4, 5, 6)
    for label, attrs in {
        "plain": {},
        "stride": {"strides": [2, 3]},
        "pads": {"strides": [2, 2], "pads": [1, 0, 1, 2]},
        "output-padding": {"strides": [2, 2], "output_padding": [1, 1], "pads": [1, 1, 1, 1]},
        "dilated": {"dilations": [2, 3]},
        "output-shape": {"strides": [3, 2], "output_shape": [16, 12]},
        "same-upper": {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
        "same-lower": {"strides": [2, 2], "auto_pad": "SAME_LOWER"},
    }.items():
        b.add("ConvTranspose", (7, 11, 22), [t, (4, 3, 3, 3), (3,)], label, **attrs)
    b.add("ConvTranspose", (11,), [t, (4, 2, 3, 3)], "group", group=2, strides=[2, 2])

    for size in range(4, 10):
        for kernel in (2, 3):
            attrs = {"kernel_shape": [kernel] * 2, "strides": [2, 2], "pads": [1, 1, 1, 1]}
            label = f"ceil-{size}-{kernel}"
            b.add("MaxPool", (10, 22), [(1, 2, size, size)], label, ceil_mode=1, **attrs)
            for include in (0, 1):
                b.add(
                    "AveragePool",
                    (10, 19, 22),
                    [(1, 2, size, size)],
                    f"{label}-{include}",
                    ceil_mode=1,
                    count_include_pad=include,
                    **attrs,
                )
    b.add("MaxPool", (10, 22), [x2], "dilated", kernel_shape=[2, 3], dilations=[2, 2])
    b.add("MaxPool", (8, 22), [x2], "indices-unused", kernel_shape=[2, 2], storage_order=1)
    b.add(
        "MaxPool",
        (12,),
        [x2],
        "indices",
        n_outputs=2,
        kernel_shape=[2, 2],
    )
    b.add(
        "AveragePool",
        (7, 22),
        [x2],
        "count",
        kernel_shape=[3, 3],
        pads=[1, 1, 1, 1],
        count_include_pad=1,
    )
    b.add("AveragePool", (19, 22), [x2], "dilated", kernel_shape=[2, 2], dilations=[2, 3])
    b.add("GlobalAveragePool", (7, 22), [x2])
    b.add("GlobalMaxPool", (7, 22), [x2])


def normalisation(b):
    x, c = (2, 6, 5, 7), (6,)
    var = np.linspace(0.5, 2, 6).astype(np.float32)
    for opset in (7, 9, 14, 15, 22):
        b.add("BatchNormalization", (opset,), [x, c, c, c, var], epsilon=1e-3)
    b.add(
        "BatchNormalization",
        (14,),
        [x, c, c, c, var],
        "training",
        training_mode=1,
        refusal="training mode",
    )
    b.add("InstanceNormalization", (7, 22), [x, c, c])
    b.add("GroupNormalization", (18,), [x, (3,), (3,)], num_groups=3)
    b.add("GroupNormalization", (21, 22), [x, c, c], num_groups=3, tolerance=1e-3)
    b.add("LayerNormalization", (17, 22), [x, (7,), (7,)])
    b.add("LayerNormalization", (17,), [x, (5, 7)], "axis", axis=2, epsilon=1e-2)
    for size in (1, 3, 5):  # ONNX Runtime has no even ones
        b.add("LRN", (7, 22), [x], f"{size}", size=size, alpha=0.5, beta=0.6, bias=1.5)


def matrices(b):
    b.add("Gemm", (7, 9, 11, 22), [(4, 5), (5, 3), (3,)])
    b.add(
        "Gemm",
        (7, 13),
        [(5, 4), (3, 5), (4, 1)],
        "transposed",
        transA=1,
        transB=1,
        alpha=0.5,
        beta=2.0,
    )
    b.add("Gemm", (11,), [(4, 5), (5, 3)], "no-addend")
    for a, c in (
        ((4, 5), (5, 3)),
        ((2, 3, 4, 5), (5, 3)),
        ((2, 1, 4, 5), (3, 5, 2)),
        ((5,), (5,)),
        ((5,), (2, 5, 3)),
        ((2, 4, 5), (5,)),
    ):
        b.add("MatMul", (7, 13), [a, c], "x".join(map(str, a)))


UNARY = {
    "Relu": 7,
    "Sigmoid": 7,
    "Tanh": 7,
    "Exp": 7,
    "Reciprocal": 7,
    "Abs": 7,
    "Neg": 7,
    "Floor": 7,
    "Ceil": 7,
    "Softplus": 7,
    "Softsign": 7,
    "Sin": 7,
    "Cos": 7,
    "Sign": 9,
    "Erf": 9,
    "Round": 11,
    "HardSwish": 14,
    "Mish": 18,
    "Gelu": 20,
    "LeakyRelu": 7,
    "Elu": 7,
    "Selu": 7,
    "HardSigmoid": 7,
}


def elementwise(b):
    x = (2, 3, 5)
    wide = np.linspace(-8, 8, 97).astype(np.float32)
    half = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5], np.float32)
    for op, since in UNARY.items():
        b.add(op, (since, MAX_OPSET), [wide])
    b.add("Sqrt", (7, 22), [np.abs(wide)])
    b.add("Log", (7, 22), [np.abs(wide) + 0.1])
    b.add("Round", (11,), [half], "half")
    b.add("Gelu", (20,), [wide], "tanh", approximate="tanh")
    b.add("Gelu", (20,), [wide], "unknown", approximate="erf", refusal="`erf` is not supported")
    b.add("LeakyRelu", (7, 16), [wide], "alpha", alpha=0.3)
    b.add("HardSigmoid", (7,), [wide], "ab", alpha=0.4, beta=0.3)
    b.add("Clip", (7, 10), [wide], "both", min=-1.0, max=2.0)
    b.add("Clip", (7,), [wide], "max", max=2.0)
    b.add("Clip", (11, 13), [wide, scalar(-1), scalar(2)], "both")
    b.add("Clip", (11, 13), [np.array([-1e9, 0, 9], np.float32), None, scalar(2)], "only-max")
    b.add("Clip", (11, 13), [wide, scalar(-1)], "only-min")
    b.add("Clip", (11,), [wide], "none")
    b.add("Clip", (12,), [wide, scalar(3), scalar(1)], "crossed")
    b.add(
        "Clip",
        (12,),
        [np.arange(-5, 5, dtype=np.int64), scalar(-2, np.int64), scalar(3, np.int64)],
        "i64",
    )
    b.add("Clip", (12,), [wide, np.array(-1, np.float32), np.array(1, np.float32)], "run-time")
    for op in ("Add", "Sub", "Mul", "Div"):
        b.add(op, (7, 13, 14, 22), [x, (3, 1)])
        b.add(
            op,
            (7, 14),
            [np.arange(-6, 6, dtype=np.int64).reshape(3, 4), np.array([3, -2, 5, 7], np.int64)],
            "i64",
        )
        b.add(
            op,
            (7, 14),
            [np.arange(-6, 6, dtype=np.int32).reshape(3, 4), np.array([3, -2, 5, 7], np.int32)],
            "i32",
        )
    b.add("Pow", (7, 12, 15), [np.abs(wide) + 0.5, scalar(1.7)])
    b.add("Pow", (12, 15), [wide, scalar(3, np.int64)], "i64-exponent")
    b.add("Pow", (12,), [np.arange(5, dtype=np.int64), scalar(2.0)], "i64-base")
    a, c = np.array([-7, 7, -7, 7, 5], np.int64), np.array([3, 3, -3, -3, 5], np.int64)
    b.add("Mod", (10, 13), [a, c], "python")
    b.add("Mod", (10, 13), [a, c], "c", fmod=1)
    b.add("Mod", (10, 13), [a.astype(np.float32), c.astype(np.float32)], "float", fmod=1)
    for op in ("Sum", "Mean", "Min", "Max"):
        b.add(op, (8, 13), [x, (3, 1), (1, 1, 5)])
        b.add(op, (8,), [x], "one")
    q = np.array([[1, 2], [3, 4]], np.float32)
    for op, since in {
        "Equal": 11,
        "Less": 9,
        "Greater": 9,
        "LessOrEqual": 12,
        "GreaterOrEqual": 12,
    }.items():
        b.add(op, (since, 16, 19), [q, np.array([2, 3], np.float32)])
        b.add(op, (since,), [q.astype(np.int64), np.array([2, 3], np.int64)], "i64")
    t = np.array([True, False, True, False])
    u = np.array([True, True, False, False])
    for op in ("And", "Or", "Xor"):
        b.add(op, (7,), [t, u])
    b.add("Not", (7,), [t])
    b.add("PRelu", (7, 9, 16), [x, (3, 1)])
    b.add("Where", (9, 16), [t, (4,), (3, 1)])
    casts = {
        "f32-i64": (wide, TensorProto.INT64),
        "f32-i32": (wide, TensorProto.INT32),
        "f32-bool": (np.array([0, 0.5, -1], np.float32), TensorProto.BOOL),
        "i64-f32": (a, TensorProto.FLOAT),
        "bool-f32": (t, TensorProto.FLOAT),
        "f32-u8": (np.abs(wide), TensorProto.UINT8),
        "i64-i32": (a, TensorProto.INT32),
        "f32-f32": (wide, TensorProto.FLOAT),
        "f32-f64": (wide, TensorProto.DOUBLE),
    }
    for label, (value, to) in casts.items():
        b.add("Cast", (9, 13, 19, 22), [value], label, to=to)
    b.add("Cast", (13,), [wide], "string", to=TensorProto.STRING, refusal="string")
    b.add("CastLike", (15, 19), [wide, a])


def along_axes(b):
    x = (2, 3, 4, 5)
    for op in ("Softmax", "LogSoftmax"):
        b.add(op, (7, 11, 12, 13, 22), [x], "default")
        for axis in (0, 1, 2, -1):
            b.add(op, (11, 13), [x], f"axis{axis}", axis=axis)
    reductions = (
        "Sum",
        "Mean",
        "Max",
        "Min",
        "Prod",
        "L1",
        "L2",
        "SumSquare",
        "LogSum",
        "LogSumExp",
    )
    positive = (np.arange(120).reshape(x) % 7 + 1).astype(np.float32) / 5
    for name in reductions:
        op, moved = f"Reduce{name}", 13 if name == "Sum" else 18
        value = positive if name in ("LogSum", "Prod") else x
        b.add(op, (7, 11, moved - 1), [value], "axes", axes=[1, 3] if name != "Prod" else [1])
        b.add(op, (7, moved - 1), [value], "all", keepdims=0)
        b.add(op, (11,), [value], "negative", axes=[-1], keepdims=0)
        b.add(op, (moved, 22), [value, i64(-1, 1)], "axes")
        b.add(op, (moved, 22), [value], "all")
        b.add(op, (moved, 22), [value, i64(2)], "drop", keepdims=0)
        if name in ("Sum", "Mean", "Max", "Min"):
            b.add(op, (moved,), [value], "noop", noop_with_empty_axes=1)
    b.add("ReduceSum", (11, 13), [np.arange(12, dtype=np.int64).reshape(3, 4)], "i64")
    for op in ("ArgMax", "ArgMin"):
        b.add(op, (7, 11, 12, 13), [x], "default")
        b.add(op, (11, 13), [x], "last", axis=-1, keepdims=0)
        tie = np.array([[1, 3, 3], [2, 2, 1]], np.float32)
        b.add(op, (12, 13), [tie], "tie", axis=1, select_last_index=1)
        b.add(op, (12,), [tie], "tie-first", axis=1)
    b.add("TopK", (7, 9), [x], n_outputs=2, k=2)
    b.add("TopK", (10, 11), [x, i64(3)], n_outputs=2)
    b.add("TopK", (11,), [x, i64(2)], "smallest", n_outputs=2, largest=0, axis=1)
    b.add("TopK", (11,), [np.array([1, 2, 2, 2, 0], np.float32), i64(2)], "ties", n_outputs=2)
    b.add("TopK", (11,), [x, i64(6)], "too-many", n_outputs=2, refusal="k 6 of 5")


def layout(b):
    x = (2, 3, 4, 5)
    b.add("Reshape", (7, 13, 14, 21), [x, i64(0, -1, 5)])
    b.add("Reshape", (14,), [np.zeros((0, 3), np.float32), i64(3, 0)], "allowzero", allowzero=1)
    b.add("Reshape", (7,), [x, i64(7, -1)], "unfit", refusal="120 elements do not fit")
    b.add("Reshape", (13,), [np.float32([4]), Const(np.zeros(0, np.int64))], "scalar")
    b.add("Flatten", (7, 9, 13), [x])
    for axis in (0, 3, 4):
        b.add("Flatten", (9,), [x], f"axis{axis}", axis=axis)
    b.add("Flatten", (11,), [x], "negative", axis=-2)
    s = (1, 3, 1, 5)
    b.add("Squeeze", (7, 11), [s], "all")
    b.add("Squeeze", (7, 11), [s], "axes", axes=[0])
    b.add("Squeeze", (13, 21), [s], "all")
    b.add("Squeeze", (13, 21), [s, i64(-2)], "axes")
    b.add("Unsqueeze", (7, 11), [x], axes=[0, 4])
    b.add("Unsqueeze", (13, 21), [x, i64(-1, 0)])
    b.add("Transpose", (7, 13), [x])
    b.add("Transpose", (7, 13), [x], "perm", perm=[0, 2, 3, 1])
    b.add("Transpose", (13,), [np.arange(12, dtype=np.uint8).reshape(3, 4)], "u8")
    b.add("Expand", (8, 13), [(3, 1), i64(2, 1, 4)])
    b.add("Expand", (8,), [(3, 4), i64(1)], "smaller")
    b.add("Tile", (7, 13), [(2, 3), i64(2, 3)])
    b.add("Tile", (7,), [(2, 3), i64(1 << 40, 1 << 40)], "bomb", refusal="too large|repeats")
    b.add("DepthToSpace", (7, 11, 13), [(1, 8, 2, 3)], blocksize=2)
    b.add("DepthToSpace", (11, 13), [(1, 8, 2, 3)], "crd", blocksize=2, mode="CRD")
    b.add("SpaceToDepth", (7, 13), [(1, 2, 4, 6)], blocksize=2)
    b.add("Identity", (7, 13), [x])
    b.add("Dropout", (7, 10), [x], ratio=0.5)
    b.add("Dropout", (12, 13, 22), [x], n_outputs=2)
    b.add(
        "Dropout", (12,), [x, scalar(0.5), scalar(True, bool)], "training", refusal="training mode"
    )


def parts(b):
    x = (3, 4, 6)
    b.add("Concat", (7, 13), [(2, 3), (2, 1), (2, 4)], axis=1)
    b.add("Concat", (11, 13), [(2, 3), (1, 3)], "negative", axis=-2)
    b.add("Concat", (7,), [(2, 3)], "one", axis=0)
    b.add("Split", (7, 11), [x], "equal", n_outputs=2, axis=1)
    b.add("Split", (7, 11), [x], "sizes", n_outputs=2, axis=2, split=[1, 5])
    b.add("Split", (13, 18), [x, i64(1, 0, 3)], "sizes", n_outputs=3, axis=-2)
    b.add("Split", (18,), [x], "num", n_outputs=4, axis=2, num_outputs=4)
    b.add("Split", (11,), [x], "unequal", n_outputs=4, axis=2, refusal="equal parts")
    top, low = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    b.add("Slice", (7, 9), [x], starts=[1, -2], ends=[3, top], axes=[0, 2])
    b.add("Slice", (7,), [x], "no-axes", starts=[0, 1], ends=[2, -1])
    b.add("Slice", (10, 11, 13), [x, i64(1, -2), i64(3, top), i64(0, -1)])
    b.add("Slice", (10, 13), [x, i64(-1, 5), i64(low, 0), i64(1, 2), i64(-1, -2)], "back")
    b.add("Slice", (10,), [x, i64(2), i64(1), i64(1)], "empty")
    b.add(
        "Slice", (10,), [x, Const([1], np.int32), Const([3], np.int32), Const([2], np.int32)], "i32"
    )
    b.add(
        "Slice",
        (13,),
        [x, np.array([1]), i64(2), i64(0)],
        "run-time",
        refusal="starts is computed at run time",
    )
    b.add("Gather", (7, 11, 13), [x, Const([[0, 2], [1, 1]], np.int64)], axis=1)
    b.add("Gather", (11, 13), [x, Const([-1, 0], np.int64)], "negative", axis=-1)
    b.add("Gather", (11,), [x, scalar(1, np.int32)], "scalar")
    b.add("Gather", (11,), [x, np.array([2, 0, -1], np.int64)], "run-time")
    b.add("Gather", (11,), [x, i64(4)], "outside", refusal="index 4 is outside an axis of 3")
    pads = [0, 1, 2, 1, 0, 3]
    for mode in ("constant", "reflect", "edge"):
        b.add(
            "Pad",
            (7, 10),
            [x],
            mode,
            pads=pads,
            mode=mode,
            **({"value": 2.5} if mode == "constant" else {}),
        )
        b.add("Pad", (11, 13, 18, 21), [x, i64(*pads)], mode, mode=mode)
    b.add("Pad", (11, 13), [x, i64(*pads), scalar(-3)], "value")
    b.add("Pad", (11,), [x, i64(0, -1, 2, 0, 1, -2), scalar(9)], "negative")
    b.add("Pad", (18,), [x, i64(1, 2, 3, 0), None, i64(-1, 0)], "axes", mode="edge")
    b.add("Pad", (19,), [x, i64(0, 2, 1, 0, 1, 4)], "wrap", mode="wrap")
    b.add(
        "Pad",
        (13,),
        [np.arange(6, dtype=np.int64).reshape(2, 3), i64(1, 0, 0, 1), scalar(7, np.int64)],
        "i64",
    )


def resampling(b):
    x = (1, 2, 5, 7)
    coords = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
    b.add("Upsample", (7, 8), [x], "nearest", mode="nearest", scales=[1.0, 1.0, 2.0, 3.0])
    b.add("Upsample", (7,), [x], "linear", mode="linear", scales=[1.0, 1.0, 2.0, 1.5])
    b.add("Upsample", (9,), [x, f32(1, 1, 2, 2.6)], "nearest", mode="nearest")
    b.add("Resize", (10,), [x, f32(1, 1, 2, 1.5)], "nearest", mode="nearest")
    b.add("Resize", (10,), [x, f32(1, 1, 0.6, 0.5)], "nearest-down", mode="nearest")
    b.add("Resize", (10,), [x, f32(1, 1, 2, 0.5)], "linear", mode="linear")
    roi = f32()  # opset 11 requires it, even where it means nothing
    for coord in coords:
        for mode in ("nearest", "linear", "cubic"):
            attrs = {"coordinate_transformation_mode": coord, "mode": mode}
            b.add(
                "Resize",
                (11, 13, 18, 19),
                [x, roi, f32(1, 1, 1.7, 2)],
                f"{coord}-{mode}-up",
                **attrs,
            )
            b.add(
                "Resize", (11, 13), [x, roi, f32(1, 1, 0.6, 0.8)], f"{coord}-{mode}-down", **attrs
            )
            b.add(
                "Resize",
                (13, 19),
                [x, None, None, i64(1, 2, 8, 3)],
                f"{coord}-{mode}-sizes",
                **attrs,
            )
    for rule in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        b.add(
            "Resize",
            (11, 19),
            [x, roi, f32(1, 1, 2, 1.5)],
            rule,
            nearest_mode=rule,
            mode="nearest",
            coordinate_transformation_mode="half_pixel",
        )
    b.add("Resize", (11,), [x, f32(), f32(), i64(1, 2, 10, 14)], "empty-lists", mode="linear")
    b.add(
        "Resize",
        (11,),
        [x, roi, f32(1, 1, 2, 2)],
        "tf-nn",
        mode="nearest",
        coordinate_transformation_mode="tf_half_pixel_for_nn",
    )
    b.add(
        "Resize",
        (13,),
        [x, f32(0, 0, 0.2, 0.1, 1, 1, 0.8, 1.2), None, i64(1, 2, 6, 6)],
        "crop",
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=3.0,
    )
    b.add(
        "Resize",
        (13,),
        [x, None, f32(1, 1, 0.7, 2)],
        "exclude",
        mode="cubic",
        exclude_outside=1,
        cubic_coeff_a=-0.5,
    )
    b.add("Resize", (18, 19), [x, None, f32(2, 0.5)], "axes", axes=[3, 2], mode="linear")
    for policy in ("not_larger", "not_smaller"):
        b.add(
            "Resize",
            (18,),
            [x, None, None, i64(9, 9)],
            policy,
            axes=[2, 3],
            mode="linear",
            keep_aspect_ratio_policy=policy,
        )
    b.add(
        "Resize", (18, 19), [x, None, f32(1, 1, 0.6, 0.5)], "antialias", mode="linear", antialias=1
    )
    b.add(
        "Resize",
        (19,),
        [x, None, f32(1, 1, 0.6, 1.3)],
        "symmetric",
        mode="linear",
        coordinate_transformation_mode="half_pixel_symmetric",
    )
    ramp = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    b.add("Resize", (13,), [ramp, None, f32(1, 1, 2, 2)], "ramp", mode="linear")
    b.add(
        "Resize",
        (13,),
        [x, None, f32(1, 1, 2, 2)],
        "unknown",
        mode="lanczos",
        refusal="`lanczos` is not supported",
    )


def constants(b):
    tensor = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3))
    b.add("Constant", (7, 11, 13), [], value=tensor)
    b.add("Constant", (12, 13), [], "float", value_float=2.5)
    b.add("Constant", (12, 13), [], "floats", value_floats=[1.0, 2.0])
    b.add("Constant", (12, 13), [], "int", value_int=7)
    b.add("Constant", (12, 13), [], "ints", value_ints=[7, 8])
    b.add("Constant", (13,), [], "string", value_string="x", refusal="`value_string`")
    for kind in (np.float16, np.float64, np.int32, np.uint8, np.int8, bool):
        value = numpy_helper.from_array(np.array([0, 1, 3]).astype(kind))
        b.add("Constant", (13,), [], np.dtype(kind).name, value=value)
    b.add("ConstantOfShape", (9, 20), [i64(2, 3)])
    b.add(
        "ConstantOfShape",
        (9,),
        [i64(2)],
        "i64",
        value=numpy_helper.from_array(np.array([5], np.int64)),
    )
    b.add("ConstantOfShape", (9,), [Const(np.zeros(0, np.int64))], "scalar")
    b.add("Shape", (7, 13, 15), [(2, 3, 4)])
    b.add("Shape", (15, 19), [(2, 3, 4)], "part", start=-2, end=10)
    b.add("Size", (7, 13), [(2, 3, 4)])
    b.add("Range", (11,), [scalar(2, np.int64), scalar(11, np.int64), scalar(3, np.int64)])
    b.add("Range", (11,), [scalar(5, np.int32), scalar(-5, np.int32), scalar(-4, np.int32)], "back")
    b.add("Range", (11,), [scalar(0.5), scalar(2.0), scalar(0.3)], "float")
    b.add(
        "NoSuchOperator", (13,), [(1,)], refusal=r"\(NoSuchOperator-13\): not supported by Picket"
    )
    b.add("Relu", (MAX_OPSET + 1,), [(1,)], "newer", refusal="opset 23 is newer")


def cases(_options):
    b = Builder()
    for family in (
        windows,
        normalisation,
        matrices,
        elementwise,
        along_axes,
        layout,
        parts,
        resampling,
        constants,
    ):
        family(b)
    return b.cases
