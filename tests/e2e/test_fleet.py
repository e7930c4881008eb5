#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A fleet on one machine: real picketd processes, docker-registry over TLS, signed models, staged
rollouts, a bad model in the first ring. Builder and worker are FAKES (tests/lib/fake_*.py): this is
about who takes what and when, not about engines. 12 nodes, 200 with --long; --nodes N: so many."""

import calendar
import collections
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIB = os.path.join(HERE, "../lib")
sys.path[:0] = [LIB, os.path.join(HERE, "../registry")]
import servers  # noqa: E402
import signing  # noqa: E402
import story  # noqa: E402
import tiny_model  # noqa: E402
from story import check, picket  # noqa: E402

N_NODES = 200 if os.environ.get("PICKET_LONG") == "1" else 12
RING, HALF, ALL = 10, 50, 100  # percent
BAD_MARK = tiny_model.field(2, "fake-bad")  # producer_name of the ONNX file

CONFIG = """telemetry: {{interval: 1h}}
runtime: {{chain: [cpu]}}
node: {{name: {name}, id: {name}}}
build: {{opt_level: 0, retry_min: 1s, retry_max: 2s, pressure: 0}}
health: {{interval: 10m}}
registries:
  {host}: {{ca: {ca}}}
models:
  tiny:
    artifact: {host}/models/tiny:stable
    rollout: {percent}
    poll: {{interval: {poll}s, backoff_max: {poll}s}}
    signature: {{keys: [{pub}], model: tiny}}
    check: {{observe: 4s}}
cameras:
  belt: {{source: {{kind: test, rate: 25/s}}, model: tiny}}
