#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Records read back from a real journald, in a mount namespace of their own; catalog texts."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import check  # noqa: E402

JOURNALD = "/lib/systemd/systemd-journald"
SECRET = "hunter-2-%s"

SETUP = r"""
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/journald.conf.d /run/systemd/journal
for folder in /sys/fs/cgroup/*; do umount -l "$folder" 2>/dev/null || true; done
umount -l /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
[ -s /etc/machine-id ] || { mount -t tmpfs tmpfs /mnt; echo 0123456789abcdef0123456789abcdef \
	>/mnt/id; mount --bind /mnt/id /etc/machine-id; }
printf '[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=no\nRateLimitBurst=0\n' \
	>/run/systemd/journald.conf.d/test.conf
mkdir -p /var/lib/systemd/catalog
mount -t tmpfs tmpfs /var/lib/systemd/catalog
mount -t tmpfs tmpfs /usr/lib/systemd/catalog
cp "$1" /usr/lib/systemd/catalog/picket.catalog
journalctl --update-catalog
"""


def journal(*args: str) -> str:
    done = subprocess.run(
        ["journalctl", "-D", "/run/log/journal", "--no-pager", *args],
        capture_output=True,
        text=True,
        timeout=30,
    )
    check(done.returncode == 0, f"journalctl: {done.stderr}")
    return done.stdout


def records(*args: str) -> list[dict]:
    subprocess.run(["journalctl", "--sync"], check=True, timeout=30)
    return [json.loads(line) for line in journal("-o", "json", *args).splitlines()]


def message_ids() -> dict:
    """Names and MESSAGE_IDs as the sources have them."""
    with open(os.path.join(story.TOP, "daemon/event_list.h"), encoding="utf-8") as f:
        return dict(re.findall(r'PK_EVENT\(\w+,\s*"([a-z-]+)",\s*"([0-9a-f]{32})"', f.read()))


class with_journald:
    """journald runs; picketd's stderr is connected to it, as systemd would do it."""

    def __enter__(self):
        self.child = subprocess.Popen([JOURNALD], stdin=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while not os.path.exists("/run/systemd/journal/stdout"):
            check(time.monotonic() < end, "journald does not start")
            time.sleep(0.02)
        return self

    def __exit__(self, *error):
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(10)


class JournalNode(story.picket.Node):
    """A node whose picketd has the journal as its stderr, as systemd gives it."""

    def start(self, *args: str):
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.connect("/run/systemd/journal/stdout")
        stream.sendall(b"picketd\n\n6\n1\n0\n0\n0\n")
        st = os.fstat(stream.fileno())
        with stream:
            self.child = subprocess.Popen(
                [os.path.join(self.build, "daemon/picketd"), "--root", self.root, *args],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
                env={**os.environ, "JOURNAL_STREAM": f"{st.st_dev}:{st.st_ino}"},
            )


def inside():
    with with_journald():
        node = JournalNode("/run/node", story.BUILD)
        story.demo_bundle(node)
        os.makedirs(node.path("out"), exist_ok=True)
        text = story.config(node, "belt-a")
        secret = f"  locked:\n    source: {{kind: rtsp, uri: 'rtsp://u:{SECRET}@127.0.0.1:9/x'}}\n"
        secret += "    model: parts\n"
        node.write_config(text.replace("sinks:\n  results", secret + "sinks:\n  results"))
        node.start()
        try:
            node.wait_rung("parts", "engine")
            time.sleep(5)  # two turns of telemetry.interval
            check_events(node)
            check_figures()
            check_catalog()
            check_secrets(node)
            check_logs(node)
        finally:
            node.stop()


def check_events(node):
    ids = message_ids()
    for name in ("started", "worker-started", "artifact-ready", "build-started", "build-done"):
        found = records(f"MESSAGE_ID={ids[name]}")
        check(found, f"no record of {name}")
        check(found[0]["SYSLOG_IDENTIFIER"] == "picketd", f"{found[0]}")
    rung = records(f"MESSAGE_ID={ids['rung']}", "PICKET_MODEL=parts")[-1]
    check(rung["PICKET_RUNG"] == "engine" and rung["PRIORITY"] == "5", f"{rung}")
    in_ring = {e["name"] for e in node.events()}
    check("rung" in in_ring, f"ring: {in_ring}")
    print("ok - journal_has_every_event_with_its_fields", flush=True)


def check_figures():
    ids = message_ids()
    camera = records(f"MESSAGE_ID={ids['camera-figures']}", "PICKET_CAMERA=belt-a")[-1]
    check(float(camera["PICKET_FPS"]) > 5, f"{camera}")
    check(int(camera["PICKET_CAPTURED"]) > 10, f"{camera}")
    model = records(f"MESSAGE_ID={ids['model-figures']}", "PICKET_MODEL=parts")[-1]
    check(model["PICKET_DIGEST"].startswith("sha256:"), f"{model}")
    node = records(f"MESSAGE_ID={ids['node-figures']}")[-1]
    check(int(node["PICKET_MEMORY_AVAILABLE_BYTES"]) > 1 << 20, f"{node}")
    check("cameras running" in node["PICKET_STATUS"], f"{node}")
    print("ok - journal_has_records_of_camera_model_and_node", flush=True)


def check_catalog():
    ids = message_ids()
    text = journal("-x", "-n", "1", f"MESSAGE_ID={ids['build-done']}")
    check("Subject: Picket: build-done" in text, text)
    check("passed its gate" in text and "Defined-By: Picket" in text, text)
    listed = subprocess.run(["journalctl", "--list-catalog"], capture_output=True, text=True)
    missing = [name for name in ids.values() if name not in listed.stdout]
    check(not missing, f"not in the catalog: {missing}")
    print("ok - catalog_explains_every_event", flush=True)


def check_secrets(node):
    everything = journal("-o", "export")
    check("rtsp" in everything, "the camera with the password was not even tried")
    check(SECRET not in everything, "the password stands in the journal")
    check(SECRET.replace("%", "%25") not in everything, "the password stands in it, encoded")
    ring = json.dumps(node.events())
    check(SECRET not in ring and SECRET.replace("%", "%25") not in ring, "in the ring")
    print("ok - secrets_are_in_neither_journal_nor_ring", flush=True)


def check_logs(node):
    done = node.ctl("logs", "-n", "20", "--directory", "/run/log/journal")
    check(done.returncode == 0 and "picketd" in done.stdout, done.stdout + done.stderr)
    print("ok - picketctl_logs_shows_them", flush=True)


def main() -> int:
    if sys.argv[1:] == ["--inside"]:
        inside()
        return 0
    lacking = [t for t in ("unshare", "journalctl") if not shutil.which(t)]
    if lacking or not os.path.exists(JOURNALD) or os.geteuid() != 0:
        print(f"skip - test_journal: needs root, journald and {lacking or 'nothing else'}")
        return 77
    story.demo_clip()
    catalog = os.path.join(story.TOP, "systemd/picket.catalog")
    command = f'{SETUP}\nexec "$2" "$3" --inside'
    return subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", command, "sh", catalog]
        + ["/usr/bin/python3", os.path.abspath(__file__)],
        timeout=240,
    ).returncode


sys.exit(main())
