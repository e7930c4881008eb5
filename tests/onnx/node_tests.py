# SPDX-License-Identifier: Apache-2.0
"""The ONNX project's backend tests: from a folder that a package has put on the machine, or those
that the onnx Python package makes."""

from pathlib import Path

import numpy as np
import onnx
import onnx.version_converter
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from case import Case

KINDS = ("node", "pytorch-converted", "pytorch-operator", "simple", "light")
GROUPS = {
    "node": "node",
    "pytorch-converted": "converted",
    "pytorch-operator": "operator",
    "simple": "simple",
    "light": "light",
}

# What vision models are made of. A test that uses nothing else must pass; elsewhere a refusal that
# says where is as right.
VISION = set(
    """Conv ConvTranspose MaxPool AveragePool GlobalAveragePool GlobalMaxPool BatchNormalization
    InstanceNormalization LayerNormalization LRN Gemm MatMul Relu LeakyRelu PRelu Sigmoid Tanh
    HardSigmoid HardSwish Elu Softplus Clip Erf Softmax LogSoftmax Add Sub Mul Div Pow Sqrt Exp Log
    Abs Neg Floor Ceil Round Reciprocal Min Max Mod Sum Equal Less LessOrEqual Greater
    GreaterOrEqual And Or Not Where Concat Split Slice Reshape Flatten Transpose Squeeze Unsqueeze
    Expand Tile Pad Gather GatherElements GatherND ScatterND ScatterElements Shape Constant
    ConstantOfShape Identity Dropout Cast Range NonZero Resize Upsample DepthToSpace SpaceToDepth
    GridSample ReduceMean ReduceSum ReduceMax ReduceMin ReduceL2 ArgMax TopK NonMaxSuppression
    RoiAlign Einsum QuantizeLinear DequantizeLinear QLinearConv ConvInteger
    DynamicQuantizeLinear""".split()
)
T = onnx.TensorProto
TYPES = {T.FLOAT, T.FLOAT16, T.BFLOAT16, T.DOUBLE, T.INT8, T.UINT8, T.INT32, T.INT64, T.BOOL}

# Tests that are skipped, and why.
_REAL_SIZE = "it wants the unrounded output size; specification and frameworks round it down"
_EMPTY = "the maximum or minimum of nothing"
KNOWN = {
    "node/test_resize_downsample_scales_linear_align_corners": _REAL_SIZE,
    "node/test_resize_downsample_scales_cubic_align_corners": _REAL_SIZE,
    "node/test_reduce_max_empty_set": _EMPTY,
    "node/test_reduce_max_empty_set_bool": _EMPTY,
    "node/test_reduce_min_empty_set": _EMPTY,
}


