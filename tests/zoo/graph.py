# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX graphs the way exporters do, with seeded weights that keep activations alive."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Gains that keep the variance of what an activation passes on.
GAINS = {
    None: 1.0,
    "relu": 2**0.5,
    "relu6": 2**0.5,
    "leaky": 2**0.5,
    "silu": 1.62,
    "hswish": 1.75,
    "gelu": 1.7,
    "sigmoid": 1.0,
}
IR_VERSIONS = {11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8}


class Graph:
    """One model under construction. Values are names; dims[name] is the shape where it is known."""

    def __init__(self, name: str, opset: int, seed: int, hswish: str = "op"):
        self.name, self.opset, self.hswish = name, opset, hswish
        self.batch = None  # name of the open first dimension of inputs and outputs
        self.rng = np.random.default_rng(seed)
        self.dims = {}
        self._nodes, self._weights, self._inputs, self._outputs = [], [], [], []
        self._counts = {}

    # values

    def _fresh(self, stem: str) -> str:
        n = self._counts.get(stem, 0)
        self._counts[stem] = n + 1
        return f"{stem}_{n}"

    def _info(self, name: str, dims: tuple):
        dims = [self.batch or dims[0], *dims[1:]]
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

    def input(self, name: str, *dims: int) -> str:
        self._inputs.append(self._info(name, dims))
        self.dims[name] = tuple(dims)
        return name

    def output(self, value: str, name: str, *dims: int) -> None:
        self._nodes.append(helper.make_node("Identity", [value], [name], name=f"out_{name}"))
        self._outputs.append(self._info(name, dims))

    def weight(self, array, stem: str = "weight") -> str:
        """An initialiser."""
        array = np.ascontiguousarray(array)
        name = self._fresh(stem)
        self._weights.append(numpy_helper.from_array(array, name))
        self.dims[name] = array.shape
        return name

    def const(self, array, dtype=np.float32) -> str:
        """A Constant node, as PyTorch writes small numbers."""
        array = np.asarray(array, dtype)
        tensor = numpy_helper.from_array(array)
        return self.node("Constant", [], dims=array.shape, value=tensor)

    def ints(self, *values: int) -> str:
        return self.const(values, np.int64)

    def noise(self, *dims: int, std: float = 1.0) -> np.ndarray:
        return self.rng.normal(0, std, dims).astype(np.float32)

    # nodes

    def node(self, op: str, inputs: list, n: int = 1, dims=None, **attrs):
        """Appends a node; returns its output's name, or a list of n > 1."""
        label = self._fresh(op)
        outs = [label + "_out"] if n == 1 else [f"{label}_out{i}" for i in range(n)]
        self._nodes.append(helper.make_node(op, inputs, outs, name=label, **attrs))
        if n > 1:
            return outs
        if dims is not None:
            self.dims[outs[0]] = tuple(int(d) for d in dims)
        return outs[0]

    def same(self, op: str, x: str, *others: str, **attrs) -> str:
        """An operator whose output has the shape of its first operand."""
        return self.node(op, [x, *others], dims=self.dims.get(x), **attrs)

    def add(self, a: str, b: str) -> str:
        return self.same("Add", a, b)

    def sub(self, a: str, b: str) -> str:
        return self.same("Sub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self.same("Mul", a, b)

    def div(self, a: str, b: str) -> str:
        return self.same("Div", a, b)

    def act(self, x: str, kind) -> str:
        if kind is None:
            return x
        return getattr(self, f"_act_{kind}")(x)

    def _act_relu(self, x):
        return self.same("Relu", x)

    def _act_sigmoid(self, x):
        return self.same("Sigmoid", x)

    def _act_leaky(self, x):
        return self.same("LeakyRelu", x, alpha=0.1)

    def _act_relu6(self, x):
        return self.same("Clip", x, self.const(0.0), self.const(6.0))

    def _act_silu(self, x):
        return self.mul(x, self.same("Sigmoid", x))

    def _act_hswish(self, x):
        if self.hswish == "op":
            return self.same("HardSwish", x)
        if self.hswish == "sigmoid":
            return self.mul(x, self.same("HardSigmoid", x, alpha=1 / 6, beta=0.5))
        clipped = self.same(
            "Clip", self.add(x, self.const(3.0)), self.const(0.0), self.const(6.0)
        )
        return self.div(self.mul(x, clipped), self.const(6.0))

    def _act_gelu(self, x):
        erf = self.same("Erf", self.div(x, self.const(2**0.5)))
        return self.mul(self.mul(x, self.add(erf, self.const(1.0))), self.const(0.5))

    # windows

    def conv(self, x, out, k=1, s=1, p=None, g=1, d=1, act=None, bias=True, gain=None, pads=None):
        """p: padding of every side (default: same size at stride 1); pads: all four."""
        n, c, h, w = self.dims[x]
        p = d * (k - 1) // 2 if p is None else p
        pads = [p] * 4 if pads is None else pads
        gain = GAINS[act] if gain is None else gain
        fan_in = c // g * k * k
        weights = [self.weight(self.noise(out, c // g, k, k, std=gain / fan_in**0.5))]
        if bias:
            weights.append(self.weight(self.noise(out, std=0.05), "bias"))
        reach = d * (k - 1) + 1
        dims = (
            n,
            out,
            (h + pads[0] + pads[2] - reach) // s + 1,
            (w + pads[1] + pads[3] - reach) // s + 1,
        )
        y = self.node(
            "Conv",
            [x, *weights],
            dims=dims,
            kernel_shape=[k, k],
            strides=[s, s],
            pads=pads,
            group=g,
            dilations=[d, d],
        )
        return self.act(y, act)

    def bn(self, x: str, scale: float = 1.0) -> str:
        c = self.dims[x][1]
        rng = self.rng
        operands = [
            rng.normal(scale, 0.1 * scale, c),
            rng.normal(0, 0.1, c),
            rng.normal(0, 0.1, c),
            rng.uniform(0.8, 1.25, c),
        ]
        names = [self.weight(o.astype(np.float32), "bn") for o in operands]
        return self.same("BatchNormalization", x, *names, epsilon=1e-5, momentum=0.9)

    def conv_bn(self, x, out, k=1, s=1, act="relu", scale=1.0, **window):
        gain = GAINS[act]
        y = self.conv(x, out, k, s, bias=False, gain=gain, **window)
        return self.act(self.bn(y, scale), act)

    def depthwise(self, x, k=3, s=1, act="relu", d=1, **window):
        c = self.dims[x][1]
        return self.conv_bn(x, c, k, s, act, g=c, d=d, **window)

    def conv_transpose(self, x, out, k=2, s=2, p=0):
        n, c, h, w = self.dims[x]
        weight = self.weight(self.noise(c, out, k, k, std=1 / c**0.5))
        bias = self.weight(self.noise(out, std=0.05), "bias")
        dims = (n, out, (h - 1) * s - 2 * p + k, (w - 1) * s - 2 * p + k)
        return self.node(
            "ConvTranspose",
            [x, weight, bias],
            dims=dims,
            kernel_shape=[k, k],
            strides=[s, s],
            pads=[p] * 4,
        )

    def pool(self, x, op="MaxPool", k=3, s=2, p=0, ceil=0, **attrs):
        n, c, h, w = self.dims[x]
        out = [(v + 2 * p - k + (s - 1 if ceil else 0)) // s + 1 for v in (h, w)]
        # A window that would start in the padding behind the end does not count.
        out = [o - 1 if ceil and (o - 1) * s >= v + p else o for o, v in zip(out, (h, w))]
        if ceil:
            attrs["ceil_mode"] = 1
        return self.node(
            op, [x], dims=(n, c, *out), kernel_shape=[k, k], strides=[s, s], pads=[p] * 4, **attrs
        )

    def gap(self, x: str) -> str:
        n, c = self.dims[x][:2]
        return self.node("GlobalAveragePool", [x], dims=(n, c, 1, 1))

    def resize(self, x, scale=None, size=None, mode="nearest", coord="asymmetric"):
        """Nearest and linear as PyTorch's interpolate writes them; size: name of [n,c,h,w]."""
        n, c, h, w = self.dims[x]
        attrs = {"mode": mode, "coordinate_transformation_mode": coord}
        if mode == "nearest":
            attrs["nearest_mode"] = "floor"
        empty = "" if self.opset >= 13 else self.const(np.zeros(0))
        if size is not None:
            name, dims = size
            scales = "" if self.opset >= 13 else self.const(np.zeros(0))
            return self.node("Resize", [x, empty, scales, name], dims=dims, **attrs)
        scales = self.const([1, 1, scale, scale])
        return self.node("Resize", [x, empty, scales], dims=(n, c, h * scale, w * scale), **attrs)

    # matrices

    def gemm(self, x: str, out: int, act=None) -> str:
        n, c = self.dims[x]
        weight = self.weight(self.noise(out, c, std=GAINS[act] / c**0.5))
        bias = self.weight(self.noise(out, std=0.05), "bias")
        y = self.node("Gemm", [x, weight, bias], dims=(n, out), transB=1, alpha=1.0, beta=1.0)
        return self.act(y, act)

    def linear(self, x: str, out: int, gain: float = 1.0) -> str:
        """MatMul + Add over the last axis, as PyTorch writes nn.Linear on 3-d tensors."""
        *lead, c = self.dims[x]
        weight = self.weight(self.noise(c, out, std=gain / c**0.5))
        y = self.node("MatMul", [x, weight], dims=(*lead, out))
        return self.node("Add", [self.weight(self.noise(out, std=0.05), "bias"), y],
                         dims=(*lead, out))  # fmt: skip

    def matmul(self, a: str, b: str) -> str:
        return self.node("MatMul", [a, b], dims=(*self.dims[a][:-1], self.dims[b][-1]))

    # shapes

    def concat(self, values: list, axis: int = 1) -> str:
        dims = None
        if all(v in self.dims for v in values):
            dims = list(self.dims[values[0]])
            dims[axis] = sum(self.dims[v][axis] for v in values)
        return self.node("Concat", values, dims=dims, axis=axis)

    def split(self, x: str, sizes: list, axis: int = 1) -> list:
        if self.opset >= 13:
            outs = self.node("Split", [x, self.ints(*sizes)], n=len(sizes), axis=axis)
        else:
            outs = self.node("Split", [x], n=len(sizes), axis=axis, split=sizes)
        for out, size in zip(outs, sizes):
            dims = list(self.dims[x])
            dims[axis] = size
            self.dims[out] = tuple(dims)
        return outs

    def slice(self, x: str, start: int, end: int, axis: int, step: int = 1) -> str:
        dims = list(self.dims[x])
        dims[axis] = len(range(*slice(start, end, step).indices(dims[axis])))
        operands = [self.ints(v) for v in (start, end, axis, step)]
        return self.node("Slice", [x, *operands], dims=dims)

    def reshape(self, x: str, *dims: int) -> str:
        size = int(np.prod(self.dims[x]))
        rest = int(np.prod([d for d in dims if d > 0]))
        whole = [size // rest if d == -1 else d for d in dims]
        return self.node("Reshape", [x, self.ints(*dims)], dims=whole)

    def transpose(self, x: str, *perm: int) -> str:
        return self.node("Transpose", [x], dims=[self.dims[x][p] for p in perm], perm=list(perm))

    def flatten(self, x: str) -> str:
        n, *rest = self.dims[x]
        return self.node("Flatten", [x], dims=(n, int(np.prod(rest))), axis=1)

    def flatten_from(self, x: str, axis: int) -> str:
        """x.flatten(axis) as PyTorch writes it: the leading sizes are cut out of the shape."""
        lead, rest = self.dims[x][:axis], self.dims[x][axis:]
        sizes = self.node(
            "Slice", [self.node("Shape", [x]), self.ints(0), self.ints(axis), self.ints(0)]
        )
        shape = self.node("Concat", [sizes, self.ints(-1)], axis=0)
        return self.node("Reshape", [x, shape], dims=(*lead, int(np.prod(rest))))

    def unsqueeze(self, x: str, axis: int, dims=None) -> str:
        if self.opset >= 13:
            return self.node("Unsqueeze", [x, self.ints(axis)], dims=dims)
        return self.node("Unsqueeze", [x], dims=dims, axes=[axis])

    def size_of(self, x: str, axis: int) -> str:
        """x.size(axis) as a scalar: Shape, then Gather."""
        shape = self.node("Shape", [x])
        return self.node("Gather", [shape, self.const(axis, np.int64)], axis=0)

    def view(self, x: str, *dims) -> str:
        """Reshape to integers and size_of() scalars, the way PyTorch traces .view(); a tuple
        (name, value) is a scalar of known value."""
        whole = [d[1] if isinstance(d, tuple) else d for d in dims]
        parts = [
            self.unsqueeze(d[0] if isinstance(d, tuple) else self.const(d, np.int64), 0)
            for d in dims
        ]
        shape = self.node("Concat", parts, axis=0)
        size, rest = int(np.prod(self.dims[x])), int(np.prod([d for d in whole if d > 0]))
        whole = [size // rest if d == -1 else d for d in whole]
        return self.node("Reshape", [x, shape], dims=whole)

    def mean(self, x: str, axes: list, keep: bool) -> str:
        dims = [1 if i in axes else d for i, d in enumerate(self.dims[x]) if keep or i not in axes]
        return self.node("ReduceMean", [x], dims=dims, axes=axes, keepdims=int(keep))

    # the file

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self._nodes, self.name, self._inputs, self._outputs, self._weights
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=IR_VERSIONS[self.opset],
            producer_name="zoo",
        )
        onnx.checker.check_model(model)
        return model
