#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pulling from registries that lie, stall and break: each fault has its own, stated outcome."""

import base64
import concurrent.futures
import email.utils
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

import fault_server as fs
from fault_server import Site, answer, redirect
from servers import PICKETCTL, Authority, pull, run
import story
from story import check

MODEL = bytes(range(256)) * 1200  # 300 KiB: more than one chunk of the client
DIGEST = fs.digest_of(MODEL)
BLOB = f"GET /v2/m/y/blobs/{DIGEST}"
TAG = "GET /v2/m/y/manifests/v1"
FAST = ["--retry-min", "20ms", "--retries", "2", "--stall", "1s", "--connect-timeout", "1s"]
PROBE = os.path.join(story.BUILD, "tests/lib/registry_probe")
USER = ["--user", "u", "--password-file"]  # and the file


class World:
    """What all tests share: a folder, an authority, TLS contexts."""

    def __init__(self, folder: str):
        self.folder = folder
        self.ca = Authority(folder)
        self.tls = self.context()
        self.password = os.path.join(folder, "password")
        with open(self.password, "w", encoding="utf-8") as f:
            f.write("secret-word\n")

    def context(self, authority=None, names="DNS:localhost,IP:127.0.0.1", days="2"):
        n = len(os.listdir(self.folder))
        cert = (authority or self.ca).issue(f"site-{n}", names, days)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*cert)
        return context

    def new_root(self) -> str:
        return tempfile.mkdtemp(dir=self.folder)

    def user(self):
        return USER + [self.password]


W: World = None  # made by main


def site(name="127.0.0.1", tls=True) -> Site:
    """A site that serves the artifact m/y:v1."""
    s = Site(W.tls if tls else None, name)
    s.digest = s.add_artifact("m/y", "v1", MODEL)
    return s


def get(s: Site, *args, ref: str | None = None, root: str | None = None, timeout=30):
    """(exit code, JSON, stderr) of a pull with little patience."""
    ref = ref or f"{s.host}/m/y:v1"
    return pull(ref, root or W.new_root(), "--ca", W.ca.cert, *FAST, *args, timeout=timeout)


def fine(s: Site, *args, **more) -> dict:
    code, out, err = get(s, *args, **more)
    check(code == 0, f"{code}: {err}")
    check(out["onnx_digest"] == DIGEST, f"another model: {out}")
    return out


def refused(s: Site, wanted: str, text: str = "", *args, **more) -> dict:
    code, out, err = get(s, *args, **more)
    check(code != 0 and out.get("code") == wanted, f"wanted {wanted}: {code} {out} {err}")
    check(text in out["error"], f"wanted `{text}` in: {out['error']}")
    return out


def basic(s: Site):
    """Every request without the right password is refused."""
    word = base64.b64encode(b"u:secret-word").decode()

    def fault(request, reply):
        if request.headers.get("authorization") == f"Basic {word}":
            return False
        return reply.send(401, [("WWW-Authenticate", 'Basic realm="test"')])

    s.fault("v2/", fault, times=10**6)


def no_secret(pattern: str, *texts):
    for text in texts:
        check(pattern not in json.dumps(text), f"{pattern} was told: {text}")


# Redirects


def test_redirect_to_another_host_loses_the_password():
    with site() as s, Site(W.tls, "localhost") as other:
        basic(s)
        other.pages["/x"] = ([], MODEL)
        s.fault(BLOB, redirect(f"{other.url}/x?X-Signature=hush-hush"))
        code, out, err = get(s, *W.user())
        check(code == 0, err)
        check(len(other.requests) == 1, "not followed")
        check("authorization" not in other.requests[0].headers, "the password went along")
        no_secret("hush-hush", out, err)
        no_secret("secret-word", out, err)


def test_redirect_to_another_port_loses_the_password():
    with site() as s, Site(W.tls) as other:
        basic(s)
        other.pages["/x"] = ([], MODEL)
        s.fault(BLOB, redirect(f"{other.url}/x"))
        fine(s, *W.user())
        check("authorization" not in other.requests[0].headers, "the password went along")


def test_redirect_at_the_same_host_keeps_the_password():
    with site() as s:
        basic(s)
        s.fault(BLOB, redirect(f"/v2/m/y/blobs/{DIGEST}?again"))
        fine(s, *W.user())
        check("authorization" in s.seen("again")[0].headers, "the password is missing")


def test_five_redirects_are_followed_six_are_not():
    with site() as s:
        for n, fate in ((5, "0"), (6, "EPROTO")):
            s.clear()
            for i in range(n):
                s.fault(f"GET /hop{i} " if i else BLOB + "$", redirect(f"/hop{i + 1}"), 99)
            for i in range(1, n):
                s.fault(f"GET /hop{i}$", redirect(f"/hop{i + 1}"), 99)
            s.fault(f"GET /hop{n}$", answer(200, body=MODEL), 99)
            code, out, err = get(s)
            check(out.get("code", "0") == fate, f"{n} hops: {code} {out} {err}")


def test_redirect_loop():
    with site() as s:
        s.fault(BLOB, redirect(f"/v2/m/y/blobs/{DIGEST}"), 99)
        refused(s, "EPROTO", "more than 5 redirects")
        check(len(s.seen(BLOB)) == 6, f"{len(s.seen(BLOB))} requests")


