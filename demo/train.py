#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train the demo's detector on rendered scenes and export it as ONNX (torch on CPU)."""

from __future__ import annotations

import argparse
import io
import json
import math
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn

import eval as evaluation
import render
import sprites

INPUT_W, INPUT_H = 256, 192
STRIDES = (8, 16)
N_CLASSES = len(sprites.LABELS)
MAX_BOXES = 24
SCENE_PX = 1920
TRAIN_SEED, VAL_SEED, TEST_SEED, DEFECTS_SEED = 1_000_000, 2_000_000, 3_000_000, 4_000_000
HERE = Path(__file__).resolve().parent


# --- pictures ----------------------------------------------------------------------------------


def resize_bilinear(picture: np.ndarray) -> np.ndarray:
    """Bilinear sampling without averaging, as a camera pipeline does it; uint8 [192, 256, 3]."""
    h, w = picture.shape[:2]
    x = np.clip((np.arange(INPUT_W, dtype=np.float32) + 0.5) * w / INPUT_W - 0.5, 0, w - 1)
    y = np.clip((np.arange(INPUT_H, dtype=np.float32) + 0.5) * h / INPUT_H - 0.5, 0, h - 1)
    x0, y0 = x.astype(np.intp), y.astype(np.intp)
    x1, y1 = np.minimum(x0 + 1, w - 1), np.minimum(y0 + 1, h - 1)
    fx, fy = (x - x0)[None, :, None], (y - y0)[:, None, None]
    rows0, rows1 = picture[y0], picture[y1]
    top = rows0[:, x0] * (1 - fx) + rows0[:, x1] * fx
    bottom = rows1[:, x0] * (1 - fx) + rows1[:, x1] * fx
    return (top * (1 - fy) + bottom * fy + 0.5).astype(np.uint8)


