#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every decode family against an independent reading of its definition in NumPy."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import check  # noqa: E402

SIDE = 64  # of the model's input
CLASSES = 3
CONF, IOU = 0.3, 0.5
TOLERANCE = 0.02  # pixels; results carry two decimals

CARD = """card: 1
name: golden
task: {task}
inputs:
  - name: images
    shape: [1, 3, {side}, {side}]
    color: rgb
    resize: {{mode: stretch}}
    normalize: {{scale: 1}}
outputs:
{outputs}
decode:
  family: {family}
  classes: {classes}
{keys}
postprocess: {{conf: {conf}, nms: {nms}, max_det: 300}}
"""


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def softmax(x, axis):
    e = np.exp(x.astype(np.float64) - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def cells(stride):
    """Row-major (y, x) of a grid."""
    n = SIDE // stride
    return np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), -1).reshape(-1, 2)


def overlap(a, b):
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return w * h / (sum(areas) - w * h)


def suppress(rows):
    kept = []
    for row in rows:
        if all(row[5] != k[5] or overlap(row[:4], k[:4]) <= IOU for k in kept):
            kept.append(row)
    return kept


def finish(boxes, scores, classes, nms=True):
    """Rows (x1, y1, x2, y2, score, class), best first, clipped to the picture."""
    rows = [
        (*np.asarray(box, float), float(score), int(at))
        for box, score, at in zip(boxes, scores, classes)
        if score >= CONF
    ]
    rows.sort(key=lambda row: -row[4])
    rows = suppress(rows) if nms else rows
    rows = [(*np.clip(row[:4], 0, SIDE), *row[4:]) for row in rows]
    return [row for row in rows if row[2] > row[0] and row[3] > row[1]]


def corners(cx, cy, w, h):
    return np.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], -1)


def run(family, tensors, keys="", task="detect", nms=True):
    """The result line of tensors {name: (role, array)}."""
    with tempfile.TemporaryDirectory(prefix="picket-golden-") as folder:
        card = os.path.join(folder, "card.yaml")
        outputs = "\n".join(
            f"  - {{name: {name}, role: {role}}}" for name, (role, _) in tensors.items()
        )
        with open(card, "w", encoding="utf-8") as f:
            f.write(
                CARD.format(
                    task=task,
                    side=SIDE,
                    outputs=outputs,
                    family=family,
                    classes=CLASSES,
                    keys=keys,
                    conf=CONF,
                    nms="{type: hard, iou: %s}" % IOU if nms else "{type: none}",
                )
            )
        command = [os.path.join(story.BUILD, "tests/lib/decode_run"), card]
        for name, (_, array) in tensors.items():
            path = os.path.join(folder, f"{name}.npy")
            np.save(path, np.ascontiguousarray(array))
            command.append(f"{name}={path}")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        check(done.returncode == 0, done.stderr)
        return json.loads(done.stdout)


def agree(line, rows, least=3):
    """Detections of the line are the rows; equal scores may come in any order."""
    found = [(*d["box"], d["score"], d["class"]) for d in line["detections"]]
    check(len(rows) >= least, f"a golden vector of {len(rows)} detections says little")
    check(len(found) == len(rows), f"{len(found)} detections, expected {len(rows)}")
    left = list(rows)
    for one in found:
        match = [
            row
            for row in left
            if row[5] == one[5]
            and abs(row[4] - one[4]) < 2e-4
            and np.allclose(row[:4], one[:4], atol=TOLERANCE)
        ]
        check(match, f"{one} is not among {left[:5]}")
        left.remove(match[0])


def rng(name):
    return np.random.default_rng(sum(name.encode()))


def spread(random, shape, mean=-4.0):
    """Logits of which few pass the threshold."""
    return random.normal(mean, 2.0, shape).astype(np.float32)


def yolo_v8():
    random = rng("v8")
    n = 84
    cx, cy = random.uniform(5, 59, (2, n))
    w, h = random.uniform(4, 30, (2, n))
    scores = sigmoid(spread(random, (CLASSES, n), -2))
    pred = np.concatenate([[cx, cy, w, h], scores]).astype(np.float32)[None]
    rows = finish(corners(cx, cy, w, h), scores.max(0), scores.argmax(0))
    agree(run("yolo-v8", {"out": ("pred", pred)}), rows)


