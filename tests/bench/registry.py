#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pulls 200 MB from docker-registry over TLS on loopback, beside skopeo in the same run.

throughput_ratio: ours to skopeo's; cpu_ratio: CPU time per MB, ours to skopeo's;
rss_above_idle_mib: peak of picketctl pull above that of one that waits for its first answer.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "tests/registry"))
import servers  # noqa: E402

SIZE = 200_000_000
BARS = {"throughput_ratio": 0.9, "cpu_ratio": 1.0, "rss_above_idle_mib": 16.0}


def peak_kib(pid: int) -> int:
    """VmHWM of a running process; 0 when it is gone. (rusage would count its parent's, too.)"""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            return next((int(line.split()[1]) for line in f if line.startswith("VmHWM")), 0)
    except (OSError, ProcessLookupError):
        return 0


def measure(command: list[str], env: dict | None = None) -> dict:
    """Seconds, CPU seconds and peak memory of a command."""
    start = time.monotonic()
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )
    peak = 0
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, peak_kib(child.pid))
        time.sleep(0.002)
    seconds = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    error = child.stderr.read().decode("utf-8", "replace")
    child.stderr.close()
    if child.returncode != 0:
        raise SystemExit(f"bench: {' '.join(command[:4])} …: {child.returncode}: {error}")
    return {"s": seconds, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_kib": peak}


class Race:
    """Both clients against the same registry, into the same file system."""

    def __init__(self, folder: str, registry, ca):
        self.folder, self.registry, self.ca = folder, registry, ca

    def ours(self) -> dict:
        root = os.path.join(self.folder, "ours")
        shutil.rmtree(root, ignore_errors=True)
        ref = f"{self.registry.host}/bench/model:v1"
        command = [servers.PICKETCTL, "--root", root, "pull", ref, "--ca", self.ca.cert]
        return measure(command)

    def skopeo(self) -> dict:
        out = os.path.join(self.folder, "skopeo")
        shutil.rmtree(out, ignore_errors=True)
        source = f"docker://{self.registry.host}/bench/model:v1"
        command = ["skopeo", "--insecure-policy", "--tmpdir", self.folder, "copy", "--quiet"]
        env = {"SSL_CERT_FILE": self.ca.cert}
        return measure(command + [source, f"oci:{out}:v1"], env)


def median(rows: list[dict], key: str) -> float:
    return statistics.median(row[key] for row in rows)


def idle_peak_kib(race: Race) -> float:
    """The same picketctl with its libraries, TLS and all, that waits for a registry's answer."""
    rows = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ref = f"127.0.0.1:{silent.getsockname()[1]}/bench/model:v1"
        root = os.path.join(race.folder, "idle")
        for _ in range(3):
            child = subprocess.Popen(
                [servers.PICKETCTL, "--root", root, "pull", ref, "--ca", race.ca.cert],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(0.5)
            rows.append(peak_kib(child.pid))
            child.kill()
            child.wait()
    return statistics.median(rows)


def bench(runs: int) -> dict:
    servers.need("docker-registry", "skopeo", "openssl")
    with tempfile.TemporaryDirectory(prefix="picket-bench-") as folder:
        ca = servers.Authority(folder)
        layout = os.path.join(folder, "layout")
        servers.make_layout(layout, SIZE)
        with servers.DockerRegistry(folder, ca) as registry:
            target = f"{registry.host}/bench/model:v1"
            done = servers.picketctl(
                "push", f"oci:{layout}:v1", target, "--ca", ca.cert, root=folder
            )
            if done.returncode:
                raise SystemExit(f"bench: push: {done.stderr}")
            race = Race(folder, registry, ca)
            ours, theirs = [], []
            for i in range(runs):
                print(f"bench: run {i + 1} of {runs}", file=sys.stderr)
                theirs.append(race.skopeo())
                ours.append(race.ours())
        idle = idle_peak_kib(race)
    megabytes = SIZE / 1e6
    return {
        "throughput_ratio": round(median(theirs, "s") / median(ours, "s"), 3),
        "cpu_ratio": round(median(ours, "cpu_s") / median(theirs, "cpu_s"), 3),
        "rss_above_idle_mib": round((median(ours, "peak_kib") - idle) / 1024, 2),
        "mb_per_s": round(megabytes / median(ours, "s"), 1),
        "skopeo_mb_per_s": round(megabytes / median(theirs, "s"), 1),
        "cpu_ms_per_mb": round(median(ours, "cpu_s") * 1e3 / megabytes, 3),
        "skopeo_cpu_ms_per_mb": round(median(theirs, "cpu_s") * 1e3 / megabytes, 3),
        "idle_rss_mib": round(idle / 1024, 1),
        "peak_rss_mib": round(median(ours, "peak_kib") / 1024, 1),
        "skopeo_peak_rss_mib": round(median(theirs, "peak_kib") / 1024, 1),
        "runs": runs,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    figures = bench(options.runs)
    for name, value in figures.items():
        print(f"{name:22} {value}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(figures, f, indent=1)
    met = (
        figures["throughput_ratio"] >= BARS["throughput_ratio"]
        and figures["cpu_ratio"] <= BARS["cpu_ratio"]
        and figures["rss_above_idle_mib"] <= BARS["rss_above_idle_mib"]
    )
    print("bars:", "met" if met else f"not met: {BARS}")
    return 0 if met else 1


sys.exit(main())
