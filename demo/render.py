#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draw a moving conveyor belt with parts on it, as an H.264 clip and its ground truth.

The belt is one long closed strip of surface maps (colour, slope, gloss), drawn once with all
parts on it. A frame is a 640 pixel wide window of the strip, lit by a lamp that stays where it
is, so that highlights travel over the parts as they pass. The strip closes on itself and all
changes of light have whole periods, so a clip loops without a seam.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Iterator

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from sprites import (
    Array,
    Sprite,
    fractal_noise,
    make_litter,
    make_sprite,
    slopes,
    smoothstep,
    value_noise,
    wrap_columns,
)

WIDTH, HEIGHT, FPS = 640, 480, 15
BELT_TOP, BELT_BOTTOM = 52, 428
BELT_HEIGHT = BELT_BOTTOM - BELT_TOP

MIN_VISIBLE = 0.5  # less of a part than this in view: marked "ignore"

DEFECT_RATE = 0.22
SHOULDER = 165  # brightness above which tones are compressed


# --- the belt ----------------------------------------------------------------------------------


@dataclass
class Strip:
    """The belt as a closed strip of surface maps; columns wrap."""

    colour: Array  # [3, h, L]
    normal: Array  # [2, h, L]
    gloss: Array  # [h, L]
    owner: Array  # [h, L], 0 = belt, n = part n


@dataclass
class Part:
    """A part on the strip: where its sprite lies and which of its pixels are not covered."""

    sprite: Sprite
    x: int
    y: int
    solid: Array  # [h, w] bool: its outline
    free: Array  # [h, w] bool: its pixels not covered by another part
    flaw_clear: bool


def rubber(
    rng: np.random.Generator, u: Array, v: Array
) -> tuple[Array, tuple[float, float, float], float]:
    """Black rubber with a woven print."""
    weave = np.sin((u + v) * 2 * math.pi / 8) * np.sin((u - v) * 2 * math.pi / 8)
    tone = float(rng.uniform(0.75, 1.25))
    return 0.45 * weave, (0.150 * tone, 0.155 * tone, 0.165 * tone), 0.22


def sheet(
    rng: np.random.Generator, u: Array, v: Array
) -> tuple[Array, tuple[float, float, float], float]:
    """Smooth green PVC with a fine line texture."""
    lines = np.sin(v * 2 * math.pi / 5 + 0 * u)
    tone = float(rng.uniform(0.8, 1.2))
    return 0.15 * lines, (0.07 * tone, 0.27 * tone, 0.20 * tone), 0.30


def links(
    rng: np.random.Generator, u: Array, v: Array
) -> tuple[Array, tuple[float, float, float], float]:
    """Blue or grey plastic links, hinged every 40 pixels."""
    row = np.floor(v / 47)
    along = np.abs(np.mod(u + 20 * np.mod(row, 2), 40) - 20)
    across = np.abs(np.mod(v, 47) - 23.5)
    gap = np.minimum(20 - along, 23.5 - across)
    blue = (0.12, 0.25, 0.42) if rng.random() < 0.6 else (0.34, 0.36, 0.37)
    return 2.0 * smoothstep(0.5, 4.0, gap), blue, 0.28


def make_strip(rng: np.random.Generator, length: int) -> Strip:
    """An empty belt of `length` pixels (a multiple of 40), worn and dusty."""
    seam = 80
    shape = (BELT_HEIGHT, length + seam)
    u = np.arange(length, dtype=np.float32)[None, :]
    v = np.arange(BELT_HEIGHT, dtype=np.float32)[:, None]
    relief, base, shine = (rubber, sheet, links)[int(rng.integers(3))](rng, u, v)
    relief = np.broadcast_to(relief, (BELT_HEIGHT, length)).astype(np.float32)
    dust = wrap_columns(fractal_noise(rng, shape, 60.0), seam)
    streak = wrap_columns(value_noise(rng, shape, (5, 160)), seam)
    speck = wrap_columns(value_noise(rng, shape, (3, 3)), seam)
    tone = 0.72 + 0.42 * dust + 0.16 * streak + 0.05 * relief
    pale = 0.16 * smoothstep(0.55, 0.85, dust * 0.7 + streak * 0.35) + 0.20 * smoothstep(
        0.90, 0.98, speck
    )
    colour = np.stack([np.float32(c) * tone + pale * g for c, g in zip(base, (1.0, 0.96, 0.90))])
    if rng.random() < 0.6:
        draw_lane_marks(rng, colour, streak)
    nx, ny = slopes(relief + 0.5 * speck, 1.0)
    gloss = np.float32(shine) * (1.2 - dust) * np.float32(rng.uniform(0.5, 1.1))
    return Strip(
        colour.astype(np.float32),
        np.stack([nx, ny]),
        gloss,
        np.zeros((BELT_HEIGHT, length), np.int16),
    )


