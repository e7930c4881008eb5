#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""INT8 on the demo's detector: mAP50 against fp32 on held-out scenes, and that a calibration whose
ranges are 20 times too small does not pass the gate.

Frames for calibration and for the figures come from different scenes, none of them trained on.
Writes {int8: {map_fp32, map_int8}} with --json; exits 1 when a promise is broken, 77 when the
machine lacks what rendering needs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

try:
    import numpy as np
    import PIL  # noqa: F401: what render.py draws with
except ImportError as e:
    print(f"skip: {e}")
    sys.exit(77)

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "demo"))
import eval as measure  # noqa: E402
import render  # noqa: E402
import sprites  # noqa: E402

INPUT_W, INPUT_H = 256, 192
SCENE_PX = 2400
# Training, validation and the golden samples begin at 1, 2 and 3 million.
CALIBRATION_SEED, TEST_SEED = 5_000_000, 6_000_000
MAX_LOSS = 0.02  # relative
BAD_FACTOR = 20
CONF, NMS_IOU = 0.01, 0.6


def resize(picture: np.ndarray) -> np.ndarray:
    """Bilinear without averaging, as the pipeline does it: uint8 [192, 256, 3]."""
    h, w = picture.shape[:2]
    x = np.clip((np.arange(INPUT_W) + 0.5) * w / INPUT_W - 0.5, 0, w - 1)
    y = np.clip((np.arange(INPUT_H) + 0.5) * h / INPUT_H - 0.5, 0, h - 1)
    x0, y0 = x.astype(int), y.astype(int)
    x1, y1 = np.minimum(x0 + 1, w - 1), np.minimum(y0 + 1, h - 1)
    fx, fy = (x - x0)[None, :, None], (y - y0)[:, None, None]
    top = picture[y0][:, x0] * (1 - fx) + picture[y0][:, x1] * fx
    bottom = picture[y1][:, x0] * (1 - fx) + picture[y1][:, x1] * fx
    return (top * (1 - fy) + bottom * fy + 0.5).astype(np.uint8)


def frames_of(job: tuple) -> list:
    """(picture of the input's size, true boxes in its pixels) of one scene."""
    seed, count = job
    scene = render.Scene(seed, SCENE_PX)
    rng = np.random.default_rng(seed + 7)
    found = []
    for i in range(count):
        offset = int((i + rng.random()) * SCENE_PX / count)
        picture, boxes = scene.picture(offset, float(rng.random()))
        scale = INPUT_W / render.WIDTH
        truth = [{**b, "box": [v * scale for v in b["box"]]} for b in boxes]
        found.append((resize(picture), truth))
    return found


def render_frames(seed: int, scenes: int, each: int) -> list:
    with ProcessPoolExecutor() as pool:
        done = pool.map(frames_of, [(seed + i, each) for i in range(scenes)])
        return [frame for scene in done for frame in scene]


def run(command: list) -> subprocess.CompletedProcess:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)


def must(command: list) -> str:
    done = run(command)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


class Figures:
    """The engines and what they find."""

    def __init__(self, picketctl: str, folder: Path) -> None:
        self.picketctl, self.folder = picketctl, folder
        self.model = TOP / "demo" / "parts.onnx"

    def build(self, name: str, *options) -> Path:
        path = self.folder / f"{name}.engine"
        must([self.picketctl, "engine", "build", self.model, "--out", path, "--opt", "0", *options])
        return path

    def detect(self, engine: Path, picture: np.ndarray) -> list:
        file = self.folder / "in.npy"
        tensor = picture.astype(np.float32).transpose(2, 0, 1)[None] / np.float32(255)
        np.save(file, np.ascontiguousarray(tensor))
        command = [self.picketctl, "engine", "run", engine, "--input", file]
        must([*command, "--output-dir", self.folder])
        output = np.load(self.folder / "output0.npy")[0]
        return measure.decode(output, CONF, NMS_IOU, sprites.LABELS)

    def map50(self, engine: Path, frames: list) -> float:
        pairs = [(self.detect(engine, picture), truth) for picture, truth in frames]
        return measure.mean_average_precision(pairs, sprites.LABELS)["mAP50"]


def spoil(record: Path, out: Path) -> None:
    wrong = json.loads(record.read_text())
    wrong["ranges"] = {k: v / BAD_FACTOR for k, v in wrong["ranges"].items()}
    out.write_text(json.dumps(wrong))


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--picketctl", default=os.path.join(os.environ.get("PICKET_BUILD", ""), "cli/picketctl")
    )
    parser.add_argument("--scenes", type=int, default=30, help="held-out scenes (default: 30)")
    parser.add_argument("--method", default="entropy", choices=["minmax", "percentile", "entropy"])
    parser.add_argument("--json", default=os.environ.get("PICKET_FIGURES"))
    return parser.parse_args()


def check(args: argparse.Namespace, folder: Path) -> int:
    samples = folder / "samples"
    samples.mkdir()
    for i, (picture, _) in enumerate(render_frames(CALIBRATION_SEED, 16, 4)):
        (samples / f"{i:04}.rgb").write_bytes(picture.tobytes())
    frames = render_frames(TEST_SEED, args.scenes, 5)
    figures, record = Figures(args.picketctl, folder), folder / "calibration.json"
    card = TOP / "demo" / "card.yaml"
    command = [args.picketctl, "engine", "calibrate", figures.model, "--card", card]
    print(must([*command, "--samples", samples, "--method", args.method, "--out", record]), end="")
    fp32 = figures.map50(figures.build("fp32"), frames)
    int8 = figures.map50(
        figures.build("int8", "--precision", "int8", "--calibration", record), frames
    )
    print(f"mAP50 over {len(frames)} frames: fp32 {fp32:.4f}, int8 {int8:.4f} ({args.method})")
    bad = folder / "bad.json"
    spoil(record, bad)
    refused = run([args.picketctl, "engine", "build", figures.model, "--opt", "0", "--precision",
                   "int8", "--calibration", bad, "--out", folder / "bad.engine"])  # fmt: skip
    why = refused.stderr.strip()
    rejected = refused.returncode != 0 and "gate" in why and not (folder / "bad.engine").exists()
    print(f"ranges / {BAD_FACTOR}: {why or 'accepted'}")
    if args.json:
        result = {"int8": {"map_fp32": round(fp32, 4), "map_int8": round(int8, 4)}}
        Path(args.json).write_text(json.dumps(result) + "\n")
    kept = int8 >= fp32 * (1 - MAX_LOSS)
    print(f"{'ok' if kept else 'not ok'} - int8 keeps mAP50 within {MAX_LOSS:.0%} of fp32")
    print(f"{'ok' if rejected else 'not ok'} - the gate rejects a bad calibration")
    return 0 if kept and rejected else 1


def main() -> int:
    args = parse_args()
    with tempfile.TemporaryDirectory(prefix="picket-int8-") as folder:
        return check(args, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
