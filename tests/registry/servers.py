# SPDX-License-Identifier: Apache-2.0
"""What the registry tests share: keys and certificates, docker-registry, a token server."""

import base64
import http.server
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "tests/lib"))
import story  # noqa: E402

PICKETCTL = os.path.join(story.BUILD, "cli/picketctl")
ACCEPT = "application/vnd.oci.image.manifest.v1+json"


def need(*programs):
    """Skips when the machine lacks one of them."""
    for program in programs:
        if not shutil.which(program):
            raise story.Skip(f"{program} is not installed (scripts/setup test)")


def run(*command, timeout=120, **options):
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **options,
    )


def run_ok(*command, **options) -> str:
    done = run(*command, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} {command[1]}: {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Authority:
    """A certificate authority in a folder, and certificates made by it."""

    def __init__(self, folder: str, name: str = "ca"):
        self.folder, self.name = folder, name
        self.cert, self.key = self.path(f"{name}.pem"), self.path(f"{name}.key")
        run_ok(
            *"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split(),
            *["-keyout", self.key, "-out", self.cert, "-subj", f"/CN=picket test {name}"],
            *["-days", "2", "-addext", "keyUsage=critical,keyCertSign,cRLSign"],
        )

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def issue(self, name: str, names: str = "DNS:localhost,IP:127.0.0.1", days: str = "2"):
        """(certificate, key); days may be negative: expired."""
        cert, key, request = (self.path(f"{name}.{e}") for e in ("pem", "key", "csr"))
        extensions = self.path(f"{name}.ext")
        with open(extensions, "w", encoding="utf-8") as f:
            f.write(f"subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\n")
        run_ok(
            *"openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split(),
            *["-keyout", key, "-out", request, "-subj", f"/CN={name}"],
        )
        run_ok(
            *["openssl", "x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key],
            *["-CAcreateserial", "-days", days, "-extfile", extensions, "-out", cert],
        )
        return cert, key


class DockerRegistry:
    """Debian's docker-registry on loopback, over TLS; a context."""

    def __init__(self, folder: str, authority: Authority, auth: dict | None = None):
        self.folder = folder
        self.port = free_port()
        self.host = f"127.0.0.1:{self.port}"
        cert, key = authority.issue(f"registry-{self.port}")
        self.config = {
            "version": "0.1",
            "log": {"level": "error", "accesslog": {"disabled": True}},
            "storage": {
                "filesystem": {"rootdirectory": os.path.join(folder, f"data-{self.port}")},
                "maintenance": {"uploadpurging": {"enabled": False}},
                "delete": {"enabled": True},
            },
            "http": {
                "addr": self.host,
                "secret": "for tests only",
                "tls": {"certificate": cert, "key": key},
            },
            **({"auth": auth} if auth else {}),
        }

    def __enter__(self):
        path = os.path.join(self.folder, f"registry-{self.port}.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(self.config, f)  # JSON is YAML
        self.log = open(path + ".log", "wb")
        self.child = subprocess.Popen(
            ["docker-registry", "serve", path],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OTEL_TRACES_EXPORTER": "none"},
        )
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if self.child.poll() is not None:
                break
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.02)
        self.__exit__()
        raise AssertionError(f"docker-registry does not start: see {path}.log")

    def __exit__(self, *_error):
        self.child.kill()
        self.child.wait()
        self.log.close()


def htpasswd(folder: str, user: str, password: str) -> dict:
    """The `auth` of a registry with one user."""
    path = os.path.join(folder, "htpasswd")
    run_ok("htpasswd", "-Bbc", "-C", "5", path, user, password)
    return {"htpasswd": {"realm": "picket test", "path": path}}


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class TokenServer:
    """Hands out RS256 tokens over TLS to one user; a context. Signs with the openssl program."""

    def __init__(self, folder: str, authority: Authority, user: str, password: str):
        self.folder, self.user, self.password = folder, user, password
        self.port = free_port()
        self.seen = []  # queries, and whether they came with credentials
        self.life_s = 300
        self.cert, self.key = os.path.join(folder, "token.pem"), os.path.join(folder, "token.key")
        run_ok(
            *"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=picket-tokens".split(),
            *["-keyout", self.key, "-out", self.cert],
        )
        self.tls = authority.issue("token-server")
        self.realm = f"https://127.0.0.1:{self.port}/token"

    def auth(self) -> dict:
        """The `auth` of a registry that trusts these tokens."""
        return {
            "token": {
                "realm": self.realm,
                "service": "picket registry",
                "issuer": "picket tests",
                "rootcertbundle": self.cert,
            }
        }

    def token(self, query: dict) -> str:
        access = []
        for scope in query.get("scope", []):
            kind, name, actions = scope.rsplit(":", 2)[0], scope.rsplit(":", 2)[1], scope
            kind, rest = scope.split(":", 1)
            name, actions = rest.rsplit(":", 1)
            access.append({"type": kind, "name": name, "actions": actions.split(",")})
        now = int(time.time())
        with open(self.cert, encoding="ascii") as f:
            x5c = "".join(line.strip() for line in f if "-----" not in line)
        header = {"typ": "JWT", "alg": "RS256", "x5c": [x5c]}
        claims = {
            "iss": "picket tests",
            "sub": self.user,
            "aud": query.get("service", [""])[0],
            "exp": now + self.life_s,
            "nbf": now - 10,
            "iat": now,
            "jti": os.urandom(8).hex(),
            "access": access,
        }
        body = b64url(json.dumps(header).encode()) + "." + b64url(json.dumps(claims).encode())
        signed = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", self.key],
            input=body.encode(),
            capture_output=True,
            check=True,
        )
        return body + "." + b64url(signed.stdout)

    def __enter__(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                plain = f"{outer.user}:{outer.password}".encode()
                wanted = "Basic " + base64.b64encode(plain).decode()
                ok = self.headers.get("Authorization") == wanted
                outer.seen.append((query, ok))
                body = json.dumps({"token": outer.token(query), "expires_in": outer.life_s})
                self.send_response(200 if ok else 401)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body) if ok else 2))
                self.end_headers()
                self.wfile.write(body.encode() if ok else b"{}")

            def log_message(self, *_args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.tls)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error):
        self.server.shutdown()
        self.server.server_close()


def picketctl(*args: str, root: str, timeout: int = 120, **options):
    return run(PICKETCTL, "--root", root, *args, timeout=timeout, **options)


def pull(ref: str, root: str, *args: str, timeout: int = 120):
    """(exit code, the JSON that pull prints, stderr)."""
    done = picketctl("pull", "--json", ref, *args, root=root, timeout=timeout)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def make_layout(folder: str, size: int, tag: str = "v1", seed: int = 1) -> str:
    """An artifact with a model of random bytes, in an OCI layout; its digest."""
    os.makedirs(folder, exist_ok=True)
    onnx = os.path.join(folder, "..", f"model-{seed}.onnx")
    block = os.urandom(1 << 20)
    with open(onnx, "wb") as f:
        f.write(seed.to_bytes(8, "little"))
        left = size - 8
        while left > 0:
            f.write(block[: min(left, len(block))])
            left -= len(block)
    done = picketctl(
        *["bundle", "create", "--onnx", onnx, "--json", "--out", f"oci:{folder}:{tag}"],
        *["--card", os.path.join(TOP, "demo/card.yaml")],
        root="",
    )
    if done.returncode != 0:
        raise AssertionError(f"bundle create: {done.stderr}")
    return json.loads(done.stdout)["digest"]
