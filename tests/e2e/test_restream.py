#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The restream sink read by real clients while models come and go, and the worker is killed."""

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from broker import free_port  # noqa: E402
from story import check, picket  # noqa: E402

CAMERA = """  {name}:
    source: {source}
    model: {model}
    sinks: [results, video]
"""
CONFIG = """runtime: {{chain: [cpu]}}
build: {{opt_level: 0}}
models:
  broken: {{artifact: "oci:{registry}:nothing"}}
  parts: {{artifact: "oci:{registry}:stable"}}
cameras:
{cameras}sinks:
  results: {{kind: jsonl, path: {out}/results.jsonl, rotate: 0}}
  video: {{kind: restream, port: {port}{more}}}
"""


def need_clients():
    if not shutil.which("ffmpeg"):
        raise story.Skip("no ffmpeg; run scripts/setup test")


class Camera:
    """An RTSP camera: H.264, a key frame each second."""

    def __init__(self):
        self.port = free_port()
        self.child = subprocess.Popen(
            [os.path.join(story.BUILD, "tests/lib/rtsp_server"), str(self.port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        check(self.child.stdout.readline() == b"ready\n", "the RTSP server did not start")
        self.url = f"rtsp://127.0.0.1:{self.port}/cam"

    def stop(self):
        self.child.kill()
        self.child.wait()


class Client:
    """ffmpeg that copies a stream: when each packet came, and its checksum."""

    def __init__(self, url: str):
        self.packets: list[tuple[float, str]] = []
        self.child = subprocess.Popen(
            ["ffmpeg", "-v", "error", "-rtsp_transport", "tcp", "-fflags", "nobuffer"]
            + ["-analyzeduration", "200000", "-i", url, "-c", "copy", "-flush_packets", "1"]
            + ["-f", "framecrc", "-"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.child.stdout:
            if line[0] != "#":
                self.packets.append((time.monotonic(), line.split()[-1]))

    def wait(self, n: int, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.child.poll() is None and len(self.packets) < n:
            time.sleep(0.02)
        return len(self.packets) >= n

    def longest_gap(self) -> float:
        times = [t for t, _crc in self.packets]
        return max(b - a for a, b in zip(times, times[1:]))

    def sums(self) -> list[str]:
        return [crc for _t, crc in self.packets]

    def running(self) -> bool:
        return self.child.poll() is None

    def stop(self) -> str:
        self.child.kill()
        error = self.child.stderr.read()
        self.child.wait()
        self.thread.join(5)
        return error


class Scene:
    """A node that serves one camera under rtsp://127.0.0.1:PORT/yard."""

    def __init__(self, source: str, more: str = "", artifact: bool = True, env=None):
        self.source, self.more, self.artifact, self.env = source, more, artifact, env

    def __enter__(self):
        need_clients()
        self.folder = tempfile.TemporaryDirectory(prefix="picket-restream-")
        self.node = picket.Node(self.folder.name, story.BUILD)
        self.port = free_port()
        self.url = f"rtsp://127.0.0.1:{self.port}/yard"
        self.clients: list[Client] = []
        if self.artifact:
            story.demo_bundle(self.node)
        self.configure("parts")
        self.node.start(env=self.env)
        return self

    def configure(self, model: str):
        self.node.write_config(
            CONFIG.format(
                registry=self.node.path("registry"),
                out=self.node.path("out"),
                port=self.port,
                more=self.more.format(root=self.node.root),
                cameras=CAMERA.format(name="yard", source=self.source, model=model),
            )
        )

    def reload(self, model: str):
        self.configure(model)
        status, answer = self.node.request("POST", "/v1/reload")
        check(status == 200, f"reload: {answer}")

    def client(self, url: str | None = None) -> Client:
        self.clients.append(Client(url or self.url))
        return self.clients[-1]

    def wait_served(self):
        """The first client that gets pictures."""
        end = time.monotonic() + 15
        while time.monotonic() < end:
            client = self.client()
            if client.wait(5, 5):
                return client
            client.stop()
        raise AssertionError(f"nothing to see at {self.url}\n{self.node.log_tail()}")

    def sink(self) -> dict:
        return next(s for s in self.node.status()["sinks"] if s["name"] == "video")

    def wait_passthrough(self, n: int):
        self.node.wait_for(
            lambda _s: [r["rung"] for r in self.node.results()[-n:]] == ["passthrough"] * n,
            10,
            "results in passthrough",
        )

    def __exit__(self, *error):
        for client in self.clients:
            client.stop()
        try:
            self.node.stop()
            if not any(error):
                check("CRITICAL" not in self.node.log_tail(10000), self.node.log_tail(10000))
        finally:
            self.folder.cleanup()


def the_stream_outlives_models_and_comes_back_after_a_crash():
    camera = Camera()
    try:
        source = f'{{kind: rtsp, uri: "{camera.url}", latency: 50ms}}'
        with Scene(source) as scene:
            client = scene.wait_served()
            rungs_change(scene, client)
            same_bytes(scene, client, camera)
            client.stop()
            killed_worker(scene)
    finally:
        camera.stop()


def rungs_change(scene: Scene, client: Client):
    """One client, connected throughout: passthrough, engine, another engine, a model that fails."""
    node = scene.node
    node.wait_rung("parts", "engine")
    before = node.last_event_id()
    check(node.request("POST", "/v1/models/parts/rebuild")[0] == 200, "rebuild")
    node.wait_event("first result on rung engine", 120, before)
    scene.reload("broken")
    scene.wait_passthrough(20)
    check(node.results()[-1]["cause"], "results in passthrough without a cause")
    scene.reload("parts")
    node.wait_for(lambda _s: node.results()[-1]["rung"] == "engine", 10, "the engine again")
    n = len(client.packets)
    check(client.wait(n + 15, 5) and client.running(), "the client was cut off")
    rungs = {r["rung"] for r in node.results()}
    check({"passthrough", "engine"} <= rungs, f"rungs {rungs}")
    check({r["source_run"] for r in node.results()} == {0}, "the camera was started again")
    gap = client.longest_gap()
    story.keep_figures(restream_longest_gap_over_rungs_s=round(gap, 2))
    check(gap < 1.5, f"{gap:.2f} s without a picture")


def same_bytes(scene: Scene, client: Client, camera: Camera):
    """Not transcoded: apart from key frames, which carry their parameter sets, byte by byte."""
    direct = scene.client(camera.url)
    check(direct.wait(45, 15), "the camera itself")
    n = len(client.packets)
    check(client.wait(n + 15, 5), "the stream")
    ours, theirs = set(client.sums()), direct.sums()[15:45]
    same = sum(crc in ours for crc in theirs)
    check(same >= 27, f"{same} of {len(theirs)} pictures are the camera's own")


def described(port: int, path: str) -> bool:
    """Would a client be let in?"""
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as client:
            url = f"rtsp://127.0.0.1:{port}/{path}"
            client.sendall(f"DESCRIBE {url} RTSP/1.0\r\nCSeq: 1\r\n\r\n".encode())
            return b"200 OK" in client.recv(4096)
    except OSError:
        return False


def first_picture(url: str, until: float) -> float | None:
    """When a GStreamer client that starts now has decoded a picture; None: it was turned away."""
    source = f"rtspsrc location={url} protocols=tcp latency=0"
    tail = "rtph264depay ! h264parse ! avdec_h264 max-threads=1 ! fdsink fd=1 sync=false"
    child = subprocess.Popen(
        ["gst-launch-1.0", "-q", *f"{source} ! {tail}".split()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        ready = select.select([child.stdout], [], [], max(0.0, until - time.monotonic()))[0]
        return time.monotonic() if ready and child.stdout.read(1) else None
    finally:
        child.kill()
        child.wait()


def killed_worker(scene: Scene):
    """A killed worker: the next client sees pictures within 3 s."""
    os.kill(scene.node.status()["worker"]["pid"], signal.SIGKILL)
    killed = time.monotonic()
    back = None
    while back is None and time.monotonic() - killed < 10:
        if not described(scene.port, "yard"):
            time.sleep(0.05)
            continue
        back = first_picture(scene.url, killed + 10)
    check(back is not None, f"no picture any more\n{scene.node.log_tail()}")
    back -= killed
    story.keep_figures(restream_back_after_kill_s=round(back, 2))
    check(back < 3, f"back after {back:.2f} s")


class Sloth:
    """A client that asks for the stream over TCP and then never reads."""

    def __init__(self, port: int, path: str):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        url = f"rtsp://127.0.0.1:{port}/{path}"
        described = self.ask(f"DESCRIBE {url} RTSP/1.0", "Accept: application/sdp")
        control = re.findall(r"a=control:(\S+)", described)[-1]
        track = control if "://" in control else f"{url}/{control}"
        answer = self.ask(
            f"SETUP {track} RTSP/1.0", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"
        )
        session = re.search(r"Session: ([^;\s]+)", answer).group(1)
        self.ask(f"PLAY {url} RTSP/1.0", f"Session: {session}")

    def ask(self, *lines: str) -> str:
        self.n = getattr(self, "n", 0) + 1
        text = "\r\n".join([lines[0], f"CSeq: {self.n}", *lines[1:], "", ""])
        self.socket.sendall(text.encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(4096)
        text = answer.split(b"\r\n\r\n")[0].decode(errors="replace")
        length = re.search(r"Content-Length: (\d+)", text)
        while length and len(answer) < len(text) + 4 + int(length.group(1)):
            answer += self.socket.recv(4096)
        check("200 OK" in text, f"{lines[0]}: {text}")
        return answer.decode(errors="replace")


CLIP_1080 = os.path.join(story.TOP, "build/restream-1080p30.mp4")


def clip_1080() -> str:
    """10 s of 1080p30 H.264, made once: noise enough for about 8 Mbit/s."""
    if not os.path.isfile(CLIP_1080):
        part = CLIP_1080 + ".part"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i"]
            + ["testsrc2=size=1920x1080:rate=30:duration=10,noise=alls=4:allf=t"]
            + ["-c:v", "libx264", "-preset", "ultrafast", "-b:v", "8M", "-maxrate", "8M"]
            + ["-bufsize", "8M", "-g", "30", "-pix_fmt", "yuv420p", "-f", "mp4", part],
            check=True,
            stdin=subprocess.DEVNULL,
        )
        os.rename(part, CLIP_1080)
    return CLIP_1080


def thread_ticks(pid: int) -> dict[str, int]:
    """CPU time of each thread, in clock ticks."""
    ticks = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/stat", encoding="utf-8") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except FileNotFoundError:
            continue
        ticks[task] = int(fields[11]) + int(fields[12])
    return ticks


def slow_clients_cost_nothing_and_fast_ones_little():
    """1080p30: who never reads is not waited for; who reads costs < 2 % of a core."""
    with Scene(f"{{kind: file, uri: {clip_1080()}, loop: true}}", artifact=False) as scene:
        first = scene.wait_served()
        first.stop()
        scene.node.wait_for(lambda _s: scene.sink()["readers"] == 0, 10, "the client to leave")
        pid = scene.node.status()["worker"]["pid"]
        camera_threads = set(thread_ticks(pid))
        client = scene.wait_served()
        seconds = 5
        time.sleep(1)
        began, before = time.monotonic(), thread_ticks(pid)
        n = len(client.packets)
        time.sleep(seconds)
        after, took = thread_ticks(pid), time.monotonic() - began
        rate = (len(client.packets) - n) / took
        check(rate > 25, f"the client gets {rate:.1f} pictures a second")
        spent = sum(
            t - before.get(task, 0) for task, t in after.items() if task not in camera_threads
        )
        cost = spent / os.sysconf("SC_CLK_TCK") / took
        story.keep_figures(restream_cpu_percent_1080p30=round(100 * cost, 2))
        check(cost < 0.02, f"pass-through costs {100 * cost:.2f} % of a core")
        sloth_is_not_waited_for(scene, client)


def sloth_is_not_waited_for(scene: Scene, client: Client):
    sloth = Sloth(scene.port, "yard")
    scene.node.wait_for(
        lambda _s: scene.sink()["dropped"] > 10, 20, "pictures to be dropped for it"
    )
    since, n, at = scene.node.results()[-1]["frame"], len(client.packets), time.monotonic()
    time.sleep(2)
    took = time.monotonic() - at
    results = (scene.node.results()[-1]["frame"] - since) / took
    packets = (len(client.packets) - n) / took
    check(results > 25, f"the camera has {results:.1f} pictures a second beside a slow client")
    check(packets > 25, f"another client has {packets:.1f} a second")
    sloth.socket.close()


def passwords_and_limits():
    more = ", user: guard, password_file: {root}/secret, max_clients: 2"
    with Scene(f"{{kind: file, uri: {story.demo_clip()}, loop: true}}", more, False) as scene:
        failing = scene.node.wait_for(
            lambda _s: scene.sink()["state"] == "failing" and scene.sink(), 10, "no password file"
        )
        check("secret" in failing["cause"], f"cause {failing}")
        with open(scene.node.path("secret"), "w", encoding="utf-8") as f:
            f.write("open sesame\n")
        scene.node.wait_for(lambda _s: scene.sink()["state"] == "ok", 10, "the password file")
        stranger = scene.client()
        stranger.child.wait(15)
        check("401" in stranger.stop(), "no password, yet no 401")
        known = scene.url.replace("//", "//guard:open%20sesame@")
        clients = []
        for _ in range(2):
            clients.append(scene.client(known))
            check(clients[-1].wait(5, 15), f"with the password: {clients[-1].running()}")
        third = scene.client(known)
        third.child.wait(15)
        third.stop()
        check(not third.packets, "a third client where two are allowed")
        check(all(c.running() for c in clients), "the others were cut off")
        scene.node.wait_for(
            lambda _s: (scene.sink()["readers"], scene.sink()["readers_dropped"]) == (2, 1),
            5,
            "the two to be counted, and the one too many",
        )
        check("sesame" not in scene.node.log_tail(10000), "the password is in the log")


def picture(url: str) -> bytes:
    """One decoded picture as packed RGB."""
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-rtsp_transport", "tcp", "-i", url, "-frames:v", "1"]
        + ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )
    check(done.returncode == 0, f"{url}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def corner(rgb: bytes) -> int:
    """The first pixels' brightness: a caption is drawn there on a dark bar."""
    return sum(rgb[: 3 * 4]) // 12


def raw_pictures_are_encoded_and_boxes_drawn():
    source = "{kind: test, pattern: white, width: 321, height: 240, rate: 15/s}"
    with Scene(source, ", encode: true, overlay: true", False) as scene:
        scene.node.wait_for(lambda s: s["cameras"][0]["state"] == "running", 10, "the camera")
        plain, marked = picture(scene.url), picture(scene.url + "/overlay")
        check(len(plain) == len(marked) == 320 * 240 * 3, f"{len(plain)} and {len(marked)} bytes")
        check(corner(plain) > 200, f"white is {corner(plain)}")
        check(corner(marked) < 100, f"no caption: {corner(marked)}")


def without_an_encoder_there_is_a_reason():
    """GStreamer without the plug-ins that encode H.264: a message, and streams still pass."""
    need_clients()
    with tempfile.TemporaryDirectory(prefix="picket-plugins-") as folder:
        for name in plugins():
            if not re.search("x264|openh264", name):
                os.symlink(name, os.path.join(folder, os.path.basename(name)))
        env = {"GST_PLUGIN_SYSTEM_PATH_1_0": folder, "GST_REGISTRY_1_0": f"{folder}/registry"}
        source = f"{{kind: file, uri: {story.demo_clip()}, loop: true}}"
        with Scene(source, ", overlay: true", False, env) as scene:
            sink = scene.node.wait_for(
                lambda _s: scene.sink()["state"] == "failing" and scene.sink(), 20, "a complaint"
            )
            check("no H.264 encoder is installed" in sink["cause"], f"cause {sink}")
            scene.wait_served()


def plugins() -> list[str]:
    found = subprocess.run(
        ["gst-inspect-1.0", "x264enc"], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    match = re.search(r"Filename\s+(\S+)", found.stdout)
    if not match:
        raise story.Skip("no x264enc here to be hidden")
    folder = os.path.dirname(match.group(1))
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".so")]


sys.exit(
    story.run(
        the_stream_outlives_models_and_comes_back_after_a_crash,
        slow_clients_cost_nothing_and_fast_ones_little,
        passwords_and_limits,
        raw_pictures_are_encoded_and_boxes_drawn,
        without_an_encoder_there_is_a_reason,
    )
)