def test_redirect_to_http_is_refused():
    with site() as s, Site(None, "localhost") as plain:
        s.fault(BLOB, redirect(f"{plain.url}/x?sig=hush-hush"))
        out = refused(s, "EPROTO", "http on localhost")
        no_secret("hush-hush", out)
        check(not plain.requests, "it was asked")


def test_redirect_to_a_file_is_refused():
    with site() as s:
        s.fault(BLOB, redirect("file:///etc/passwd"))
        refused(s, "EPROTO", "not plain http or https")


def test_redirect_to_link_local_is_refused():
    with site() as s:
        s.fault(BLOB, redirect("https://169.254.169.254/latest/meta-data"))
        refused(s, "EPROTO", "link-local")


def test_redirect_with_user_and_password_is_refused():
    with site() as s:
        s.fault(BLOB, redirect(f"https://a:b@localhost:{s.port}/x"))
        refused(s, "EPROTO", "not plain http or https")


def test_range_is_kept_on_a_hop():
    with site() as s, Site(W.tls, "localhost") as other:
        other.blobs = s.blobs
        other.fault("GET /x", lambda q, r: other.serve_bytes(q, r, MODEL), 9)
        s.fault(BLOB, fs.truncate(100_000))
        s.fault(BLOB, redirect(f"{other.url}/x"), 9)
        fine(s)
        check(other.requests[0].headers.get("range") == "bytes=100000-", "the range was lost")


def test_signed_address_expires_on_the_way():
    with site() as s, Site(W.tls, "localhost") as other:
        other.blobs = s.blobs
        s.fault(BLOB, redirect(f"{other.url}/{DIGEST}?sig=1"), 9)
        other.fault("sig=1", fs.truncate(100_000))
        other.fault("sig=1", answer(403, body=b"expired"))
        other.fault("sig=1", lambda q, r: other.serve_bytes(q, r, MODEL), 9)
        fine(s)
        check(len(s.seen(BLOB)) == 3, "the registry was not asked for a new address")
        check(other.requests[-1].headers.get("range") == "bytes=100000-", "started afresh")


# Bodies that are cut


def resumed(fault, have: int):
    with site() as s:
        s.fault(BLOB, fault)
        fine(s)
        ranges = [r.headers.get("range") for r in s.seen(BLOB)]
        check(len(ranges) == 2, f"{ranges}")
        check(ranges[1] == (f"bytes={have}-" if have else None), f"{ranges}")


def test_truncated_body_is_continued():
    resumed(fs.truncate(100_001), 100_001)


def test_close_without_length_is_continued():
    def fault(_request, reply):
        reply.head(200)
        reply.raw(MODEL[:123_456])

    resumed(fault, 123_456)


def test_reset_is_continued():
    resumed(fs.then_reset(fs.truncate(0)), 0)
    with site() as s:
        s.fault(BLOB, fs.then_reset(fs.truncate(150_000)))
        fine(s)
        check(len(s.seen(BLOB)) == 2, "not tried again")


def test_no_answer_is_tried_again():
    resumed(fs.close_at_once, 0)


def test_each_attempt_may_bring_a_little():
    """Progress counts: more cuts than retries are fine as long as bytes come."""
    with site() as s:
        for i in range(8):
            s.fault(BLOB, fs.truncate(20_000))
        out = fine(s)
        check(out["retries"] == 8, f"{out['retries']} retries")


def test_no_progress_ends_and_keeps_what_came():
    root = W.new_root()
    with site() as s:
        s.fault(BLOB, fs.truncate(200_000))
        s.fault(BLOB, fs.close_at_once, 9)
        out = refused(s, "ECONNRESET", root=root)
        check(out["transient"], "not told as transient")
        s.faults = []
        out = fine(s, root=root)
        check(out["resumed_bytes"] == 200_000, f"resumed {out['resumed_bytes']}")


# Ranges


def partial(s: Site, n: int = 200_000) -> str:
    """A root whose store holds the first n bytes."""
    root = W.new_root()
    s.fault(BLOB, fs.truncate(n))
    s.fault(BLOB, answer(404))
    refused(s, "ENOENT", root=root)
    s.clear()
    return root


def test_ignored_range_starts_afresh():
    with site() as s:
        root = partial(s)
        s.fault(BLOB, fs.ignore_range)
        fine(s, root=root)
        check(s.seen(BLOB)[0].headers.get("range") == "bytes=200000-", "no range was asked for")


def test_wrong_content_range_is_refused():
    for value in ("bytes 0-307199/307200", "bytes 200000-307199/307201", "bytes 5", "lines 1-2/3"):
        with site() as s:
            root = partial(s)
            s.fault(BLOB, answer(206, ("Content-Range", value), body=MODEL[200_000:]), 9)
            refused(s, "EPROTO", "another range", root=root)
            s.faults = []
            fine(s, root=root)  # nothing wrong was kept


def test_multipart_ranges_are_refused():
    with site() as s:
        root = partial(s)
        kind = ("Content-Type", "multipart/byteranges; boundary=x")
        s.fault(BLOB, answer(206, kind, body=b"--x"), 9)
        refused(s, "EPROTO", "several ranges", root=root)


def test_206_without_being_asked_is_refused():
    with site() as s:
        where = ("Content-Range", f"bytes 0-{len(MODEL) - 1}/{len(MODEL)}")
        s.fault(BLOB, answer(206, where, body=MODEL), 9)
        refused(s, "EPROTO", "206")


