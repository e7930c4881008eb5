# SPDX-License-Identifier: Apache-2.0
"""The things that lie on the belt: parts as signed distance fields, their flaws, and litter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable

import numpy as np
from PIL import Image

LABELS = ("gear", "bolt", "washer", "bracket", "defect")
SUPERSAMPLE = 2

Array = np.ndarray
Box = tuple[float, float, float, float]

# name: (colour, gloss, strength of the grain)
MATERIALS = {
    "steel": ((0.60, 0.62, 0.65), 0.95, 0.08),
    "zinc": ((0.71, 0.71, 0.68), 0.70, 0.12),
    "brass": ((0.78, 0.63, 0.30), 0.85, 0.06),
    "oxide": ((0.20, 0.20, 0.23), 0.75, 0.05),
    "red": ((0.68, 0.15, 0.12), 0.45, 0.02),
    "blue": ((0.14, 0.31, 0.62), 0.45, 0.02),
    "yellow": ((0.86, 0.66, 0.12), 0.45, 0.02),
}
METALS = ("steel", "steel", "zinc", "brass", "oxide")
PAINTS = ("steel", "zinc", "oxide", "red", "blue", "yellow")
RUST = (0.42, 0.19, 0.07)


# --- noise and small helpers -------------------------------------------------------------------


def value_noise(
    rng: np.random.Generator, shape: tuple[int, int], cell: tuple[float, float]
) -> Array:
    """Smooth noise in 0..1; `cell` is the size of a lump (rows, columns) in pixels."""
    rows = max(2, int(shape[0] / cell[0]) + 2)
    cols = max(2, int(shape[1] / cell[1]) + 2)
    small = Image.fromarray(rng.random((rows, cols), dtype=np.float32))
    return np.clip(np.asarray(small.resize((shape[1], shape[0]), Image.BICUBIC)), 0.0, 1.0)


def fractal_noise(rng: np.random.Generator, shape: tuple[int, int], cell: float) -> Array:
    """Three octaves of value noise, about 0..1."""
    total = np.zeros(shape, np.float32)
    for octave, weight in enumerate((0.57, 0.29, 0.14)):
        size = max(1.0, cell / 2**octave)
        total += np.float32(weight) * value_noise(rng, shape, (size, size))
    return total


def wrap_columns(picture: Array, seam: int) -> Array:
    """Make a picture `seam` columns narrower and closed on itself, by a cross fade."""
    width = picture.shape[-1] - seam
    fade = np.linspace(0.0, 1.0, seam, dtype=np.float32)
    out = picture[..., :width].copy()
    out[..., :seam] = fade * out[..., :seam] + (1 - fade) * picture[..., width:]
    return out


def smoothstep(low: float, high: float, x: Array) -> Array:
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3 - 2 * t)


def slopes(height: Array, step: float) -> tuple[Array, Array]:
    """Normal components (x, y) of a height field with samples `step` apart."""
    dy, dx = np.gradient(height, np.float32(step))
    scale = 1 / np.sqrt(1 + dx * dx + dy * dy)
    return -dx * scale, -dy * scale


def box_distance(u: Array, v: Array, half: tuple[float, float], radius: float = 0.0) -> Array:
    """Signed distance to a rectangle with rounded corners, negative inside."""
    qx = np.abs(u) - np.float32(half[0] - radius)
    qy = np.abs(v) - np.float32(half[1] - radius)
    outside = np.hypot(np.maximum(qx, 0), np.maximum(qy, 0))
    return outside + np.minimum(np.maximum(qx, qy), 0) - np.float32(radius)


# --- parts -------------------------------------------------------------------------------------


@dataclass
class Shape:
    """A part in its own coordinates: distance field, height, grain, and the flaw if any."""

    distance: Array
    height: Array
    grain: Array
    flaw: tuple[float, float] | None = None
    thickness: float = 8.0


@dataclass
class Sprite:
    """A part as surface maps, ready to be laid on the belt."""

    label: str
    colour: Array  # [3, h, w]
    alpha: Array  # [h, w]
    normal: Array  # [2, h, w]
    gloss: Array  # [h, w]
    thickness: float
    flaw: tuple[int, int] | None  # column, row


@dataclass
class Grid:
    """Sample points of a sprite, in pixels of the picture, turned into the part's own axes."""

    u: Array
    v: Array
    size: int
    angle: float
    rng: np.random.Generator

    @property
    def shape(self) -> tuple[int, int]:
        return self.u.shape

    def noise(self, cell: float) -> Array:
        return fractal_noise(self.rng, self.shape, cell * SUPERSAMPLE)