def draw_lane_marks(rng: np.random.Generator, colour: Array, wear: Array) -> None:
    """Worn printed dashes along the belt."""
    ink = np.array([(0.75, 0.75, 0.70), (0.75, 0.60, 0.15)][int(rng.integers(2))], np.float32)
    u = np.arange(colour.shape[2])
    dash = (u % 80 < 44)[None, :]
    for row in rng.choice([24, 124, 186, 248, 348], 2, replace=False):
        rows = slice(int(row), int(row) + 5)
        cover = dash * smoothstep(0.15, 0.75, 1 - wear[rows]) * 0.6
        colour[:, rows] += cover * (ink[:, None, None] - colour[:, rows])


def lay(
    strip: Strip, sprite: Sprite, x: int, y: int, owner: int, light: tuple[float, float]
) -> None:
    """Lay a sprite with its shadow on the strip, its top left corner at (x, y)."""
    h, w = sprite.alpha.shape
    length = strip.gloss.shape[1]
    if sprite.thickness > 0:
        cast_shadow(strip, sprite, x, y, light)
    top, bottom = max(0, -y), min(h, BELT_HEIGHT - y)
    rows = slice(y + top, y + bottom)
    cols = (x + np.arange(w)) % length
    alpha = sprite.alpha[top:bottom]
    for field, value in ((strip.colour, sprite.colour), (strip.normal, sprite.normal)):
        field[:, rows, cols] += alpha * (value[:, top:bottom] - field[:, rows, cols])
    strip.gloss[rows, cols] += alpha * (sprite.gloss[top:bottom] - strip.gloss[rows, cols])
    if owner:
        part = strip.owner[rows, cols]
        part[alpha > 0.5] = owner
        strip.owner[rows, cols] = part


def cast_shadow(strip: Strip, sprite: Sprite, x: int, y: int, light: tuple[float, float]) -> None:
    """Darken the strip where a sprite keeps the light away: a soft shadow, a contact line."""
    pad = 24
    length = strip.gloss.shape[1]
    mask = Image.fromarray((np.pad(sprite.alpha, pad) * 255).astype(np.uint8))
    soft = np.asarray(
        mask.filter(ImageFilter.GaussianBlur(2.0 + sprite.thickness * 0.35)), np.float32
    )
    near = np.asarray(mask.filter(ImageFilter.GaussianBlur(2.0)), np.float32)
    dx, dy = round(light[0] * sprite.thickness), round(light[1] * sprite.thickness)
    dark = np.maximum(0.62 * np.roll(soft, (dy, dx), (0, 1)), 0.55 * near) / 255
    h, w = dark.shape
    y0 = y - pad
    top, bottom = max(0, -y0), min(h, BELT_HEIGHT - y0)
    rows = slice(y0 + top, y0 + bottom)
    cols = (x - pad + np.arange(w)) % length
    strip.colour[:, rows, cols] *= 1 - dark[top:bottom]
    strip.gloss[rows, cols] *= 1 - dark[top:bottom]


def place(
    rng: np.random.Generator, sprites: list[Sprite], length: int, crowd: float
) -> list[tuple[int, int]]:
    """Find a place for each sprite; a share `crowd` may touch or partly cover a neighbour."""
    spots: list[tuple[int, int]] = []
    reach: list[float] = []
    for sprite in sprites:
        rows, cols = np.nonzero(sprite.alpha > 0.5)
        radius = 0.5 * max(np.ptp(rows), np.ptp(cols)) + 2
        room = radius * (0.78 if rng.random() < crowd else 1.08)
        best, best_gap = (0, 0), -1e9
        for _ in range(60):
            cx = int(rng.integers(length))
            cy = int(rng.integers(int(radius) + 2, BELT_HEIGHT - int(radius) - 2))
            gaps = [spot_gap(cx, cy, spot, length) - room - r for spot, r in zip(spots, reach)]
            gap = min(gaps, default=1e9)
            if gap > best_gap:
                best, best_gap = (cx, cy), gap
            if gap >= 0:
                break
        spots.append(best)
        reach.append(radius)
    return spots


