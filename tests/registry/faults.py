# SPDX-License-Identifier: Apache-2.0
"""What the tests of faults share: a site with an artifact, a pull, its outcome."""

import base64
import json
import os
import ssl
import sys
import tempfile

import fault_server as fs
from fault_server import Site
from servers import Authority, pull, run
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


FOLDER = tempfile.TemporaryDirectory(
    prefix="picket-faults-",
    # In memory: what takes time here is the syncing of files.
    dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None,
)
W = World(FOLDER.name)


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


def probe(*args) -> dict:
    done = run(PROBE, *args, env={**os.environ, "CA": W.ca.cert})
    return json.loads(done.stdout)


def run_tests(names: dict) -> int:
    """Runs the test functions among names, or those whose names hold a word of the command line."""
    tests = [f for name, f in names.items() if name.startswith("test_")]
    if len(sys.argv) > 1:
        tests = [f for f in tests if any(word in f.__name__ for word in sys.argv[1:])]
    with FOLDER:
        return story.run(*tests)
