#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure detections against ground truth: Picket's result lines, or the model by itself."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterable, Iterator, Sequence

import numpy as np

MATCH_IOU = 0.5

Array = np.ndarray
Entry = dict[str, Any]


# --- matching ----------------------------------------------------------------------------------


def iou_matrix(a: Array, b: Array) -> Array:
    """Intersection over union of boxes x1 y1 x2 y2: [n, 4], [m, 4] -> [n, m]."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    size = np.clip(high - low, 0, None)
    both = size[..., 0] * size[..., 1]
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return both / np.maximum(area_a[:, None] + area_b[None, :] - both, 1e-9)


def boxes_of(entries: Sequence[Entry]) -> Array:
    return np.array([e["box"] for e in entries], np.float64).reshape(-1, 4)


def match_frame(
    detections: Sequence[Entry], truth: Sequence[Entry]
) -> tuple[list[Entry], Array, int]:
    """Match one frame greedily, best score first.

    Returns the detections by falling score, for each 1 (hit), 0 (miss) or -1 (does not count),
    and the number of true boxes that count. A detection that meets no free box of its label but
    lies on an ignored box, whatever its label, does not count.
    """
    ranked = sorted(detections, key=lambda d: -d["score"])
    overlap = iou_matrix(boxes_of(ranked), boxes_of(truth))
    ignored = np.array([bool(t.get("ignore")) for t in truth], bool)
    free = ~ignored
    verdict = np.zeros(len(ranked), np.int8)
    for i, detection in enumerate(ranked):
        same = np.array([t["label"] == detection["label"] for t in truth], bool)
        candidates = np.where(free & same, overlap[i], 0.0)
        best = int(candidates.argmax()) if len(truth) else -1
        if best >= 0 and candidates[best] >= MATCH_IOU:
            verdict[i], free[best] = 1, False
        elif np.any(overlap[i][ignored] >= MATCH_IOU):
            verdict[i] = -1
    return ranked, verdict, int((~ignored).sum())


def ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def score_frames(
    frames: Iterable[tuple[Sequence[Entry], Sequence[Entry]]], conf: float = 0.0
) -> dict[str, Any]:
    """Precision and recall over (detections, truth) pairs, counting detections of score >= conf."""
    n_frames = tp = fp = n_truth = 0
    for detections, truth in frames:
        kept = [d for d in detections if d["score"] >= conf]
        _, verdict, count = match_frame(kept, truth)
        n_frames += 1
        tp += int((verdict == 1).sum())
        fp += int((verdict == 0).sum())
        n_truth += count
    fn = n_truth - tp
    return {
        "precision": ratio(tp, tp + fp),
        "recall": ratio(tp, n_truth),
        "frames": n_frames,
        "tp": tp,
        "fp": fp,
        "fn": fn,
    }


def average_precision(
    frames: Sequence[tuple[Sequence[Entry], Sequence[Entry]]], label: str
) -> float:
    """COCO's 101-point average precision of one label at IoU 0.5; NaN where the label is absent."""
    scores: list[float] = []
    hits: list[int] = []
    total = 0
    for detections, truth in frames:
        relevant = [t for t in truth if t["label"] == label or t.get("ignore")]
        ranked, verdict, count = match_frame(
            [d for d in detections if d["label"] == label], relevant
        )
        total += count
        scores += [d["score"] for d, v in zip(ranked, verdict) if v >= 0]
        hits += [int(v) for v in verdict if v >= 0]
    if total == 0:
        return float("nan")
    hit = np.array(hits, np.float64)[np.argsort(-np.array(scores), kind="stable")]
    tp, fp = np.cumsum(hit), np.cumsum(1 - hit)
    recall, precision = tp / total, tp / np.maximum(tp + fp, 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(recall, np.linspace(0, 1, 101), side="left")
    return float(np.append(envelope, 0.0)[np.minimum(at, len(envelope))].mean())


def mean_average_precision(
    frames: Sequence[tuple[Sequence[Entry], Sequence[Entry]]], labels: Sequence[str]
) -> dict[str, float]:
    """AP of each label and their mean under the key "mAP50"."""
    per_label = {label: average_precision(frames, label) for label in labels}
    return {**per_label, "mAP50": float(np.nanmean(list(per_label.values())))}


# --- Picket's result lines ---------------------------------------------------------------------


def read_lines(path: str) -> list[Entry]:
    """The objects of a JSON Lines file; a last line cut short by a stop is passed over."""
    text = sys.stdin.read() if path == "-" else Path(path).read_text()
    lines = text.splitlines()
    if text and not text.endswith("\n"):
        lines.pop()
    return [json.loads(line) for line in lines if line.strip()]


def match_results(truth_path: str, results_path: str, camera: str) -> dict[str, Any]:
    """Precision and recall of one camera's result lines against a clip's ground truth.

    A result's `frame` counts from the start of the source; the clip loops, so the clip's frame
    is `frame` modulo its length. Results without inference (rung `passthrough`) do not count.
    """
    truth = [t["boxes"] for t in sorted(read_lines(truth_path), key=lambda t: t["frame"])]
    results = [
        r
        for r in read_lines(results_path)
        if r.get("camera") == camera and r.get("rung") != "passthrough"
    ]
    pairs = (
        (r.get("detections", []), truth[r["frame"] % len(truth)]) for r in results if "frame" in r
    )
    return score_frames(pairs)


# --- the model by itself -----------------------------------------------------------------------


def decode(
    output: Array, conf: float, nms_iou: float, labels: Sequence[str], scale: float = 1.0
) -> list[Entry]:
    """Detections of one output [4 + classes, n]: best class each, then class-agnostic NMS."""
    scores, classes = output[4:].max(0), output[4:].argmax(0)
    keep = np.flatnonzero(scores >= conf)
    keep = keep[np.argsort(-scores[keep], kind="stable")]
    centre, half = output[:2, keep].T, output[2:4, keep].T / 2
    boxes = np.concatenate([centre - half, centre + half], 1)
    overlap = iou_matrix(boxes, boxes)
    chosen: list[int] = []
    for i in range(len(keep)):
        if all(overlap[i, j] <= nms_iou for j in chosen):
            chosen.append(i)
    return [{"label": labels[classes[keep[i]]], "score": float(scores[keep[i]]),
             "box": [float(x) * scale for x in boxes[i]]} for i in chosen]  # fmt: skip


def clip_pictures(path: str) -> Iterator[Array]:
    """Decode a clip to RGB frames with GStreamer."""
    import render

    stages = "! qtdemux ! h264parse ! avdec_h264 ! videoconvert ! video/x-raw,format=RGB ! fdsink"
    command = ["gst-launch-1.0", "-q", "filesrc", f"location={path}", *stages.split()]
    size = render.HEIGHT * render.WIDTH * 3
    with subprocess.Popen(command, stdout=subprocess.PIPE) as decoder:
        assert decoder.stdout
        while len(data := decoder.stdout.read(size)) == size:
            yield np.frombuffer(data, np.uint8).reshape(render.HEIGHT, render.WIDTH, 3)


def evaluate_clip(args: argparse.Namespace) -> dict[str, Any]:
    """The same through an H.264 clip: decode, resize, detect, match in the clip's pixels."""
    import train  # needs torch

    run = train.load_runner(args)
    scale = train.render.WIDTH / train.INPUT_W
    frames = []
    for picture, truth in zip(clip_pictures(args.clip), read_lines(args.truth)):
        small = train.torch.from_numpy(train.resize_bilinear(picture)).permute(2, 0, 1)
        frames.append(
            (decode(run(small), 0.01, args.nms_iou, train.sprites.LABELS, scale), truth["boxes"])
        )
    return report(frames, train.sprites.LABELS, args.conf)


def evaluate_model(args: argparse.Namespace) -> dict[str, Any]:
    """mAP50, and precision and recall at a threshold, on scenes never trained on."""
    import train  # needs torch

    pictures, targets = train.render_set(Path(args.work), "test", train.TEST_SEED, args.scenes, 6)
    run = train.load_runner(args)
    labels = train.sprites.LABELS
    frames = [
        (decode(run(p), 0.01, args.nms_iou, labels), train.truth_of(t))
        for p, t in zip(pictures, targets)
    ]
    return report(frames, labels, args.conf)


def report(
    frames: list[tuple[list[Entry], list[Entry]]], labels: Sequence[str], conf: float
) -> dict[str, Any]:
    curve = [score_frames(frames, c / 100) | {"conf": c / 100} for c in range(10, 91, 5)]
    ap = {key: round(value, 4) for key, value in mean_average_precision(frames, labels).items()}
    return {"ap50": ap, "conf": conf, "at_conf": score_frames(frames, conf), "curve": curve}


def write_json(value: Entry, path: str) -> None:
    text = json.dumps(value, indent=1)
    if path == "-":
        print(text)
    else:
        Path(path).write_text(text + "\n")


def add_model_options(verb: argparse.ArgumentParser) -> None:
    weights = verb.add_mutually_exclusive_group(required=True)
    weights.add_argument(
        "--checkpoint", help="weights as train.py keeps them in its scratch folder"
    )
    weights.add_argument("--onnx", help="an exported model instead (needs onnxruntime too)")
    verb.add_argument("--conf", type=float, default=0.4)
    verb.add_argument("--nms-iou", type=float, default=0.6)
    verb.add_argument("--json", default="-", help="where to write the figures (default: -)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    match = verbs.add_parser(
        "match", help="match Picket's result lines against a clip's ground truth"
    )
    match.add_argument("--truth", required=True)
    match.add_argument("--results", required=True)
    match.add_argument("--camera", required=True)
    match.add_argument("--json", default="-", help="where to write the figures (default: -)")
    model = verbs.add_parser("model", help="measure the model on held-out scenes (needs torch)")
    model.add_argument(
        "--work", default="/tmp/picket-train", help="scratch folder for rendered pictures"
    )
    model.add_argument("--scenes", type=int, default=60)
    clip = verbs.add_parser("clip", help="measure the model on a clip of render.py (needs torch)")
    clip.add_argument("--clip", required=True)
    clip.add_argument("--truth", required=True)
    for verb in (model, clip):
        add_model_options(verb)
    args = parser.parse_args()
    if args.verb == "match":
        write_json(match_results(args.truth, args.results, args.camera), args.json)
        return 0
    write_json(evaluate_model(args) if args.verb == "model" else evaluate_clip(args), args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
