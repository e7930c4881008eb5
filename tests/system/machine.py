# SPDX-License-Identifier: Apache-2.0
"""The booted machine as the story sees it: service manager, journal, packages, picketd."""

import glob
import http.client
import json
import os
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/lib"))
sys.path.insert(0, os.path.join(TOP, "scripts/lib"))
import node as picket  # noqa: E402
from story import check  # noqa: E402

OUT = "/out"
DEBS = os.path.join(OUT, "debs")
SOCKET = "/run/picket/control.sock"
STATE = "/var/lib/picket"
RESULTS = f"{STATE}/results/gate.jsonl"
UNIT = "picketd.service"


def sh(*command, ok=True, timeout=120, **options):
    """Output of a command; with ok it must succeed."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
        **options,
    )
    if ok and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def prop(name, unit=UNIT):
    return sh("systemctl", "show", "-p", name, "--value", unit).strip()


def request(method, path, body=None):
    connection = picket.UnixConnection(SOCKET)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def status():
    """The status, or None while nobody answers."""
    try:
        code, answer = request("GET", "/v1/status")
    except (OSError, http.client.HTTPException, ValueError):
        return None
    return answer if code == 200 else None


def model(name="parts"):
    """What the status says of a model; {} when it says nothing."""
    found = (status() or {}).get("models", [])
    return next((one for one in found if one["name"] == name), {})


def wait(what, timeout, why):
    """The first true value of what()."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"{why}: not within {timeout} s\n{evidence()}")


def wait_rung(rung, timeout=90, digest=None):
    """The model on a rung (and of a digest)."""

    def reached():
        found = model()
        fits = digest in (None, found.get("digest"))
        return found if found.get("rung") == rung and fits else None

    return wait(reached, timeout, f"rung {rung} of {digest or 'any digest'}")


def results():
    return picket.read_results(RESULTS)


def wait_results(n, timeout=20, rung="engine", digest=None):
    """n more result lines than there are now, on a rung and of a digest."""
    before = len(results())

    def arrived():
        lines = [line for line in results()[before:] if line["rung"] == rung]
        lines = [line for line in lines if digest in (None, line["model"]["digest"])]
        return lines if len(lines) >= n else None

    return wait(arrived, timeout, f"{n} results on {rung}")


def journal(*arguments):
    """Records of the journal as objects."""
    sh("journalctl", "--sync")
    text = sh("journalctl", "-o", "json", "--no-pager", *arguments)
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def evidence():
    """What a person wants to see when a wait was in vain."""
    log = sh("journalctl", "-u", UNIT, "-n", "30", "--no-pager", "-o", "short-monotonic", ok=False)
    state = sh("systemctl", "status", UNIT, "--no-pager", "-n", "0", ok=False)
    return f"{json.dumps(status())[:1500]}\n{state}\n{log}"


def deb(name, version=None):
    """The path of a package, of the oldest version or of one."""
    found = sorted(glob.glob(f"{DEBS}/{name}_{version or ''}*.deb"))
    check(found, f"no package {name} {version or ''} in {DEBS}")
    return found[0]


def install(*paths):
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return sh("dpkg", "--force-confold", "-i", *paths, env=env)


def version():
    return sh("dpkg-query", "-W", "-f=${Version}", "picket").strip()


def repack(path, new_version):
    """The same package as another version: what an upgrade does, without compiling again."""
    folder = f"/tmp/repack-{new_version}"
    sh("dpkg-deb", "-R", path, folder)
    control = f"{folder}/DEBIAN/control"
    with open(control, encoding="utf-8") as f:
        lines = f.read().splitlines()
    with open(control, "w", encoding="utf-8") as f:
        for line in lines:
            f.write((f"Version: {new_version}" if line.startswith("Version:") else line) + "\n")
    target = f"/tmp/picket_{new_version}.deb"
    sh("dpkg-deb", "-Znone", "-b", folder, target)
    return target


def engines():
    """{name: (inode, mtime)} of the engine files."""
    found = {}
    for path in glob.glob(f"{STATE}/engines/*.engine"):
        info = os.stat(path)
        found[os.path.basename(path)] = (info.st_ino, info.st_mtime_ns)
    return found


def pid_of_worker():
    return wait(lambda: ((status() or {}).get("worker") or {}).get("pid"), 20, "a worker")


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
