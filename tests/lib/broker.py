# SPDX-License-Identifier: Apache-2.0
"""A real mosquitto on loopback, its subscribers, and certificates made for a test."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time

import story

PLAIN = """listener {port} 127.0.0.1
allow_anonymous true
persistence true
persistence_location {folder}/
max_queued_messages 0
max_inflight_messages 0
"""
SECURE = """listener {port} 127.0.0.1
allow_anonymous false
password_file {folder}/passwords
cafile {folder}/ca.pem
certfile {folder}/broker.pem
keyfile {folder}/broker.key
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def need_broker():
    for program in ("mosquitto", "mosquitto_sub"):
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
            raise story.Skip(f"no {program}; run scripts/setup test")


class Broker:
    """Starts and stops as often as wanted; same port, same folder."""

    def __init__(self, folder: str, config: str = PLAIN):
        self.folder = os.path.join(folder, "broker")
        os.makedirs(self.folder, exist_ok=True)
        self.port = free_port()
        self.child: subprocess.Popen | None = None
        self.config = os.path.join(self.folder, "mosquitto.conf")
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(config.format(port=self.port, folder=self.folder))
            if os.geteuid() == 0:
                f.write("user root\n")  # else it becomes a user who may not look in here

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.child = subprocess.Popen(
                [shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin"), "-v"]
                + ["-c", self.config],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        end = time.monotonic() + 10
        while time.monotonic() < end:
            story.check(self.child.poll() is None, f"mosquitto ended: {self.log()}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("mosquitto does not listen")

    def signal(self, number: int):
        self.child.send_signal(number)

    def stop(self):
        if self.child:
            self.child.send_signal(signal.SIGCONT)
            self.child.terminate()
            self.child.wait(10)
            self.child = None

    def forget(self):
        """As a broker with a new disk: no sessions, no retained messages."""
        for name in os.listdir(self.folder):
            if name.endswith(".db"):
                os.remove(os.path.join(self.folder, name))

    def log(self, n: int = 20) -> str:
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as f:
            return "".join(f.readlines()[-n:])

    def wait_log(self, text: str, seconds: float = 10):
        end = time.monotonic() + seconds
        while text not in self.log(10000):
            story.check(time.monotonic() < end, f"mosquitto never says `{text}`: {self.log()}")
            time.sleep(0.02)


class Subscriber:
    """mosquitto_sub with a session that the broker keeps: it misses nothing, and reconnects."""

    def __init__(self, broker: Broker, name: str, *topics: str, qos: int = 1, extra=()):
        self.out = os.path.join(broker.folder, f"{name}.out")
        command = ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(broker.port), "-q", str(qos)]
        command += ["-i", name, "-c", "-F", "%t\t%r\t%p", *extra]
        for topic in topics:
            command += ["-t", topic]
        with open(self.out, "ab") as out:
            self.child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL
            )

    def messages(self) -> list[tuple[str, bool, dict | None]]:
        """(topic, retained, payload) of all whole lines so far."""
        found = []
        with open(self.out, encoding="utf-8") as f:
            for line in f:
                if line.endswith("\n"):
                    topic, retained, payload = line[:-1].split("\t", 2)
                    found.append((topic, retained == "1", json.loads(payload or "null")))
        return found

    def stop(self):
        self.child.kill()
        self.child.wait()


def retained(broker: Broker, topic: str, seconds: int = 1) -> dict[str, dict]:
    """What the broker has kept, by topic."""
    done = subprocess.run(
        ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(broker.port), "-t", topic]
        + ["-W", str(seconds), "--retained-only", "-F", "%t\t%p"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
    )
    lines = [line.split("\t", 1) for line in done.stdout.splitlines()]
    return {topic: json.loads(payload) for topic, payload in lines}


def openssl(folder: str, *args: str):
    subprocess.run(
        ["openssl", *args],
        cwd=folder,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def make_certificates(folder: str):
    """ca.pem signs broker.pem for 127.0.0.1; other.pem is the authority of somebody else."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    for name in ("ca", "other"):
        openssl(folder, "req", "-x509", *curve, "-subj", f"/CN=test {name}", "-days", "2",
                "-keyout", f"{name}.key", "-out", f"{name}.pem")  # fmt: skip
    openssl(folder, "req", *curve, "-subj", "/CN=broker", "-keyout", "broker.key",
            "-out", "broker.csr")  # fmt: skip
    with open(os.path.join(folder, "ext"), "w", encoding="utf-8") as f:
        f.write("subjectAltName=IP:127.0.0.1\n")
    openssl(folder, "x509", "-req", "-in", "broker.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", "ext", "-out", "broker.pem")  # fmt: skip