"""
LINE = re.compile(r'\[([^\]]+)\] "(\w+) (\S+) [^"]*" (\d+)')
Request = collections.namedtuple("Request", "second method path status")


class LoggingRegistry(servers.DockerRegistry):
    """docker-registry that writes a line for each request."""

    def __init__(self, folder: str, ca):
        super().__init__(folder, ca)
        self.config["log"]["accesslog"]["disabled"] = False

    def requests(self) -> list[Request]:
        path = os.path.join(self.folder, f"registry-{self.port}.json.log")
        with open(path, encoding="utf-8", errors="replace") as f:
            found = [LINE.search(line) for line in f]
        return [
            Request(calendar.timegm(time.strptime(m[1][:20], "%d/%b/%Y:%H:%M:%S")), *m.groups()[1:])
            for m in found
            if m
        ]


def bucket(digest: str, name: str) -> float:
    """daemon/update_policy.h, pk_rollout_bucket, reckoned a second time."""
    head = hashlib.sha256(b"rollout1\0" + digest.encode() + b"\0" + name.encode()).digest()[:8]
    return int.from_bytes(head, "big") / 2**64 * 100


class FleetNode(picket.Node):
    """One of many: told by signals, asked by its state file, which costs it nothing."""

    def __init__(self, fleet, name: str):
        super().__init__(os.path.join(fleet.folder, name), story.BUILD)
        self.fleet, self.name = fleet, name

    def configure(self, percent: int):
        self.write_config(CONFIG.format(name=self.name, percent=percent, **self.fleet.fields))
        if self.child:
            self.child.send_signal(signal.SIGHUP)

    def record(self) -> dict:
        try:
            with open(self.path("var/lib/picket/state/tiny.json"), encoding="utf-8") as f:
                return json.loads(f.read().split("\n", 1)[1])
        except (OSError, IndexError, ValueError):
            return {}

    def active(self) -> str:
        """The digest, once nothing is under way."""
        record = self.record()
        idle = record.get("phase") == "idle"
        return (record.get("active") or {}).get("digest", "") if idle else ""

    def has_blob(self, digest: str) -> bool:
        return os.path.exists(self.path("var/lib/picket/blobs/sha256", digest[7:]))

    def proportional_set_kib(self) -> int:
        with open(f"/proc/{self.child.pid}/smaps_rollup", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("Pss:"))


class Fleet:
    """The registry, the key that signs, and the nodes; a context."""

    def __init__(self, n: int):
        self.n, self.poll_s = n, max(2, n // 10)
        self.folder = tempfile.mkdtemp(prefix="pk-fleet-")
        self.libexec = os.path.join(self.folder, "libexec")
        os.mkdir(self.libexec)
        for name in ("build", "worker"):
            os.symlink(
                os.path.abspath(os.path.join(LIB, f"fake_{name}.py")),
                os.path.join(self.libexec, f"picket-{name}"),
            )
        self.stack = contextlib.ExitStack()
        self.nodes = []
        self.seq = 0

    def __enter__(self):
        try:
            self.ca = servers.Authority(self.folder)
            self.key = signing.Key(self.folder, "release")
            registry = LoggingRegistry(self.folder, self.ca)
            self.registry = self.stack.enter_context(registry)
            self.fields = {"host": registry.host, "ca": self.ca.cert}
            self.fields.update(pub=self.key.public, poll=self.poll_s)
            self.nodes = [FleetNode(self, f"n{i:03}") for i in range(self.n)]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error):
        for node in self.nodes:
            if node.running():
                node.child.send_signal(signal.SIGTERM)
        for node in self.nodes:
            with contextlib.suppress(Exception):
                node.stop()
        self.stack.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def make(self, onnx_bytes: bytes) -> str:
        """Packs and signs the next release; its digest. It is not in the registry yet."""
        onnx, card = tiny_model.write(self.folder, 1)
        with open(onnx, "wb") as f:
            f.write(onnx_bytes)
        self.seq += 1
        self.layout = f"oci:{self.folder}/layout:v{self.seq}"
        command = ["bundle", "create", "--onnx", onnx, "--card", card, "--seq", str(self.seq)]
        out = servers.run_ok(servers.PICKETCTL, *command, "--json", "--out", self.layout)
        sign = ["bundle", "sign", self.layout, "--key", self.key.private]
        servers.run_ok(servers.PICKETCTL, *sign)
        return json.loads(out)["digest"]

    def push(self):
        """Moves the tag to what was made last."""
        target = f"{self.registry.host}/models/tiny:stable"
        command = ["push", self.layout, target, "--ca", self.ca.cert]
        servers.run_ok(servers.PICKETCTL, *command)

    def make_for_ring(self, seed: int, end: bytes = b"") -> tuple[str, bytes]:
        """One whose first ring is neither empty nor everybody: small fleets may draw a blank."""
        seq = self.seq
        while True:
            self.seq = seq
            onnx = tiny_model.onnx_model(seed) + end
            digest = self.make(onnx)
            if 0 < len(self.ring(digest, RING)) <= max(2, self.n // 5):
                return digest, onnx
            seed += 1

    def ring(self, digest: str, percent: int) -> set[str]:
        return {node.name for node in self.nodes if bucket(digest, node.name) < percent}

    def configure(self, percent: int):
        for node in self.nodes:
            node.configure(percent)

    def start(self):
        """One after the other: two cores start only so many programs a second."""
        self.configure(ALL)
        for node in self.nodes:
            node.start("--libexec", self.libexec)
            time.sleep(0.05)

    def actives(self) -> dict[str, str]:
        return {node.name: node.active() for node in self.nodes}

    def wait_active(self, digest: str, names: set[str]) -> float:
        """Until exactly these have it; seconds."""
        began, left = time.monotonic(), set(names)
        by_name = {node.name: node for node in self.nodes}
        while left:
            left = {name for name in left if by_name[name].active() != digest}
            if time.monotonic() - began > 60 + self.n:
                tail = by_name[sorted(left)[0]].log_tail(12)
                raise AssertionError(f"{len(left)} without {digest[:19]}: {sorted(left)}\n{tail}")
            time.sleep(0.2)
        return time.monotonic() - began

    def exactly(self, digest: str, names: set[str]):
        have = {name for name, active in self.actives().items() if active == digest}
        check(have == names, f"{digest[:19]} is at {sorted(have)}, not at {sorted(names)}")

    def builds(self) -> dict[str, list[str]]:
        """Of each ONNX file's SHA-256: the nodes that built it."""
        out = collections.defaultdict(list)
        with open(os.path.join(self.libexec, "builds.log"), encoding="utf-8") as f:
            for line in f:
                path, name = line.split()
                out[name].append(os.path.relpath(path, self.folder).split("/")[0])
        return out

    def fetches(self, onnx: bytes) -> int:
        path = f"/blobs/sha256:{hashlib.sha256(onnx).hexdigest()}"
        return sum(
            r.method == "GET" and r.path.endswith(path) and r.status == "200"
            for r in self.registry.requests()
        )


