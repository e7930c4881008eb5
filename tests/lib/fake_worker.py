#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: Apache-2.0
"""A FAKE picket-worker for tests of many nodes: speaks daemon/worker_proto.h, has one camera of 25
frames a second that is made of numbers alone. A bad model (fake_build.py) finds nothing."""

import json
import os
import select
import socket
import time

FPS = 25
CHANNEL = socket.socket(fileno=3)


def send(kind: str, **members):
    CHANNEL.sendall(json.dumps({"v": 1, "type": kind, **members}).encode() + b"\n")


class Worker:
    """What it was told, and what it counts."""

    def __init__(self):
        self.model, self.bad = None, False
        self.frames = self.inferred = self.detections = 0
        self.began = time.monotonic()

    def take(self, message: dict):
        kind = message["type"]
        if kind == "config":
            send("config_done", error=None)
        elif kind == "assign":
            self.assign(message)
        elif kind == "stop":
            raise SystemExit(0)

    def assign(self, message: dict):
        self.model = message["model"] if "engine" in message else None
        if self.model:
            with open(message["engine"], encoding="ascii") as f:
                self.bad = json.load(f)["bad"]
        answer = {"model": message["model"], "serial": message["serial"]}
        send("assign_done", **answer, error=None, code=0)
        if self.model:
            send("serving", model=self.model, rung=message["rung"], gap_ms=1000 / FPS)

    def beat(self):
        frames = int((time.monotonic() - self.began) * FPS)
        new, self.frames = frames - self.frames, frames
        self.inferred += new if self.model else 0
        self.detections += new if self.model and not self.bad else 0
        camera = {
            **{"name": "belt", "model": "tiny", "state": "running", "cause": ""},
            **{"captured": frames, "inferred": self.inferred, "detections": self.detections},
            **{"passthrough": frames - self.inferred, "dropped": 0, "restarts": 0},
            **{"sink_drops": 0, "skipped": 0, "copies": 0, "fps": FPS, "sinks": []},
            **{"age_p50_ms": 8, "age_p99_ms": 9, "inference_p50_ms": 5, "inference_p95_ms": 6},
        }
        send("heartbeat", progress_age_ms=0, rss_bytes=0, cameras=[camera], sinks=[])


def main():
    worker, text = Worker(), b""
    send("hello", pid=os.getpid())
    due = time.monotonic() + 1
    while True:
        ready, _, _ = select.select([CHANNEL], [], [], max(0, due - time.monotonic()))
        if ready:
            data = CHANNEL.recv(1 << 16)
            if not data:
                return
            *lines, text = (text + data).split(b"\n")
            for line in lines:
                worker.take(json.loads(line))
        if time.monotonic() >= due:
            worker.beat()
            due = max(due + 1, time.monotonic())


main()