def _load(path: Path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    if tensor.data_type == T.BFLOAT16:  # the upper half of a float; numpy has no such type
        bits = np.frombuffer(tensor.raw_data, "<u2") if tensor.raw_data else tensor.int32_data
        wide = np.asarray(bits, np.uint32) << 16
        return wide.view(np.float32).reshape(tuple(tensor.dims))
    return numpy_helper.to_array(tensor)


def _fit(array, info):
    """bf16 that the file calls uint16; one element that stands for a whole operand."""
    kind = info.type.tensor_type
    dims = tuple(d.dim_value for d in kind.shape.dim)
    if kind.elem_type == T.BFLOAT16 and array.dtype == np.uint16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    if array.size == 1 and array.shape != dims and all(dims):
        array = np.broadcast_to(array, dims)
    return array


def _types(graph) -> set:
    infos = [*graph.input, *graph.output, *graph.value_info]
    return {i.type.tensor_type.elem_type for i in infos} | {i.data_type for i in graph.initializer}


def _must_pass(model) -> bool:
    """Of the vision list, in types that Picket has, and an inference."""
    ops = {n.op_type for n in model.graph.node}
    return ops <= VISION and _types(model.graph) <= TYPES and not _is_training(model)


def _is_training(model) -> bool:
    for node in model.graph.node:
        mode = [a.i for a in node.attribute if a.name == "training_mode"]
        if any(mode) or (node.op_type == "Dropout" and len(node.input) > 2 and node.input[2]):
            return True
    return False


def _files(folder: Path, prefix: str) -> list:
    return sorted(folder.glob(f"{prefix}_*.pb"), key=lambda p: int(p.stem.rsplit("_", 1)[1]))


def _to_be_refused(name, path) -> Case:
    """Strings, sequences, optionals: the model is refused before any data are looked at."""
    nothing = {"no such output": np.zeros(0)}
    group = GROUPS[name.split("/")[0]]
    return Case(name, str(path), expected=nothing, may_refuse=True, group=group)


def _case(kind: str, folder: Path) -> Case:
    path = folder / "model.onnx"
    name = f"{kind}/{folder.name}"
    data = folder / "test_data_set_0"
    try:
        model = onnx.load(str(path), load_external_data=False)
        graph = model.graph
        constant = {i.name for i in graph.initializer}
        names = [i.name for i in graph.input if i.name not in constant]
        inputs = dict(zip(names, map(_load, _files(data, "input"))))
        outputs = dict(zip([o.name for o in graph.output], map(_load, _files(data, "output"))))
        inputs.update({i.name: _fit(inputs[i.name], i) for i in graph.input if i.name in inputs})
        outputs.update({o.name: _fit(outputs[o.name], o) for o in graph.output})
    except Exception:  # noqa: BLE001: sequences, optionals: not for a vision engine
        return _to_be_refused(name, path)
    if any(not isinstance(a, np.ndarray) or a.dtype == object for a in inputs.values()):
        return _to_be_refused(name, path)
    return _compare(name, model, inputs, outputs)


# Operands that decide shapes (or a mode). In real models they are constants or follow from shapes;
# the tests feed them, so they are made initialisers here.
DECIDING = {
    "ConstantOfShape": (0,),
    "Dropout": (1, 2),
    "Expand": (1,),
    "Pad": (1, 2, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
    "If": (0,),
    "Loop": (0, 1),
    "CumSum": (1,),
    "OneHot": (1,),
    "Trilu": (1,),
    "Compress": (1,),
    # Their output has as many rows as the data say: Picket computes them of constants only.
    "NonZero": (0,),
    "NonMaxSuppression": (0, 1, 2, 3, 4),
    # Weights, scales and zero points.
    "QuantizeLinear": (1, 2),
    "DequantizeLinear": (1, 2),
    "QLinearConv": (1, 2, 3, 4, 5, 6, 7, 8),
    "QLinearMatMul": (1, 2, 3, 4, 5, 6, 7),
    "ConvInteger": (1, 2, 3),
    "MatMulInteger": (1, 2, 3),
}


def _freeze(model, inputs):
    """Moves the deciding inputs into the model; gives it and the inputs that are left."""
    names = set()
    for node in model.graph.node:
        at = (1,) if node.op_type.startswith("Reduce") else DECIDING.get(node.op_type, ())
        names.update(node.input[i] for i in at if i < len(node.input))
    names &= set(inputs)
    if not names:
        return model, inputs
    frozen = onnx.ModelProto()
    frozen.CopyFrom(model)
    for name in sorted(names):
        frozen.graph.initializer.append(numpy_helper.from_array(inputs[name], name))
    return frozen, {n: a for n, a in inputs.items() if n not in names}


def _fits_float(arrays) -> bool:
    """The engine computes f64 in f32: tests whose data are (denormal) doubles say nothing of it."""
    for a in arrays:
        if a.dtype == np.float64:
            size = np.abs(a[np.isfinite(a) & (a != 0)])
            if size.size and (size.max() > 1e38 or size.min() < 1e-37):
                return False
    return True


def _ordinary(model, inputs: dict) -> tuple:
    """Numbers of ordinary size in place of those that a float cannot hold, and what ONNX's own
    evaluator makes of them (ONNX Runtime lacks doubles in old opsets)."""
    rng = np.random.default_rng(1)
    inputs = {
        n: rng.standard_normal(a.shape) if a.dtype == np.float64 else a for n, a in inputs.items()
    }
    newer = onnx.version_converter.convert_version(model, 13)
    values = ReferenceEvaluator(newer).run(None, inputs)
    return inputs, dict(zip([o.name for o in model.graph.output], values))


def _compare(name, model, inputs, outputs) -> Case:
    group = GROUPS[name.split("/")[0]]
    if name in KNOWN:
        return Case(name, b"", skip=KNOWN[name])
    if not _fits_float([*inputs.values(), *outputs.values()]):
        inputs, outputs = _ordinary(model, inputs)
    must_pass, types = _must_pass(model), _types(model.graph)
    model, inputs = _freeze(model, inputs)
    shapes = {n: a.shape for n, a in inputs.items()}
    return Case(
        name,
        model.SerializeToString(),
        inputs,
        shapes,
        # The engine computes bf16 in f32, without rounding to its eight bits.
        tolerance=1e-2 if T.BFLOAT16 in types else 1e-3,
        expected=outputs,
        may_refuse=not must_pass,
        group=group,
    )


def _are_tensors(values) -> bool:
    return all(isinstance(v, (np.ndarray, np.generic)) and v.dtype != object for v in values)


def _generated():
    """The node tests, which the package makes instead of carrying them."""
    from onnx.backend.test.case.node import collect_testcases

    for test in collect_testcases(None):
        name = f"node/{test.name}"
        if test.model is None or not test.data_sets:
            continue
        inputs, outputs = test.data_sets[0]
        if not _are_tensors(inputs) or not _are_tensors(outputs):
            yield Case(name, b"", skip="its data is no tensor")
            continue
        graph = test.model.graph
        yield _compare(
            name,
            test.model,
            dict(zip([i.name for i in graph.input], map(np.asarray, inputs))),
            dict(zip([o.name for o in graph.output], map(np.asarray, outputs))),
        )


def cases(options):
    if not options.node_tests and not options.long:
        yield Case("node", b"", skip="no ONNX backend tests; scripts/setup oracle fetches them")
        return
    root = Path(options.node_tests or Path(onnx.__file__).parent / "backend/test/data")
    if not options.node_tests:
        yield from _generated()
    for kind in KINDS:
        for folder in sorted((root / kind).glob("*")):
            if (folder / "model.onnx").exists():
                yield _case(kind, folder)