def degrade(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Lossy coding with halved chroma, near what H.264 does to a frame."""
    data = io.BytesIO()
    Image.fromarray(picture).save(data, "JPEG", quality=int(rng.integers(35, 92)), subsampling=2)
    return np.asarray(Image.open(data).convert("RGB"))


def to_input(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if rng.random() < 0.3:
        small = Image.fromarray(picture).resize((INPUT_W, INPUT_H), Image.BILINEAR)
        return np.asarray(small)
    return resize_bilinear(picture)


def to_targets(boxes: list[dict]) -> np.ndarray:
    """[MAX_BOXES, 6]: class (-1 none), x1 y1 x2 y2 in input pixels, ignore."""
    out = np.full((MAX_BOXES, 6), -1, np.float32)
    for row, entry in zip(out, boxes):
        row[0] = sprites.LABELS.index(entry["label"])
        row[1:5] = np.array(entry["box"], np.float32) * (INPUT_W / render.WIDTH)
        row[5] = float(entry.get("ignore", False))
    return out


def render_scene(job: tuple[int, int, float]) -> tuple[np.ndarray, np.ndarray]:
    """Some pictures of one scene: (uint8 [n, 192, 256, 3], targets [n, MAX_BOXES, 6])."""
    seed, count, defect_rate = job
    scene = render.Scene(seed, SCENE_PX, defect_rate)
    rng = np.random.default_rng(seed + 7)
    pictures, targets = [], []
    for i in range(count):
        offset = int((i + rng.random()) * SCENE_PX / count)
        picture, boxes = scene.picture(offset, float(rng.random()))
        pictures.append(to_input(degrade(picture, rng), rng))
        targets.append(to_targets(boxes))
    return np.stack(pictures), np.stack(targets)


def render_set(
    work: Path,
    name: str,
    seed: int,
    scenes: int,
    each: int,
    defect_rate: float = render.DEFECT_RATE,
) -> tuple[Tensor, Tensor]:
    """Rendered pictures and targets, from the scratch folder if they are there."""
    path = work / f"{name}-{seed}-{scenes}x{each}.npz"
    if not path.exists():
        jobs = [(seed + i, each, defect_rate) for i in range(scenes)]
        with multiprocessing.Pool(os.cpu_count()) as pool:
            done = pool.map(render_scene, jobs, chunksize=4)
        part = path.with_suffix(".part.npz")
        np.savez(
            part,
            pictures=np.concatenate([d[0] for d in done]),
            targets=np.concatenate([d[1] for d in done]),
        )
        part.rename(path)
    data = np.load(path)
    return torch.from_numpy(data["pictures"]).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(
        data["targets"]
    )


# --- network -----------------------------------------------------------------------------------


class Conv(nn.Module):
    """Convolution, batch norm, SiLU."""

    def __init__(self, c_in: int, c_out: int, kernel: int = 1, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, kernel, stride, kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(c_out, eps=1e-3, momentum=0.03)
        self.act = nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.bn(self.conv(x)))


class Bottleneck(nn.Module):
    """Two 3x3 convolutions with an optional shortcut."""

    def __init__(self, channels: int, shortcut: bool) -> None:
        super().__init__()
        self.cv1 = Conv(channels, channels, 3)
        self.cv2 = Conv(channels, channels, 3)
        self.shortcut = shortcut

    def forward(self, x: Tensor) -> Tensor:
        y = self.cv2(self.cv1(x))
        return x + y if self.shortcut else y


class C2f(nn.Module):
    """Split, one bottleneck on a half, concatenate all, mix."""

    def __init__(self, c_in: int, c_out: int, shortcut: bool) -> None:
        super().__init__()
        self.half = c_out // 2
        self.cv1 = Conv(c_in, c_out)
        self.block = Bottleneck(self.half, shortcut)
        self.cv2 = Conv(3 * self.half, c_out)

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.cv1(x).split(self.half, 1)
        return self.cv2(torch.cat((a, b, self.block(b)), 1))


class SPPF(nn.Module):
    """Three max pools in a row, concatenated: a wide view at little cost."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        half = channels // 2
        self.cv1 = Conv(channels, half)
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.cv2 = Conv(4 * half, channels)

    def forward(self, x: Tensor) -> Tensor:
        y = [self.cv1(x)]
        for _ in range(3):
            y.append(self.pool(y[-1]))
        return self.cv2(torch.cat(y, 1))


class Detect(nn.Module):
    """Decoupled heads, one for each stride: distances to the four sides, and class logits."""

    def __init__(self, channels: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.box = nn.ModuleList(
            nn.Sequential(Conv(c, width, 3), nn.Conv2d(width, 4, 1)) for c in channels
        )
        self.cls = nn.ModuleList(
            nn.Sequential(Conv(c, width, 3), Conv(width, width, 1), nn.Conv2d(width, N_CLASSES, 1))
            for c in channels
        )
        for box, cls in zip(self.box, self.cls):
            nn.init.constant_(box[-1].bias, 2.0)
            nn.init.constant_(cls[-1].bias, math.log(5 / N_CLASSES / 960))
        anchors, strides = make_anchors()
        self.register_buffer("anchors", anchors)
        self.register_buffer("strides", strides)

    def forward(self, features: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Boxes [b, 4, n] as cx cy w h in input pixels, and class logits [b, classes, n]."""
        batch = features[0].shape[0]
        sides = torch.cat([m(x).view(batch, 4, -1) for m, x in zip(self.box, features)], 2)
        logits = torch.cat([m(x).view(batch, N_CLASSES, -1) for m, x in zip(self.cls, features)], 2)
        left_top, right_bottom = sides.split(2, 1)
        low, high = self.anchors - left_top, self.anchors + right_bottom
        return torch.cat(((low + high) / 2, high - low), 1) * self.strides, logits


def make_anchors() -> tuple[Tensor, Tensor]:
    """Cell centres [1, 2, n] in cells, and strides [1, n]."""
    points, strides = [], []
    for stride in STRIDES:
        h, w = INPUT_H // stride, INPUT_W // stride
        y, x = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
        points.append(torch.stack((x, y)).view(2, -1))
        strides.append(torch.full((h * w,), float(stride)))
    return torch.cat(points, 1)[None], torch.cat(strides)[None]


class Detector(nn.Module):
    """The demo's detector: a small backbone, one step up and one down, two heads."""

    def __init__(self, c: tuple[int, int, int, int] = (8, 16, 32, 64), head: int = 16) -> None:
        super().__init__()
        self.stem = Conv(3, c[0], 3, 2)
        self.stage2 = nn.Sequential(Conv(c[0], c[1], 3, 2), C2f(c[1], c[1], True))
        self.stage3 = nn.Sequential(Conv(c[1], c[2], 3, 2), C2f(c[2], c[2], True))
        self.stage4 = nn.Sequential(Conv(c[2], c[3], 3, 2), C2f(c[3], c[3], True), SPPF(c[3]))
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.neck3 = C2f(c[2] + c[3], c[2], False)
        self.down = Conv(c[2], c[2], 3, 2)
        self.neck4 = C2f(c[2] + c[3], c[3], False)
        self.detect = Detect((c[2], c[3]), head)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        p3 = self.stage3(self.stage2(self.stem(x)))
        p4 = self.stage4(p3)
        n3 = self.neck3(torch.cat((self.up(p4), p3), 1))
        n4 = self.neck4(torch.cat((self.down(n3), p4), 1))
        return self.detect([n3, n4])


class Deployed(nn.Module):
    """The detector with the output that the card describes: [1, 4 + classes, n]."""

    def __init__(self, net: Detector) -> None:
        super().__init__()
        self.net = net

    def forward(self, images: Tensor) -> Tensor:
        boxes, logits = self.net(images)
        return torch.cat((boxes, logits.sigmoid()), 1)


def count_multiply_adds(net: nn.Module) -> int:
    """Multiply-adds of all convolutions for one picture."""
    total = 0

    def hook(module: nn.Conv2d, _inputs: tuple, out: Tensor) -> None:
        nonlocal total
        total += out[0, 0].numel() * module.weight.numel()

    handles = [m.register_forward_hook(hook) for m in net.modules() if isinstance(m, nn.Conv2d)]
    with torch.no_grad():
        net(torch.zeros(1, 3, INPUT_H, INPUT_W))
    for handle in handles:
        handle.remove()
    return total


# --- loss --------------------------------------------------------------------------------------


def to_corners(boxes: Tensor) -> Tensor:
    """cx cy w h in dimension 1 -> x1 y1 x2 y2 in the last: [b, 4, n] -> [b, n, 4]."""
    centre, size = boxes.transpose(1, 2).chunk(2, 2)
    return torch.cat((centre - size / 2, centre + size / 2), 2)


def iou(a: Tensor, b: Tensor, complete: bool = False) -> Tensor:
    """IoU of boxes x1 y1 x2 y2 in the last dimension; with `complete` CIoU (arXiv:1911.08287)."""
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    both = (high - low).clamp(min=0).prod(-1)
    size_a, size_b = (a[..., 2:] - a[..., :2]).clamp(min=1e-3), (b[..., 2:] - b[..., :2]).clamp(
        min=1e-3
    )
    value = both / (size_a.prod(-1) + size_b.prod(-1) - both + 1e-7)
    if not complete:
        return value
    hull = torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])
    apart = ((a[..., :2] + a[..., 2:] - b[..., :2] - b[..., 2:]) ** 2).sum(-1) / 4
    turn = torch.atan(size_a[..., 0] / size_a[..., 1]) - torch.atan(size_b[..., 0] / size_b[..., 1])
    ratio = 4 / math.pi**2 * turn**2
    with torch.no_grad():
        weight = ratio / (1 - value + ratio + 1e-7)
    return value - apart / ((hull**2).sum(-1) + 1e-7) - weight * ratio


def assign(
    scores: Tensor, boxes: Tensor, points: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Task-aligned assignment (arXiv:2108.07755): each true box takes the 10 best cells inside it.

    scores [b, n, classes], boxes [b, n, 4], points [n, 2], targets [b, m, 6]. Returns the
    positive cells [b, n], the index of their box [b, n], the target scores [b, n, classes],
    and the cells that count for the class loss [b, n].
    """
    truth, real = targets[..., 1:5], (targets[..., 0] >= 0) & (targets[..., 5] == 0)
    inside = (points[None, None] > truth[:, :, None, :2]).all(-1) & (
        points[None, None] < truth[:, :, None, 2:]
    ).all(-1)
    label = targets[..., 0].clamp(min=0).long()
    of_label = scores.transpose(1, 2).gather(1, label[..., None].expand(-1, -1, scores.shape[1]))
    overlap = iou(truth[:, :, None], boxes[:, None]) * (inside & real[..., None])
    metric = of_label.sqrt() * overlap**6
    top = metric.topk(10, 2)
    chosen = torch.zeros_like(metric).scatter_(2, top.indices, (top.values > 1e-9).float()).bool()
    best = overlap.masked_fill(~chosen, -1).max(1)
    positive, owner = chosen.any(1), best.indices
    chosen &= F.one_hot(owner, truth.shape[1]).transpose(1, 2).bool()
    metric = metric * chosen
    scale = (overlap * chosen).amax(2, keepdim=True) / (metric.amax(2, keepdim=True) + 1e-9)
    weight = (metric * scale).amax(1)
    wanted = F.one_hot(label.gather(1, owner), N_CLASSES) * (weight * positive)[..., None]
    hidden = (inside & ((targets[..., 0] >= 0) & (targets[..., 5] > 0))[..., None]).any(1)
    return positive, owner, wanted, positive | ~hidden


def detection_loss(
    net: Detector, boxes: Tensor, logits: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    """Box loss (CIoU) and class loss (BCE), both per unit of target score."""
    corners, logits = to_corners(boxes), logits.transpose(1, 2)
    points = (net.detect.anchors[0] * net.detect.strides).T
    with torch.no_grad():
        positive, owner, wanted, counts = assign(logits.sigmoid(), corners, points, targets)
    total = wanted.sum().clamp(min=1)
    class_loss = F.binary_cross_entropy_with_logits(logits, wanted, reduction="none").sum(-1)
    truth = targets[..., 1:5].gather(1, owner[..., None].expand(-1, -1, 4))
    fit = iou(corners[positive], truth[positive], complete=True)
    return ((1 - fit) * wanted.sum(-1)[positive]).sum() / total, (class_loss * counts).sum() / total


# --- training ----------------------------------------------------------------------------------


def augment(pictures: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Mirror and flip, change colour and contrast; uint8 -> f32 in 0..1."""
    x, t = pictures.float() / 255, targets.clone()
    n = len(x)
    for dim, low, high, size in ((3, 1, 3, INPUT_W), (2, 2, 4, INPUT_H)):
        flip = torch.rand(n) < 0.5
        x[flip] = x[flip].flip(dim)
        t[flip, :, low], t[flip, :, high] = size - t[flip][..., high], size - t[flip][..., low]
    gain = (1 + 0.15 * torch.randn(n, 1, 1, 1)) * (1 + 0.05 * torch.randn(n, 3, 1, 1))
    lift = 0.03 * torch.randn(n, 1, 1, 1)
    return x.mul_(gain).add_(lift).clamp_(0, 1), t


class Average:
    """Moving average of the weights; what is evaluated and exported."""

    def __init__(self, net: nn.Module) -> None:
        self.state = {k: v.clone() for k, v in net.state_dict().items()}
        self.steps = 0

    def update(self, net: nn.Module) -> None:
        self.steps += 1
        keep = min(0.998, self.steps / (self.steps + 10))
        for key, value in net.state_dict().items():
            if value.is_floating_point():
                self.state[key].mul_(keep).add_(value, alpha=1 - keep)
            else:
                self.state[key].copy_(value)


def truth_of(targets: Tensor) -> list[dict]:
    """A picture's target rows as ground truth entries in input pixels."""
    rows = targets[targets[:, 0] >= 0].tolist()
    return [{"label": sprites.LABELS[int(r[0])], "box": r[1:5], "ignore": r[5] > 0} for r in rows]


def runner(net: Detector):
    """A function from one uint8 picture [3, h, w] to the model's output [4 + classes, n]."""
    model = Deployed(net).eval()

    def run(picture: Tensor) -> np.ndarray:
        with torch.no_grad():
            return model(picture[None].float() / 255)[0].numpy()

    return run


def checkpoint_runner(path: str):
    net = Detector()
    net.load_state_dict(torch.load(path))
    return runner(net)


def onnx_runner(path: str):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda picture: session.run(None, {"images": picture[None].float().div(255).numpy()})[0][
        0
    ]


def load_runner(args: argparse.Namespace):
    return onnx_runner(args.onnx) if args.onnx else checkpoint_runner(args.checkpoint)


def validate(net: Detector, pictures: Tensor, targets: Tensor) -> str:
    run = runner(net)
    frames = [
        (evaluation.decode(run(p), 0.05, 0.6, sprites.LABELS), truth_of(t))
        for p, t in zip(pictures, targets)
    ]
    best = max((evaluation.score_frames(frames, c / 20) | {"conf": c / 20} for c in range(4, 17)),
               key=lambda s: min(s["precision"], s["recall"]))  # fmt: skip
    ap = evaluation.mean_average_precision(frames, sprites.LABELS)
    each = " ".join(f"{k} {v:.3f}" for k, v in ap.items())
    both = f"precision {best['precision']:.3f} recall {best['recall']:.3f}"
    return f"{each}; {both} at {best['conf']:.2f}"


def export(net: Detector, path: Path) -> None:
    """Write the model as ONNX, with the opset that this torch writes when not told."""
    torch.onnx.export(Deployed(net).eval(), torch.zeros(1, 3, INPUT_H, INPUT_W), str(path),
                      input_names=["images"], output_names=["output0"])  # fmt: skip


def learning_rate(step: int, steps: int, top: float) -> float:
    warm = min(1.0, (step + 1) / 200)
    return top * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def train(args: argparse.Namespace) -> None:
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    work = Path(args.work)
    work.mkdir(parents=True, exist_ok=True)
    usual = render_set(work, "train", TRAIN_SEED, args.scenes, 10)
    flawed = render_set(work, "defects", DEFECTS_SEED, args.defect_scenes, 4, 0.5)
    pictures, targets = (torch.cat(pair) for pair in zip(usual, flawed))
    val = render_set(work, "val", VAL_SEED, 50, 6)
    net, started = Detector(), time.monotonic()
    if args.resume:
        net.load_state_dict(torch.load(args.resume))
    average, copy = Average(net), Detector()
    print(
        f"{count_multiply_adds(net) / 1e6:.1f} M multiply-adds, "
        f"{sum(p.numel() for p in net.parameters())} weights",
        flush=True,
    )
    decay = [p for p in net.parameters() if p.ndim > 1]
    plain = [p for p in net.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.02}, {"params": plain, "weight_decay": 0.0}]
    )
    per_epoch = len(pictures) // args.batch
    for epoch in range(args.epochs):
        net.train()
        order, sums = torch.randperm(len(pictures)), np.zeros(2)
        for i in range(per_epoch):
            rate = learning_rate(epoch * per_epoch + i, args.epochs * per_epoch, args.rate)
            for group in optimizer.param_groups:
                group["lr"] = rate
            rows = order[i * args.batch : (i + 1) * args.batch]
            x, t = augment(pictures[rows], targets[rows])
            box_loss, class_loss = detection_loss(net, *net(x), t)
            optimizer.zero_grad(set_to_none=True)
            (4.0 * box_loss + class_loss).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 10.0)
            optimizer.step()
            average.update(net)
            sums += box_loss.item(), class_loss.item()
        copy.load_state_dict(average.state)
        copy.eval()
        torch.save(average.state, work / "parts.pt")
        line = ""
        if epoch % 4 == 3 or epoch == args.epochs - 1:
            line = validate(copy, *val)
            export(copy, Path(args.out))
        minutes = (time.monotonic() - started) / 60
        print(
            f"epoch {epoch + 1} {minutes:.1f} min box {sums[0] / per_epoch:.3f} "
            f"class {sums[1] / per_epoch:.3f} {line}",
            flush=True,
        )


