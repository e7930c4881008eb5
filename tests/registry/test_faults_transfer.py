#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Transfers that are redirected, cut, stalled, endless or put off: each has its stated outcome."""

import concurrent.futures
import email.utils
import json
import os
import signal
import socket
import subprocess
import sys
import time

import fault_server as fs
from fault_server import Site, answer, redirect
from faults import (
    BLOB,
    DIGEST,
    MODEL,
    TAG,
    W,
    basic,
    fine,
    get,
    no_secret,
    probe,
    refused,
    site,
    run_tests,
)
from servers import PICKETCTL
import story
from story import check

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


sys.exit(run_tests(globals()))
