#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Models over the air on real processes: swaps, bad models, probation, crashes, operators."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../lib"), os.path.join(HERE, "../registry")]
import servers  # noqa: E402
import story  # noqa: E402
import tiny_model  # noqa: E402
from story import check  # noqa: E402
from tiny_node import TinyNode, tiny_node, wait_gone  # noqa: E402

LONG = os.environ.get("PICKET_LONG") == "1"
FAULT_EXIT = 86
PERIOD_MS = 40
FLAT_BYTES = 256 << 10  # pages of libraries and of the heap that are touched for the first time


def results_follow(node) -> tuple[int, int]:
    """Checks that every frame that is missing was told as dropped; (results, swaps)."""
    lines = [r for r in node.results() if r["camera"] == "belt"]
    swaps, skipped, first = 0, 0, None
    for before, now in zip(lines, lines[1:]):
        if first is None or now["source_run"] != before["source_run"]:
            skipped, first = 0, before
        if now["frame"] <= before["frame"]:
            first = None  # picketd was started anew
            continue
        skipped += now["frame"] - before["frame"] - 1
        told = now["dropped"] - first["dropped"]
        check(skipped <= told, f"{skipped} frames are missing, {told} were told: {now}")
        old, new = before["model"]["digest"], now["model"]["digest"]
        swaps += bool(old and new and old != new)
    return len(lines), swaps


def swap_gaps(node) -> list[float]:
    """Of each activation: ms between the last result of the old model and the first of the new one,
    beyond the period of the frames."""
    gaps, armed = [], False
    for event in node.events():
        if event["name"] == "activated":
            armed = True
        elif event["name"] == "serving" and armed:
            gaps.append(max(0.0, float(event["fields"]["gap_ms"]) - PERIOD_MS))
            armed = False
    return sorted(gaps)


def tag_move_swaps_without_a_lost_frame():
    with tiny_node() as node:
        after = node.last_event_id()
        wait_baseline(node)
        second = node.push(2)
        node.wait_active(second)
        names = node.event_names(after)
        wanted = "update-found download-done verified engine-built activated committed"
        at = [names.index(n) for n in wanted.split()]
        check(at == sorted(at), f"order of events: {names}")
        update = node.update()
        check(update["previous"]["digest"] == node.first, "the old one is not kept")
        node.wait_event("on probation: well", after=after)
        n, swaps = results_follow(node)
        check(swaps == 1 and n > 50, f"{n} results, {swaps} swaps")
        check(swap_gaps(node)[0] < 50, f"swap gap {swap_gaps(node)} ms beyond the frame period")
        check(node.record()["active"]["digest"] == second, "the record says otherwise")


def worker_rss(node) -> int:
    return node.status()["worker"]["rss_bytes"]


def slope(values: list[int]) -> float:
    """Bytes per step, by least squares."""
    n = len(values)
    mean_x, mean_y = (n - 1) / 2, sum(values) / n
    over = sum((i - mean_x) * (v - mean_y) for i, v in enumerate(values))
    return over / sum((i - mean_x) ** 2 for i in range(n))