def test_416_with_an_odd_length_starts_afresh():
    def odd(_request, reply):
        reply.head(416, [("Content-Length", len(MODEL))])
        reply.raw(b"Requested Range Not Satisfiable\n")

    with site() as s:
        root = partial(s)
        s.fault(BLOB, odd)
        fine(s, root=root)
        check("range" not in s.seen(BLOB)[1].headers, "not from the start")


def test_whole_partial_file_is_verified_without_a_request():
    with site() as s:
        root = partial(s)
        part = os.path.join(root, "var/lib/picket/tmp", DIGEST[7:] + ".part")
        with open(part, "wb") as f:
            f.write(MODEL)
        fine(s, root=root)
        check(not s.seen(BLOB), "a blob that is there was asked for")


def test_damaged_partial_file_is_fetched_once_more():
    with site() as s:
        root = partial(s)
        part = os.path.join(root, "var/lib/picket/tmp", DIGEST[7:] + ".part")
        with open(part, "r+b") as f:
            f.write(b"\xff")
        fine(s, root=root)
        check(len(s.seen(BLOB)) == 2, "not fetched once more")


# Too much


def test_endless_body_ends_at_the_size():
    def endless(_request, reply):
        reply.head(200, [("Transfer-Encoding", "chunked")])
        for _ in range(4000):
            reply.raw(b"10000\r\n" + b"x" * 65536 + b"\r\n")

    with site() as s:
        s.fault(BLOB, endless, 9)
        out = refused(s, "EBADMSG", "more bytes than the 307200")
        check(out["received_bytes"] < 600_000, f"took {out['received_bytes']}")


def test_longer_content_length_is_refused_at_once():
    with site() as s:
        s.fault(BLOB, answer(200, body=MODEL + b"x"), 9)
        out = refused(s, "EBADMSG", "307201 bytes are sent")
        check(out["received_bytes"] < 50_000, f"took {out['received_bytes']}")


def test_endless_headers_are_cut():
    def endless(_request, reply):
        reply.raw(b"HTTP/1.1 200 OK\r\n")
        for i in range(100_000):
            reply.raw(b"X-Filler-%d: %s\r\n" % (i, b"y" * 90))

    with site() as s:
        s.fault(TAG, endless, 9)
        refused(s, "EPROTO", "bytes of headers")


def test_endless_trailers_are_cut():
    def endless(_request, reply):
        reply.head(200, [("Transfer-Encoding", "chunked"), ("Content-Type", fs.MANIFEST)])
        reply.raw(b"2\r\n{}\r\n0\r\n")
        for i in range(100_000):
            reply.raw(b"X-Filler-%d: %s\r\n" % (i, b"y" * 90))

    with site() as s:
        s.fault(TAG, endless, 9)
        refused(s, "EPROTO", "")


def test_huge_manifest_is_refused():
    def huge(_request, reply):
        reply.head(200, [("Content-Type", fs.MANIFEST), ("Content-Length", 100 << 20)])
        for _ in range(1600):
            reply.raw(b" " * 65536)

    with site() as s:
        s.fault(TAG, huge, 9)
        out = refused(s, "EFBIG", "1048576 bytes")
        check(out["received_bytes"] < 2 << 20, f"took {out['received_bytes']}")


def test_huge_artifact_is_refused_before_its_first_byte():
    with site() as s:
        refused(s, "EFBIG", "at most 1024 are allowed", "--max-size", "1KiB")
        check(not s.seen("blobs"), "a blob was asked for")


def test_encoded_content_is_refused():
    with site() as s:
        encoded = answer(200, ("Content-Encoding", "gzip"), body=b"\x1f\x8b0000")
        s.fault(BLOB, encoded, 9)
        refused(s, "EPROTO", "encoded (gzip)")
        check(s.seen(BLOB)[0].headers["accept-encoding"] == "identity", "encoding was asked for")


def test_endless_error_text_is_not_read_out():
    def endless(_request, reply):
        reply.head(404, [("Content-Type", "text/plain")])
        for _ in range(4000):
            reply.raw(b"z" * 65536)

    with site() as s:
        s.fault(TAG, endless, 9)
        out = refused(s, "ENOENT", "404")
        check(out["received_bytes"] < 1 << 20, f"took {out['received_bytes']}")


# Too slow


def slow(s: Site, text: str, *args) -> float:
    start = time.monotonic()
    refused(s, "ETIMEDOUT", text, "--retries", "1", *args)
    return time.monotonic() - start


def test_slow_headers_time_out():
    def loris(_request, reply):
        reply.drip(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100, 0.1, 8)

    with site() as s:
        s.fault(TAG, loris, 9)
        check(slow(s, "stalled") < 5, "not within the stall's time")


def test_slow_body_times_out():
    def loris(_request, reply):
        reply.head(200, [("Content-Length", len(MODEL))])
        reply.drip(MODEL, 0.1, 8)

    with site() as s:
        s.fault(BLOB, loris, 9)
        # Each attempt brings some bytes; the deadline ends it.
        check(slow(s, "", "--deadline", "3s") < 4.5, "not within the deadline")


def test_stalled_body_is_continued():
    def stalls(_request, reply):
        reply.head(200, [("Content-Length", len(MODEL))])
        reply.raw(MODEL[:50_000])
        time.sleep(2)

    with site() as s:
        s.fault(BLOB, stalls)
        fine(s)
        check(s.seen(BLOB)[1].headers.get("range") == "bytes=50000-", "started afresh")


