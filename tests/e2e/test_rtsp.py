#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An RTSP camera on loopback: served, lost, found again."""

import os
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import check, picket  # noqa: E402

CONFIG = """runtime: {{chain: [cpu]}}
models:
  parts:
    artifact: oci:{registry}:stable
cameras:
  yard:
    source: {{kind: rtsp, uri: "rtsp://127.0.0.1:{port}/cam", latency: 50ms}}
    model: parts
    sinks: [results]
    stall: 2s
sinks:
  results: {{kind: jsonl, path: {out}/results.jsonl}}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """The camera's process."""

    def __init__(self, port: int):
        self.child = subprocess.Popen(
            [os.path.join(story.BUILD, "tests/lib/rtsp_server"), str(port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        check(self.child.stdout.readline() == b"ready\n", "the RTSP server did not start")

    def kill(self):
        self.child.kill()
        self.child.wait()


def state_is(*states: str):
    return lambda status: status["cameras"][0]["state"] in states


def rtsp_camera_is_served_lost_and_found_again():
    with tempfile.TemporaryDirectory(prefix="picket-rtsp-") as folder:
        port = free_port()
        node = picket.Node(folder, story.BUILD)
        story.demo_bundle(node)
        node.write_config(
            CONFIG.format(registry=node.path("registry"), out=node.path("out"), port=port)
        )
        server = Server(port)
        node.start()
        try:
            node.wait_rung("parts", "engine")
            node.wait_for(lambda _s: len(node.results()) > 20, 20, "results of the RTSP camera")
            line = node.results()[-1]
            check((line["width"], line["height"]) == (320, 240), f"picture {line}")
            server.kill()
            node.wait_for(state_is("retrying"), 10, "the camera to be missed")
            check(node.status()["cameras"][0]["cause"], "lost without a cause")
            server = Server(port)
            seen = len(node.results())
            node.wait_for(lambda _s: len(node.results()) > seen + 10, 30, "results again")
            node.wait_for(lambda s: s["cameras"][0]["restarts"] >= 1, 10, "a counted restart")
        finally:
            node.stop()
            server.kill()


sys.exit(story.run(rtsp_camera_is_served_lost_and_found_again))