def write_golden(args: argparse.Namespace) -> None:
    """Write golden samples: the bytes of an input before normalisation, and what the model finds.

    A moment qualifies if it holds a defect and no score near the threshold, so that a small
    numeric difference cannot change the list.
    """
    torch.set_num_threads(1)
    run, samples, seed = checkpoint_runner(args.checkpoint), [], TEST_SEED + 10_000
    folder = Path(args.out)
    folder.mkdir(exist_ok=True)
    while len(samples) < args.count:
        seed += 1
        scene = render.Scene(seed, SCENE_PX)
        picture = resize_bilinear(scene.picture(400, 0.5)[0])
        output = run(torch.from_numpy(picture).permute(2, 0, 1))
        found = evaluation.decode(output, args.conf, args.nms_iou, sprites.LABELS)
        loose = evaluation.decode(output, args.conf - 0.15, args.nms_iou, sprites.LABELS)
        steady = len(loose) == len(found) and all(d["score"] > args.conf + 0.15 for d in found)
        if len(found) < 5 or not steady or "defect" not in {d["label"] for d in found}:
            continue
        name = f"belt{len(samples) + 1}.rgb"
        (folder / name).write_bytes(picture.tobytes())
        for detection in found:
            detection["box"] = [round(x, 3) for x in detection["box"]]
            detection["score"] = round(detection["score"], 5)
        samples.append({"file": name, "width": INPUT_W, "height": INPUT_H, "detections": found})
    (folder / "golden.json").write_text(
        json.dumps({"conf": args.conf, "nms_iou": args.nms_iou, "samples": samples}, indent=1)
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("train", help="render, train, export")
    verb.add_argument("--out", default=str(HERE / "parts.onnx"))
    verb.add_argument(
        "--work", default="/tmp/picket-train", help="scratch folder: rendered pictures, checkpoint"
    )
    verb.add_argument(
        "--scenes", type=int, default=480, help="scenes to train on, ten pictures each"
    )
    verb.add_argument(
        "--defect-scenes",
        type=int,
        default=700,
        help="further scenes, four pictures each, where every other part is defective",
    )
    verb.add_argument("--epochs", type=int, default=24)
    verb.add_argument("--batch", type=int, default=32)
    verb.add_argument("--rate", type=float, default=3e-3)
    verb.add_argument("--resume", help="start from these weights instead of random ones")
    verb.add_argument("--seed", type=int, default=1)
    verb.add_argument("--threads", type=int, default=os.cpu_count())
    golden = verbs.add_parser("golden", help="write the golden samples with a checkpoint's answers")
    golden.add_argument("--checkpoint", required=True)
    golden.add_argument("--out", default=str(HERE / "golden"))
    golden.add_argument("--count", type=int, default=4)
    golden.add_argument("--conf", type=float, default=0.4)
    golden.add_argument("--nms-iou", type=float, default=0.6)
    args = parser.parse_args()
    train(args) if args.verb == "train" else write_golden(args)


if __name__ == "__main__":
    main()
