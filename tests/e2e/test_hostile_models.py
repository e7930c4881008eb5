#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile models over the air: each costs its own build and nothing else.

60 models, 600 with PICKET_LONG. The seed is fixed; PICKET_SEED takes another.
"""

import datetime
import os
import random
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../lib")]
import story  # noqa: E402
import tiny_model  # noqa: E402
from story import check  # noqa: E402
from tiny_model import field, node, tensor, value_info, varint  # noqa: E402
from tiny_node import TinyNode, tiny_node  # noqa: E402

MODELS = 600 if os.environ.get("PICKET_LONG") == "1" else 60
SEED = int(os.environ.get("PICKET_SEED") or 20261201)
ENDS_S = 30
GAP_S = 3.0


def flip(rng, data: bytearray, at: int):
    data[at] ^= 1 << rng.randrange(8)


def put(rng, data: bytearray, at: int):
    data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])


def cut(rng, data: bytearray, at: int):
    del data[at : at + rng.choice([1, 2, 8, len(data)])]


def repeat(rng, data: bytearray, at: int):
    data[at:at] = data[at : at + rng.choice([1, 4, 64])] * rng.choice([1, 2, 1000])


def huge(rng, data: bytearray, at: int):
    data[at : at + 1] = varint(rng.choice([2**31 - 1, 2**31, 2**32, 2**62, 2**63, 2**64 - 1]))


def swap(rng, data: bytearray, at: int):
    other = rng.randrange(len(data))
    n = rng.choice([1, 4, 16])
    data[at : at + n], data[other : other + n] = data[other : other + n], data[at : at + n]


def mutate(rng, model: bytes) -> bytes:
    """One to four changes, most of them where the structure is and not in weights."""
    data = bytearray(model)
    for _ in range(rng.choice([1, 1, 2, 4])):
        if not data:
            break
        edge = min(len(data), 160)
        places = [
            rng.randrange(edge),
            len(data) - 1 - rng.randrange(edge),
            rng.randrange(len(data)),
        ]
        rng.choice([flip, put, cut, repeat, huge, swap])(rng, data, rng.choice(places))
    return bytes(data) or b"\0"


def graph(nodes: list[bytes], initializers: list[bytes] = ()) -> bytes:
    body = b"".join(field(1, n) for n in nodes) + field(2, "hostile")
    body += b"".join(field(5, i) for i in initializers)
    body += field(11, value_info("images", [1, 3, tiny_model.SIZE, tiny_model.SIZE]))
    body += field(12, value_info("output0", [1, 6, tiny_model.CELLS]))
    return field(1, 8) + field(7, body) + field(8, field(1, "") + field(2, 17))


def longs(name: str, values: list[int]) -> bytes:
    return tensor(name, [len(values)], 7, struct.pack(f"<{len(values)}q", *values))


def chain(op: str, n: int) -> bytes:
    names = ["images"] + [f"v{i}" for i in range(n - 1)] + ["output0"]
    return graph([node(op, [a], b) for a, b in zip(names, names[1:])])


def doubling(n: int) -> bytes:
    """Each value is twice the one before: 2^n elements."""
    names = ["images"] + [f"v{i}" for i in range(n - 1)] + ["output0"]
    axis = [field(1, "axis") + field(3, 1) + field(20, 2)]
    return graph([node("Concat", [a, a], b, axis) for a, b in zip(names, names[1:])])


def nested(depth: int) -> bytes:
    data = b""
    for _ in range(depth):
        data = field(7, field(1, field(5, field(6, data))))
    return data


# What no random change makes: bombs.
BOMBS = {
    "expand to 2^62": graph(
        [node("Expand", ["images", "to"], "output0")], [longs("to", [1 << 20, 1 << 21, 1 << 21])]
    ),
    "expand to 64 GB": graph(
        [node("Expand", ["images", "to"], "output0")], [longs("to", [1 << 20, 3, 64, 64])]
    ),
    "tile to 2^60": graph(
        [node("Tile", ["images", "to"], "output0")], [longs("to", [1 << 20, 1 << 20, 1 << 20, 1])]
    ),
    "doubling": doubling(50),
    "reshape below zero": graph(
        [node("Reshape", ["images", "to"], "output0")], [longs("to", [-(1 << 62), -1])]
    ),
    "weights that are not there": graph(
        [node("Add", ["images", "w"], "output0")], [field(1, 1 << 40) + field(2, 1) + field(8, "w")]
    ),
    "20 000 nodes": chain("Relu", 20_000),
    "itself": graph([node("Relu", ["output0"], "output0")]),
    "nested": nested(4000),
    "zeros": bytes(100_000),
}


def take(told: TinyNode, model: bytes) -> dict:
    """Serves these bytes as the next model; what became of them."""
    path = told.path("hostile.onnx")
    with open(path, "wb") as f:
        f.write(model)
    digest = told.pack(path, told.path("tiny.yaml"))
    told.model_verb("check", "tiny")

    def ended(update):
        bad = next((q for q in update["quarantine"] if q["digest"] == digest), None)
        active = (update["active"] or {}).get("digest") == digest
        return {"reason": bad["reason"] if bad else "", "active": active} if bad or active else None

    def look(status):
        update = status["models"][0]["update"]
        return ended(update) if update["phase"] == "idle" else None

    return told.wait_for(look, ENDS_S, f"an end of {digest[:19]}")


def worst_gap_s(told: TinyNode) -> float:
    lines = [r["time"] for r in told.results() if "frame" in r]
    at = [datetime.datetime.fromisoformat(time).timestamp() for time in lines]
    return max(b - a for a, b in zip(at, at[1:]))


def hostile_models_cost_their_own_build():
    rng = random.Random(SEED)
    print(f"seed {SEED}", flush=True)
    bases = [tiny_model.onnx_model(100), tiny_model.onnx_model(101, layers=1)]
    models = list(BOMBS.items())
    models += [(f"mutation {i}", mutate(rng, rng.choice(bases))) for i in range(MODELS)]
    with tiny_node(observe="0") as told:
        before = told.status()
        worker, picketd = before["worker"]["pid"], before["pid"]
        taken, crashes, slowest, started = 0, {}, 0.0, time.monotonic()
        for name, model in models:
            begun = time.monotonic()
            end = take(told, model)
            slowest = max(slowest, time.monotonic() - begun)
            taken += end["active"]
            check(end["active"] or len(end["reason"]) > 8, f"{name}: no cause: {end}")
            check("no reason given" not in end["reason"], f"{name}: {end}")
            if "killed by" in end["reason"]:
                crashes[name] = end["reason"]
            now = told.status()
            check(now["pid"] == picketd, f"{name}: picketd was restarted")
            same = now["worker"]["pid"] == worker and now["worker"]["restarts"] == 0
            check(same, f"{name}: the worker is another: {now['worker']}")
        check(not crashes, f"picket-build was brought down: {crashes}")
        good = told.push(999)
        told.wait_active(good)
        told.wait_rung("tiny", "engine", 20)
        check(worst_gap_s(told) < GAP_S, f"video stood still for {worst_gap_s(told)} s")
        story.keep_figures(
            hostile_models=len(models),
            hostile_taken=taken,
            hostile_slowest_s=round(slowest, 1),
            hostile_seconds=round(time.monotonic() - started, 1),
        )


sys.exit(story.run(hostile_models_cost_their_own_build))
