# SPDX-License-Identifier: Apache-2.0
"""Models of one node whose operands say where, and of operators that become several."""

import numpy as np

from single_op import Builder, Const, f32, i64, scalar


def gathers(b):
    x, rng = (3, 4, 5), np.random.default_rng(7)
    for axis in (0, 1, -1):
        at = rng.integers(-3, 3, (3, 4, 5))
        b.add("GatherElements", (11, 13), [x, at], f"axis{axis}", axis=axis)
        for dtype in (np.int32, np.int64):
            update = rng.standard_normal((3, 4, 5)).astype(np.float32)
            label = f"axis{axis}-{np.dtype(dtype).name}"
            unlike = np.stack([rng.permutation(3)[:2] for _ in range(20)], 1)
            where = np.moveaxis(unlike.reshape(2, 4, 5), 0, 0).astype(dtype)
            if axis == 0:
                b.add("ScatterElements", (11, 16, 18), [x, where, update[:2]], label, axis=axis)
    at = rng.integers(-3, 3, (3, 4, 5))
    for reduction in ("add", "mul", "min", "max"):
        opsets = (18,) if reduction in ("min", "max") else (16, 18)
        b.add("ScatterElements", opsets, [x, at, (3, 4, 5)], reduction, axis=1,
              reduction=reduction)  # fmt: skip
        points = rng.integers(-3, 3, (6, 2))
        b.add("ScatterND", opsets, [x, points, (6, 5)], reduction, reduction=reduction)
    b.add("ScatterND", (11, 16), [x, np.array([[2], [0]]), (2, 4, 5)])
    b.add("ScatterElements", (16,), [x, at, (3, 4, 5)], "min-16", reduction="min",
          refusal="reduction `min` needs opset 18")  # fmt: skip
    for batch, shape in ((0, (6, 2)), (0, (2, 3, 3)), (1, (3, 2, 1)), (1, (3, 2)), (2, (3, 4, 1))):
        at = rng.integers(-3, 3, shape)
        b.add("GatherND", (12, 13), [x, at], f"batch{batch}-{len(shape)}", batch_dims=batch)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            for axis in (0, -1):
                attrs = {"exclusive": exclusive, "reverse": reverse}
                label = f"{axis}-{exclusive}{reverse}"
                b.add("CumSum", (11, 14), [x, scalar(axis, np.int64)], label, **attrs)
    b.add("CumSum", (14,), [np.arange(12).reshape(3, 4), scalar(1, np.int32)], "i64")


def samplers(b):
    x, grid = (2, 3, 5, 6), (1.3 * np.random.default_rng(8).uniform(-1, 1, (2, 4, 7, 2)))
    grid = grid.astype(np.float32)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                b.add("GridSample", (16,), [x, grid], f"{mode}-{padding}-{align}", mode=mode,
                      padding_mode=padding, align_corners=align)  # fmt: skip
    b.add("GridSample", (20,), [x, grid], "cubic", mode="cubic", padding_mode="border")
    rois = np.array([[0, 0, 5, 4], [1.5, 0.5, 3, 3.5], [-2, -1, 9, 9], [4, 3, 3, 2]], np.float32)
    image = np.array([0, 1, 1, 0])
    for mode in ("avg", "max"):
        for ratio in (0, 1, 2):
            attrs = {"mode": mode, "sampling_ratio": ratio, "spatial_scale": 0.75}
            attrs |= {"output_height": 2, "output_width": 3}
            b.add("RoiAlign", (10,), [x, rois, image], f"{mode}-{ratio}", **attrs)
            for coord in ("half_pixel", "output_half_pixel"):
                b.add("RoiAlign", (16,), [x, rois, image], f"{mode}-{ratio}-{coord}",
                      coordinate_transformation_mode=coord, **attrs)  # fmt: skip


