#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages of this tree: small, without a complaint of lintian, with their SBOM."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import check  # noqa: E402

ARCHITECTURE = subprocess.run(
    ["dpkg", "--print-architecture"], capture_output=True, text=True, check=True
).stdout.strip()
DEBS = os.path.join(story.TOP, "build/deb", ARCHITECTURE)


def run(*command, **options):
    done = subprocess.run(
        command, cwd=story.TOP, stdin=subprocess.DEVNULL, capture_output=True, text=True, **options
    )
    return done.returncode, done.stdout + done.stderr


def found(pattern):
    paths = glob.glob(os.path.join(DEBS, pattern))
    check(len(paths) == 1, f"{pattern}: {paths}")
    return paths[0]


def packages_are_built_and_small():
    status, text = run("scripts/build-deb", "--if-changed")
    check(status == 0, text)
    size = os.path.getsize(found("picket_*.deb"))
    check(size < 3 << 20, f"picket is {size} bytes")
    story.keep_figures(deb_kib=size // 1024)
    with open(os.path.join(DEBS, "build.log"), encoding="utf-8", errors="replace") as f:
        warnings = [line for line in f if re.search(r"\.[ch]:\d+:\d+: warning", line)]
    check(not warnings, f"{warnings[:5]}")


def nothing_of_nvidia_is_needed():
    _, text = run("dpkg-deb", "-f", found("picket_*.deb"), "Depends", "Pre-Depends", "Recommends")
    check(text and not re.search(r"nvidia|cuda|cudnn|nvinfer", text), text)


def lintian_is_silent():
    command = ["lintian", "--fail-on", "error,warning"]
    status, text = run(*command, *glob.glob(os.path.join(DEBS, "*.deb")))
    check(status == 0, f"lintian: {status}: {text}")


def bill_of_materials_names_what_is_linked():
    with open(os.path.join(DEBS, "picket.spdx.json"), encoding="utf-8") as f:
        bill = json.load(f)
    check(bill["spdxVersion"] == "SPDX-2.3", bill["spdxVersion"])
    names = {package["name"]: package for package in bill["packages"]}
    _, depends = run("dpkg-deb", "-f", found("picket_*.deb"), "Depends")
    for name in re.findall(r"(?:^|, )([a-z0-9.+-]+)", depends):
        check(name in names, f"{name} is not in the bill")
    check(names["libssl3"]["versionInfo"] != "NOASSERTION", "a library without a version")
    known = {package["SPDXID"] for package in bill["packages"]} | {"SPDXRef-DOCUMENT"}
    for one in bill["relationships"]:
        check({one["spdxElementId"], one["relatedSpdxElement"]} <= known, f"dangling: {one}")


def unit_is_not_exposed():
    folder = os.path.join(story.TOP, "build/deb", f"work-{ARCHITECTURE}/unit")
    status, text = run("dpkg-deb", "-x", found("picket_*.deb"), folder)
    check(status == 0, text)
    unit = os.path.join(folder, "lib/systemd/system/picketd.service")
    status, text = run(
        "systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", unit
    )
    check(status == 0, text)


def a_release_is_whole():
    """Of the packages that were just built: names, checksums, a source that is the commit's."""
    with open(os.path.join(story.TOP, "meson.build"), encoding="utf-8") as f:
        version = re.search(r"version: '([^']+)'", f.read()).group(1)
    with tempfile.TemporaryDirectory(prefix="picket-release-") as out:
        status, text = run("scripts/release", "--any-state", "--out", out)
        check(status == 0, text)
        native = f"{version}_{ARCHITECTURE}"
        wanted = [f"picket-{version}.tar.gz", f"picket-demo_{version}_all.deb"]
        wanted += [f"picket-dev_{version}_all.deb", "SHA256SUMS"]
        wanted += [f"picket_{native}.{end}" for end in ("deb", "buildinfo", "changes", "spdx.json")]
        check(sorted(os.listdir(out)) == sorted(wanted), f"{os.listdir(out)}")
        sums = subprocess.run(
            ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"],
            cwd=out,
            capture_output=True,
            text=True,
        )
        check(sums.returncode == 0, sums.stdout + sums.stderr)
        with open(os.path.join(out, "SHA256SUMS"), encoding="utf-8") as f:
            check(len(f.readlines()) == len(wanted) - 1, "a file without a checksum")
        _, files = run("tar", "-tzf", os.path.join(out, wanted[0]))
        _, tracked = run("git", "ls-tree", "-r", "--name-only", "HEAD")
        names = {line.split("/", 1)[1] for line in files.split() if not line.endswith("/")}
        check(names == set(tracked.split()), f"the source: {names ^ set(tracked.split())}")


sys.exit(
    story.run(
        packages_are_built_and_small,
        nothing_of_nvidia_is_needed,
        lintian_is_silent,
        bill_of_materials_names_what_is_linked,
        unit_is_not_exposed,
        a_release_is_whole,
    )
)
