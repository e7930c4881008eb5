# SPDX-License-Identifier: Apache-2.0
"""The test suites: how each builds, what it runs, what it counts."""

import concurrent.futures
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import gotools
from outcome import take

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JOBS = "2"  # camera nodes and CI machines are small
ORACLE_PYTHON = "build/venv/bin/python"
LOGS = "build/test-logs"
SKIP_STATUS = 77

SANITIZE = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
# Folder, compiler, meson options of each build.
BUILDS = {
    "gcc": ("gcc", ["-Dtests=true"]),
    "clang": ("clang", ["-Dtests=true"]),
    # gcc: clang 14's runtime aborts on C++ exceptions inside GStreamer's plugins.
    "asan": ("gcc", ["-Dtests=true", "-Dc_args=-fno-sanitize-recover=undefined"] + SANITIZE),
    "fuzz": (
        "clang",
        ["-Dtests=true", "-Dfuzz=true", "-Dc_args=-fsanitize=fuzzer-no-link"] + SANITIZE,
    ),
}
BUILT = {}  # name: did it build, in this run

SANITIZER_ENV = {
    "ASAN_OPTIONS": "strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "LSAN_OPTIONS": f"suppressions={TOP}/tests/lsan.supp:print_suppressions=0",
}
FUZZ_SECONDS, FUZZ_SECONDS_LONG = 10, 60
ALWAYS_FUZZED_LONG = ("onnx_import", "onnx_model", "plan")  # what comes from strangers
SCRIPT_TIMEOUT_S = 900


def end_group(pid):
    """Ends what a finished or late command left running."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, timeout=None, **env):
    """(status, output): status is the exit code, "timeout" or "cannot run"."""
    # Into a file: a pipe would stay open as long as any process that the command left behind.
    with tempfile.TemporaryFile() as output:
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **env},
                start_new_session=True,
            )
        except OSError as error:
            return "cannot run", str(error)
        try:
            status = child.wait(timeout)
        except subprocess.TimeoutExpired:
            status = "timeout"
        finally:
            end_group(child.pid)
            child.wait()
        output.seek(0)
        return status, output.read().decode("utf-8", "replace")


def keep_log(name, text):
    os.makedirs(LOGS, exist_ok=True)
    with open(os.path.join(LOGS, name.replace("/", "-") + ".log"), "w", encoding="utf-8") as f:
        f.write(text)


def setup():
    """All packages, or the reason why not and the end."""
    status = subprocess.run(
        ["scripts/setup", "--quiet", "test"], stdin=subprocess.DEVNULL, check=False
    ).returncode
    if status:
        sys.exit(f"test: scripts/setup failed ({status})")


def configure(name):
    """(status, output) of meson; a folder made with other options is made anew."""
    compiler, options = BUILDS[name]
    folder, stamp = f"build/{name}", f"build/{name}/picket-options"
    options = ["--werror", "-Db_colorout=never"] + options
    wanted = " ".join([compiler] + options)
    try:
        with open(stamp, encoding="utf-8") as f:
            if f.read() == wanted:
                return 0, ""
    except OSError:
        pass
    wipe = ["--wipe"] if os.path.isfile(f"{folder}/meson-private/coredata.dat") else []
    status, output = run(["meson", "setup", folder] + wipe + options, CC=compiler)
    if status == 0:
        with open(stamp, "w", encoding="utf-8") as f:
            f.write(wanted)
    return status, output


def only_complaints(output):
    """The compiler's complaints of a long build log, or its end."""
    lines = output.splitlines()
    firsts = [i for i, line in enumerate(lines) if re.search(r"\b(error|FAILED|ERROR)\b", line)]
    start = max(firsts[0] - 3, 0) if firsts else 0  # an assertion's text stands before
    return "\n".join(lines[start : start + 30]) if firsts else output


def build(outcome, name, targets=()):
    """Counts as one test, the first time; False when there is nothing to run then."""
    if BUILT.get(name):
        return True
    status, output = configure(name)
    if status == 0:
        command = ["ninja", "-C", f"build/{name}", "-j" + JOBS, "-k0"]
        status, output = run(command + list(targets))
    keep_log(f"build-{name}", output)
    BUILT[name] = status == 0
    if status == 0:
        outcome.ok()
        return True
    outcome.fail(f"build {name}", "not built, or with warnings", only_complaints(output))
    return False