def spot_gap(cx: int, cy: int, spot: tuple[int, int], length: int) -> float:
    dx = abs(cx - spot[0])
    return math.hypot(min(dx, length - dx), cy - spot[1])


def blur_strip(strip: Strip, motion: int, focus: float) -> None:
    """Motion blur along the belt and lack of focus, in all surface maps."""
    for field in (*strip.colour, *strip.normal, strip.gloss):
        if motion > 1:
            padded = np.concatenate([field[:, -motion:], field], 1)
            total = np.cumsum(padded, 1, dtype=np.float64)
            field[:] = (total[:, motion:] - total[:, :-motion]) / motion
        if focus > 0:
            field[:] = blur3(blur3(field, 0, focus), 1, focus)


def blur3(field: Array, axis: int, sigma: float) -> Array:
    """A three-tap blur; sigma at most 0.8 pixel."""
    side = np.float32(min(sigma * sigma / 2, 0.32))
    return (1 - 2 * side) * field + side * (np.roll(field, 1, axis) + np.roll(field, -1, axis))


# --- light, frame, clip ------------------------------------------------------------------------


@dataclass
class Look:
    """What differs from scene to scene and is the camera's or the lamp's doing."""

    lamp: tuple[float, float, float]
    tint: tuple[float, float, float]
    ambient: float
    power: float
    noise: float
    motion: int
    focus: float
    waves: list[tuple[float, int, float]]  # amplitude, whole periods a clip, phase
    passer: tuple[float, int, float]  # strength of a passing shadow, passes a clip, phase


def make_look(rng: np.random.Generator) -> Look:
    warm = float(rng.uniform(-0.09, 0.09))
    return Look(
        lamp=(
            float(rng.uniform(60, 580)),
            float(rng.uniform(-80, 200)),
            float(rng.uniform(260, 460)),
        ),
        tint=(1 + warm, 1.0, 1 - warm),
        ambient=float(rng.uniform(0.34, 0.60)),
        power=float(rng.uniform(0.75, 1.15)),
        noise=float(rng.uniform(0.006, 0.026)),
        motion=int(rng.integers(1, 5)),
        focus=float(rng.uniform(0.0, 0.8)),
        waves=[
            (float(rng.uniform(0, 0.08)), int(k), float(rng.uniform(0, 6.3))) for k in (1, 3, 17)
        ],
        passer=(float(rng.uniform(0.0, 0.45)), int(rng.integers(1, 3)), float(rng.random())),
    )


