#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check without a GPU says so; on the driver's double it fills its JSON and table (its
times are those of the double's clock: no figures)."""

import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/lib"))
import story  # noqa: E402
import tiny_model  # noqa: E402

CHECK = os.path.join(TOP, "scripts/gpu-check")
DOUBLE = os.path.join(story.BUILD, "tests/lib/fake_cuda")
KERNELS = os.path.join(story.BUILD, "tests/gpu/libpicket-host-kernels.so")
MODELS = tempfile.TemporaryDirectory(prefix="picket-gpu-check-")
TINY, _ = tiny_model.write(MODELS.name, seed=1)


def check(*arguments, **environment):
    env = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
    return subprocess.run(
        [CHECK, "--build", story.BUILD, "--no-torch", *arguments],
        env={**env, **environment},
        capture_output=True,
        text=True,
        timeout=200,
    )


def has_gpu():
    done = subprocess.run(
        [sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"], capture_output=True
    )
    return done.returncode == 0


def without_a_gpu_it_says_so():
    if has_gpu():
        raise story.Skip("there is a driver here")
    done = check()
    assert done.returncode == 77, done
    assert done.stdout.startswith("not run: no GPU"), done.stdout


def a_driver_without_devices_is_no_gpu():
    done = check(LD_LIBRARY_PATH=DOUBLE, PICKET_FAKE_CUDA_DEVICES="0")
    assert done.returncode == 77 and "no device" in done.stdout, done


def on_the_double_it_fills_every_row():
    if not os.path.exists(KERNELS):
        raise story.Skip("no C++ compiler: the kernels are not built for the host")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        done = check(
            "--json", path, "--precision", "fp16", "fp32", "--minutes", "3", "--models", TINY,
            LD_LIBRARY_PATH=DOUBLE, PICKET_FAKE_KERNELS=KERNELS,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-800:] + done.stderr[-800:]
        with open(path, encoding="utf-8") as f:
            report = json.load(f)
    rows = report["rows"]
    assert [row["precision"] for row in rows] == ["fp16", "fp32"], rows
    for row in rows:
        assert row["right"] and row["p50_ms"] > 0 and row["n_measured"] > 0, row
        assert row["warm_measured"] == 0, row  # the timing cache knew all
    assert report["ways"]["tried"] > 0 and not report["ways"]["wrong"], report["ways"]
    assert "tiny" in done.stdout and "p50_ms" in done.stdout


def a_lost_device_is_no_good_report():
    if not os.path.exists(KERNELS):
        raise story.Skip("no C++ compiler: the kernels are not built for the host")
    with tempfile.TemporaryDirectory() as folder:
        fault = os.path.join(folder, "fault")
        with open(fault, "w", encoding="ascii") as f:
            f.write("700\n")
        done = check(
            "--json", os.path.join(folder, "report.json"), "--precision", "fp16", "--models", TINY,
            LD_LIBRARY_PATH=DOUBLE, PICKET_FAKE_KERNELS=KERNELS, PICKET_FAKE_CUDA_FAIL_FILE=fault,
        )  # fmt: skip
        assert not os.path.exists(fault), "the fault was not met"
    assert done.returncode == 1, done.stdout[-800:] + done.stderr[-800:]


if __name__ == "__main__":
    sys.exit(
        story.run(
            without_a_gpu_it_says_so,
            a_driver_without_devices_is_no_gpu,
            on_the_double_it_fills_every_row,
            a_lost_device_is_no_good_report,
        )
    )