def test_stalled_connect_times_out():
    """A listener whose queue is full does not answer: no byte of TCP comes back."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        time.sleep(0.1)
        start = time.monotonic()
        with site() as s:
            refused(s, "ETIMEDOUT", "", "--retries", "1", ref=f"127.0.0.1:{port}/m/y:v1")
        check(time.monotonic() - start < 5, "not within the connect's time")
        for filler in fillers:
            filler.close()


def test_stalled_tls_handshake_times_out():
    with site() as s:
        s.handshake_stall_s = 8
        check(slow(s, "") < 5, "not within the connect's time")


def test_cancelling_ends_within_a_second():
    with site() as s:
        s.fault(BLOB, fs.stall(20))
        command = [PICKETCTL, "--root", W.new_root(), "pull", f"{s.host}/m/y:v1", "--json"]
        child = subprocess.Popen(
            command + ["--ca", W.ca.cert],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        end = time.monotonic() + 10
        while not s.seen(BLOB) and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.1)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=10)
        took = time.monotonic() - start
        check(json.loads(out)["code"] == "ECANCELED", out)
        check(took < 1, f"{took:.2f} s")
        story.keep_figures(pull_cancel_s=round(took, 3))


# Later


def test_429_with_seconds_is_waited_for():
    with site() as s:
        s.fault(TAG, answer(429, ("Retry-After", "1")))
        fine(s)
        first, second = s.seen(TAG)
        check(1.0 <= second.time - first.time < 3, f"{second.time - first.time:.2f} s")


def test_429_with_a_date_is_waited_for_by_the_servers_clock():
    """The server's clock is a year off: only the difference counts."""
    now = time.time() + 365 * 86400
    headers = [
        ("Date", email.utils.formatdate(now, usegmt=True)),
        ("Retry-After", email.utils.formatdate(now + 2, usegmt=True)),
    ]
    with site() as s:
        s.fault(TAG, answer(429, *headers))
        fine(s)
        first, second = s.seen(TAG)
        check(1.9 <= second.time - first.time < 4, f"{second.time - first.time:.2f} s")


def test_429_with_garbage_backs_off_as_usual():
    with site() as s:
        s.fault(TAG, answer(429, ("Retry-After", "when the cows come home")))
        out = fine(s)
        check(out["retries"] == 1, f"{out['retries']}")


def test_429_with_a_lifetime_is_clamped_and_told():
    with site() as s:
        s.fault(TAG, answer(429, ("Retry-After", "1000000000")), 9)
        out = refused(s, "EAGAIN", "429")
        check(out["retry_after_s"] == 86400, f"{out['retry_after_s']}")
        check(len(s.seen(TAG)) == 1, "asked again nevertheless")


def test_poll_hands_the_wish_on():
    with site() as s:
        s.fault(TAG, answer(503, ("Retry-After", "120")), 9)
        out = probe("resolve", f"{s.host}/m/y:v1")
        check(out["code"] == "EAGAIN" and out["retry_after_s"] == 120, f"{out}")


def test_500_then_fine():
    with site() as s:
        s.fault(TAG, answer(500))
        s.fault(BLOB, answer(503))
        out = fine(s)
        check(out["retries"] == 2, f"{out['retries']}")


def test_503_forever_ends():
    with site() as s:
        s.fault(TAG, answer(503), 99)
        out = refused(s, "EAGAIN", "503")
        check(len(s.seen(TAG)) == 3 and out["transient"], f"{len(s.seen(TAG))} requests")


def test_404_is_not_tried_again():
    with site() as s:
        s.fault(BLOB, answer(404), 99)
        refused(s, "ENOENT", "404")
        check(len(s.seen(BLOB)) == 1, f"{len(s.seen(BLOB))} requests")


def test_a_fleet_does_not_come_back_in_step():
    """503 to twelve at once: their second requests are spread over half of the pause at least."""
    n, pause_s = 12, 0.8
    with site() as s:
        s.fault(TAG, answer(503), n)
        with concurrent.futures.ThreadPoolExecutor(n) as pool:
            done = list(pool.map(lambda _: get(s, "--retry-min", f"{pause_s}s"), range(n)))
        check(all(code == 0 for code, _, _ in done), f"{done}")
        seen = [r.time for r in s.seen(TAG)]
        gaps = sorted(b - a for a, b in zip(sorted(seen[:n]), sorted(seen[n:])))
        spread = max(seen[n:]) - min(seen[n:]) - (max(seen[:n]) - min(seen[:n]))
        check(gaps[0] > pause_s * 0.3, f"too early: {gaps}")
        check(spread > pause_s * 0.15, f"in step: spread {spread:.3f} s")
        story.keep_figures(retry_spread_s=round(spread, 3))


# Other bytes


def test_wrong_bytes_are_refused():
    with site() as s:
        s.fault(BLOB, answer(200, body=MODEL[:-1] + b"!"), 9)
        root = W.new_root()
        refused(s, "EBADMSG", "have the digest", root=root)
        left = os.listdir(os.path.join(root, "var/lib/picket/tmp"))
        check(not left, f"kept: {left}")


def test_docker_content_digest_is_only_a_hint():
    with site() as s:
        data = s.manifests["m/y/v1"]
        lie = ("Docker-Content-Digest", "sha256:" + "0" * 64)
        s.fault(TAG, answer(200, ("Content-Type", fs.MANIFEST), lie, body=data))
        fine(s)