def yolo_v5_decoded():
    random = rng("v5")
    n = 252
    cx, cy = random.uniform(5, 59, (2, n))
    w, h = random.uniform(4, 30, (2, n))
    obj, scores = sigmoid(spread(random, (n,), -1)), sigmoid(spread(random, (CLASSES, n), 0))
    pred = np.concatenate([[cx, cy, w, h, obj], scores]).T.astype(np.float32)[None]
    rows = finish(corners(cx, cy, w, h), obj * scores.max(0), scores.argmax(0))
    keys = "  pred_axis: middle\n  score: {objectness: true}"
    agree(run("yolo-v8", {"out": ("pred", pred)}, keys), rows)


ANCHORS = [[(10, 13), (16, 30)], [(33, 23), (30, 40)]]
STRIDES = [8, 16]


def anchors(formula, packed):
    random = rng("anchors" + formula)
    tensors, boxes, scores, classes = {}, [], [], []
    for i, (stride, sizes) in enumerate(zip(STRIDES, ANCHORS)):
        side = SIDE // stride
        t = spread(random, (len(sizes), 5 + CLASSES, side, side), -0.5)
        t[:, :4] = random.normal(0, 0.7, t[:, :4].shape)
        for a, (aw, ah) in enumerate(sizes):
            flat = t[a].reshape(5 + CLASSES, -1)
            yx = cells(stride)
            s = sigmoid(flat)
            if formula == "v5":
                cx, cy = (2 * s[0] - 0.5 + yx[:, 1]) * stride, (2 * s[1] - 0.5 + yx[:, 0]) * stride
                w, h = (2 * s[2]) ** 2 * aw, (2 * s[3]) ** 2 * ah
            else:
                cx, cy = (s[0] + yx[:, 1]) * stride, (s[1] + yx[:, 0]) * stride
                w, h = np.exp(flat[2]) * aw, np.exp(flat[3]) * ah
            boxes.append(corners(cx, cy, w, h))
            scores.append(s[4] * s[5:].max(0))
            classes.append(s[5:].argmax(0))
        if packed:
            out = t.transpose(0, 2, 3, 1)[None]
        else:
            out = t.reshape(1, -1, side, side)
        tensors[f"p{i}"] = ("pred", np.ascontiguousarray(out))
    keys = f"  strides: {STRIDES}\n  formula: {formula}\n  score: {{activation: sigmoid}}\n"
    keys += f"  anchors: {[v for layer in ANCHORS for pair in layer for v in pair]}"
    rows = finish(np.concatenate(boxes), np.concatenate(scores), np.concatenate(classes))
    agree(run("yolo-anchors", tensors, keys), rows)


def yolo_v5_raw():
    anchors("v5", packed=True)


def yolo_v7_raw_planar():
    anchors("v5", packed=False)


def yolo_v3_raw():
    anchors("v3", packed=False)


def yolo_v8_raw():
    random, bins = rng("dfl"), 16
    tensors, boxes, scores, classes = {}, [], [], []
    for i, stride in enumerate(STRIDES):
        side = SIDE // stride
        t = np.concatenate(
            [
                random.normal(0, 1.5, (4 * bins, side, side)),
                spread(random, (CLASSES, side, side), -2),
            ]
        ).astype(np.float32)
        flat = t.reshape(4 * bins + CLASSES, -1)
        distance = (
            softmax(flat[: 4 * bins].reshape(4, bins, -1), 1) * np.arange(bins)[None, :, None]
        ).sum(1)
        yx = cells(stride) + 0.5
        boxes.append(
            np.stack(
                [
                    yx[:, 1] - distance[0],
                    yx[:, 0] - distance[1],
                    yx[:, 1] + distance[2],
                    yx[:, 0] + distance[3],
                ],
                -1,
            )
            * stride
        )
        s = sigmoid(flat[4 * bins :])
        scores.append(s.max(0))
        classes.append(s.argmax(0))
        tensors[f"p{i}"] = ("pred", t[None])
    keys = f"  strides: {STRIDES}\n  reg_max: {bins}\n  score: {{activation: sigmoid}}"
    rows = finish(np.concatenate(boxes), np.concatenate(scores), np.concatenate(classes))
    agree(run("yolo-dfl", tensors, keys), rows)


