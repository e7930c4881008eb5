# SPDX-License-Identifier: Apache-2.0
"""Programs that the suite interop compares with, built by the Go client at pinned versions."""

import hashlib
import os
import shutil
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.environ.get("PICKET_GO_TOOLS", os.path.join(TOP, "build/go"))
# name: (what `go install` takes, where it is run, seconds at most, built without being asked).
# cosign takes about ten minutes on two cores; so it is built once, with --long.
TOOLS = {
    "oras": ("oras.land/oras/cmd/oras@v1.3.6", TOP, 400, True),
    "referrers": (".", os.path.join(TOP, "tests/interop/referrers"), 200, True),
    "cosign": ("github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3", TOP, 2400, False),
}


class Missing(Exception):
    """Why there is no such program."""


def go() -> str:
    program = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.access(program, os.X_OK):
        raise Missing("Go is not installed")
    return program


def environment() -> dict:
    """Everything that Go writes lies below one folder, which may be removed."""
    return {
        **os.environ,
        "GOPATH": FOLDER,
        "GOBIN": os.path.join(FOLDER, "bin"),
        "GOCACHE": os.path.join(FOLDER, "cache"),
        "GOFLAGS": "-modcacherw -trimpath",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
        "GOMAXPROCS": "2",
    }


def build(name: str, what: str, folder: str, seconds: int):
    """Builds one program; progress is a line before and after."""
    print(f"go: building {what if what != '.' else name} (up to {seconds} s)", flush=True)
    command = ["nice", "-n", "10", go(), "install", "-p", "1", "-ldflags=-s -w", what]
    started = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"{name} was not built in {seconds} s; the next run goes on") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["?"])[-1]
        raise Missing(f"{name} cannot be built here: {last}")
    print(f"go: built {name} in {time.monotonic() - started:.0f} s", flush=True)


def version(what: str, folder: str) -> str:
    """What a program was built from; of ours, its sources' digest."""
    if what != ".":
        return what
    digest = hashlib.sha256()
    for name in ("main.go", "go.mod", "go.sum"):
        with open(os.path.join(folder, name), "rb") as f:
            digest.update(f.read())
    return digest.hexdigest()


def program(name: str, long: bool) -> str:
    """Its path; built first when that is allowed. Missing says what is in the way."""
    what, folder, seconds, unasked = TOOLS[name]
    path = os.path.join(FOLDER, "bin", name)
    stamp, wanted = f"{path}.version", version(what, folder)
    try:
        with open(stamp, encoding="utf-8") as f:
            if f.read() == wanted and os.access(path, os.X_OK):
                return path
    except OSError:
        pass
    if not (unasked or long):
        raise Missing(f"{name} is not built yet: scripts/test --only interop --long builds it once")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    build(name, what, folder, seconds)
    with open(stamp, "w", encoding="utf-8") as f:
        f.write(wanted)
    return path
