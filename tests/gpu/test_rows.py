#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which nodes of real models a GPU engine would leave to the cpu: none of the demo's or the zoo's.
The operators that no kernel knows are the ones that the decision record names. No GPU needed.
"""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/lib"))
import story  # noqa: E402

TOOL = os.path.join(story.BUILD, "tests/gpu/gpu-rows")
RECORD = os.path.join(TOP, "docs/decisions/0013-kernels-checked-on-the-host.md")
ORACLE = os.path.join(TOP, "build/venv/bin/python")
ZOO = """
import sys
sys.path.insert(0, "tests/zoo")
import zoo
for model in zoo.MODELS:
    print(f"{zoo.path_of(model)}@{model.bind}" if model.bind else zoo.path_of(model))
"""


def lines(*arguments):
    command = ["nice", "-n", "5", TOOL, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def no_island_in(paths):
    n_steps = 0
    for line in lines(*paths):
        path, steps, _, islands, *operators = line.split()
        n_steps += int(steps)
        assert islands == "0", f"{os.path.basename(path)}: left to the cpu: {operators}"
    return n_steps


def the_demo_has_no_island():
    assert no_island_in([os.path.join(TOP, "demo/parts.onnx")]) > 50


def the_zoo_has_no_island():
    done = subprocess.run(
        [ORACLE, "-B", "-c", ZOO], cwd=TOP, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise story.Skip("the zoo needs the environment of scripts/setup oracle")
    models = done.stdout.split()
    assert len(models) > 20, models
    steps = no_island_in(models)
    print(f"   {len(models)} models, {steps} steps, 0 islands")
    story.keep_figures(gpu_models=len(models), gpu_steps=steps, gpu_islands=0)


def the_record_names_what_stays_on_the_cpu():
    with open(RECORD, encoding="utf-8") as f:
        text = f.read()
    unknown = lines()
    assert 0 < len(unknown) < 20, unknown
    missing = [name for name in unknown if f"`{name}`" not in text]
    assert not missing, missing


if __name__ == "__main__":
    sys.exit(
        story.run(
            the_demo_has_no_island, the_zoo_has_no_island, the_record_names_what_stays_on_the_cpu
        )
    )