def composed(b):
    for equation, *operands in (
        ("ij->ji", (2, 3)),
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
        ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
        ("bchw,bkc->bkhw", (2, 3, 4, 5), (2, 6, 3)),
        ("...ij,...jk->...ik", (2, 5, 3, 4), (2, 5, 4, 6)),
        ("...ii->...i", (2, 3, 3)),
        ("ii", (4, 4)),
        ("iji->j", (3, 4, 3)),
        ("i,j->ij", (3,), (4,)),
        ("i,i->", (5,), (5,)),
        ("ij,ij->i", (3, 4), (3, 4)),
        ("ij,kl->", (2, 3), (4, 5)),
        ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)),
        ("ba", (2, 3)),
        (" i j , j -> i ", (2, 3), (3,)),
        ("ij,jk->ki", (2, 3), (3, 4)),
        ("->", ()),
    ):
        arrays = [np.asarray(np.random.default_rng(9).standard_normal(s), np.float32)
                  for s in operands]  # fmt: skip
        label = equation.replace(" ", "_").replace("/", "")
        b.add("Einsum", (12,), arrays, label, equation=equation)
    x = (2, 3, 4)
    for axis in (0, 1, -1):
        indices = np.array([[0, 3], [-1, 7], [-9, 2]])
        operands = [indices, Const(np.array([5])), f32(2, 7)]
        b.add("OneHot", (9, 11), operands, f"axis{axis}", axis=axis)
        b.add("Hardmax", (11, 13), [x], f"axis{axis}", axis=axis)
        b.add("LpNormalization", (1, 22), [x], f"axis{axis}", axis=axis, p=1 + (axis == 1))
    for k in (-5, -1, 0, 2, 9):
        for upper in (0, 1):
            b.add("Trilu", (14,), [x, scalar(k, np.int64)], f"{k}-{upper}", upper=upper)
    special = np.array([[np.nan, np.inf, -np.inf, 0, 1]], np.float32)
    b.add("IsNaN", (9, 13, 20), [special])
    for positive in (0, 1):
        for negative in (0, 1):
            b.add("IsInf", (10, 20), [special], f"{positive}{negative}",
                  detect_positive=positive, detect_negative=negative)  # fmt: skip
    b.add("Celu", (12,), [x], alpha=0.7)
    b.add("ThresholdedRelu", (10, 22), [x], alpha=0.3)
    b.add("Shrink", (9,), [x], lambd=0.4, bias=0.2)
    b.add("MeanVarianceNormalization", (9, 13), [(2, 3, 4, 5)])
    b.add("EyeLike", (9, 22), [(3, 5)], k=1)
    chosen = Const(np.array([True, False, True]))
    b.add("Compress", (9, 11), [x, chosen], axis=1)
    b.add("Compress", (9, 11), [x, chosen], "flat")
    b.add("NonZero", (9, 13), [Const(np.array([[0, 3, 0], [1, 0, 2]], np.float32))])
    attrs = {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [1, 0, 0, 1]}
    for order in (0, 1):
        b.add("MaxPool", (8, 12), [(2, 3, 5, 6)], f"indices-{order}", n_outputs=2,
              storage_order=order, **attrs)  # fmt: skip
    b.add("LayerNormalization", (17,), [x, f32(1, 2, 3, 4)], "statistics", n_outputs=3, axis=-1)


def suppression(b):
    rng = np.random.default_rng(10)
    corners = rng.uniform(0, 1, (2, 20, 4)).astype(np.float32)
    scores = np.round(rng.uniform(0, 1, (2, 3, 20)), 1).astype(np.float32)
    for centred in (0, 1):
        operands = [Const(corners), Const(scores), i64(4), f32(0.3), f32(0.45)]
        b.add("NonMaxSuppression", (10, 11), operands, f"{centred}", center_point_box=centred)
    b.add("NonMaxSuppression", (11,), [Const(corners), Const(scores)], "none")


def cases(_options):
    b = Builder()
    for family in (gathers, samplers, composed, suppression):
        family(b)
    return b.cases