def meson_suites(name):
    """Names of the meson test suites of a build."""
    status, output = run(["meson", "introspect", "--tests", f"build/{name}"])
    if status != 0:
        return set()
    return {suite.split(":")[-1] for test in json.loads(output) for suite in test["suite"]}


def meson_tests(outcome, name, suite, timeout_factor="2", **env):
    """Runs one meson suite of a build and counts cmocka's tests one by one."""
    log_path = f"build/{name}/meson-logs/testlog-{suite}.json"
    command = ["meson", "test", "-C", f"build/{name}", "--no-rebuild", "--suite", suite]
    command += ["--num-processes", JOBS, "-t", timeout_factor, "--logbase", f"testlog-{suite}"]
    if os.path.exists(log_path):
        os.unlink(log_path)
    _, output = run(command, CMOCKA_MESSAGE_OUTPUT="TAP", **env)
    if not os.path.exists(log_path):
        outcome.fail(f"{name} {suite}", "meson test left no log", output)
        return
    with open(log_path, encoding="utf-8") as f:
        for row in map(json.loads, f):
            result = row["result"]
            status = {"OK": "ok", "SKIP": "skip"}.get(result, f"{result} ({row['returncode']})")
            text = row.get("stdout", "") + row.get("stderr", "")
            take(outcome, f"{name} {row['name']}", status, text)


def unit(outcome, options):
    """Both compilers without a warning, and the unit tests of each."""
    for name in ("gcc", "clang"):
        if build(outcome, name):
            meson_tests(outcome, name, "unit")


def checks(outcome, options):
    """The rules of the house that a program can check."""
    for name in ("includes", "size", "banned", "headers", "format"):
        status, output = run([f"scripts/check-{name}"])
        if status == 0:
            outcome.ok()
        else:
            outcome.fail(f"check-{name}", f"exit {status}", output)


def sanitize(outcome, options):
    """The unit tests under AddressSanitizer, LeakSanitizer and UBSan."""
    if build(outcome, "asan"):
        meson_tests(outcome, "asan", "unit", timeout_factor="6", **SANITIZER_ENV)


def kernels(outcome, options):
    """Each kernel against the C reference, with and without the sanitizers."""
    for name in ("gcc", "asan"):
        configure(name)
        if "kernels" in meson_suites(name) and build(outcome, name):
            meson_tests(outcome, name, "kernels", timeout_factor="6", **SANITIZER_ENV)


