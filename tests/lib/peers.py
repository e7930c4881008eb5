# SPDX-License-Identifier: Apache-2.0
"""Cameras on loopback that tests start, disturb and end."""

import os
import signal
import socket
import subprocess

import story
from story import check


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Rtsp:
    """tests/lib/rtsp_server.c: a process of its own, so that it can be killed and stopped."""

    def __init__(self, port: int | None = None, size: tuple[int, int, int] = (320, 240, 15)):
        self.port, self.size, self.child = port or free_port(), size, None
        self.start()

    def start(self):
        self.child = subprocess.Popen(
            [os.path.join(story.BUILD, "tests/lib/rtsp_server"), str(self.port)]
            + [str(v) for v in self.size],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        check(self.child.stdout.readline() == "ready\n", "the RTSP server did not start")

    def uri(self, mount: str = "cam") -> str:
        return f"rtsp://127.0.0.1:{self.port}/{mount}"

    def tell(self, command: str):
        self.child.stdin.write(command + "\n")
        self.child.stdin.flush()
        check(self.child.stdout.readline() == "ok\n", f"the RTSP server did not take `{command}`")

    def stop(self):
        self.child.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.child.send_signal(signal.SIGCONT)

    def kill(self):
        if self.child:
            self.child.kill()
            self.child.wait()
            self.child.stdin.close()
            self.child.stdout.close()
            self.child = None