def yolox():
    random = rng("yolox")
    t, boxes = [], []
    for stride in STRIDES:
        yx = cells(stride)
        v = random.normal(0, 0.7, (len(yx), 4)).astype(np.float32)
        t.append(v)
        boxes.append(
            corners(
                (v[:, 0] + yx[:, 1]) * stride,
                (v[:, 1] + yx[:, 0]) * stride,
                np.exp(v[:, 2]) * stride,
                np.exp(v[:, 3]) * stride,
            )
        )
    n = sum(map(len, t))
    obj, scores = sigmoid(spread(random, (n, 1), -1)), sigmoid(spread(random, (n, CLASSES), 0))
    pred = np.concatenate([np.concatenate(t), obj, scores], 1).astype(np.float32)[None]
    rows = finish(np.concatenate(boxes), obj[:, 0] * scores.max(1), scores.argmax(1))
    agree(run("yolox", {"out": ("pred", pred)}, f"  strides: {STRIDES}"), rows)


def some_boxes(random, n):
    x1, y1 = random.uniform(0, 40, (2, n))
    w, h = random.uniform(4, 20, (2, n))
    return np.stack([x1, y1, x1 + w, y1 + h], -1)


def end_to_end():
    random = rng("e2e")
    boxes, n = some_boxes(random, 30), 30
    scores, classes = random.uniform(0, 1, n), random.integers(-1, CLASSES + 1, n)
    pred = np.concatenate([boxes, scores[:, None], classes[:, None]], 1).astype(np.float32)[None]
    known = (classes >= 0) & (classes < CLASSES)
    rows = finish(boxes[known], scores[known], classes[known], nms=False)
    agree(run("end-to-end", {"out": ("pred", pred)}, "  box: {format: xyxy}"), rows)


def boxes_and_scores_with_background():
    random = rng("boxes")
    boxes, n = some_boxes(random, 40), 40
    logits = random.normal(0, 2, (n, CLASSES + 1)).astype(np.float32)
    p = softmax(logits, 1)[:, 1:]
    rows = finish(boxes, p.max(1), p.argmax(1))
    tensors = {
        "boxes": ("boxes", (boxes / SIDE)[:, [1, 0, 3, 2]].astype(np.float32)[None]),
        "scores": ("scores", logits[None]),
    }
    keys = "  box: {format: xyxy, units: norm, order: yx}\n"
    keys += "  score: {activation: softmax, background: first}"
    agree(run("boxes-scores", tensors, keys), rows)


def detr():
    random = rng("detr")
    boxes, n = some_boxes(random, 30), 30
    logits = spread(random, (n, CLASSES), -1)
    p = sigmoid(logits)
    centre = np.stack(
        [
            (boxes[:, 0] + boxes[:, 2]) / 2,
            (boxes[:, 1] + boxes[:, 3]) / 2,
            boxes[:, 2] - boxes[:, 0],
            boxes[:, 3] - boxes[:, 1],
        ],
        -1,
    )
    rows = finish(
        np.repeat(boxes, CLASSES, 0), p.reshape(-1), np.tile(np.arange(CLASSES), n), nms=False
    )
    tensors = {
        "boxes": ("boxes", (centre / SIDE).astype(np.float32)[None]),
        "scores": ("scores", logits[None]),
    }
    keys = "  box: {format: cxcywh, units: norm}\n  score: {activation: sigmoid}"
    agree(run("detr", tensors, keys), rows)