def fuzz_one(name, seconds):
    """(name, status, output) of one fuzzer after its time."""
    corpus, artifacts = f"build/fuzz/corpus/{name}", f"build/fuzz/artifacts/{name}/"
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(artifacts, exist_ok=True)
    seeds = [s for s in [f"tests/fuzz/corpus/{name}"] if os.path.isdir(s)]
    dictionary = f"tests/fuzz/{name}.dict"
    command = [f"build/fuzz/tests/fuzz/fuzz_{name}", f"-max_total_time={seconds}"]
    command += ["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]
    command += [f"-artifact_prefix={artifacts}"]
    command += [f"-dict={dictionary}"] if os.path.isfile(dictionary) else []
    status, output = run(command + [corpus] + seeds, timeout=seconds + 120, **SANITIZER_ENV)
    keep_log(f"fuzz-{name}", output)
    return name, status, output


def fuzz(outcome, options):
    """Each parser's fuzzer for a while; a finding is kept under build/fuzz/artifacts."""
    if not build(outcome, "fuzz", ["fuzzers"]):
        return
    found = sorted(glob.glob("build/fuzz/tests/fuzz/fuzz_*"))
    names = [os.path.basename(f)[len("fuzz_") :] for f in found if os.path.isfile(f)]

    def seconds_of(name):
        is_long = options.long or name in ALWAYS_FUZZED_LONG
        return FUZZ_SECONDS_LONG if is_long else FUZZ_SECONDS

    with concurrent.futures.ThreadPoolExecutor(int(JOBS)) as pool:
        for name, status, output in pool.map(lambda n: fuzz_one(n, seconds_of(n)), names):
            runs = re.search(r"stat::number_of_executed_units: *(\d+)", output)
            outcome.figures[f"{name}_runs"] = int(runs.group(1)) if runs else 0
            if status == 0 and runs and int(runs.group(1)) > 0:
                outcome.ok()
            else:
                outcome.fail(f"fuzz_{name}", f"exit {status}", only_complaints(output))


def run_script(outcome, options, path, interpreter=()):
    """One test script, its result lines and its figures."""
    name = os.path.basename(path)
    figures = os.path.abspath(f"{LOGS}/{outcome.name}-{name}.figures.json")
    os.makedirs(LOGS, exist_ok=True)
    if os.path.exists(figures):
        os.unlink(figures)
    status, output = run(
        list(interpreter) + [path],
        timeout=SCRIPT_TIMEOUT_S,
        PICKET_BUILD=os.path.abspath("build/gcc"),
        PICKET_FIGURES=figures,
        PICKET_LONG="1" if options.long else "",
        PYTHONDONTWRITEBYTECODE="1",
    )
    keep_log(f"{outcome.name}-{name}", output)
    words = {0: "ok", SKIP_STATUS: "skip", "timeout": f"not done in {SCRIPT_TIMEOUT_S} s"}
    take(outcome, name, words.get(status, f"exit {status}"), output)
    outcome.merge_figures(figures)


def scripts_of(suite):
    """Each tests/SUITE/test_* in order; one that cannot be executed fails."""
    return sorted(glob.glob(f"tests/{suite}/test_*.py") + glob.glob(f"tests/{suite}/test_*.sh"))


def script_suite(outcome, options):
    """The scripts of tests/SUITE/ on the gcc build."""
    paths = scripts_of(outcome.name)
    if paths and build(outcome, "gcc"):
        for path in paths:
            run_script(outcome, options, path)


def interop(outcome, options):
    """The real tools of others against ours, built first: a script's time would not do for it."""
    for name in gotools.TOOLS:
        try:
            gotools.program(name, options.long)
        except gotools.Missing as why:
            print(f"   {why}", flush=True)  # the tests that need it are skipped and say so
    script_suite(outcome, options)


def system(outcome, options):
    """The packages on a booted system; with --long other machines and the slow checks too."""
    script_suite(outcome, options)
    for path in sorted(glob.glob("tests/system/long_*.py")) if options.long else []:
        run_script(outcome, options, path)


def onnx(outcome, options):
    """Our engines against the reference runtime."""
    if not os.path.isfile("tests/onnx/run.py"):
        return
    status, output = run(["scripts/setup", "--quiet", "oracle"])
    if status != 0:
        outcome.fail("oracle", "scripts/setup oracle failed", output)
    elif build(outcome, "gcc"):
        run_script(outcome, options, "tests/onnx/run.py", [ORACLE_PYTHON])
        run_script(outcome, options, "tests/onnx/run_zoo.py", [ORACLE_PYTHON])
        run_script(outcome, options, "tests/onnx/test_int8.py")


def gpu(outcome, options):
    """What can be checked of the cuda runtime without a GPU: its kernels built for the host, then
    NVIDIA's real libraries."""
    for name, suite in (("gcc", "gpu"), ("asan", "gpu-plain")):
        if build(outcome, name):
            meson_tests(outcome, name, suite, timeout_factor="6", **SANITIZER_ENV)
    status, output = run(["scripts/setup", "--quiet", "--with-cuda-libs", "oracle"])
    if status != 0:  # the tests that need them are skipped and say so
        print("   " + output.strip(), flush=True)
    script_suite(outcome, options)


# In the order they run: what fails fast and often comes first.
TABLE = {
    "checks": checks,
    "unit": unit,
    "kernels": kernels,
    "sanitize": sanitize,
    "fuzz": fuzz,
    "onnx": onnx,
    "golden": script_suite,
    "registry": script_suite,
    "e2e": script_suite,
    "interop": interop,
    "system": system,
    "gpu": gpu,
}
