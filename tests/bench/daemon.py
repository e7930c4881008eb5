#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What picketd costs and how fast it answers: idle, requests, start, stop, build under load."""

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402

BARS = {
    "idle_rss_mib": 12,
    "idle_cpu_percent": 0.2,
    "control_p99_ms": 5,
    "warm_start_s": 1.5,
    "stop_s": 2,
    "build_rate_loss_percent": 5,
    "build_age_growth_percent": 20,
}
CLIENTS, REQUESTS = 50, 20
IDLE_S, LOAD_S = 20, 12


def cpu_s(pid: int) -> float:
    """Of all threads; ticks would be too coarse."""
    total_ns = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as f:
            total_ns += int(f.read().split()[0])
    return total_ns / 1e9


def rss_mib(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        line = next(line for line in f if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def percentile(values: list[float], q: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * q))]


def measure_idle(node) -> dict:
    """Two cameras on their engines; picketd's own share, with nobody asking."""
    pid = node.child.pid
    time.sleep(2)
    begin, start = cpu_s(pid), time.monotonic()
    time.sleep(IDLE_S)
    used = (cpu_s(pid) - begin) / (time.monotonic() - start) * 100
    return {"idle_rss_mib": round(rss_mib(pid), 2), "idle_cpu_percent": round(used, 3)}


def measure_control(node) -> dict:
    """50 clients that stay connected and ask in turn, as pollers do: each every 500 ms."""
    taken, lock = [], threading.Lock()

    def ask(number: int):
        connection = story.picket.UnixConnection(node.path("run/picket/control.sock"))
        time.sleep(number / CLIENTS * 0.5)
        mine = []
        for _ in range(REQUESTS):
            start = time.monotonic()
            connection.request("GET", "/v1/cameras")
            connection.getresponse().read()
            mine.append(time.monotonic() - start)
            time.sleep(max(0.5 - mine[-1], 0))
        connection.close()
        with lock:
            taken.extend(mine)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "control_p50_ms": round(percentile(taken, 0.5) * 1000, 2),
        "control_p99_ms": round(percentile(taken, 0.99) * 1000, 2),
        "control_requests": len(taken),
    }


def first_result_s(node, since: float) -> float:
    """Until the first result of an engine, and the camera's own part of it."""
    before = len(node.results())
    end = since + 60
    while time.monotonic() < end:
        if any(r["rung"] == "engine" for r in node.results()[before:]):
            return time.monotonic() - since
        time.sleep(0.01)
    raise AssertionError("no result after the start")


def camera_start_s(node) -> float:
    """What the camera needs by itself: from the worker's start to its first picture."""
    events = {e["name"]: e for e in reversed(node.events())}
    running = next(
        e for e in node.events() if e["name"] == "camera" and e["fields"]["state"] == "running"
    )

    def at(event) -> float:
        clock = event["time"].split("T")[1].rstrip("Z")
        hours, minutes, seconds = clock.split(":")
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds)

    return max(at(running) - at(events["worker-started"]), 0)


def measure_start_and_stop(node) -> dict:
    stops, starts, cameras = [], [], []
    for _ in range(3):
        start = time.monotonic()
        node.child.send_signal(signal.SIGTERM)
        node.child.wait(10)
        stops.append(time.monotonic() - start)
        node.stop()
        since = time.monotonic()
        node.start()
        starts.append(first_result_s(node, since))
        node.wait_for(lambda s: s["cameras"][0]["state"] == "running", 10, "a camera")
        cameras.append(camera_start_s(node))
    return {
        "stop_s": round(max(stops), 3),
        "first_result_s": round(statistics.median(starts), 3),
        "camera_start_s": round(statistics.median(cameras), 3),
        "warm_start_s": round(statistics.median(max(s - c, 0) for s, c in zip(starts, cameras)), 3),
    }


def window(node, seconds: float, keep=lambda: None) -> tuple[float, float]:
    """Results a second of all cameras, and p99 of their age in ms, over a while."""
    before, start = len(node.results()), time.monotonic()
    while time.monotonic() - start < seconds:
        keep()
        time.sleep(0.2)
    seen = node.results()[before:]
    return len(seen) / (time.monotonic() - start), percentile([r["age_ms"] for r in seen], 0.99)


def measure_build_under_load(node) -> dict:
    """The same seconds before and while engines are built without a pause, timing cache removed."""

    def keep():
        status = node.status()
        if status and status["builder"]["state"] == "idle":
            for name in os.listdir(node.path("var/lib/picket/timing")):
                os.unlink(node.path("var/lib/picket/timing", name))
            node.request("POST", "/v1/models/parts/rebuild")

    rate, age = window(node, LOAD_S)
    built_rate, built_age = window(node, LOAD_S, keep)
    return {
        "rate_before": round(rate, 2),
        "rate_while_building": round(built_rate, 2),
        "age_p99_before_ms": round(age, 1),
        "age_p99_while_building_ms": round(built_age, 1),
        "build_rate_loss_percent": round(max(1 - built_rate / rate, 0) * 100, 2),
        "build_age_growth_percent": round((built_age / age - 1) * 100, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    folder = tempfile.TemporaryDirectory(prefix="picket-bench-")
    node = story.picket.Node(folder.name, story.BUILD)
    figures = {}
    try:
        story.demo_bundle(node)
        text = story.config(node, "belt-a", "belt-b")
        node.write_config(text.replace("telemetry: {interval: 2s}", "telemetry: {interval: 30s}"))
        node.start()
        node.wait_rung("parts", "engine")
        for measure in (
            measure_idle,
            measure_control,
            measure_build_under_load,
            measure_start_and_stop,
        ):
            node.wait_rung("parts", "engine")
            figures.update(measure(node))
    finally:
        node.stop()
        folder.cleanup()
    missed = {k: bar for k, bar in BARS.items() if figures[k] > bar}
    for name, value in figures.items():
        bar = (
            f"  (at most {BARS[name]}{': MISSED' if name in missed else ''})"
            if name in BARS
            else ""
        )
        print(f"{name:28} {value}{bar}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(figures, f, indent=2)
    return 1 if missed else 0


sys.exit(main())
