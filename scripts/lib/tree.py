# SPDX-License-Identifier: Apache-2.0
"""The files of the tree that the check scripts look at, and how they report."""

import argparse
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _from_git():
    """What git tracks or would track; None outside a repository."""
    command = ["git", "-C", TOP, "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return [name for name in done.stdout.decode().split("\0") if name]


def _from_walk():
    found = []
    for folder, folders, names in os.walk(TOP):
        folders[:] = [f for f in folders if not f.startswith((".", "build")) or f == ".ci"]
        found += [os.path.relpath(os.path.join(folder, name), TOP) for name in names]
    return found


def files(*suffixes):
    """Paths below the top, sorted; with suffixes only names that end so."""
    names = _from_git() or _from_walk()
    kept = {n for n in names if not suffixes or n.endswith(suffixes)}
    return sorted(n for n in kept if os.path.isfile(os.path.join(TOP, n)))


def text(path):
    """Content of a text file, or None when it is binary."""
    with open(os.path.join(TOP, path), "rb") as f:
        raw = f.read()
    try:
        return None if b"\0" in raw else raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def finish(violations, n_looked_at, what):
    """Prints what was found and gives the exit status."""
    for line in violations:
        print(line)
    if n_looked_at == 0:
        print(f"{what}: looked at nothing, so it proves nothing")
        return 1
    if not violations:
        print(f"{what}: {n_looked_at} files, no violation")
    return 1 if violations else 0


def no_arguments(duty):
    """For scripts that take none: --help works, anything else is an error."""
    argparse.ArgumentParser(description=duty).parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")
