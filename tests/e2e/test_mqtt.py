#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The mqtt sink against a real broker that is absent, restarted, frozen, strict; and its will."""

import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import broker as mqtt  # noqa: E402
import story  # noqa: E402
from story import check, picket  # noqa: E402

# No artifact: results in passthrough, one a picture, without any engine in the way.
CONFIG = """node: {{name: post-7}}
models:
  none: {{artifact: "oci:{root}/nowhere:stable"}}
cameras:
  gate:
    source: {{kind: test, width: 64, height: 48, rate: 50/s}}
    model: none
    sinks: [all, mq, exact, small]
sinks:
  all: {{kind: jsonl, path: {root}/out/results.jsonl, rotate: 0}}
  mq: {{kind: mqtt, host: 127.0.0.1, port: {port}, keepalive: 5s, retry_max: 1s}}
  exact: {{kind: mqtt, host: 127.0.0.1, port: {port}, qos: 2, prefix: exact, keepalive: 5s,
          retry_max: 1s}}
  small: {{kind: mqtt, host: 127.0.0.1, port: {port}, prefix: small/one, spool: 64KiB,
          retry_max: 1s}}
"""
STRICT = """node: {{name: post-7}}
models:
  none: {{artifact: "oci:{root}/nowhere:stable"}}
cameras:
  gate:
    source: {{kind: test, width: 64, height: 48, rate: 10/s}}
    model: none
    sinks: [good, foreign, stranger, plain]
sinks:
  good: {{kind: mqtt, host: 127.0.0.1, port: {port}, ca: {broker}/ca.pem, user: node,
         password_file: {broker}/right, retry_max: 1s}}
  foreign: {{kind: mqtt, host: 127.0.0.1, port: {port}, ca: {broker}/other.pem, user: node,
            password_file: {broker}/right, retry_max: 1s}}
  stranger: {{kind: mqtt, host: 127.0.0.1, port: {port}, ca: {broker}/ca.pem, user: node,
             password_file: {broker}/wrong, retry_max: 1s}}
  plain: {{kind: mqtt, host: 127.0.0.1, port: {port}, retry_max: 1s}}
"""


def sink(status: dict, name: str) -> dict:
    return next(s for s in status["sinks"] if s["name"] == name)


def sink_is(name: str, state: str):
    return lambda status: sink(status, name)["state"] == state and sink(status, name)


def frames(subscriber: mqtt.Subscriber, prefix: str) -> list[int]:
    topic = f"{prefix}/post-7/cameras/gate/results"
    return [m["frame"] for t, _r, m in subscriber.messages() if t == topic]


def first_times(numbers: list[int]) -> list[int]:
    """Without repetitions, which QoS 1 allows."""
    return list(dict.fromkeys(numbers))


def check_whole(scene: "Scene", numbers: list[int], what: str):
    """What arrived is what the file has, from its first on: nothing lost, nothing out of order."""
    check(numbers, f"{what}: nothing arrived")
    wrong = []
    for _ in range(20):  # the file may be a moment behind
        truth = [r["frame"] for r in scene.node.results()]
        start = truth.index(numbers[0])
        want = truth[start : start + len(numbers)]
        wrong = [(a, b) for a, b in zip(numbers, want) if a != b]
        if wrong or len(want) == len(numbers):
            break
        time.sleep(0.1)
    check(not wrong and len(want) == len(numbers), f"{what}: got and wanted {wrong[:5]}")


class Scene:
    """A node with three mqtt sinks and a broker that is not there yet."""

    def __enter__(self):
        mqtt.need_broker()
        self.folder = tempfile.TemporaryDirectory(prefix="picket-mqtt-")
        self.broker = mqtt.Broker(self.folder.name)
        self.node = picket.Node(os.path.join(self.folder.name, "node"), story.BUILD)
        self.node.write_config(CONFIG.format(root=self.node.root, port=self.broker.port))
        self.subscribers = []
        self.broker.start()  # for the sessions, so that nothing can come before them
        self.mq = self.subscribe("sub-mq", "picket/#")
        self.exact = self.subscribe("sub-exact", "exact/#", qos=2)
        self.small = self.subscribe("sub-small", "small/one/#")
        for name in ("sub-mq", "sub-exact", "sub-small"):
            self.broker.wait_log(f"Sending SUBACK to {name}")
        self.broker.stop()
        return self

    def subscribe(self, name: str, *topics: str, qos: int = 1) -> mqtt.Subscriber:
        self.subscribers.append(mqtt.Subscriber(self.broker, name, *topics, qos=qos))
        return self.subscribers[-1]

    def wait_frame(self, number: int, seconds: float = 20):
        """Until frame `number` came through the two sinks that lose nothing."""
        for subscriber, prefix in ((self.mq, "picket"), (self.exact, "exact")):
            self.node.wait_for(
                lambda _s: number in frames(subscriber, prefix)[-4000:], seconds,
                f"frame {number} on {prefix}",
            )  # fmt: skip

    def last_frame(self) -> int:
        return self.node.results()[-1]["frame"]

    def __exit__(self, *error):
        try:
            self.node.stop()
        finally:
            for subscriber in self.subscribers:
                subscriber.stop()
            self.broker.stop()
            self.folder.cleanup()


