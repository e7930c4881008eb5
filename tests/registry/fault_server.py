# SPDX-License-Identifier: Apache-2.0
"""A registry that lies, stalls and breaks on request: a scripted HTTP(S) server on raw sockets.

A site serves artifacts as a registry does. site.fault(PATTERN, FAULT, times=1) puts a fault before
the requests whose "METHOD PATH" matches; a fault is a function of (request, reply) that answers, or
returns False to leave the request to the next one. Every request is recorded.
"""

import hashlib
import json
import re
import socket
import ssl
import struct
import threading
import time

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
WEIGHT = "application/vnd.cncf.model.weight.v1.raw"
MODEL = "application/vnd.cncf.model.manifest.v1+json"
EMPTY = {
    "mediaType": "application/vnd.oci.empty.v1+json",
    "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    "size": 2,
}
REASONS = {200: "OK", 206: "Partial Content", 304: "Not Modified", 307: "Temporary Redirect"}


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Request:
    """One request as it came."""

    def __init__(self, head: bytes, reader):
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _version = lines[0].split(" ", 2)
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self.body = reader(int(self.headers.get("content-length", 0)))
        self.time = time.monotonic()

    def range_from(self) -> int:
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", ""))
        return int(match.group(1)) if match else 0


class Reply:
    """The answering side of a connection."""

    def __init__(self, connection, site):
        self.connection, self.site = connection, site
        self.n_sent = 0

    def raw(self, data: bytes):
        self.connection.sendall(data)
        self.n_sent += len(data)

    def head(self, status: int, headers=()):
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Because')}", "Connection: close"]
        self.raw(("\r\n".join(lines + [f"{n}: {v}" for n, v in headers]) + "\r\n\r\n").encode())

    def send(self, status: int, headers=(), body: bytes = b"", length: int | None = None):
        names = {name.lower() for name, _ in headers}
        extra = [] if "content-length" in names else [("Content-Length", length or len(body))]
        self.head(status, list(headers) + extra)
        self.raw(body)

    def reset(self):
        """Ends the connection with RST."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()

    def drip(self, data: bytes, pause_s: float, limit_s: float):
        """A byte at a time until the other side is gone."""
        end = time.monotonic() + limit_s
        for byte in data:
            if time.monotonic() > end:
                return
            self.raw(bytes([byte]))
            time.sleep(pause_s)


class Site:
    """One listening address with its content and its faults; a context."""

    def __init__(self, tls: ssl.SSLContext | None = None, name: str = "127.0.0.1", port: int = 0):
        self.tls, self.name = tls, name
        self.listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.requests, self.faults = [], []
        self.manifests, self.blobs, self.types = {}, {}, {}
        self.pages = {}  # other paths: (headers, body)
        self.handshake_stall_s = 0.0
        self.n_accepted = 0
        self.lock = threading.Lock()
        self.open = True
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def host(self) -> str:
        return f"{self.name}:{self.port}"

    @property
    def url(self) -> str:
        return ("https://" if self.tls else "http://") + self.host

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.open = False
        self.listener.close()

    def add(self, data: bytes) -> dict:
        """A blob and its descriptor."""
        self.blobs[digest_of(data)] = data
        return {"mediaType": WEIGHT, "digest": digest_of(data), "size": len(data)}

    def add_manifest(self, name: str, manifest, tag: str | None = None, kind: str = MANIFEST):
        """The digest of a manifest (an object, or its bytes) under name and perhaps a tag."""
        data = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
        digest = digest_of(data)
        for key in [digest] + ([tag] if tag else []):
            self.manifests[f"{name}/{key}"] = data
        self.types[digest] = kind
        return digest

    def add_artifact(self, name: str, tag: str, model: bytes, **more) -> str:
        layer = {**self.add(model), "annotations": {"org.opencontainers.image.title": "m.onnx"}}
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": MODEL}
        manifest |= {"config": EMPTY, "layers": [layer]} | more
        return self.add_manifest(name, manifest, tag)

    def fault(self, pattern: str, fault, times: int = 1):
        self.faults.append([re.compile(pattern), fault, times])

    def clear(self):
        self.faults, self.requests = [], []

    def seen(self, pattern: str) -> list:
        return [r for r in self.requests if re.search(pattern, f"{r.method} {r.path}")]

    def _accept(self):
        while self.open:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.n_accepted += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            connection.settimeout(20)
            if self.handshake_stall_s:
                time.sleep(self.handshake_stall_s)
            if self.tls:
                connection = self._handshake(connection)
            self._answer_one(connection)
        except (OSError, ValueError):
            pass
        finally:
            try:
                connection.close()
            except OSError:
                pass

    def _handshake(self, connection):
        connection = self.tls.wrap_socket(
            connection, server_side=True, do_handshake_on_connect=False
        )
        try:
            connection.do_handshake()
        except OSError:
            # Closing with unread bytes would be a reset, which overtakes the alert.
            time.sleep(0.3)
            raise
        return connection

    def _answer_one(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(4096)
            if not more:
                return
            data += more
            if data.startswith(b"\x16\x03"):  # somebody wants TLS here
                return connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
        head, _, rest = data.partition(b"\r\n\r\n")

        def reader(n):
            body = rest
            while len(body) < n:
                body += connection.recv(n - len(body))
            return body

        request = Request(head, reader)
        reply = Reply(connection, self)
        with self.lock:
            self.requests.append(request)
        for entry in self.faults:
            if not entry[0].search(f"{request.method} {request.path}") or not self._take(entry):
                continue
            if entry[1](request, reply) is not False:
                return
            entry[2] += 1
        self.serve(request, reply)

    def _take(self, entry) -> bool:
        """Uses a fault up before it runs: the next request may come meanwhile."""
        with self.lock:
            entry[2] -= 1
            return entry[2] >= 0

    def serve(self, request, reply):
        """As an honest registry."""
        path = request.path.split("?")[0]
        if path in self.pages:
            headers, body = self.pages[path]
            return reply.send(200, headers, b"" if request.method == "HEAD" else body, len(body))
        match = re.fullmatch(r"/v2/(.+)/(manifests|blobs|referrers)/([^/]+)", path)
        if match and match.group(2) == "manifests":
            return self._serve_manifest(request, reply, f"{match.group(1)}/{match.group(3)}")
        if match and match.group(2) == "blobs" and match.group(3) in self.blobs:
            return self.serve_bytes(request, reply, self.blobs[match.group(3)])
        body = json.dumps({"errors": [{"code": "NAME_UNKNOWN", "message": "no such thing"}]})
        return reply.send(404, [("Content-Type", "application/json")], body.encode())

    def _serve_manifest(self, request, reply, key):
        data = self.manifests.get(key)
        if data is None:
            body = b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}'
            return reply.send(404, [("Content-Type", "application/json")], body)
        digest = digest_of(data)
        etag = f'"{digest}"'
        if request.headers.get("if-none-match") == etag:
            return reply.send(304, [("ETag", etag)])
        headers = [("Content-Type", self.types[digest]), ("Docker-Content-Digest", digest)]
        return reply.send(200, headers + [("ETag", etag)], data)

    def serve_bytes(self, request, reply, data: bytes):
        if "range" not in request.headers:
            return reply.send(200, [], data)
        start = request.range_from()
        if start >= len(data):
            return reply.send(416, [("Content-Range", f"bytes */{len(data)}")])
        where = f"bytes {start}-{len(data) - 1}/{len(data)}"
        return reply.send(206, [("Content-Range", where)], data[start:])


# Faults. Each is made by a function, so that a test reads as a sentence.


def answer(status: int, *headers, body: bytes = b""):
    return lambda request, reply: reply.send(status, list(headers), body)


def redirect(url: str, status: int = 307):
    return answer(status, ("Location", url))


def blob_of(request) -> str:
    return request.path.split("?")[0].rsplit("/", 1)[1]


def truncate(n: int):
    """The first n bytes of what an honest answer would hold, with the full Content-Length."""

    def fault(request, reply):
        data = reply.site.blobs[blob_of(request)]
        start = request.range_from()
        headers = [("Content-Length", len(data) - start)]
        if start:
            headers.append(("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}"))
        reply.head(206 if start else 200, headers)
        reply.raw(data[start : start + n])

    return fault


def then_reset(fault):
    def both(request, reply):
        fault(request, reply)
        reply.reset()

    return both


def close_at_once(_request, reply):
    reply.connection.close()


def ignore_range(request, reply):
    reply.send(200, [], reply.site.blobs[blob_of(request)])


def stall(seconds: float, before: bytes = b""):
    def fault(_request, reply):
        if before:
            reply.raw(before)
        time.sleep(seconds)

    return fault


def when_no_authorization(fault):
    return lambda request, reply: (
        False if "authorization" in request.headers else fault(request, reply)
    )