def test_tag_that_moves_meanwhile_gives_one_consistent_artifact():
    with site() as s:

        def move(_request, _reply):
            s.add_artifact("m/y", "v1", b"another model")
            return False

        s.fault(BLOB, move)
        out = fine(s)
        check(out["digest"] == s.digest, "mixed")


def test_pinned_manifest_with_other_bytes_is_refused():
    with site() as s:
        again = json.dumps(json.loads(s.manifests["m/y/v1"]), indent=1).encode()
        path = f"GET /v2/m/y/manifests/{s.digest}"
        s.fault(path, answer(200, ("Content-Type", fs.MANIFEST), body=again), 9)
        refused(s, "EBADMSG", "manifest", ref=f"{s.host}/m/y@{s.digest}")


# Who we are


class Tokens:
    """The place of tokens at a site: /token."""

    def __init__(self, s: Site, challenge: str | None = None, answer_json: dict | None = None):
        self.site = s
        self.answer_json = answer_json or {"token": "tok-1", "expires_in": 300}
        default = f'Bearer realm="{s.url}/token",service="svc",scope="repository:m/y:pull"'
        self.challenge = challenge or default
        s.fault("/v2/", self.guard, 10**6)
        s.fault("/token", self.hand_out, 10**6)

    def guard(self, request, reply):
        if request.headers.get("authorization", "").startswith("Bearer tok"):
            return False
        return reply.send(401, [("WWW-Authenticate", self.challenge)])

    def hand_out(self, _request, reply):
        body = json.dumps(self.answer_json).encode()
        reply.send(200, [("Content-Type", "application/json")], body)


def test_basic():
    with site() as s:
        basic(s)
        fine(s, *W.user())
        # The tag's request met the demand; the others knew it.
        check(len(s.requests) == 3, f"{len(s.requests)} requests")


def test_basic_with_wrong_password():
    with site() as s:
        basic(s)
        wrong = os.path.join(W.folder, "wrong")
        with open(wrong, "w", encoding="utf-8") as f:
            f.write("wrong-word")
        out = refused(s, "EACCES", "401", *USER, wrong)
        check(len(s.requests) == 2, f"{len(s.requests)} requests")
        no_secret("wrong-word", out)


def test_basic_demanded_of_an_anonymous():
    with site() as s:
        basic(s)
        refused(s, "EACCES", "none are configured")
        check(len(s.requests) == 1, f"{len(s.requests)} requests")


def test_credentials_of_docker_config():
    with site() as s:
        basic(s)
        path = os.path.join(W.folder, "config.json")
        word = base64.b64encode(b"u:secret-word").decode()
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"auths": {f"https://{s.host}/v1/": {"auth": word}}}, f)
        fine(s, "--auth", path)
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"auths": {}, "credsStore": "desktop"}, f)
        refused(s, "EACCES", "helpers are not run", "--auth", path)


def test_bearer_with_commas_in_quotes():
    with site() as s:
        challenge = (
            f'bearer service="a, b \\"c\\"", scope="repository:m/y:pull,delete",'
            f' Realm="{s.url}/token"'
        )
        Tokens(s, challenge)
        fine(s, *W.user())
        query = s.seen("/token")[0].path
        check("service=a%2C%20b%20%22c%22" in query, query)
        check("scope=repository%3Am%2Fy%3Apull%2Cdelete" in query, query)
        check(s.seen("/token")[0].headers["authorization"].startswith("Basic "), "no password")
        check(len(s.seen("/token")) == 1, "the token was not kept")


def test_never_asks_for_more_than_pull():
    with site() as s:
        realm = f'Bearer realm="{s.url}/token",scope="repository:m/y:pull,push"'
        Tokens(s, realm)
        fine(s)
        query = s.seen("/token")[0].path
        check("scope=repository%3Am%2Fy%3Apull" in query and "push" not in query, query)


def test_two_challenges_in_one_header():
    with site() as s:
        Tokens(s, f'Basic realm="x", Bearer realm="{s.url}/token",service="svc"')
        fine(s, *W.user())
        check(len(s.seen("/token")) == 1, "no token was fetched")


def test_no_scope_asks_for_the_repository():
    with site() as s:
        Tokens(s, f'Bearer realm="{s.url}/token"')
        fine(s)
        check("scope=repository%3Am%2Fy%3Apull" in s.seen("/token")[0].path, "another scope")
        check("authorization" not in s.seen("/token")[0].headers, "a password from nowhere")


def test_foreign_realm_needs_to_be_allowed():
    with site() as s, Site(W.tls, "localhost") as other:
        tokens = Tokens(s, f'Bearer realm="{other.url}/token"')
        other.fault("/token", tokens.hand_out, 9)
        refused(s, "EACCES", "token_hosts", *W.user())
        check(not other.requests, "it was asked")
        fine(s, *W.user(), "--token-host", "localhost")
        check(len(other.requests) == 1, "it was not asked")


def test_http_realm_is_refused():
    with site() as s, Site(None) as plain:
        Tokens(s, f'Bearer realm="{plain.url}/token"')
        refused(s, "EACCES", "over http", *W.user())
        check(not plain.requests, "it was asked")


def test_token_without_expiry():
    with site() as s:
        Tokens(s, answer_json={"token": "tok-2"})
        fine(s)
        check(len(s.seen("/token")) == 1, "not kept")


