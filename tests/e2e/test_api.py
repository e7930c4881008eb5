#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The control API against its own description, /metrics against promtool, and who may ask."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import Skip, check, demo_node  # noqa: E402

TYPES = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
}


def description() -> dict:
    tool = os.path.join(story.BUILD, "daemon/picket-gen-ops")
    return json.loads(subprocess.check_output([tool, "openapi-json"], timeout=30))


def mistakes(value, schema: dict, schemas: dict, where: str) -> list[str]:
    """Where value is not what the schema says; members that it does not name are mistakes too."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rsplit("/", 1)[1]]
    if "oneOf" in schema:
        tried = [mistakes(value, s, schemas, where) for s in schema["oneOf"]]
        return [] if [] in tried else tried[0]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(TYPES[k](value) for k in kinds):
        return [f"{where}: {value!r} is no {kinds}"]
    found = []
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += mistakes(item, schema.get("items", {}), schemas, f"{where}[{i}]")
    if isinstance(value, dict) and "properties" in schema:
        names = set(schema["properties"])
        found += [f"{where}: no {n}" for n in set(schema["required"]) - set(value)]
        found += [f"{where}: {n} is not described" for n in set(value) - names]
        for name in names & set(value):
            found += mistakes(value[name], schema["properties"][name], schemas, f"{where}.{name}")
    return found


def live_path(path: str) -> str:
    return path.replace("{name}", "parts" if "/models/" in path else "belt-a")


def answers_are_as_described():
    api = description()
    schemas = api["components"]["schemas"]
    n_checked = 0
    with demo_node() as node:
        node.wait_rung("parts", "engine")
        for path, methods in api["paths"].items():
            for method, operation in methods.items():
                content = operation["responses"]["200"]["content"]
                if "application/json" not in content:
                    continue
                status, answer = node.request(method.upper(), live_path(path))
                schema = content["application/json"]["schema"]
                if status != 200:
                    schema = {"$ref": "#/components/schemas/error"}
                found = mistakes(answer, schema, schemas, f"{method} {path} ({status})")
                check(not found, "; ".join(found[:5]))
                check(method == "post" or status == 200, f"{method} {path}: {status} {answer}")
                n_checked += 1
        config = open(node.config_path, "rb").read()
        _, answer = node.request("POST", "/v1/config?plan=1", config + b"health: {shed: false}\n")
        found = mistakes(answer, {"$ref": "#/components/schemas/applied"}, schemas, "plan")
        check(not found and answer["ok"], f"{found} {answer}")
        for path in api["paths"]:
            status, answer = node.request("DELETE", live_path(path))
            check(status == 405, f"DELETE {path}: {status}")
        for path in ("/", "/v1", "/v1/cameras/none", "/v2/status", "/v1/models/none"):
            status, answer = node.request("GET", path)
            check(status == 404 and "error" in answer, f"GET {path}: {status}")
    check(n_checked >= 9, f"only {n_checked} answers")


def raw(node, text: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        s.connect(node.path("run/picket/control.sock"))
        s.sendall(text)
        got = b""
        try:
            while chunk := s.recv(65536):
                got += chunk
        except (socket.timeout, ConnectionResetError):
            pass
        return got


def metrics_of(node, accept: str | None = None) -> tuple[str, str]:
    connection = story.picket.UnixConnection(node.path("run/picket/control.sock"))
    connection.request("GET", "/metrics", headers={"Accept": accept} if accept else {})
    answer = connection.getresponse()
    return answer.getheader("Content-Type"), answer.read().decode()


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def metrics_are_taken_by_promtool():
    if not shutil.which("promtool"):
        raise Skip("promtool is not installed")
    port = free_port()
    with demo_node(start=False) as node:
        with open(node.config_path, encoding="utf-8") as f:
            text = f.read()
        node.write_config(
            text.replace("telemetry: {", f"telemetry: {{metrics: '127.0.0.1:{port}', ")
        )
        node.start()
        node.wait_rung("parts", "engine")
        time.sleep(1.5)
        kind, text = metrics_of(node)
        check(kind.startswith("text/plain; version=0.0.4"), kind)
        done = subprocess.run(
            ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=30
        )
        check(done.returncode == 0 and not done.stderr, done.stdout + done.stderr)
        for line in (
            'picket_model_rung{model="parts",state="engine"} 1',
            'picket_camera_state{camera="belt-a",model="parts",state="running"} 1',
            "picket_worker_up 1",
        ):
            check(line in text, f"no {line}")
        captured = re.search(r"picket_camera_captured_frames_total{[^}]*} (\d+)", text)
        check(captured and int(captured.group(1)) > 0, "nothing captured")
        kind, text = metrics_of(node, "application/openmetrics-text;version=1.0.0")
        check(kind.startswith("application/openmetrics-text"), kind)
        check(text.endswith("# EOF\n") and "# TYPE picket_events counter" in text, text[-200:])
        check_port(port)


def check_port(port: int):
    for method, path, wanted in (
        ("GET", "/metrics", 200),
        ("POST", "/metrics", 405),
        ("GET", "/v1/status", 404),
        ("POST", "/v1/reload", 404),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read().decode()
        check(answer.status == wanted, f"{method} {path}: {answer.status}")
        check(wanted != 200 or "picket_uptime_seconds" in body, body[:200])
        connection.close()


def bodies_are_bounded_and_nonsense_is_survived():
    with demo_node() as node:
        node.wait_for(lambda s: s, 10, "an answer")
        status, _ = node.request("POST", "/v1/reload", b"x" * 65536)
        check(status == 200, f"64 KiB: {status}")
        big = raw(node, b"POST /v1/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n")
        check(b" 413 " in big.split(b"\r\n")[0], f"{big[:100]}")
        for text in (
            b"\x00\xff" * 1000,
            b"GET " + b"/a" * 60000 + b" HTTP/1.1\r\n\r\n",
            b"GET /v1/status HTTP/9.9\r\n\r\n",
            b"GET /v1/cameras/%00%ff HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            b"POST /v1/reload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ):
            raw(node, text)
        check(node.status(), "picketd does not answer any more")


def fifty_clients_and_followers_that_resume():
    with demo_node() as node:
        node.wait_rung("parts", "engine")
        failures = []

        def ask():
            for _ in range(5):
                try:
                    node.get("/v1/status")
                except Exception as error:  # noqa: BLE001 - whatever it is
                    failures.append(str(error))

        threads = [threading.Thread(target=ask) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(not failures, f"{len(failures)} failed: {failures[:3]}")
        last = node.last_event_id()
        follow = subprocess.Popen(
            [os.path.join(node.build, "cli/picketctl"), "--root", node.root]
            + ["events", "--follow", "--json", "--after", str(last)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            node.ctl("reload")
            event = json.loads(follow.stdout.readline())
            check(event["name"] == "config-applied" and event["id"] > last, f"{event}")
        finally:
            follow.terminate()
            follow.wait(5)


def strangers_are_refused():
    if os.geteuid() != 0:
        raise Skip("needs root to become somebody else")
    with demo_node() as node:
        node.wait_for(lambda s: s, 10, "an answer")
        for path in (node.root, node.path("run"), node.path("run/picket")):
            os.chmod(path, 0o755)
        sock = node.path("run/picket/control.sock")
        check(os.stat(sock).st_mode & 0o777 == 0o660, "mode of the socket")
        os.chmod(sock, 0o666)  # somebody has loosened it
        script = (
            "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
            "s.sendall(b'GET /v1/status HTTP/1.0\\r\\n\\r\\n'); print(s.recv(100).split()[1])"
        )
        command = ["/usr/bin/python3", "-c", script, sock]
        nobody = subprocess.run(
            command, capture_output=True, text=True, user=65534, group=65534, extra_groups=[]
        )
        check("403" in nobody.stdout, nobody.stdout + nobody.stderr)
        member = subprocess.run(
            command,
            capture_output=True,
            text=True,
            user=65534,
            group=65534,
            extra_groups=[os.stat(sock).st_gid],
        )
        check("200" in member.stdout, member.stdout + member.stderr)


def picketd_links_neither_media_nor_accelerators():
    program = os.path.join(story.BUILD, "daemon/picketd")
    linked = subprocess.check_output(["ldd", program], text=True)
    found = re.findall(r"lib(?:gst|glib|gobject|cuda|cudnn|nvrtc|seccomp)[^ ]*", linked)
    check(not found, f"picketd links {found}")


def every_signal_ends_it_cleanly_or_not_at_all():
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        with demo_node() as node:
            pid = node.wait_for(lambda s: s["worker"]["up"] and s["worker"]["pid"], 20, "worker")
            for harmless in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE):
                node.child.send_signal(harmless)
            check(node.get("/v1/status"), "a harmless signal ended it")
            start = time.monotonic()
            node.child.send_signal(number)
            check(node.child.wait(5) == 0, f"{number.name}: exit code {node.child.returncode}")
            check(time.monotonic() - start < 3, f"{number.name} took too long")
            check(not os.path.exists(f"/proc/{pid}"), "the worker is left")
            check(not os.path.exists(node.path("run/picket/control.sock")), "the socket is left")


def systemd_hears_a_reload():
    address = f"\0picket-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hears:
        hears.bind(address)
        hears.settimeout(20)
        with demo_node(start=False) as node:
            node.start(
                env={"NOTIFY_SOCKET": address.replace("\0", "@"), "WATCHDOG_USEC": "2000000"}
            )
            said = [hears.recv(4096).decode()]
            while not any("READY=1" in text for text in said):
                said.append(hears.recv(4096).decode())
            node.child.send_signal(signal.SIGHUP)
            while not any("RELOADING=1" in text for text in said):
                said.append(hears.recv(4096).decode())
            usec = int(re.search(r"MONOTONIC_USEC=(\d+)", said[-1]).group(1))
            check(abs(usec / 1e6 - time.monotonic()) < 5, said[-1])
            reloaded = len(said)
            while not any("READY=1" in text for text in said[reloaded:]):
                said.append(hears.recv(4096).decode())
            while not any("WATCHDOG=1" in text for text in said):
                said.append(hears.recv(4096).decode())


def top_and_help_answer():
    with demo_node() as node:
        node.wait_rung("parts", "engine")
        done = node.ctl("top", "--once")
        check(done.returncode == 0 and "belt-a" in done.stdout, done.stdout + done.stderr)
        check("CAMERA" in done.stdout and "builder" in done.stdout, done.stdout)
        done = node.ctl("top", "--once", "--json")
        check(json.loads(done.stdout)["cameras"], done.stdout)
        done = node.ctl("top", "--interval", "x")
        check(done.returncode == 2, f"{done.returncode}")


def doctor_says_what_is_wrong():
    with demo_node() as node:
        done = node.ctl("doctor", "--json")
        check(done.returncode in (0, 1), done.stderr)
        node.wait_rung("parts", "engine")
        node.wait_for(lambda s: s["cameras"][0]["state"] == "running", 10, "a camera")
        done = node.ctl("doctor", "--after-upgrade", "--json")
        rows = {r["check"]: r for r in json.loads(done.stdout)["checks"]}
        check(done.returncode == 0, f"{[r for r in rows.values() if r['verdict'] == 'bad']}")
        check(rows["engine of parts"]["text"].startswith("stays"), f"{rows['engine of parts']}")
        cuda = rows["runtime cuda"]  # the demo's chain is cpu alone
        check(cuda["verdict"] in ("ok", "skipped") and not cuda["remedy"], f"{cuda}")
        sandbox = rows["builder's sandbox"]
        check(sandbox["verdict"] == "ok", f"{sandbox}")
        engine = node.status()["models"][0]["engine"]["path"]
        with open(engine, "r+b") as f:  # of another format version, as after an upgrade
            f.seek(8)
            f.write(b"\xff\xff")
        done = node.ctl("doctor", "--after-upgrade")
        check("will be built anew (" in done.stdout, done.stdout)
    with demo_node(start=False) as node:
        done = node.ctl("doctor")
        check(done.returncode == 1 and "systemctl start picketd" in done.stdout, done.stdout)


def support_bundle_holds_no_secret():
    secret = "hunter-2-%s"
    with demo_node(start=False) as node:
        with open(node.config_path, encoding="utf-8") as f:
            text = f.read()
        locked = f"  locked:\n    source: {{kind: rtsp, uri: 'rtsp://me:{secret}@127.0.0.1:9/x'}}\n"
        node.write_config(
            text.replace("sinks:\n  results", locked + "    model: parts\nsinks:\n  results")
        )
        node.start()
        node.wait_event("camera locked: retrying", 20)
        path = node.path("bundle.tar")
        done = node.ctl("support-bundle", path)
        check(done.returncode == 0, done.stderr)
        check(os.stat(path).st_mode & 0o077 == 0, "others may read it")
        with tarfile.open(path) as tar:
            texts = {m.name: tar.extractfile(m).read().decode() for m in tar.getmembers()}
        for name in ("status.json", "events.json", "doctor.json", "picket.yaml", "version.txt"):
            check(texts.get(f"picket/{name}"), f"no {name}")
        found = [n for n, t in texts.items() if "hunter" in t or "//me" in t]
        check(not found, f"the password is in {found}")
        check("rtsp://***@127.0.0.1" in texts["picket/picket.yaml"], texts["picket/picket.yaml"])
        check(node.ctl("support-bundle", path).returncode == 1, "overwrites a file")


sys.exit(
    story.run(
        answers_are_as_described,
        metrics_are_taken_by_promtool,
        bodies_are_bounded_and_nonsense_is_survived,
        fifty_clients_and_followers_that_resume,
        strangers_are_refused,
        picketd_links_neither_media_nor_accelerators,
        every_signal_ends_it_cleanly_or_not_at_all,
        systemd_hears_a_reload,
        top_and_help_answer,
        doctor_says_what_is_wrong,
        support_bundle_holds_no_secret,
    )
)
