# SPDX-License-Identifier: Apache-2.0
"""What became of a test suite, and the reading of test programs' lines."""

import json
import re

TAIL_LINES = 30

# cmocka's TAP and our scripts' lines: "ok 3 - name", "not ok - name: why", "skip - name: why".
LINE = re.compile(r"^(ok|not ok|skip)\b *\d* *-? *(.*)$")
TAP_SKIP = re.compile(r"# *skip\b *(.*)$", re.I)


class Outcome:
    """Counts of one suite; prints failures and skips as they come."""

    def __init__(self, name):
        self.name = name
        self.passed = self.failed = self.skipped = 0
        self.figures = {}
        self.failures = []

    def ok(self, n=1):
        self.passed += n

    def fail(self, name, why="", log=""):
        self.failed += 1
        self.failures.append(name)
        print(f"FAIL {self.name}: {name}" + (f": {why}" if why else ""))
        for line in log.rstrip().splitlines()[-TAIL_LINES:]:
            print("    | " + line)

    def skip(self, name, why):
        self.skipped += 1
        print(f"skip {self.name}: {name}: {why}")

    def total(self):
        return self.passed + self.failed + self.skipped

    def counts(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def as_json(self):
        """Figures stand beside the counts: {"passed": 3, …, "demo": {…}}."""
        return {
            **self.figures,
            "passed": self.passed,
            "failed": self.failed,
            "skipped": self.skipped,
            "failures": self.failures,
        }

    def merge_figures(self, path):
        """Takes in what a test wrote to $PICKET_FIGURES, if anything."""
        try:
            with open(path, encoding="utf-8") as f:
                self.figures.update(json.load(f))
        except FileNotFoundError:
            pass
        except (ValueError, TypeError) as error:
            self.fail("figures", f"{path}: {error}")


def result_lines(text):
    """Pairs (ok|not ok|skip, rest) of a test's output."""
    for line in text.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        kind, rest = match.groups()
        tap_skip = TAP_SKIP.search(rest)
        if tap_skip:
            kind, rest = "skip", rest[: tap_skip.start()] + ": " + (tap_skip.group(1) or "skipped")
        yield kind, rest


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no reason given"


def take(outcome, name, status, output):
    """
    Counts one finished test program: status is "ok", "skip" (exit 77), or the way it went wrong.
    Its result lines count one by one; without any the program itself counts as one test.
    """
    results = list(result_lines(output))
    for kind, rest in results:
        if kind == "ok":
            outcome.ok()
        elif kind == "skip":
            outcome.skip(name, rest)
        else:
            outcome.fail(name, rest, output)
    told_failure = any(kind == "not ok" for kind, _ in results)
    if status == "skip":
        outcome.skip(name, last_line(output))
    elif status != "ok" and not told_failure:
        outcome.fail(name, status, output)
    elif status == "ok" and not results:
        outcome.ok()