def ssd_anchors(strides, low, high, ratios):
    """As the TensorFlow generator for single-shot detectors makes them; cx, cy, w, h of 0..1."""
    scales = list(np.linspace(low, high, len(strides))) + [1.0]
    out = []
    for i, stride in enumerate(strides):
        if i == 0:
            sizes = [(0.1, 1.0), (scales[0], 2.0), (scales[0], 0.5)]
        else:
            sizes = [(scales[i], r) for r in ratios]
            sizes.append((np.sqrt(scales[i] * scales[i + 1]), 1.0))
        n = -(-SIDE // stride)
        for y in range(n):
            for x in range(n):
                for scale, ratio in sizes:
                    root = np.sqrt(ratio)
                    out.append(((x + 0.5) / n, (y + 0.5) / n, scale * root, scale / root))
    return np.array(out)


def ssd():
    random = rng("ssd")
    strides, ratios = [16, 24, 64], [1, 2, 0.5]
    a = ssd_anchors(strides, 0.2, 0.9, ratios)
    t = random.normal(0, 1, (len(a), 4)).astype(np.float32)  # ty, tx, th, tw
    logits = spread(random, (len(a), CLASSES + 1), -2)
    cx, cy = t[:, 1] * 0.1 * a[:, 2] + a[:, 0], t[:, 0] * 0.1 * a[:, 3] + a[:, 1]
    w, h = np.exp(t[:, 3] * 0.2) * a[:, 2], np.exp(t[:, 2] * 0.2) * a[:, 3]
    p = sigmoid(logits)[:, 1:]
    rows = finish(corners(cx, cy, w, h) * SIDE, p.max(1), p.argmax(1))
    tensors = {"boxes": ("boxes", t[None]), "scores": ("scores", logits[None])}
    keys = f"  strides: {strides}\n  box: {{format: cxcywh, order: yx}}\n"
    keys += f"  anchor_grid: {{min_scale: 0.2, max_scale: 0.9, aspect_ratios: {ratios}}}\n"
    keys += "  score: {activation: sigmoid, background: first}"
    agree(run("ssd", tensors, keys), rows)


def detections_of_the_graph():
    random = rng("graph")
    boxes, n = some_boxes(random, 20), 20
    scores, classes = random.uniform(0, 1, n), random.integers(1, CLASSES + 1, n)
    count = 15
    rows = finish(boxes[:count], scores[:count], classes[:count] - 1, nms=False)
    norm = (boxes / SIDE)[:, [1, 0, 3, 2]].astype(np.float32)[None]
    keys = "  box: {format: xyxy, units: norm, order: yx}\n  score: {background: first}"
    for dtype in (np.float32, np.int64, np.int32):  # TensorFlow's, and with whole numbers
        tensors = {
            "boxes": ("boxes", norm),
            "scores": ("scores", scores.astype(np.float32)[None]),
            "classes": ("classes", classes.astype(dtype)[None]),
            "n": ("count", np.array([count], dtype)),
        }
        agree(run("detections", tensors, keys), rows)


def classification():
    random = rng("classify")
    logits = random.normal(0, 2, (1, CLASSES)).astype(np.float32)
    p = softmax(logits, 1)[0]
    rows = [(0, 0, SIDE, SIDE, p[k], k) for k in np.argsort(-p) if p[k] >= CONF]
    keys = "  score: {activation: softmax}"
    agree(run("classify", {"out": ("logits", logits)}, keys, "classify"), rows, least=1)


def expand(class_map):
    runs = np.array(class_map["runs"]).reshape(-1, 2)
    return np.repeat(runs[:, 0], runs[:, 1]).reshape(class_map["height"], class_map["width"])


def regions(expected, scores):
    """The boxes around each class but 0, a cell being 4 pixels."""
    rows = []
    for k in range(1, CLASSES + 1):
        y, x = np.nonzero(expected == k)
        if len(y) and (mean := float(scores[expected == k].mean())) >= CONF:
            rows.append((x.min() * 4, y.min() * 4, x.max() * 4 + 4, y.max() * 4 + 4, mean, k - 1))
    return rows


def semantic():
    random = rng("semantic")
    n = SIDE // 4
    logits = random.normal(0, 1, (1, CLASSES + 1, n, n)).astype(np.float32)
    logits[0, 0] += 1.0
    logits[0, 1, 2:5, 3:9] += 8
    logits[0, 3, 10:13, 1:4] += 8
    p = softmax(logits, 1)[0]
    expected = p.argmax(0)
    keys = "  score: {activation: softmax, background: first}"
    line = run("semantic", {"out": ("map", logits)}, keys, "segment")
    check((expand(line["class_map"]) == expected).all(), "another class map")
    check(line["class_map"]["box"] == [0, 0, SIDE, SIDE], str(line["class_map"]["box"]))
    agree(line, regions(expected, p.max(0)), least=2)
    numbers = run(
        "semantic",
        {"out": ("map", expected[None].astype(np.int64))},
        "  score: {background: first}",
        "segment",
    )
    check((expand(numbers["class_map"]) == expected).all(), "another map of class numbers")
    agree(numbers, regions(expected, np.ones_like(p[0])), least=2)


sys.exit(
    story.run(
        yolo_v8,
        yolo_v5_decoded,
        yolo_v5_raw,
        yolo_v7_raw_planar,
        yolo_v3_raw,
        yolo_v8_raw,
        yolox,
        end_to_end,
        boxes_and_scores_with_background,
        detr,
        ssd,
        detections_of_the_graph,
        classification,
        semantic,
    )
)
