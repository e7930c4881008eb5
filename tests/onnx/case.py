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
    expected: Optional[dict] = None  # name -> array; None: ONNX Runtime says
    may_refuse: bool = False  # outside of Picket: a located refusal is as right as a result
    group: Optional[str] = None  # what the figures count it under
    skip: Optional[str] = None  # reason


@dataclass
class Suite:
    name: str
    cases: Callable  # (options) -> iterable of Case


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
    got, want = got[finite], want[finite]
    span = float(np.ptp(want)) or float(np.max(np.abs(want))) or 1.0
    worst = float(np.max(np.abs(got - want))) / span
    if worst > tolerance:
        return f"error {worst:.3g} of the range, allowed {tolerance:g}"
    return None