def growth(values: list[int]) -> int:
    """From the least of the second quarter to the least of the last: peaks between do not count."""
    n = len(values)
    return min(values[n * 3 // 4 :]) - min(values[n // 4 : n // 2])


def swaps_leave_memory_flat():
    """Engines that are built already, swapped as fast as the node goes."""
    rounds = 1000 if LONG else 80
    with tiny_node(observe="0") as node:
        second = node.push(2)
        node.wait_active(second)
        rss = []
        for i in range(rounds):
            digest = second if i % 2 else node.first
            node.model_verb("pin", "tiny", digest)
            node.wait_active(digest)
            rss.append(worker_rss(node))
        check(growth(rss) < FLAT_BYTES, f"worker grows by {growth(rss)} bytes: {rss}")
        story.keep_figures(
            swap_flat_rounds=rounds,
            swap_flat_bytes=growth(rss),
            swap_flat_slope_bytes=round(slope(rss[rounds // 4 :])),
        )


def many_good_and_bad_swaps():
    rounds = 200 if LONG else 20
    with tiny_node(observe="0") as node:
        node.wait_active(node.push(2))
        rss, garbage = [], node.path("garbage.onnx")
        started = time.monotonic()
        for i in range(rounds):
            seed = 1 + i % 2
            digest = node.push(seed)
            node.model_verb("check", "tiny")
            node.wait_active(digest)
            with open(garbage, "wb") as f:
                f.write(b"no model %d" % i)
            bad = node.pack(garbage, node.path("tiny.yaml"))
            node.model_verb("check", "tiny")
            wait_gone(node, bad)
            check(node.active() == digest, "a bad model took over")
            rss.append(worker_rss(node))
        took = time.monotonic() - started
        n, swaps = results_follow(node)
        gaps = swap_gaps(node)
        p99 = gaps[min(len(gaps) - 1, int(len(gaps) * 0.99))]
        grows = slope(rss[len(rss) // 4 :])
        check(swaps >= rounds, f"only {swaps} swaps seen in {n} results")
        check(p99 < 50, f"swap gap p99 {p99:.1f} ms beyond the frame period")
        check(growth(rss) < FLAT_BYTES, f"worker grows by {growth(rss)} bytes: {rss}")
        story.keep_figures(
            swaps_good=swaps,
            swaps_bad=rounds,
            swap_gap_p99_ms=round(p99, 1),
            swap_rss_slope_bytes=round(grows),
            swap_results=n,
            swap_seconds=round(took, 1),
        )


def bad_models_are_rejected_and_the_old_one_serves():
    with tiny_node() as node:
        golden = node.path("golden")
        os.makedirs(golden)
        with open(os.path.join(golden, "a.rgb"), "wb") as f:
            f.write(bytes(64 * 64 * 3))
        wrong = {"label": "thing1", "box": [1, 1, 9, 9], "score": 0.9}
        samples = [{"file": "a.rgb", "width": 64, "height": 64, "detections": [wrong]}]
        with open(os.path.join(golden, "golden.json"), "w", encoding="utf-8") as f:
            json.dump({"samples": samples}, f)
        onnx, card = tiny_model.write(node.root, 5)
        with open(node.path("cut.onnx"), "wb") as f, open(onnx, "rb") as whole:
            f.write(whole.read()[:-700])
        for name, pack, words in (
            ("corrupted", lambda: node.pack(node.path("cut.onnx"), card), ""),
            ("wrong classes", lambda: node.push(6, classes=3), "output0"),
            ("gate", lambda: node.push(7, "--golden", golden), ""),
        ):
            digest = pack()
            node.model_verb("check", "tiny")
            wait_gone(node, digest)
            reason = next(q for q in node.update()["quarantine"] if q["digest"] == digest)
            check(words in reason["reason"], f"{name}: {reason}")
            check(node.active() == node.first, f"{name}: it took over")
            check(node.model()["rung"] == "engine", f"{name}: the old one does not serve")
            if name == "corrupted":
                check("admit-rejected" in node.event_names(), "no event says so")
        tail = node.results()[-1]
        check(tail["model"]["digest"] == node.first, f"results are of {tail['model']}")


def wait_baseline(node):
    """The active model was looked at for long enough to compare the next one with it."""
    node.wait_update(lambda u: u["baseline"], 20, "a baseline")


def worse_in_production_is_rolled_back():
    with tiny_node(observe="4s") as node:
        wait_baseline(node)
        blind = node.push(11, score=0.01)
        wait_gone(node, blind)
        node.wait_active(node.first)
        reason = next(q for q in node.update()["quarantine"] if q["digest"] == blind)
        check("detections" in reason["reason"], f"{reason}")
        names = node.event_names()
        check("rolled-back" in names and "canary-result" in names, f"{names}")
        wait_baseline(node)
        slow = node.push(12, layers=7)
        wait_gone(node, slow)
        node.wait_active(node.first)
        reason = next(q for q in node.update()["quarantine"] if q["digest"] == slow)
        check("p95" in reason["reason"] or "per second" in reason["reason"], f"{reason}")
        node.model_verb("check", "tiny")
        node.wait_reason("quarantined", 5)
        text = node.model_verb("explain", "tiny")
        check("quarantine" in text, f"explain says {text}")
        check(node.active() == node.first, "it was offered again")
        again = node.push(13)
        node.wait_active(again)
        history = json.loads(node.ctl("model", "history", "tiny", "--json").stdout)["history"]
        check([h["what"] for h in history].count("rolled back") == 2, f"{history}")
        results_follow(node)


def operators_pin_wait_and_go_back():
    with tiny_node(observe="0") as node:
        node.model_verb("pin", "tiny")
        second = node.push(2)
        node.model_verb("check", "tiny")
        time.sleep(1.5)
        check(node.active() == node.first, "pinned, and yet it moved")
        check("pinned" in node.model_verb("explain", "tiny"), "explain does not say so")
        node.model_verb("unpin", "tiny")
        node.wait_active(second)
        node.model_verb("rollback", "tiny")
        node.wait_active(node.first)
        node.model_verb("check", "tiny")
        node.wait_reason("rolled back by the operator")
        node.model_verb("rollback", "tiny", fails=True)
        node.model_verb("pin", "tiny", second)
        node.wait_active(second)
        node.model_verb("unpin", "tiny")
        hour = time.gmtime(time.time() + 7200).tm_hour
        window = f'{{from: "{hour:02}:00", to: "{hour:02}:01", tz: utc}}'
        node.configure("0", f"    window: {window}")
        check(node.ctl("reload").returncode == 0, "reload")
        third = node.push(3)
        node.wait_update(lambda u: u["phase"] == "wait", 20, "it waits for its window")
        check("window" in node.model_verb("explain", "tiny"), "explain does not say so")
        node.model_verb("cancel", "tiny")
        node.wait_reason("cancelled")
        node.model_verb("check", "tiny")
        node.wait_reason("quarantined: cancelled")
        check(node.active() == second, "cancelled, and yet it moved")
        text = node.model_verb("pull", "tiny")
        check(third in text, f"pull says {text}")
        node.wait_active(third)
        node.configure("0", "    rollout: 0")
        check(node.ctl("reload").returncode == 0, "reload")
        node.push(4)
        node.model_verb("check", "tiny")
        node.wait_reason("rollout")
        check("stands at" in node.model_verb("explain", "tiny"), "explain does not say so")
        for verb in (["list"], ["show", "tiny"], ["explain", "tiny"], ["history", "tiny"]):
            done = node.ctl("model", *verb, "--json")
            check(done.returncode == 0 and json.loads(done.stdout), f"{verb}: {done.stderr}")
            check(node.ctl("model", *verb).stdout.strip(), f"{verb}: nothing for people")


SIGNED = "    signature: {{required: true, keys: [{pub}]}}"
QUOTA_BYTES = 768 << 10  # about five models with their engines, and what the next one asks for


def only_signed_and_newer_models_are_taken():
    with tiny_node(start=False) as node:
        node.make_key()
        node.configure("0", SIGNED.format(pub=node.path("pub.pem")))
        first = node.push(21, "--seq", "5")
        node.start()
        node.wait_active(first, 60)
        check(node.update()["seq_high"] == 5, "the mark was not kept")
        old = node.push(22, "--seq", "4")
        wait_gone(node, old)
        check("verify-failed" in node.event_names(), "no event says so")
        twin = node.push(23, "--seq", "5")
        wait_gone(node, twin)
        reasons = " ".join(q["reason"] for q in node.update()["quarantine"])
        check("older" in reasons and "equivocation" in reasons, reasons)
        key, node.key = node.key, None
        node.push(24, "--seq", "6")
        node.model_verb("check", "tiny")
        node.wait_reason("no signature")
        check(node.active() == first, "an unsigned model took over")
        node.key = key
        node.ctl("bundle", "sign", f"oci:{node.path('registry')}:stable", "--key", key)
        node.wait_update(lambda u: u["seq_high"] == 6, 20, "the signature that came later")
        node.model_verb("pin", "tiny", old, "--allow-downgrade")
        node.wait_active(old)
        check(node.update()["seq_high"] == 6, "the mark was lowered")


def keys_sign_what_their_rules_allow():
    with tiny_node(start=False) as node:
        node.make_key()
        shown = node.ctl("key", "show", node.path("pub.pem"), "--json")
        key_id = json.loads(shown.stdout)["id"]
        rules = "signature: {{required: true, keys: [{pub}], key_rules: {{{id}: {rule}}}}}"

        def configure(rule: str):
            text = rules.format(pub=node.path("pub.pem"), id=key_id, rule=rule)
            node.configure("0", "    " + text)

        configure("{seq_max: 5, not_before: 2020-01-01}")
        first = node.push(51, "--seq", "5")
        node.start()
        node.wait_active(first, 60)
        second = node.push(52, "--seq", "6")
        node.wait_reason("sequence number")
        configure("{not_after: 2020-01-01}")
        check(node.ctl("reload").returncode == 0, "reload")
        node.wait_reason("not valid any more")
        check(node.active() == first, "an expired key took over")
        key_id = key_id[::-1]
        configure("{seq_min: 1}")
        check(node.ctl("reload").returncode == 0, "reload")
        node.wait_reason("no key ")
        key_id = key_id[::-1]
        configure("{not_after: 2150-01-01}")
        check(node.ctl("reload").returncode == 0, "reload")
        node.wait_active(second)


def older_models_are_kept():
    with tiny_node(observe="0", more="    keep: 3", start=False) as node:
        node.start()
        node.wait_active(node.first, 60)
        digests = [node.first]
        for seed in range(2, 7):
            digests.append(node.push(seed))
            node.wait_active(digests[-1])
        gone = node.path("var/lib/picket/blobs/sha256", digests[0][7:])
        node.wait_for(lambda _: not os.path.exists(gone), 20, "the oldest goes")
        kept = [d["digest"] for d in node.record()["older"]]
        check(kept == [digests[3], digests[2]], f"older: {kept}")
        after = node.last_event_id()
        node.model_verb("pin", "tiny", digests[2])
        node.wait_event("is in the store, and was before", after=after)
        node.wait_active(digests[2])
        kept = [d["digest"] for d in node.record()["older"]]
        check(kept == [digests[4], digests[3]], f"older: {kept}")
        check(node.record()["previous"]["digest"] == digests[5], f"{node.record()}")


def a_lost_record_lets_no_older_model_in():
    with tiny_node(start=False) as node:
        node.make_key()
        node.configure("0", SIGNED.format(pub=node.path("pub.pem")))
        older = node.push(41, "--seq", "4")
        newer = node.push(42, "--seq", "5")
        node.start()
        node.wait_active(newer, 60)
        node.stop()
        for name in ("tiny.json", "tiny.json.prev"):
            with open(node.path("var/lib/picket/state", name), "w", encoding="utf-8") as f:
                f.write("rot")
        check(node.push(41, "--seq", "4") == older, "the same model has another digest")
        node.start()
        wait_gone(node, older)
        reason = node.update()["quarantine"][0]["reason"]
        check("older" in reason and not node.active(), f"{reason}, active {node.active()}")
        check("state-ignored" in node.event_names(), "no event says so")
        node.wait_active(node.push(43, "--seq", "6"))


class Story:
    """A node that is killed at every turn, and what must hold of its disk."""

    def __init__(self, node: TinyNode):
        self.node, self.seq, self.digests = node, 0, []
        self.high, self.most = -1, 0

    def push(self) -> str:
        self.seq += 1
        self.digests.append(self.node.push(1000 + self.seq, "--seq", str(self.seq)))
        return self.digests[-1]

    def check_disk(self):
        record = self.node.record()
        check(record["active"]["digest"] in self.digests[-3:], f"active: {record}")
        check(record["history"]["seq"] >= self.high, f"the mark was lowered: {record}")
        self.high = record["history"]["seq"]
        for slot in ("active", "previous"):
            digest = record.get(slot, {}).get("digest")
            if digest:
                self.check_blobs(digest)
        used = json.loads(self.node.ctl("store", "usage", "--json").stdout)
        check(used["quota_bytes"] == QUOTA_BYTES, f"usage says {used}")
        check(used["total_bytes"] <= QUOTA_BYTES, f"the store is over its quota: {used}")
        self.most = max(self.most, used["total_bytes"])

    def check_blobs(self, digest: str):
        blobs = self.node.path("var/lib/picket/blobs/sha256")
        with open(os.path.join(blobs, digest[7:]), encoding="utf-8") as f:
            manifest = json.load(f)
        for part in manifest["layers"]:
            path = os.path.join(blobs, part["digest"][7:])
            check(os.path.getsize(path) == part["size"], f"{path} is not whole")


def begin_killing(node: TinyNode) -> Story:
    node.make_key()
    node.configure(
        "0", SIGNED.format(pub=node.path("pub.pem")), f"store: {{quota: {QUOTA_BYTES}B}}"
    )
    told = Story(node)
    first = told.push()
    node.start()
    node.wait_active(first, 60)
    node.stop()
    return told


def wait_end(node: TinyNode, digest: str, timeout: float = 20) -> int | None:
    """The exit code of a picketd that died, or None once the model is active."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if not node.running():
            code, node.child = node.child.returncode, None
            return code
        status = node.status()
        update = status["models"][0]["update"] if status else {}
        active = (update.get("active") or {}).get("digest")
        if active == digest and update["phase"] == "idle":
            return None
        time.sleep(0.05)
    raise AssertionError(f"neither dead nor updated: {node.status()}\n{node.log_tail()}")


def recover(told: Story, digest: str):
    told.check_disk()
    told.node.start()
    told.node.wait_active(digest)
    told.node.wait_rung("tiny", "engine", 20)
    check(told.node.stop() == 0, "it does not stop cleanly")
    told.check_disk()


def every_crash_point_recovers():
    """Dies at the k-th point that it passes, for every k (by default: as many as time allows)."""
    limit_s, step = (1e9, 1) if LONG else (15, 4)
    with tiny_node(start=False) as node:
        told = begin_killing(node)
        started, k, died = time.monotonic(), 1, 0
        while time.monotonic() - started < limit_s:
            digest = told.push()
            node.start(env={"PICKET_FAULT": str(k)})
            code = wait_end(node, digest)
            if code is None:
                node.stop()
                break  # there is no k-th point in a whole update
            check(code == FAULT_EXIT, f"point {k}: exit {code}\n{node.log_tail()}")
            died += 1
            recover(told, digest)
            k += step
        check(died >= 3, f"only {died} points")
        check(told.most > QUOTA_BYTES // 2, f"the quota was never near: {told.most}")
        story.keep_figures(crash_points=died, crash_points_last_k=k, crash_store_bytes=told.most)


def random_kills_recover():
    rounds = 200 if LONG else 4
    rng = random.Random(os.environ.get("PICKET_SEED", "5eed"))
    with tiny_node(start=False) as node:
        told = begin_killing(node)
        killed = 0
        for _ in range(rounds):
            digest = told.push()
            node.start()
            time.sleep(rng.uniform(0.05, 1.6))
            if node.running():
                os.killpg(node.child.pid, signal.SIGKILL)
                node.child.wait()
                killed += 1
            node.child = None
            recover(told, digest)
        story.keep_figures(random_kills=killed)


REGISTRY = """runtime: {{chain: [cpu]}}
registries:
  {host}: {{ca: {ca}, user: node, password_file: {password}}}
models:
  tiny:
    artifact: {host}/models/tiny:stable
    poll: {{interval: 1s, backoff_max: 1s}}
    signature: {{keys: [{pub}], model: tiny}}
    check: {{observe: 0}}
cameras:
  belt: {{source: {{kind: test, rate: 25/s}}, model: tiny}}
"""


def follows_a_registry_over_tls():
    servers.need("docker-registry", "htpasswd")
    folder = tempfile.mkdtemp(prefix="picket-up-")
    node = TinyNode(folder)
    try:
        node.make_key()
        ca = servers.Authority(folder)
        with open(node.path("password"), "w", encoding="utf-8") as f:
            f.write("secret word")
        auth = servers.htpasswd(folder, "node", "secret word")
        with servers.DockerRegistry(folder, ca, auth) as registry:
            follow_registry(node, ca, registry)
    finally:
        node.stop()
        shutil.rmtree(folder, ignore_errors=True)


def follow_registry(node: TinyNode, ca, registry):
    target = f"{registry.host}/models/tiny:stable"
    options = ["--ca", ca.cert, "--user", "node", "--password-file", node.path("password")]

    def publish(seed: int, *more: str) -> str:
        digest = node.push(seed, *more)
        done = node.ctl("push", f"oci:{node.path('registry')}:stable", target, *options)
        check(done.returncode == 0, done.stderr)
        return digest

    fields = {"host": registry.host, "ca": ca.cert, "password": node.path("password")}
    node.write_config(REGISTRY.format(pub=node.path("pub.pem"), **fields))
    first = publish(31, "--seq", "1")
    node.start()
    node.wait_active(first, 60)
    node.wait_rung("tiny", "engine", 30)
    second = publish(32, "--seq", "2")
    node.wait_active(second)
    node.wait_event("key ")
    key, node.key = node.key, None
    publish(33, "--seq", "3")
    node.wait_reason("no signature")
    node.key = key
    other = publish(34, "--seq", "4", "--name", "another")
    wait_gone(node, other)
    registry.child.kill()
    registry.child.wait()
    node.wait_update(lambda u: u["failures"] > 0, 20, "failures of polls")
    check(node.active() == second and node.model()["rung"] == "engine", "it stopped serving")
    check("tries in a row failed" in node.model_verb("explain", "tiny"), "explain does not say so")
    with registry:
        third = publish(35, "--seq", "5")
        node.wait_active(third)
        etag = node.path("run/picket/poll-tiny.json")
        with open(etag, encoding="utf-8") as f:
            check(json.load(f)["etag"], "polls are not cheap: no etag is kept")
        reloads_are_spread(node, fields, publish)


def reloads_are_spread(node: TinyNode, fields: dict, publish):
    """A reload that leaves the model alone asks within a minute, one that changes it at once."""
    text = REGISTRY.format(pub=node.path("pub.pem"), **fields).replace(
        "interval: 1s", "interval: 9h"
    )

    def reload(config: str) -> float:
        node.write_config(config)
        check(node.ctl("reload").returncode == 0, "reload")
        return node.wait_update(lambda u: u["phase"] == "idle", 10, "it rests")["next_poll_s"]

    check(reload(text) > 3600, "it polls more often than it was told")
    soon = reload(text + "telemetry: {interval: 7s}\n")
    check(soon <= 60, f"the next look is {soon} s away")
    publish(36, "--seq", "6")
    newest = publish(37, "--seq", "7")
    reload(text.replace("observe: 0}", "observe: 0, max_restarts: 2}"))
    node.wait_active(newest, 20)


def engines_of_both_models_come_back_after_a_new_driver():
    """A new driver gives other engine keys: as if none of the files were there."""
    with tiny_node(observe="0") as node:
        node.wait_active(node.push(2))
        node.stop()
        folder = node.path("var/lib/picket/engines")
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        node.start()
        node.wait_rung("tiny", "engine", 30)

        def both(_status):
            done = [e for e in node.events() if e["name"] == "build-done"]
            return sum(e["fields"]["kind"] == "tuned" for e in done) == 2

        node.wait_for(both, 20, "the engine of the model before")
        after = node.last_event_id()
        node.model_verb("rollback", "tiny")
        node.wait_active(node.first)
        check("build-started" not in node.event_names(after), "the way back needs a build")


def damaged_store_heals_from_the_registry():
    with tiny_node() as node:
        node.stop()
        record = node.record()
        blobs = node.path("var/lib/picket/blobs/sha256")
        with open(os.path.join(blobs, record["active"]["digest"][7:]), encoding="utf-8") as f:
            layer = json.load(f)["layers"][0]["digest"][7:]
        path = os.path.join(blobs, layer)
        os.chmod(path, 0o600)
        with open(path, "r+b") as f:
            f.seek(100)
            f.write(b"rot")
        node.start()
        node.wait_rung("tiny", "engine", 30)
        check(node.active() == node.first, "another one is active")


sys.exit(
    story.run(
        tag_move_swaps_without_a_lost_frame,
        bad_models_are_rejected_and_the_old_one_serves,
        worse_in_production_is_rolled_back,
        operators_pin_wait_and_go_back,
        only_signed_and_newer_models_are_taken,
        a_lost_record_lets_no_older_model_in,
        keys_sign_what_their_rules_allow,
        older_models_are_kept,
        follows_a_registry_over_tls,
        damaged_store_heals_from_the_registry,
        engines_of_both_models_come_back_after_a_new_driver,
        swaps_leave_memory_flat,
        many_good_and_bad_swaps,
        every_crash_point_recovers,
        random_kills_recover,
    )
)
