#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""arm64: cross-compiled, unit tests under qemu-user, packages."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import check  # noqa: E402


def run(*command):
    done = subprocess.run(
        ["scripts/cross-build", "arm64", *command],
        cwd=story.TOP,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    check(done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}")


def unit_tests_pass_under_qemu():
    run("--test")


def packages_are_built():
    run("--deb")


sys.exit(story.run(unit_tests_pass_under_qemu, packages_are_built))