def make_grid(rng: np.random.Generator, reach: float) -> Grid:
    size = 2 * (int(reach) + 4)
    axis = (np.arange(size * SUPERSAMPLE, dtype=np.float32) + 0.5) / SUPERSAMPLE - size / 2
    angle = float(rng.uniform(0, 2 * math.pi))
    c, s = np.float32(math.cos(angle)), np.float32(math.sin(angle))
    x, y = axis[None, :], axis[:, None]
    return Grid(c * x + s * y, c * y - s * x, size, angle, rng)


def bevel(distance: Array, width: float, lift: float) -> Array:
    """Height of a flat plate with a rounded edge."""
    t = np.clip(-distance / np.float32(width), 0.0, 1.0)
    return np.float32(lift) * np.sqrt(1 - (1 - t) ** 2)


def bite(grid: Grid, distance: Array, at: tuple[float, float], radius: float) -> Array:
    """Tear a ragged piece out of a shape."""
    ragged = (grid.noise(7.0) - 0.5) * np.float32(0.9 * radius)
    hole = np.float32(radius) - np.hypot(grid.u - at[0], grid.v - at[1]) + ragged
    return np.maximum(distance, hole)


def crack(
    grid: Grid, distance: Array, start: tuple[float, float], end: tuple[float, float], width: float
) -> Array:
    """Open a zigzag crack along a line."""
    length = math.hypot(end[0] - start[0], end[1] - start[1])
    eu, ev = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    along = (grid.u - start[0]) * eu + (grid.v - start[1]) * ev
    across = (grid.v - start[1]) * eu - (grid.u - start[0]) * ev
    period = float(grid.rng.uniform(14, 22))
    zigzag = np.abs(np.mod(along / period, 1.0) - 0.5) * np.float32(0.9 * period) - 0.22 * period
    half = np.float32(width / 2) * np.clip(0.6 + 0.6 * along / length, 0.5, 1.2)
    inside = half - np.abs(across - zigzag)
    inside = np.minimum(inside, np.minimum(along + 2, length + 2 - along))
    return np.maximum(distance, inside)


def gear(rng: np.random.Generator, flaw: str) -> tuple[Grid, Shape]:
    outer = float(rng.uniform(42, 62))
    grid = make_grid(rng, outer)
    teeth = int(rng.integers(10, 16))
    depth = outer * float(rng.uniform(0.17, 0.24))
    r, theta = np.hypot(grid.u, grid.v), np.arctan2(grid.v, grid.u)
    profile = np.clip(0.5 + 1.3 * np.cos(teeth * theta), 0.0, 1.0)
    flaw_at = None
    if flaw == "broken":
        sector = float(rng.uniform(1.1, 1.9))
        gone = smoothstep(sector / 2 + 0.05, sector / 2 - 0.05, np.abs(theta))
        profile = profile * (1 - gone) - gone * (0.3 + 0.9 * grid.noise(8.0))
        flaw_at = (outer - depth, 0.0)
    distance = r - np.float32(outer) + np.float32(depth) * (1 - profile)
    bore = outer * float(rng.uniform(0.16, 0.30))
    distance = np.maximum(distance, bore - r)
    holes = int(rng.choice([0, 0, 3, 4, 5, 6]))
    web = outer - depth
    if holes:
        fold = np.mod(theta + math.pi / holes, 2 * math.pi / holes) - math.pi / holes
        ring = (bore + web) / 2
        gap = np.hypot(r * np.cos(fold) - ring, r * np.sin(fold))
        distance = np.maximum(distance, np.float32(0.26 * (web - bore)) - gap)
    height = bevel(distance, 3.5, 3.0)
    if rng.random() < 0.7:  # a raised rim and hub
        height += 2.0 * smoothstep(0.80 * web - 2, 0.80 * web + 2, r)
        height += 2.0 * smoothstep(1.45 * bore + 2, 1.45 * bore - 2, r)
    if flaw == "crack":
        distance = crack(grid, distance, (bore, 0.0), (outer, 0.0), rng.uniform(7.5, 10))
        height = np.minimum(height, bevel(distance, 2.5, 8.0))
        flaw_at = (0.65 * outer, 0.0)
    grain = value_noise(rng, (1, 512), (1, 3))[0][np.clip(r * 4, 0, 511).astype(np.intp)]
    return grid, Shape(distance, height, grain, flaw_at, 10.0)