def test_token_of_a_second_is_renewed_before_its_end():
    with site() as s:
        Tokens(s, answer_json={"token": "tok-3", "expires_in": 1})
        s.fault(TAG, lambda q, r: time.sleep(1.0) or False)
        fine(s, "--stall", "5s")
        check(len(s.seen("/token")) == 2, f"{len(s.seen('/token'))} tokens")
        refusals = [r for r in s.seen("/v2/") if "authorization" not in r.headers]
        check(len(refusals) == 1, "a token was used too long")


def test_access_token_alone():
    with site() as s:
        Tokens(s, answer_json={"access_token": "tok-4"})
        fine(s)


def identity(s: Site) -> list:
    path = os.path.join(W.folder, "identity.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"auths": {s.host: {"identitytoken": "refresh-me"}}}, f)
    return ["--auth", path]


def test_identity_token_by_post():
    with site() as s:
        Tokens(s)
        fine(s, *identity(s))
        (request,) = s.seen("/token")
        form = request.body.decode()
        check(request.method == "POST", request.method)
        check("grant_type=refresh_token" in form and "refresh_token=refresh-me" in form, form)


def test_post_404_falls_back_to_get():
    with site() as s:
        s.fault("POST /token", answer(404), 9)
        Tokens(s)
        fine(s, *identity(s))
        check([r.method for r in s.seen("/token")] == ["POST", "GET"], "no second way")


def test_401_forever():
    with site() as s:
        challenge = ("WWW-Authenticate", f'Bearer realm="{s.url}/token"')
        s.fault("/v2/", answer(401, challenge), 99)
        Tokens(s)
        refused(s, "EACCES", "401", *W.user())
        check(len(s.seen("/v2/")) == 2, f"{len(s.seen('/v2/'))} requests")


def test_token_refused():
    with site() as s:
        s.fault("/token", answer(403), 9)
        Tokens(s)
        refused(s, "EACCES", "token: 403", *W.user())


def test_403_denied():
    with site() as s:
        body = b'{"errors":[{"code":"DENIED","message":"not for you\\u001b[31m"}]}'
        s.fault(TAG, answer(403, body=body), 9)
        refused(s, "EACCES", "DENIED: not for you")
        check(len(s.requests) == 1, "asked again")


# Referrers


def probe(*args) -> dict:
    done = run(PROBE, *args, env={**os.environ, "CA": W.ca.cert})
    return json.loads(done.stdout)


def entry(n: int, kind: str = "application/x.sig") -> dict:
    digest = "sha256:" + f"{n:064x}"
    return {"mediaType": fs.MANIFEST, "digest": digest, "size": 100, "artifactType": kind}


def index(*entries) -> bytes:
    return json.dumps(
        {"schemaVersion": 2, "mediaType": fs.INDEX, "manifests": list(entries)}
    ).encode()


def referrers(s: Site, *args) -> list | dict:
    out = probe("referrers", f"{s.host}/m/y:v1", s.digest, *args)
    return out["manifests"] if "manifests" in out else out


IS_INDEX = ("Content-Type", fs.INDEX)


def test_referrers_404_falls_back_to_the_tag():
    with site() as s:
        s.add_manifest("m/y", index(entry(1)), s.digest.replace(":", "-"), fs.INDEX)
        check([e["digest"] for e in referrers(s)] == [entry(1)["digest"]], "not found")


def test_referrers_200_empty():
    with site() as s:
        s.fault("referrers", answer(200, IS_INDEX, body=index()))
        check(referrers(s) == [], "not empty")


def test_referrers_in_pages():
    with site() as s:
        path = f"/v2/m/y/referrers/{s.digest}"
        link = ("Link", f'<{path}?last=1>; rel="next"')
        s.fault(r"referrers/[^?]*$", answer(200, IS_INDEX, link, body=index(entry(1))))
        s.fault(r"last=1", answer(200, IS_INDEX, body=index(entry(2), entry(3, "x/other"))))
        found = [e["digest"] for e in referrers(s, "application/x.sig")]
        check(found == [entry(1)["digest"], entry(2)["digest"]], f"{found}")


def test_referrers_never_ending():
    with site() as s:
        link = ("Link", f'</v2/m/y/referrers/{s.digest}?again>; rel="next"')
        s.fault("referrers", answer(200, IS_INDEX, link, body=index()), 99)
        check(referrers(s)["code"] == "EPROTO", "not refused")
        check(len(s.requests) == 8, f"{len(s.requests)} pages")


def test_referrers_link_to_another_host():
    with site() as s, Site(W.tls, "localhost") as other:
        link = ("Link", f'<{other.url}/v2/m/y/referrers/x>; rel="next"')
        s.fault("referrers", answer(200, IS_INDEX, link, body=index()))
        check(referrers(s)["code"] == "EPROTO", "not refused")
        check(not other.requests, "it was asked")


def test_referrers_fallback_missing():
    with site() as s:
        check(referrers(s) == [], "not empty")


def test_referrers_fallback_is_no_index():
    with site() as s:
        s.add_manifest("m/y", s.manifests["m/y/v1"], s.digest.replace(":", "-"))
        check(referrers(s) == [], "not empty")


def test_referrers_odd_entries_are_left_out():
    with site() as s:
        odd = [{"digest": "sha256:zz"}, 7, {**entry(2), "size": -1}]
        s.fault("referrers", answer(200, IS_INDEX, body=index(*odd, entry(1))))
        check([e["digest"] for e in referrers(s)] == [entry(1)["digest"]], "taken over")


# What a manifest is said to be


def typed(content_type: str, data: bytes | None = None):
    s = site()
    s.fault(TAG, answer(200, ("Content-Type", content_type), body=data or s.manifests["m/y/v1"]), 9)
    return s


def test_content_type_with_parameters():
    with typed(fs.MANIFEST + "; charset=utf-8") as s:
        fine(s)


def test_content_type_that_the_manifest_denies():
    with typed(fs.INDEX) as s:
        refused(s, "EPROTO", "inside")


def test_content_type_text_plain():
    with typed("text/plain") as s:
        refused(s, "EPROTO", "text/plain")


def test_index_by_platform():
    with site() as s:
        data = s.manifests["m/y/v1"]
        arch = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]

        def platform(os_, arch_, digest):
            size = len(data) if digest == s.digest else 5
            return {
                "mediaType": fs.MANIFEST,
                "digest": digest,
                "size": size,
                "platform": {"os": os_, "architecture": arch_},
            }

        other = fs.digest_of(b"other")
        entries = [platform("linux", "riscv64", other), platform("linux", arch, s.digest)]
        pin = s.add_manifest("m/y", index(*entries), "multi", fs.INDEX)
        check(fine(s, ref=f"{s.host}/m/y:multi")["digest"] == s.digest, "another manifest")
        check(fine(s, ref=f"{s.host}/m/y@{pin}")["digest"] == s.digest, "another manifest")
        s.add_manifest("m/y", index(entries[0]), "none", fs.INDEX)
        refused(s, "ENOENT", "linux/riscv64", ref=f"{s.host}/m/y:none")