def check_camera_undisturbed(scene: Scene, seconds: float, since: int):
    """A dead broker costs no picture: the file has all of them, at the camera's rate."""
    got = scene.last_frame() - since
    check(got >= 0.8 * 50 * seconds, f"{got} pictures in {seconds:.1f} s")
    frames_in_file = [r["frame"] for r in scene.node.results()]
    missing = frames_in_file[-1] + 1 - len(frames_in_file)
    check(missing <= 0.05 * len(frames_in_file), f"{missing} pictures were not inferred")


def absent_restarted_and_frozen_broker():
    with Scene() as scene:
        node = scene.node
        started = time.monotonic()
        node.start()
        absent_at_start(scene)
        restarted(scene)
        frozen(scene)
        status = node.status()
        row = {s["name"]: s for s in status["cameras"][0]["sinks"]}
        check(row["mq"]["dropped"] == 0 and row["exact"]["dropped"] == 0, f"drops {row}")
        check_camera_undisturbed(scene, time.monotonic() - started - 2, 0)
        last_will(scene)


def absent_at_start(scene: Scene):
    """Nobody there for 6 s: what fits waits, the oldest of the rest is dropped and counted."""
    node = scene.node
    failing = node.wait_for(sink_is("mq", "failing"), 10, "the sink to miss its broker")
    check("refused" in failing["cause"], f"cause {failing['cause']}")
    check(node.wait_event("sink mq: cannot deliver")["name"] == "sink-failing", "event")
    full = node.wait_for(
        lambda s: sink(s, "small")["dropped"] > 100 and sink(s, "small"), 20, "a full spool"
    )
    check(0.97 * 65536 < full["waiting_bytes"] <= 65536, f"held: {full}")
    scene.broker.start()
    node.wait_for(sink_is("mq", "ok"), 10, "the sink to find its broker")
    node.wait_event("sink mq: delivers again")
    scene.wait_frame(scene.last_frame())
    mq, small = frames(scene.mq, "picket"), first_times(frames(scene.small, "small/one"))
    check(mq[0] <= 1, f"the first picture kept is {mq[0]}")
    check_whole(scene, first_times(mq), "QoS 1, absent at start")
    check_whole(scene, small, "full spool")
    lost = mq.index(small[0])
    node.wait_for(
        lambda _s: sink(_s, "small")["dropped"] == lost, 3,
        f"{lost} drops to be counted, not more and not less",
    )  # fmt: skip


def restarted(scene: Scene):
    scene.broker.stop()
    scene.node.wait_for(sink_is("mq", "failing"), 10, "the stop to be noticed")
    time.sleep(1)
    scene.broker.start()
    began = time.monotonic()
    scene.node.wait_for(sink_is("exact", "ok"), 10, "the restart to be noticed")
    story.keep_figures(mqtt_back_after_restart_s=round(time.monotonic() - began, 2))
    scene.wait_frame(scene.last_frame())
    check_whole(scene, first_times(frames(scene.mq, "picket")), "QoS 1 over a restart")
    check_whole(scene, first_times(frames(scene.exact, "exact")), "QoS 2 over a restart")


def frozen(scene: Scene):
    """The broker's process stands still, its connections stay up."""
    scene.broker.signal(signal.SIGSTOP)
    stopped, since = time.monotonic(), scene.last_frame()
    failing = scene.node.wait_for(sink_is("mq", "failing"), 12, "the half-open connection")
    noticed = time.monotonic() - stopped
    check("confirmed" in failing["cause"], f"cause {failing['cause']}")
    check(noticed < 8, f"half-open noticed after {noticed:.1f} s with keepalive 5 s")
    check_camera_undisturbed(scene, noticed, since)
    scene.broker.signal(signal.SIGCONT)
    scene.node.wait_for(sink_is("mq", "ok"), 15, "the broker after it stood still")
    scene.node.wait_for(sink_is("exact", "ok"), 15, "the broker after it stood still")
    scene.wait_frame(scene.last_frame())
    check_whole(scene, first_times(frames(scene.mq, "picket")), "QoS 1 over a half-open connection")
    check_whole(
        scene, first_times(frames(scene.exact, "exact")), "QoS 2 over a half-open connection"
    )
    story.keep_figures(mqtt_half_open_noticed_s=round(noticed, 2))


