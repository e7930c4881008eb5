# SPDX-License-Identifier: Apache-2.0
"""What one comparison against ONNX Runtime is made of."""

from dataclasses import dataclass, field
from typing import Callable, Optional, Union

import numpy as np


@dataclass
class Case:
    name: str
    model: Union[bytes, str]  # serialised, or a path
    inputs: dict = field(default_factory=dict)  # name -> array
    shapes: dict = field(default_factory=dict)  # name -> dims, for --shape
    tolerance: float = 1e-4  # of the output's range
    refusal: Optional[str] = None  # regular expression of the error that must come
    # name -> array, or a function that returns it; None: ONNX Runtime says.
    expected: Union[dict, Callable, None] = None
    may_refuse: bool = False  # operators and types outside Picket are no failure, but counted
    skip: Optional[str] = None  # reason
    # Arguments of `picketctl engine build`: an engine file is made first and run; None: the model.
    build: Optional[list] = None
    max_build_mib: float = 0  # of memory while building; 0: any
    parts: tuple = ()  # (axis, index): both sides of it are held against their own range
    check: Optional[Callable] = None  # (options, folder) -> None or what is wrong; instead of a run
    measured: dict = field(default_factory=dict)  # filled in: max_rel_err, build (its report)


@dataclass
class Suite:
    name: str
    cases: Callable  # (options) -> iterable of Case
    figures: Optional[Callable] = None  # (cases) -> dict for --json, instead of the counts


def difference(got: np.ndarray, want: np.ndarray, tolerance: float) -> Optional[str]:
    """None when equal enough, else what differs. Integers must be equal, NaN and inf in place."""
    if got.shape != want.shape:
        return f"shape {list(got.shape)}, wanted {list(want.shape)}"
    if want.dtype.kind == "f":
        if got.dtype.kind != "f":
            return f"type {got.dtype}, wanted {want.dtype}"
        return _float_difference(got.astype(np.float64), want.astype(np.float64), tolerance)
    if got.dtype != want.dtype:
        return f"type {got.dtype}, wanted {want.dtype}"
    if not np.array_equal(got, want):
        return f"{int(np.sum(got != want))} of {want.size} elements differ"
    return None


def _float_difference(got, want, tolerance):
    finite = np.isfinite(want)
    if not np.array_equal(np.isfinite(got), finite):
        return "finite and not finite elements differ"
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return "infinite or NaN elements differ"
    if not finite.any():
        return None
    worst = error_of_range(got[finite], want[finite])
    if worst > tolerance:
        return f"error {worst:.3g} of the range, allowed {tolerance:g}"
    return None


def error_of_range(got: np.ndarray, want: np.ndarray) -> float:
    """The largest difference over what the wanted values span."""
    got, want = got.astype(np.float64), want.astype(np.float64)
    span = float(np.ptp(want)) or float(np.max(np.abs(want))) or 1.0
    return float(np.max(np.abs(got - want))) / span


def cut(array: np.ndarray, parts: tuple) -> list:
    """Case.parts of an output; the whole where the axis or the index does not fit."""
    if not parts or parts[0] >= array.ndim or parts[1] >= array.shape[parts[0]]:
        return [array]
    return np.split(array, [parts[1]], axis=parts[0])