def washer(rng: np.random.Generator, flaw: str) -> tuple[Grid, Shape]:
    outer = float(rng.uniform(27, 45))
    inner = outer * float(rng.uniform(0.42, 0.62))
    grid = make_grid(rng, outer * 1.12)
    u, v, flaw_at = grid.u, grid.v, None
    if flaw == "bent":
        squeeze = float(rng.uniform(0.62, 0.74))
        u, v = u / np.float32(1.08), v / np.float32(squeeze)
        flaw_at = (0.0, outer * squeeze * 0.8)
    r, theta = np.hypot(u, v), np.arctan2(v, u)
    distance = np.maximum(r - outer, inner - r)
    height = bevel(distance, 2.5, 2.2)
    if flaw == "broken":
        sector = float(rng.uniform(0.7, 1.4))
        ragged = (grid.noise(6.0) - 0.5) * 9.0
        distance = np.maximum(distance, (sector / 2 - np.abs(theta)) * r + ragged)
        height = np.minimum(height, bevel(distance, 2.5, 2.2))
        flaw_at = ((inner + outer) / 2, 0.0)
    if flaw == "crack":
        distance = crack(grid, distance, (inner, 0.0), (outer, 0.0), rng.uniform(8, 11))
        height = np.minimum(height, bevel(distance, 2.5, 6.0))
        flaw_at = ((inner + outer) / 2, 0.0)
    grain = value_noise(rng, (1, 512), (1, 3))[0][np.clip(r * 5, 0, 511).astype(np.intp)]
    return grid, Shape(distance, height, grain, flaw_at, 5.0)


def bolt(rng: np.random.Generator, flaw: str) -> tuple[Grid, Shape]:
    head = float(rng.uniform(19, 26))  # half width of the head
    shank = head * float(rng.uniform(0.46, 0.56))
    length = head * float(rng.uniform(4.6, 6.2))
    thick = head * float(rng.uniform(0.60, 0.80))
    grid = make_grid(rng, length / 2 + head)
    u, v, flaw_at = grid.u, grid.v, None
    left, right = -length / 2, length / 2
    if flaw == "bent":
        start = left + 0.30 * length
        angle = math.tan(float(rng.uniform(0.42, 0.72)))
        run = np.maximum(u - start, 0)
        v = v - angle * run * run / (run + np.float32(0.18 * length)) + 0.1 * length
        flaw_at = (start + 0.28 * length, -0.02 * length)
    body = box_distance(u - (left + right + thick) / 2, v, ((length - thick) / 2, shank), 3.0)
    cap = box_distance(u - (left + thick / 2), v, (thick / 2, head), 2.5)
    distance = np.minimum(body, cap)
    round_ = np.sqrt(np.maximum(np.float32(shank**2) - v * v, 0.0))
    pitch = float(rng.uniform(4.5, 6.0))
    thread = np.abs(np.mod((u + 0.25 * v) / pitch, 1.0) - 0.5) * 2.4
    threaded = smoothstep(left + thick + 0.10 * length, left + thick + 0.14 * length, u)
    tip = 0.5 * np.clip(u - (right - 5), 0, 5)
    facets = np.minimum(np.float32(head), np.float32(1.75) * (np.float32(head) - np.abs(v)))
    facets = np.minimum(facets, 3 * (u - left) + 2)
    height = np.where(cap < 0, facets, round_ + thread * threaded - tip)
    if flaw == "broken":
        at = (left + thick + 0.45 * (length - thick), shank * float(rng.choice([-1.1, 1.1])))
        distance = bite(grid, distance, at, 1.40 * shank)
        flaw_at = (at[0], at[1] * 0.5)
    if flaw == "crack":
        middle = left + thick + float(rng.uniform(0.35, 0.6)) * (length - thick)
        distance = crack(
            grid, distance, (middle - 3, -shank), (middle + 6, shank), rng.uniform(8, 11)
        )
        flaw_at = (middle, 0.0)
    grain = value_noise(rng, grid.shape, (6, 6)).astype(np.float32)
    return grid, Shape(distance, np.maximum(height, 0), grain, flaw_at, 14.0)


