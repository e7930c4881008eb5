# SPDX-License-Identifier: Apache-2.0
"""A camera that sends MJPEG over HTTP on loopback: /cam, /auth (user picket, password geheim)."""

import base64
import http.server
import io
import threading
import time

from PIL import Image, ImageDraw

BOUNDARY = "picture"
CREDENTIALS = "Basic " + base64.b64encode(b"picket:geheim").decode()


def picture(number: int, width: int, height: int) -> bytes:
    """A bright disc that moves over noise-like stripes."""
    image = Image.new("RGB", (width, height), (40, 60, 80))
    draw = ImageDraw.Draw(image)
    for x in range(0, width, 16):
        draw.rectangle((x, 0, x + 7, height), fill=(90, 110, 70))
    x = number * 7 % width
    draw.ellipse((x - 20, height // 2 - 20, x + 20, height // 2 + 20), fill=(250, 240, 200))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=80)
    return out.getvalue()


class Camera(http.server.ThreadingHTTPServer):
    """Serves until close(); size may be changed while it runs."""

    daemon_threads = True

    def __init__(self, port: int = 0, fps: float = 15, size: tuple[int, int] = (320, 240)):
        self.fps, self.size, self.running = fps, size, True
        self.n_requests = 0
        super().__init__(("127.0.0.1", port), Handler)
        self.port = self.server_address[1]
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def close(self):
        self.running = False
        self.shutdown()
        self.server_close()
        self.thread.join()


class Handler(http.server.BaseHTTPRequestHandler):
    """One reader of the stream."""

    def log_message(self, *unused):
        """Says nothing."""

    def do_GET(self):
        self.server.n_requests += 1
        if self.path == "/auth" and self.headers.get("Authorization") != CREDENTIALS:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="camera"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path in ("/cam", "/auth"):
            self.stream()
        else:
            self.send_error(404)

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={BOUNDARY}")
        self.end_headers()
        number, due = 0, time.monotonic()
        while self.server.running:
            data = picture(number, *self.server.size)
            head = (
                f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
            )
            try:
                self.wfile.write(head.encode() + data + b"\r\n")
            except OSError:
                return
            number += 1
            due += 1 / self.server.fps
            time.sleep(max(due - time.monotonic(), 0))
        self.close_connection = True
