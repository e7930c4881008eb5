#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The product's story on real processes: fallback, crashes, engines, reload, stop."""

import glob
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import check, demo_node  # noqa: E402


def results_since(node, index: int) -> list[dict]:
    return node.results()[index:]


def wait_results(
    node, index: int, n: int, timeout: float = 10, rung: str | None = None
) -> list[dict]:
    """At least n results after the first index ones, on a rung if one is named."""

    def arrived(_status):
        lines = [r for r in results_since(node, index) if rung in (None, r["rung"])]
        return lines if len(lines) >= n else None

    return node.wait_for(arrived, timeout, f"{n} results")


def engine_files(node) -> list[str]:
    return glob.glob(node.path("var/lib/picket/engines/*.engine"))


def built_events(node) -> list[dict]:
    return [e for e in node.events() if e["name"] == "build-done"]


def tuned_build(node) -> dict:
    """The fields of the last build of a tuned engine."""
    tuned = [e["fields"] for e in built_events(node) if e["fields"]["kind"] == "tuned"]
    check(tuned, "no event of a tuned build")
    return tuned[-1]


def serves_from_a_tuned_engine():
    with demo_node() as node:
        model = node.wait_rung("parts", "engine")
        check(model["runtime"] == "cpu" and model["cause"] == "", f"model {model}")
        lines = wait_results(node, 0, 5, rung="engine")
        check(lines[-1]["model"]["digest"].startswith("sha256:"), "result without model digest")
        check(
            any(r["detections"] for r in wait_results(node, 0, 30, rung="engine")),
            "no detections on the conveyor",
        )
        check(int(tuned_build(node)["measured"]) > 0, "the first build measured nothing")


def killed_worker_is_back_within_3_s():
    with demo_node() as node:
        node.wait_rung("parts", "engine")
        wait_results(node, 0, 3)
        status, before = node.status(), node.last_event_id()
        seen = len(node.results())
        os.kill(status["worker"]["pid"], signal.SIGKILL)
        killed = time.monotonic()
        wait_results(node, seen, 5, timeout=3.5, rung="engine")
        took = time.monotonic() - killed
        check(took <= 3, f"results after {took:.2f} s")
        story.keep_figures(worker_kill_to_results_s=round(took, 3))
        event = node.wait_event("SIGKILL", after=before)
        check("worker" in event["message"], f"event {event}")
        check(node.status()["worker"]["restarts"] == 1, "restart is not counted")


def removed_engine_is_rebuilt_from_the_timing_cache():
    with demo_node() as node:
        node.wait_rung("parts", "engine")
        first = tuned_build(node)
        check(node.stop() == 0, "picketd did not stop cleanly")
        for path in engine_files(node):
            os.unlink(path)
        node.start()
        node.wait_rung("parts", "engine")
        second = tuned_build(node)
        check(int(second["measured"]) == 0, f"measured again: {second}")
        check(int(second["cache_hits"]) > 0, f"no cache hits: {second}")
        story.keep_figures(
            build_cold_ms=int(first["elapsed_ms"]), build_warm_ms=int(second["elapsed_ms"])
        )


def kept_engine_is_not_rebuilt():
    with demo_node() as node:
        node.wait_rung("parts", "engine")
        node.stop()
        node.start()
        node.wait_rung("parts", "engine")
        check(not built_events(node), "a kept engine was built again")


def corrupt_engine_is_rebuilt_with_the_reason():
    with demo_node() as node:
        node.wait_rung("parts", "engine")
        node.stop()
        for path in engine_files(node):
            with open(path, "r+b") as f:
                f.seek(-100, os.SEEK_END)
                byte = f.read(1)
                f.seek(-100, os.SEEK_END)
                f.write(bytes([byte[0] ^ 0xFF]))
        node.start()
        node.wait_event("corrupt", timeout=20)
        node.wait_rung("parts", "engine")
        check(int(tuned_build(node)["measured"]) == 0, "the timing cache was not used")


def unparsable_model_passes_frames_through():
    with demo_node(start=False) as node:
        garbage = node.path("garbage.onnx")
        with open(garbage, "wb") as f:
            f.write(b"this is no model" * 100)
        story.demo_bundle(node, garbage)
        node.start()
        model = node.wait_rung("parts", "passthrough", timeout=30)
        node.wait_for(lambda s: any(a["model"] == "parts" for a in s["alarms"]), 20, "alarm")
        lines = wait_results(node, 0, 10, rung="passthrough")
        check(lines[-1]["cause"], "passthrough without a cause")
        model = next(m for m in node.status()["models"] if m["name"] == "parts")
        check(
            "offset" in model["cause"] or "onnx" in model["cause"].lower(),
            f"cause names no reason: {model['cause']}",
        )
        seen = len(node.results())
        wait_results(node, seen, 10, rung="passthrough")
        story.demo_bundle(node)  # the tag moves to a good model
        check(node.ctl("reload").returncode == 0, "reload failed")
        node.wait_rung("parts", "engine")
        check(not node.status()["alarms"], "the alarm stays on")


