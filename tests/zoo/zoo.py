# SPDX-License-Identifier: Apache-2.0
"""The table of generated models. Files are kept under build/zoo by the generator's digest."""

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np
import onnx

import classifiers
import dense
import detectors
import faces
import mobilenets
import transformers

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent.parent / "build/zoo"


@dataclass
class Model:
    name: str
    build: Callable  # (size) -> Graph
    size: int  # of the square picture
    long_size: int = 0  # with --long; 0: the same
    bind: str = ""  # --shape of what the file leaves open


MODELS = (
    Model("resnet50", classifiers.resnet50, 160, 224),
    Model("mobilenet_v2", mobilenets.mobilenet_v2, 224, bind="batch_size=1"),
    Model("mobilenet_v3_large", mobilenets.mobilenet_v3_large, 224),
    Model("mobilenet_v3_small", mobilenets.mobilenet_v3_small, 224),
    Model("squeezenet1_1", classifiers.squeezenet, 224),
    Model("efficientnet_b0", classifiers.efficientnet_b0, 224),
    Model("shufflenet_v2", classifiers.shufflenet_v2, 224),
    Model("yolov5n", detectors.yolov5n, 320, 640, bind="batch=1"),
    Model("yolov8n", detectors.yolov8n, 640),
    Model("yolox_nano", detectors.yolox_nano, 320, 416),
    Model("ssdlite_mobilenet_v2", detectors.ssdlite_mobilenet_v2, 320),
    Model("unet", dense.unet, 160, 256),
    Model("deeplabv3_mobilenet", dense.deeplabv3_mobilenet, 193, 321),
    Model("style", dense.style, 128, 224),
    Model("detr", transformers.detr, 224, bind="pixel_values=1x3x224x224"),
    Model("vit", transformers.vit, 224, bind="pixel_values=1x3x224x224"),
    Model("swin", transformers.swin, 112, 224),
    Model("mobilefacenet", faces.mobilefacenet, 112),
    Model("scrfd", faces.scrfd, 160, 640),
    Model("tf_mobilenet_v1", faces.tf_mobilenet_v1, 160, 224),
    Model("alexnet", classifiers.alexnet, 227),
    Model("densenet121", classifiers.densenet121, 128, 224),
    Model("inception_v1", classifiers.inception_v1, 224),
    Model("vgg19", classifiers.vgg19, 96, 224),
)


def by_name(name: str) -> Model:
    return next(m for m in MODELS if m.name == name)


def picture_size(model: Model, long: bool) -> int:
    return model.long_size or model.size if long else model.size


def _generator_digest() -> str:
    digest = hashlib.sha256(onnx.__version__.encode() + np.__version__.encode())
    for file in sorted(HERE.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def path_of(model: Model, long: bool = False) -> Path:
    """The model's file; generated when it is not there."""
    size = picture_size(model, long)
    folder = CACHE / _generator_digest()
    path = folder / f"{model.name}-{size}.onnx"
    if not path.exists():
        _drop_old(folder)
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        onnx.save(model.build(size).model(), str(part))
        part.rename(path)
    return path


def _drop_old(folder: Path) -> None:
    """Models of other generators are of no use any more."""
    for old in CACHE.glob("*/"):
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)


def inputs(path: Path) -> dict:
    """Seeded noise for every input of the file."""
    rng = np.random.default_rng(7)
    graph = onnx.load(str(path)).graph
    arrays = {}
    for value in graph.input:
        dims = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
        arrays[value.name] = rng.uniform(0, 1, dims).astype(np.float32)
    return arrays