def bracket(rng: np.random.Generator, flaw: str) -> tuple[Grid, Shape]:
    width = float(rng.uniform(26, 36))
    long_, short = float(rng.uniform(88, 122)), float(rng.uniform(66, 92))
    grid = make_grid(rng, math.hypot(long_, short) / 2 + 2)
    u, v, flaw_at = grid.u, grid.v, None
    x0, y0 = -long_ / 2, -short / 2  # outer corner of the L
    leg_a = box_distance(u, v - (y0 + width / 2), (long_ / 2, width / 2), 5.0)
    leg_b = box_distance(u - (x0 + width / 2), v, (width / 2, short / 2), 5.0)
    blend = np.maximum(6.0 - np.abs(leg_a - leg_b), 0.0) / 6.0
    distance = np.minimum(leg_a, leg_b) - blend * blend * 1.5
    hole = width * float(rng.uniform(0.20, 0.27))
    mid = width / 2
    spots = [(x0 + long_ - mid, y0 + mid), (x0 + mid, y0 + short - mid)]
    if rng.random() < 0.6:
        spots.append((x0 + mid, y0 + mid))
    if rng.random() < 0.6:
        spots.append((x0 + long_ / 2 + 4, y0 + mid))
    if flaw == "broken":
        cut = x0 + width + float(rng.uniform(0.15, 0.40)) * (long_ - width)
        slant = float(rng.uniform(-0.5, 0.5))
        edge = u - cut + slant * (v - y0 - mid) + (grid.noise(9.0) - 0.5) * 16
        distance = np.maximum(distance, edge)
        flaw_at = (cut, y0 + mid)
    for hu, hv in spots:
        distance = np.maximum(distance, np.float32(hole) - np.hypot(u - hu, v - hv))
    height = bevel(distance, 3.0, 2.6)
    height += float(rng.uniform(-0.10, 0.10)) * np.maximum(u - (x0 + width), 0)
    if flaw == "crack":
        at = x0 + width + float(rng.uniform(0.20, 0.55)) * (long_ - width)
        skew = float(rng.uniform(-10, 10))
        distance = crack(
            grid, distance, (at, y0 - 2), (at + skew, y0 + width + 2), rng.uniform(7.5, 10)
        )
        height = np.minimum(height, bevel(distance, 2.5, 12.0))
        flaw_at = (at + skew / 2, y0 + mid)
    grain = value_noise(rng, grid.shape, (90, 3)).astype(np.float32)
    return grid, Shape(distance, height, grain, flaw_at, 7.0)


PARTS: dict[
    str, tuple[Callable[[np.random.Generator, str], tuple[Grid, Shape]], tuple[str, ...]]
] = {
    "gear": (gear, ("broken", "broken", "crack", "rust")),
    "bolt": (bolt, ("bent", "bent", "broken", "crack", "rust")),
    "washer": (washer, ("broken", "bent", "crack", "rust")),
    "bracket": (bracket, ("broken", "crack", "rust")),
}


def shrink(field: Array) -> Array:
    """Average supersamples down to pixels."""
    h, w = field.shape[-2] // SUPERSAMPLE, field.shape[-1] // SUPERSAMPLE
    return field.reshape(*field.shape[:-2], h, SUPERSAMPLE, w, SUPERSAMPLE).mean(
        (-3, -1), dtype=np.float32
    )


def to_sprite_axes(grid: Grid, at: tuple[float, float]) -> tuple[int, int]:
    c, s = math.cos(grid.angle), math.sin(grid.angle)
    half = grid.size / 2
    return int(c * at[0] - s * at[1] + half), int(s * at[0] + c * at[1] + half)


def paint_rust(grid: Grid, shape: Shape, colour: Array, gloss: Array) -> tuple[float, float]:
    """Lay a big patch of rust over a part; returns its centre in the part's axes."""
    inside = np.argwhere(shape.distance < -2)
    row, col = inside[grid.rng.integers(len(inside))]
    at = float(grid.u[row, col]), float(grid.v[row, col])
    reach = float(grid.rng.uniform(26, 38))
    falloff = np.hypot(grid.u - at[0], grid.v - at[1]) / np.float32(reach)
    patch = smoothstep(0.42, 0.52, grid.noise(10.0) + 0.75 * (1 - falloff) - 0.22)
    mottle = 0.65 + 0.75 * grid.noise(4.0)
    for channel, value in enumerate(RUST):
        colour[channel] += patch * (value * mottle - colour[channel])
    gloss *= 1 - 0.92 * patch
    shape.height += patch * grid.noise(3.0) * 1.2
    return at


