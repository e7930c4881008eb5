# SPDX-License-Identifier: Apache-2.0
"""Real models against ONNX Runtime on seeded noise."""

import os
import sys

import numpy as np

from case import Case

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts/lib"))
import assets  # noqa: E402

# (name, asset or path, input, shape, low, high)
MODELS = [
    ("demo parts", os.path.join(TOP, "demo/parts.onnx"), "images", (1, 3, 192, 256), 0, 1),
    ("blazeface front 128", "blazeface_front.onnx", "input:0", (1, 128, 128, 3), -1, 1),
    ("blazeface back 256", "blazeface_back.onnx", "input:0", (1, 256, 256, 3), -1, 1),
    ("PP-OCRv4 det 320", "ppocr_det.onnx", "x", (1, 3, 320, 320), -2, 2),
    ("PP-OCRv4 rec 48x320", "ppocr_rec.onnx", "x", (1, 3, 48, 320), -1, 1),
    ("PP-OCR cls 48x192", "ppocr_cls.onnx", "x", (1, 3, 48, 192), -1, 1),
]
TOLERANCE = 1e-4  # of the output's range


def cases(options):
    for name, source, input_name, shape, low, high in MODELS:
        noise = np.random.default_rng(7).uniform(low, high, shape).astype(np.float32)
        try:
            path = source if os.path.isabs(source) else assets.asset(source)
        except (OSError, RuntimeError) as error:
            yield Case(name=name, model=b"", skip=f"cannot be fetched: {error}")
            continue
        yield Case(
            name=name,
            model=path,
            inputs={input_name: noise},
            shapes={input_name: shape},
            tolerance=TOLERANCE,
        )