def all_take_the_first(fleet: Fleet, figures: dict):
    digest = fleet.make(tiny_model.onnx_model(1))
    fleet.push()
    began = time.monotonic()
    fleet.start()
    fleet.wait_active(digest, {node.name for node in fleet.nodes})
    sizes = sorted(node.proportional_set_kib() for node in fleet.nodes)
    figures["start_s"] = round(time.monotonic() - began, 1)
    figures["picketd_pss_mib_median"] = round(sizes[len(sizes) // 2] / 1024, 2)
    figures["picketd_pss_mib_sum"] = round(sum(sizes) / 1024)


def polls_are_flat_and_cheap(fleet: Fleet, figures: dict):
    """Nothing changes: nothing but 304, at an even rate. Of independent polls a second sees as many
    as chance has it: more than mean + 5 deviations is a herd."""
    time.sleep(1.1)  # the log's seconds are whole
    first = int(time.time()) + 1
    seconds = 4 * fleet.poll_s if fleet.poll_s < 5 else 2 * fleet.poll_s
    time.sleep(first + seconds + 0.5 - time.time())
    seen = [r for r in fleet.registry.requests() if first <= r.second < first + seconds]
    counts = collections.Counter(int(r.second) for r in seen)
    mean, peak = len(seen) / seconds, max(counts.values(), default=0)
    wanted = fleet.n / fleet.poll_s
    odd = [r for r in seen if r.status != "304"]
    check(not odd, f"polls that were not answered by 304: {odd[:3]}")
    check(0.6 * wanted <= mean <= 1.4 * wanted, f"{mean:.2f} requests/s, {wanted:.2f} wanted")
    check(peak <= mean + 5 * mean**0.5, f"a herd: {peak} requests in one second, mean {mean:.1f}")
    figures.update(poll_interval_s=fleet.poll_s, polls=len(seen), polls_304=len(seen))
    figures.update(poll_seconds=seconds, polls_per_s_mean=round(mean, 2), polls_per_s_peak=peak)


def a_good_model_goes_out_in_stages(fleet: Fleet, figures: dict) -> tuple[str, bytes]:
    fleet.configure(RING)
    digest, onnx = fleet.make_for_ring(100)
    fleet.push()
    for percent in (RING, HALF, ALL):
        if percent != RING:
            fleet.configure(percent)
        ring = fleet.ring(digest, percent)
        figures[f"stage_{percent}_nodes"] = len(ring)
        figures[f"stage_{percent}_s"] = round(fleet.wait_active(digest, ring), 1)
        fleet.exactly(digest, ring)
        check(fleet.fetches(onnx) == len(ring), f"{fleet.fetches(onnx)} fetches at {percent} %")
    return digest, onnx


def a_bad_model_comes_no_further_than_the_ring(fleet: Fleet, figures: dict, good, onnx):
    names = {node.name for node in fleet.nodes}
    fleet.configure(RING)
    bad, bad_onnx = fleet.make_for_ring(200, BAD_MARK)
    fleet.push()
    ring = fleet.ring(bad, RING)
    inside = [node for node in fleet.nodes if node.name in ring]
    began = time.monotonic()

    def gave_up(node) -> bool:
        record = node.record()
        return node.active() == good and bad in json.dumps(record.get("quarantine"))

    while not all(gave_up(node) for node in inside):
        check(time.monotonic() - began < 60 + fleet.n, f"not rolled back: {inside[0].log_tail()}")
        time.sleep(0.2)
    figures.update(bad_nodes=len(ring), bad_rolled_back_s=round(time.monotonic() - began, 1))
    for node in inside:
        what = [event["name"] for event in node.events()]
        check("rolled-back" in what and "quarantined" in what, f"{node.name}: {what[-12:]}")
    time.sleep(1.6 * fleet.poll_s)  # all others have seen the tag meanwhile
    fleet.exactly(good, names)

    withdrawn = fleet.make(onnx)  # the good one once more, under a higher number
    fleet.push()
    fleet.configure(ALL)
    figures["withdrawn_s"] = round(fleet.wait_active(withdrawn, names), 1)
    builds, bad_name = fleet.builds(), hashlib.sha256(bad_onnx).hexdigest()
    check(set(builds[bad_name]) == ring, f"built by {builds[bad_name]}, ring {sorted(ring)}")
    check(fleet.fetches(bad_onnx) == len(ring), f"{fleet.fetches(bad_onnx)} fetches of it")
    check(fleet.fetches(onnx) == fleet.n, "the good one was fetched twice")
    outside = [node for node in fleet.nodes if node.name not in ring]
    check(not any(node.has_blob(bad) for node in outside), "it lies in stores outside the ring")
    told = [e["name"] for node in outside for e in node.events() if bad in json.dumps(e)]
    check(set(told) <= {"update-held"}, f"outside the ring: {collections.Counter(told)}")
    figures.update(bad_fetches=len(ring), bad_outside=0, held_outside=len(told))


def a_fleet():
    servers.need("docker-registry", "openssl")
    figures = {"nodes": N_NODES}
    began = time.monotonic()
    with Fleet(N_NODES) as fleet:
        for step in (all_take_the_first, polls_are_flat_and_cheap):
            step(fleet, figures)
            print(f"   {step.__name__}: {time.monotonic() - began:.1f} s", flush=True)
        good = a_good_model_goes_out_in_stages(fleet, figures)
        print(f"   stages: {time.monotonic() - began:.1f} s", flush=True)
        a_bad_model_comes_no_further_than_the_ring(fleet, figures, *good)
        check(all(node.running() for node in fleet.nodes), "a picketd has ended")
        seen = fleet.registry.requests()
        peak = max(collections.Counter(r.second for r in seen).values())
        figures.update(requests=len(seen), requests_per_s_peak=peak)
    figures["seconds"] = round(time.monotonic() - began, 1)
    for name, value in figures.items():
        print(f"   fleet_{name}: {value}", flush=True)
    story.keep_figures(**{f"fleet_{name}": value for name, value in figures.items()})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--nodes"]:
        N_NODES = int(sys.argv[2])
    sys.exit(story.run(a_fleet))