def worker_pid(scene: Scene) -> int:
    return scene.node.status()["worker"]["pid"]


def last_will(scene: Scene):
    """States are kept by the broker, said again to a new one; a killed worker is reported."""
    status_topic, state_topic = "picket/post-7/status", "picket/post-7/cameras/gate/state"
    scene.broker.stop()
    scene.broker.forget()
    scene.broker.start()
    scene.node.wait_for(sink_is("mq", "ok"), 10, "the broker with a new disk")
    time.sleep(0.3)
    kept = mqtt.retained(scene.broker, "picket/#")
    check(kept[status_topic]["online"] is True, f"status {kept}")
    state = kept[state_topic]
    check(state["state"] == "running" and state["rung"] == "passthrough", f"state {state}")
    check(state["rung_cause"] and state["model"]["name"] == "none", f"state {state}")
    watcher = scene.subscribe("sub-will", status_topic)
    time.sleep(0.5)
    os.kill(worker_pid(scene), signal.SIGKILL)
    seen = scene.node.wait_for(
        lambda _s: [m["online"] for _t, _r, m in watcher.messages()][-2:] == [False, True]
        and watcher.messages(), 15, "the will, and the next worker's status",
    )  # fmt: skip
    before, lost, after = (m for _t, _r, m in seen[-3:])
    check(lost["session"] == before["session"] != after["session"], f"sessions {seen}")
    check(lost["reason"] == "connection lost", f"will {lost}")
    scene.node.stop()
    time.sleep(0.5)
    check(watcher.messages()[-1][2].get("reason") == "stopped", f"end {watcher.messages()}")


def tls_and_passwords():
    mqtt.need_broker()
    with tempfile.TemporaryDirectory(prefix="picket-mqtts-") as folder:
        broker = mqtt.Broker(folder, mqtt.SECURE)
        mqtt.make_certificates(broker.folder)
        for name, secret in (("right", "correct horse\n"), ("wrong", "battery\n")):
            with open(os.path.join(broker.folder, name), "w", encoding="utf-8") as f:
                f.write(secret)
        subprocess.run(
            ["mosquitto_passwd", "-b", "-c", os.path.join(broker.folder, "passwords")]
            + ["node", "correct horse"],
            check=True,
            stdin=subprocess.DEVNULL,
        )
        node = picket.Node(os.path.join(folder, "node"), story.BUILD)
        node.write_config(STRICT.format(root=node.root, port=broker.port, broker=broker.folder))
        broker.start()
        extra = ["--cafile", os.path.join(broker.folder, "ca.pem"), "-u", "node"]
        extra += ["-P", "correct horse"]
        subscriber = mqtt.Subscriber(broker, "sub", "picket/+/cameras/+/results", extra=extra)
        node.start()
        try:
            node.wait_for(lambda _s: len(subscriber.messages()) > 10, 15, "results over TLS")
            foreign = node.wait_for(sink_is("foreign", "failing"), 10, "a wrong CA")
            check("certificate verify failed" in foreign["cause"], f"cause {foreign}")
            stranger = node.wait_for(sink_is("stranger", "failing"), 10, "a wrong password")
            check("not authorised" in stranger["cause"], f"cause {stranger}")
            node.wait_for(sink_is("plain", "failing"), 10, "no TLS at all")
            time.sleep(3)
            check(sink(node.status(), "good")["state"] == "ok", "the right one")
            tries = broker_refusals(broker)
            check(1 <= tries <= 2, f"{tries} tries with a wrong password in 4 s")
            check("correct horse" not in node.log_tail(10000), "the password is in the log")
        finally:
            node.stop()
            subscriber.stop()
            broker.stop()


def broker_refusals(broker: mqtt.Broker) -> int:
    with open(os.path.join(broker.folder, "log"), encoding="utf-8", errors="replace") as f:
        return sum("not authorised" in line or "CONNACK" in line and "(0, 5)" in line for line in f)


sys.exit(story.run(absent_restarted_and_frozen_broker, tls_and_passwords))