def test_docker_image():
    docker = "application/vnd.docker.distribution.manifest.v2+json"
    data = json.dumps({"schemaVersion": 2, "mediaType": docker, "config": {}, "layers": []})
    with typed(docker, data.encode()) as s:
        refused(s, "EOPNOTSUPP", "container image")


def test_naive_push_of_one_file():
    """As `oras push` leaves it: an unknown type, a layer that says tar, an empty config."""
    with site() as s:
        layer = {
            **s.add(MODEL),
            "mediaType": "application/vnd.oci.image.layer.v1.tar",
            "annotations": {"org.opencontainers.image.title": "model.onnx"},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": fs.MANIFEST,
            "artifactType": "application/vnd.unknown.artifact.v1",
            "config": {**fs.EMPTY, "data": "e30="},
            "layers": [layer],
            "annotations": {"org.opencontainers.image.created": "2026-01-01T00:00:00Z"},
        }
        s.add_manifest("m/y", manifest, "naive")
        fine(s, ref=f"{s.host}/m/y:naive")
        check(not s.seen("44136fa"), "the empty config was fetched")


def test_modctl_push():
    """As modctl leaves it: no title, only org.cncf.model.filepath; docs and code beside."""
    with site() as s:

        def layer(kind, path, data):
            note = {"org.cncf.model.filepath": path}
            return {
                **s.add(data),
                "mediaType": f"application/vnd.cncf.model.{kind}.v1.raw",
                "annotations": note,
            }

        manifest = {
            "schemaVersion": 2,
            "mediaType": fs.MANIFEST,
            "artifactType": fs.MODEL,
            "config": {
                **s.add(b'{"descriptor":{}}'),
                "mediaType": "application/vnd.cncf.model.config.v1+json",
            },
            "layers": [
                layer("doc", "README.md", b"# read me"),
                layer("weight", "yolo.onnx", MODEL),
                layer("weight.config", "config.json", b"{}"),
            ],
        }
        s.add_manifest("m/y", manifest, "modctl")
        fine(s, ref=f"{s.host}/m/y:modctl")


# TLS


def test_tls_expired():
    with Site(W.context(days="-1")) as s:
        refused(s, "EKEYREJECTED", "expired")


def test_tls_wrong_host():
    with Site(W.context(names="DNS:other.example")) as s:
        refused(s, "EKEYREJECTED", "no alternative certificate subject name")