class Scene:
    """A belt with parts under a lamp: `picture` gives any moment of it with its ground truth."""

    def __init__(self, seed: int, length: int, defect_rate: float = DEFECT_RATE) -> None:
        self.rng = np.random.default_rng(seed)
        self.length = length // 40 * 40
        self.look = make_look(self.rng)
        self.strip = make_strip(self.rng, self.length)
        self.parts = self._populate(defect_rate)
        blur_strip(self.strip, self.look.motion, self.look.focus)
        self._unroll()
        self._set_lamp()
        self._rails = draw_rails(self.rng) * self._edge_light()
        self._grain = self.rng.normal(0, self.look.noise, (HEIGHT + 64, WIDTH + 64)).astype(
            np.float32
        )

    def _populate(self, defect_rate: float) -> list[Part]:
        rng = self.rng
        light = (0.9 * (WIDTH / 2 - self.look.lamp[0]) / 320 + 0.35, 0.8)
        for _ in range(int(self.length * rng.uniform(0.002, 0.006))):
            litter = make_litter(rng)
            lay(
                self.strip,
                litter,
                int(rng.integers(self.length)),
                int(rng.integers(0, BELT_HEIGHT - 40)),
                0,
                light,
            )
        count = max(1, int(self.length * rng.uniform(0.0075, 0.0130)))
        sprites = [make_sprite(rng, defect_rate) for _ in range(count)]
        spots = place(rng, sprites, self.length, float(rng.uniform(0.05, 0.30)))
        corners = []
        for owner, (sprite, (cx, cy)) in enumerate(zip(sprites, spots), 1):
            rows, cols = np.nonzero(sprite.alpha > 0.5)
            corner = cx - int(cols.min() + cols.max()) // 2, cy - int(rows.min() + rows.max()) // 2
            lay(self.strip, sprite, *corner, owner, light)
            corners.append(corner)
        return [self._make_part(i, s, c) for i, (s, c) in enumerate(zip(sprites, corners), 1)]

    def _make_part(self, owner: int, sprite: Sprite, corner: tuple[int, int]) -> Part:
        x, y = corner
        h, w = sprite.alpha.shape
        seen = np.zeros((h, w), np.int16)
        top, bottom = max(0, -y), min(h, BELT_HEIGHT - y)
        cols = (x + np.arange(w)) % self.length
        seen[top:bottom] = self.strip.owner[y + top : y + bottom, cols]
        clear = True
        if sprite.flaw:
            fx, fy = sprite.flaw
            patch = seen[max(0, fy - 6) : fy + 7, max(0, fx - 6) : fx + 7]
            clear = bool(np.mean((patch == 0) | (patch == owner)) > 0.7)
        return Part(sprite, x % self.length, y, sprite.alpha > 0.5, seen == owner, clear)

    def _unroll(self) -> None:
        """Repeat the first window behind the strip's end, so that any window is one slice."""
        strip = self.strip
        planes = [*strip.colour, *strip.normal, strip.gloss]
        unrolled = [np.concatenate([p, p[:, :WIDTH]], 1, dtype=np.float32) for p in planes]
        self._colour, (self._nx, self._ny, self._gloss) = unrolled[:3], unrolled[3:]
        self._nz = np.sqrt(np.maximum(1 - self._nx**2 - self._ny**2, 0))

    def _set_lamp(self) -> None:
        """Fields that hold for every frame: direction to the lamp, half vector, intensity."""
        lx, ly, lz = self.look.lamp
        x = np.arange(WIDTH, dtype=np.float32)[None, :] - np.float32(lx)
        y = np.arange(BELT_TOP, BELT_BOTTOM, dtype=np.float32)[:, None] - np.float32(ly)
        far = np.sqrt(x * x + y * y + np.float32(lz * lz))
        direction = [-x / far, -y / far, np.float32(lz) / far]
        half = [direction[0], direction[1], direction[2] + 1]
        size = np.sqrt(half[0] ** 2 + half[1] ** 2 + half[2] ** 2)
        reach = (np.float32(lz) / far) ** 1.2 * self.look.power
        edge = np.arange(BELT_HEIGHT, dtype=np.float32)[:, None]
        shade = smoothstep(-14, 34, edge) * smoothstep(-14, 20, BELT_HEIGHT - edge)
        self._light = [np.ascontiguousarray(d * reach * shade, np.float32) for d in direction]
        self._half = [np.ascontiguousarray(h / size, np.float32) for h in half]
        self._glint = np.ascontiguousarray(reach * shade * 0.62, np.float32)
        self._ambient = np.ascontiguousarray(
            np.broadcast_to(self.look.ambient * (0.5 + 0.5 * shade), far.shape), np.float32
        )
        across = np.arange(-2 * WIDTH, 2 * WIDTH, dtype=np.float32)[None, :] + 0.4 * y
        band = np.exp(-((across / 150) ** 4))
        self._passer = np.ascontiguousarray(1 - np.float32(self.look.passer[0]) * band, np.float32)

    def _edge_light(self) -> Array:
        """How the lamp falls on the rails beside the belt."""
        lx, ly, lz = self.look.lamp
        x = np.arange(WIDTH, dtype=np.float32)[None, :] - np.float32(lx)
        y = np.arange(HEIGHT, dtype=np.float32)[:, None] - np.float32(ly)
        reach = lz / np.sqrt(x * x + y * y + lz * lz)
        tint = np.array(self.look.tint, np.float32)[:, None, None]
        return tint * (self.look.ambient + 0.55 * self.look.power * reach**2).astype(np.float32)

    def gain(self, phase: float) -> float:
        """Brightness of the scene at a phase (0..1) of the clip."""
        return 1 + sum(a * math.sin(2 * math.pi * k * phase + p) for a, k, p in self.look.waves)

    def picture(self, offset: int, phase: float) -> tuple[Array, list[dict]]:
        """The frame [480, 640, 3] with the belt moved on by `offset` pixels, and its boxes."""
        start = -offset % self.length
        view = slice(start, start + WIDTH)
        gain = np.float32(self.gain(phase))
        passer = self._passer_at(phase)
        nx, ny, nz = self._nx[:, view], self._ny[:, view], self._nz[:, view]
        diffuse = nx * self._light[0] + ny * self._light[1] + nz * self._light[2]
        np.maximum(diffuse, 0, out=diffuse)
        glint = nx * self._half[0] + ny * self._half[1] + nz * self._half[2]
        for _ in range(5):
            np.multiply(glint, glint, out=glint)
        glint *= self._gloss[:, view]
        glint *= self._glint
        if passer is not None:
            diffuse *= passer
            glint *= passer
        diffuse += self._ambient
        frame = np.empty((HEIGHT, WIDTH, 3), np.uint8)
        for channel in range(3):
            plane = diffuse * self._colour[channel][:, view]
            plane += glint
            plane *= gain * np.float32(self.look.tint[channel] * 255)
            self._develop(frame, channel, plane, gain)
        return frame, self._truth(start)

    def _passer_at(self, phase: float) -> Array | None:
        strength, passes, shift = self.look.passer
        place_ = (phase * passes + shift) % 1.0
        if strength < 0.05 or place_ > 0.5:
            return None
        left = int((1 - 2 * place_) * 3 * WIDTH)
        return self._passer[:, left : left + WIDTH]

    def _develop(self, frame: Array, channel: int, belt: Array, gain: np.float32) -> None:
        """Belt and rails together, bright tones bent as film does, sensor noise, bytes."""
        row, col = self.rng.integers(0, 64, 2)
        grain = self._grain[row : row + HEIGHT, col : col + WIDTH]
        plane = self._rails[channel] * (gain * 255)
        plane[BELT_TOP:BELT_BOTTOM] = np.minimum(belt, 0.42 * belt + np.float32(0.58 * SHOULDER))
        plane += grain * 255
        np.clip(plane, 0, 255, out=plane)
        frame[..., channel] = plane

    def _truth(self, start: int) -> list[dict]:
        boxes = []
        for part in self.parts:
            x = (part.x - start + self.length // 2) % self.length - self.length // 2
            left, right = max(0, -x), min(part.solid.shape[1], WIDTH - x)
            if right > left:
                entry = part_truth(part, x, left, right)
                if entry:
                    boxes.append(entry)
        return boxes


def part_truth(part: Part, x: int, left: int, right: int) -> dict | None:
    """Ground truth of a part whose sprite columns left..right lie at column x + left."""
    solid = part.solid[:, left:right]
    cols, rows = np.flatnonzero(solid.any(0)), np.flatnonzero(solid.any(1))
    if not len(cols):
        return None
    visible = float(part.free[:, left:right].sum() / part.solid.sum())
    box = [
        x + left + int(cols[0]),
        BELT_TOP + part.y + int(rows[0]),
        x + left + int(cols[-1]) + 1,
        BELT_TOP + part.y + int(rows[-1]) + 1,
    ]
    entry = {"label": part.sprite.label, "box": box, "visible": round(visible, 3)}
    flaw_hidden = part.sprite.flaw and not (
        part.flaw_clear and left + 3 <= part.sprite.flaw[0] < right - 3
    )
    if visible < MIN_VISIBLE or flaw_hidden:
        entry["ignore"] = True
    return entry


def draw_rails(rng: np.random.Generator) -> Array:
    """The machine frame above and below the belt, [3, 480, 640] in 0..1."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), (34, 36, 40))
    draw = ImageDraw.Draw(picture)
    draw_rail(draw, 0, 1)
    draw_rail(draw, HEIGHT - 1, -1)
    for x in range(40, WIDTH, 140):
        draw_screw(draw, x, 16, float(rng.uniform(0, 3.1)))
        draw_screw(draw, x + 50, HEIGHT - 17, float(rng.uniform(0, 3.1)))
    shape = (HEIGHT, WIDTH)
    brushed = (
        0.88
        + 0.24 * value_noise(rng, shape, (1.5, 120))
        + 0.08 * (fractal_noise(rng, shape, 40) - 0.5)
    )
    smooth = picture.filter(ImageFilter.GaussianBlur(0.7))
    return np.asarray(smooth, np.float32).transpose(2, 0, 1) / 255 * brushed


def draw_rail(draw: ImageDraw.ImageDraw, edge: int, step: int) -> None:
    """One aluminium profile from the picture's edge inwards, with a hazard stripe at the belt."""
    for i in range(36):
        level = 118 + int(52 * math.sin(math.pi * min(i, 34) / 34)) - (70 if 21 <= i <= 26 else 0)
        y = edge + step * i
        draw.line([(0, y), (WIDTH, y)], (level, level + 2, level + 5))
    top, bottom = sorted((edge + step * 36, edge + step * 47))
    draw.rectangle([0, top, WIDTH, bottom], (202, 160, 30))
    for x in range(-20, WIDTH + 20, 32):
        draw.polygon([(x, bottom), (x + 16, bottom), (x + 28, top), (x + 12, top)], (28, 28, 28))
    y = edge + step * 49
    draw.line([(0, y), (WIDTH, y)], (84, 86, 90), 2)


def draw_screw(draw: ImageDraw.ImageDraw, x: int, y: int, turn: float) -> None:
    draw.ellipse([x - 7, y - 6, x + 8, y + 9], (62, 63, 66))
    draw.ellipse([x - 7, y - 7, x + 7, y + 7], (178, 180, 184))
    draw.ellipse([x - 5, y - 5, x + 5, y + 5], (142, 144, 150))
    points = [
        (x + 3.4 * math.cos(turn + k * math.pi / 3), y + 3.4 * math.sin(turn + k * math.pi / 3))
        for k in range(6)
    ]
    draw.polygon(points, (48, 48, 52))


def clip_frames(seed: int, seconds: float) -> Iterator[tuple[Array, list[dict]]]:
    """All frames of a clip that closes on itself."""
    count = max(1, round(seconds * FPS))
    speed = 6 + seed % 3
    length = max(count * speed, 2 * WIDTH) // 40 * 40
    scene = Scene(seed, length)
    for i in range(count):
        yield scene.picture(round(i * length / count), i / count)


def encoder_command(out: str) -> list[str]:
    return ["gst-launch-1.0", "-q", "-e", "fdsrc", "fd=0", "!",
            "rawvideoparse", f"width={WIDTH}", f"height={HEIGHT}", "format=rgb",
            f"framerate={FPS}/1", "!",
            "videoconvert", "!", "video/x-raw,format=I420", "!",
            "x264enc", "speed-preset=veryfast", "tune=zerolatency", "bitrate=2000",
            "key-int-max=30", "bframes=0", "threads=1", "!",
            "h264parse", "!", "mp4mux", "!", "filesink", f"location={out}"]  # fmt: skip


def write_clip(seed: int, seconds: float, out: str, truth: str) -> int:
    """Write the clip and its ground truth; returns the number of frames."""
    count = 0
    with subprocess.Popen(encoder_command(out), stdin=subprocess.PIPE) as encoder, open(
        truth, "w"
    ) as lines:
        assert encoder.stdin
        for count, (frame, boxes) in enumerate(clip_frames(seed, seconds), 1):
            encoder.stdin.write(frame.tobytes())
            lines.write(json.dumps({"frame": count - 1, "boxes": boxes}) + "\n")
        encoder.stdin.close()
        if encoder.wait() != 0:
            raise RuntimeError(f"gst-launch-1.0 ended with status {encoder.returncode}")
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="clip to write (MP4, H.264)")
    parser.add_argument("--truth", required=True, help="ground truth to write (JSON Lines)")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not shutil.which("gst-launch-1.0"):
        print("render.py: gst-launch-1.0 not found; run scripts/setup", file=sys.stderr)
        return 1
    count = write_clip(args.seed, args.seconds, args.out, args.truth)
    print(f"{args.out}: {count} frames, {WIDTH}x{HEIGHT} at {FPS} a second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