def paint_wear(grid: Grid, colour: Array, gloss: Array) -> None:
    """Dirt, oil and faint tarnish as any good part has."""
    rng = grid.rng
    dirt = smoothstep(0.60, 0.85, grid.noise(14.0)) * np.float32(rng.uniform(0.0, 0.45))
    colour *= 1 - dirt
    gloss *= 1 - dirt
    if rng.random() < 0.25:
        tarnish = smoothstep(0.5, 0.8, grid.noise(24.0)) * np.float32(rng.uniform(0.05, 0.22))
        colour[2] *= 1 - tarnish
        colour[1] *= 1 - 0.4 * tarnish


def make_sprite(rng: np.random.Generator, defect_rate: float) -> Sprite:
    """One random part, good or defective, lying at a random angle."""
    kind = str(rng.choice(list(PARTS)))
    draw, flaws = PARTS[kind]
    defective = rng.random() < defect_rate
    flaw = str(rng.choice(flaws)) if defective else ""
    grid, shape = draw(rng, flaw)
    base, shine, grain = MATERIALS[str(rng.choice(PAINTS if kind == "bracket" else METALS))]
    tone = float(rng.uniform(0.85, 1.12))
    surface = 1 + np.float32(grain * 2) * (shape.grain - 0.5)
    colour = np.stack([np.float32(c * tone) * surface for c in base])
    gloss = np.full(grid.shape, shine * float(rng.uniform(0.7, 1.1)), np.float32)
    paint_wear(grid, colour, gloss)
    flaw_at = shape.flaw
    if flaw == "rust":
        flaw_at = paint_rust(grid, shape, colour, gloss)
    alpha = np.clip(0.5 - shape.distance * SUPERSAMPLE, 0.0, 1.0)
    nx, ny = slopes(shape.height + 0.10 * shape.grain * (grain > 0.03), 1 / SUPERSAMPLE)
    colour *= 1 - 0.5 * smoothstep(-2.0, 0.0, shape.distance)  # dark outline where light is lost
    return Sprite(
        label="defect" if defective else kind,
        colour=shrink(colour),
        alpha=shrink(alpha),
        normal=shrink(np.stack([nx, ny])),
        gloss=shrink(gloss),
        thickness=shape.thickness,
        flaw=to_sprite_axes(grid, flaw_at) if flaw_at else None,
    )


def make_litter(rng: np.random.Generator) -> Sprite:
    """Things on a belt that are no parts: curls of swarf, scraps of paper, tape, dabs of oil."""
    kind = str(rng.choice(["swarf", "paper", "oil", "tape"]))
    grid = make_grid(rng, rng.uniform(14, 30))
    half = grid.size / 2 - 5
    r, theta = np.hypot(grid.u, grid.v), np.arctan2(grid.v, grid.u)
    if kind == "swarf":
        spiral = half * (0.45 + 0.16 * theta) + 2.0 * np.sin(9 * theta)
        distance, colour, gloss = np.abs(r - spiral) - 1.3, (0.66, 0.66, 0.70), 0.9
    elif kind == "paper":
        distance = box_distance(grid.u, grid.v, (half * 0.7, half * rng.uniform(0.3, 0.6)), 1.0)
        distance, colour, gloss = distance + 5 * (grid.noise(8.0) - 0.5), (0.80, 0.78, 0.72), 0.05
    elif kind == "tape":
        distance = box_distance(grid.u, grid.v, (half * 0.9, half * 0.22), 1.0)
        colour, gloss = (0.62, 0.50, 0.22), 0.35
    else:
        distance = r - half * 0.6 + half * 0.9 * (grid.noise(14.0) - 0.5)
        colour, gloss = (0.03, 0.03, 0.035), 0.8
    alpha = np.clip(0.5 - distance * SUPERSAMPLE, 0.0, 1.0) * (0.75 if kind == "oil" else 1.0)
    height = bevel(distance, 3.0, 1.5) + grid.noise(6.0) * (2.0 if kind == "paper" else 0.3)
    flat = np.ones(grid.shape, np.float32) * (0.9 + 0.2 * grid.noise(5.0))
    return Sprite(
        label="",
        colour=shrink(np.stack([np.float32(c) * flat for c in colour])),
        alpha=shrink(alpha),
        normal=shrink(np.stack(slopes(height, 1 / SUPERSAMPLE))),
        gloss=shrink(np.full(grid.shape, gloss, np.float32)),
        thickness=0.0 if kind == "oil" else 2.0,
        flaw=None,
    )