def test_tls_self_signed():
    n = len(os.listdir(W.folder))
    own = Authority(W.folder, f"self-{n}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.cert, own.key)
    with Site(context) as s:
        refused(s, "EKEYREJECTED", "self")


def test_tls_unknown_authority():
    with Site(W.context(Authority(W.folder, f"ca-{len(os.listdir(W.folder))}"))) as s:
        refused(s, "EKEYREJECTED", "unable to get local issuer")


def test_tls_1_1_only():
    context = W.context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with Site(context) as s:
        refused(s, "EKEYREJECTED", "version")


def test_tls_client_certificate():
    context = W.context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(W.ca.cert)
    with Site(context) as s:
        s.digest = s.add_artifact("m/y", "v1", MODEL)
        refused(s, "EKEYREJECTED", "certificate required")
        cert, key = W.ca.issue("client", "DNS:node")
        fine(s, "--cert", cert, "--key", key)


def test_never_falls_back_to_http():
    with site(tls=False) as s:
        refused(s, "EKEYREJECTED", "")
        check(not s.requests, "asked over http")
        fine(s, "--insecure")


# The network


def test_connection_refused_and_mirror():
    with site() as s:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            dead = f"127.0.0.1:{taken.getsockname()[1]}"
            out = refused(s, "ECONNREFUSED", ref=f"{dead}/m/y:v1")
            check(out["transient"], "not transient")
            pin = f"{dead}/m/y@{s.digest}"
            check(fine(s, "--mirror", s.host, ref=pin)["source"] == "127.0.0.1", "no mirror")
            # A mirror has no say in what a tag means.
            s.clear()
            refused(s, "ECONNREFUSED", "", "--mirror", s.host, ref=f"{dead}/m/y:v1")
            check(not s.requests, "the mirror was asked for a tag")


def test_mirror_gets_no_password_and_lies_do_not_count():
    with site() as s, Site(W.tls, "localhost") as mirror:
        basic(s)
        mirror.fault("blobs", answer(200, body=MODEL[:-1] + b"?"), 9)
        mirror.fault("manifests", answer(200, ("Content-Type", fs.MANIFEST), body=b"{}"), 9)
        code, out, err = get(s, *W.user(), "--mirror", mirror.host)
        check(mirror.requests, "the mirror was not asked")
        check(all("authorization" not in r.headers for r in mirror.requests), "the password")
        check(code == 0, f"a mirror's lie ended the pull: {out} {err}")


def test_dead_mirror_is_passed_over():
    with site() as s, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        fine(s, "--mirror", f"127.0.0.1:{taken.getsockname()[1]}")


def test_unknown_host_name():
    with site() as s:
        refused(s, "EHOSTUNREACH", "", "--retries", "1", ref="registry.invalid/m/y:v1")


def test_ipv6_black_hole():
    """A name with two addresses; nobody answers on the first."""
    hosts = os.path.join(W.folder, "hosts")
    with open(hosts, "w", encoding="utf-8") as f:
        f.write("::1 localhost\n127.0.0.1 localhost\n")
    inside = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts]
    if run(*inside, "true").returncode != 0:
        raise story.Skip("cannot give localhost two addresses here (needs root)")
    with site("localhost") as s, socket.socket(socket.AF_INET6) as hole:
        hole.bind(("::1", s.port))
        hole.listen(0)
        fillers = [socket.socket(socket.AF_INET6) for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("::1", s.port))
        time.sleep(0.1)
        start = time.monotonic()
        command = [PICKETCTL, "--root", W.new_root(), "pull", f"{s.host}/m/y:v1", "--json"]
        done = run(*inside, *command, "--ca", W.ca.cert)
        check(done.returncode == 0, done.stderr)
        check(time.monotonic() - start < 4, "too long")
        for filler in fillers:
            filler.close()


# Limits, polls, plain files


def test_bandwidth():
    model = MODEL * 10  # 3 MiB
    with site() as s:
        s.add_artifact("m/y", "big", model)
        start = time.monotonic()
        code, _, err = get(s, "--rate", "1500KiB", ref=f"{s.host}/m/y:big")
        took = time.monotonic() - start
        check(code == 0, err)
        check(1.2 < took < 6, f"{took:.1f} s for 3 MiB at 1500 KiB/s")


def test_byte_budget():
    with site() as s:
        root = W.new_root()
        out = refused(s, "EDQUOT", "budget", "--budget", "100KiB", root=root)
        check(out["received_bytes"] < 200_000, f"took {out['received_bytes']}")
        out = fine(s, root=root)
        check(out["resumed_bytes"] > 50_000, "what was paid for is gone")


def test_poll_is_cheap():
    with site() as s:
        first = probe("resolve", f"{s.host}/m/y:v1")
        check(first["digest"] == s.digest and not first["not_modified"], f"{first}")
        again = probe("resolve", f"{s.host}/m/y:v1", first["etag"])
        check(again["not_modified"], f"{again}")
        check(s.requests[-1].headers["if-none-match"] == first["etag"], "no etag was sent")
        check(len(s.requests) == 2, "more requests than polls")
        moved = s.add_artifact("m/y", "v1", b"new")
        later = probe("resolve", f"{s.host}/m/y:v1", first["etag"])
        check(later["digest"] == moved, f"{later}")


def test_plain_file():
    with Site(W.tls) as s:
        s.pages["/models/yolo.onnx"] = ([], MODEL)
        ref = f"{s.url}/models/yolo.onnx#{DIGEST}"
        out = fine(s, ref=ref)
        check(any(b["name"] == "yolo.onnx" for b in out["blobs"]), f"{out['blobs']}")
        wrong = fs.digest_of(b"x")
        refused(s, "EBADMSG", "digest", ref=f"{s.url}/models/yolo.onnx#{wrong}")
        refused(s, "ENOENT", "404", ref=f"{s.url}/nothing.onnx#{DIGEST}")
        s.fault("HEAD", lambda q, r: r.head(200), 9)
        refused(s, "EPROTO", "how long", ref=f"{s.url}/models/yolo.onnx#{DIGEST}")


def test_registry_of_the_config():
    with site() as s:
        basic(s)
        root = W.new_root()
        os.makedirs(os.path.join(root, "etc/picket"))
        with open(os.path.join(root, "etc/picket/picket.yaml"), "w", encoding="utf-8") as f:
            f.write(f"""registries:
  {s.host}: {{ca: {W.ca.cert}, user: u, password_file: {W.password}}}
""")
        code, out, err = pull(f"{s.host}/m/y:v1", root)
        check(code == 0 and out["onnx_digest"] == DIGEST, err)


def main() -> int:
    global W
    tests = [f for name, f in globals().items() if name.startswith("test_")]
    if len(sys.argv) > 1:
        tests = [f for f in tests if any(word in f.__name__ for word in sys.argv[1:])]
    # In memory: what takes time here is the syncing of files.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="picket-faults-", dir=memory) as folder:
        W = World(folder)
        return story.run(*tests)


sys.exit(main())
