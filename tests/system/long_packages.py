#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Slow checks of the packages: built twice and bit-equal, piuparts."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import check  # noqa: E402

sys.path.insert(0, os.path.join(story.TOP, "scripts/lib"))
import rootfs  # noqa: E402

ARCHITECTURE = subprocess.run(
    ["dpkg", "--print-architecture"], capture_output=True, text=True, check=True
).stdout.strip()
DEBS = os.path.join(story.TOP, "build/deb", ARCHITECTURE)


def run(*command):
    done = subprocess.run(
        command, cwd=story.TOP, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    check(done.returncode == 0, f"{command[0]}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def mirror():
    """Where this machine gets Debian from."""
    text = run("apt-get", "indextargets", "--format", "$(REPO_URI)")
    check(text.strip(), "apt knows no archive")
    return next(line for line in text.split() if line.endswith("/debian/")).rstrip("/")


def packages_are_reproducible():
    text = run("scripts/build-deb", "--twice")
    check("bit-equal" in text, text)


def piuparts_passes():
    """Installs, removes and purges in a chroot of its own; what is left behind is a failure."""
    root = rootfs.make("piuparts", rootfs.PIUPARTS)
    run("scripts/build-deb", "--if-changed")
    packages = [os.path.join(DEBS, name) for name in sorted(os.listdir(DEBS))]
    packages = [path for path in packages if re.search(r"/picket(-dev)?_[^/]*\.deb$", path)]
    command = ["piuparts", f"--existing-chroot={root}", "--no-upgrade-test"]
    command += ["--distribution=bookworm", f"--mirror={mirror()} main"]
    command += ["--install-recommends", "--no-eatmydata"]
    run(*command, *packages)


sys.exit(story.run(packages_are_reproducible, piuparts_passes))