MISTAKES = """telemetry: {interval: 30}
models:
  parts:
    artefact: oci:registry:stable
cameras:
  belt-a:
    source: {kind: fiel, uri: a.mp4}
    model: part
    sinks: [results]
sinks:
  results: {kind: jsonl, path: out.jsonl, rotate: many}
"""


def five_mistakes_give_five_located_errors():
    with demo_node(start=False) as node:
        node.write_config(MISTAKES)
        done = node.ctl("config", "check", node.config_path)
        lines = done.stderr.strip().splitlines()
        located = [line for line in lines if line.startswith(f"{node.config_path}:")]
        check(done.returncode == 2, f"exit {done.returncode}")
        check(len(located) >= 5, f"{len(located)} located errors: {done.stderr}")
        for word in ("interval", "artefact", "fiel", "part", "rotate"):
            check(any(word in line for line in located), f"nothing about {word}: {done.stderr}")
        node.start()
        check(node.child.wait(10) == 2, "picketd did not refuse the config with 2")


def bad_reload_keeps_the_old_config():
    with demo_node() as node:
        node.wait_rung("parts", "engine")
        pid = node.status()["worker"]["pid"]
        node.write_config(MISTAKES)
        done = node.ctl("reload")
        check(done.returncode != 0 and "artefact" in done.stdout + done.stderr, done.stderr)
        node.child.send_signal(signal.SIGHUP)
        seen = len(node.results())
        wait_results(node, seen, 10, rung="engine")
        check(node.status()["worker"]["pid"] == pid, "the worker was restarted")


def reload_restarts_only_changed_cameras():
    with demo_node("belt-a", "belt-b") as node:
        node.wait_rung("parts", "engine")
        node.wait_for(
            lambda s: len([c for c in s["cameras"] if c["inferred"] > 20]) == 2, 30, "both cameras"
        )
        before = {c["name"]: c["captured"] for c in node.status()["cameras"]}
        changed = story.config(node, "belt-a", "belt-b", "belt-c").replace(
            "  belt-b:\n", "  belt-b:\n    max_rate: 5/s\n"
        )
        node.write_config(changed)
        check(node.ctl("reload").returncode == 0, "reload failed")
        node.wait_for(
            lambda s: {c["name"] for c in s["cameras"]} == {"belt-a", "belt-b", "belt-c"},
            10,
            "the third camera",
        )
        after = {c["name"]: c["captured"] for c in node.status()["cameras"]}
        check(after["belt-a"] >= before["belt-a"], "belt-a was restarted")
        node.write_config(story.config(node, "belt-a"))
        node.child.send_signal(signal.SIGHUP)
        node.wait_for(lambda s: {c["name"] for c in s["cameras"]} == {"belt-a"}, 10, "one camera")
        check(node.status()["cameras"][0]["captured"] >= after["belt-a"], "belt-a was restarted")


def stops_within_two_seconds():
    with demo_node() as node:
        node.wait_rung("parts", "engine")
        worker = node.status()["worker"]["pid"]
        started = time.monotonic()
        code = node.stop()
        took = time.monotonic() - started
        check(code == 0 and took <= 2, f"exit {code} after {took:.2f} s")
        check(not os.path.exists(f"/proc/{worker}"), "the worker was left behind")
        story.keep_figures(stop_s=round(took, 3))


def command_line_answers():
    with demo_node() as node:
        node.wait_rung("parts", "engine")
        wait_results(node, 0, 20)
        for verb in ("status", "cameras", "models", "events"):
            plain, json_form = node.ctl(verb), node.ctl(verb, "--json")
            check(plain.returncode == 0 and plain.stdout.strip(), f"{verb}: {plain.stderr}")
            check("\x1b[" not in plain.stdout, f"{verb}: colours without a terminal")
            check(json_form.returncode == 0 and json_form.stdout.startswith("{"), f"{verb} --json")
        node.stop()
        done = node.ctl("status")
        check(done.returncode == 1 and "picketd" in done.stderr, f"without daemon: {done.stderr}")


sys.exit(
    story.run(
        serves_from_a_tuned_engine,
        killed_worker_is_back_within_3_s,
        removed_engine_is_rebuilt_from_the_timing_cache,
        kept_engine_is_not_rebuilt,
        corrupt_engine_is_rebuilt_with_the_reason,
        unparsable_model_passes_frames_through,
        five_mistakes_give_five_located_errors,
        bad_reload_keeps_the_old_config,
        reload_restarts_only_changed_cameras,
        stops_within_two_seconds,
        command_line_answers,
    )
)
