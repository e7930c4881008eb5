#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every operation graph that engines of the zoo hand to cuDNN gets a plan from the real library,
for described devices: no GPU, nothing runs. The plan's JSON opens again to the same bytes, and
wrong shapes are refused.

By default one graph of each kind on sm_87, a third of them on each other device; all graphs on all
devices with --long. cuDNN 9.8 or later.
"""

import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts/lib"))
sys.path.insert(0, os.path.join(TOP, "tests/lib"))
import cudalibs  # noqa: E402
import story  # noqa: E402

LONG = bool(os.environ.get("PICKET_LONG"))
DEVICES = {
    name: os.path.join(TOP, f"tests/gpu/devices/{name}.json")
    for name in ("sm_86", "sm_87", "sm_90", "sm_110")
}
DEMO = os.path.join(TOP, "demo/parts.onnx")
# f32 graphs that keep all bits come from one engine of cuDNN that compiles for up to 10 s.
SAMPLE_F32 = [] if LONG else ["--sample", "0/6"]
ORACLE = os.path.join(TOP, "build/venv/bin/python")
ZOO = """
import sys
sys.path.insert(0, "tests/zoo")
import zoo
for model in zoo.MODELS:
    print(f"{zoo.path_of(model)}@{model.bind}" if model.bind else zoo.path_of(model))
"""
LIMIT_S = 3000 if LONG else 600
FOLDER = tempfile.TemporaryDirectory(prefix="picket-gpu-")


def environment(with_driver=True):
    """What lets the program find the real libraries, and a driver without a device."""
    libraries = cudalibs.libraries()
    if "cudnn" not in libraries or "nvrtc" not in libraries:
        raise story.Skip("no cuDNN and NVRTC: scripts/setup --with-cuda-libs test")
    driver = os.path.join(FOLDER.name, "libcuda.so.1")
    if not os.path.exists(driver):
        os.symlink(os.path.join(story.BUILD, "tests/gpu/fake-libcuda.so"), driver)
    folders = ([FOLDER.name] if with_driver else []) + [cudalibs.library_path()]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(folders)}


def models():
    """The demo's model and the zoo, which the oracle's environment generates."""
    done = subprocess.run([ORACLE, "-B", "-c", ZOO], cwd=TOP, capture_output=True, text=True)
    if done.returncode != 0:
        raise story.Skip("the zoo needs the environment of scripts/setup oracle")
    return [DEMO] + done.stdout.split()


def program(arguments, timeout=LIMIT_S, **environment_of):
    """Lines of tests/gpu/plans.c."""
    command = [os.path.join(story.BUILD, "tests/gpu/gpu-plans")]
    done = subprocess.run(
        command + arguments,
        env=environment(**environment_of),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if done.returncode == 77:
        raise story.Skip(done.stderr.strip())
    assert done.returncode in (0, 1) and "graphs" in done.stderr, done.stderr[-500:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def judge(name, found):
    """Fails with the first few graphs that have no plan."""
    assert found, "no graph"
    bad = [g for g in found if g["status"] != "ok"]
    text = "; ".join(f"{g['node']} ({g['graph']}): {g['status']}" for g in bad[:3])
    assert not bad, f"{name}: {len(bad)} of {len(found)} graphs have no plan: {text}"
    changed = [g["graph"] for g in found if not g["round_trip"]]
    assert not changed, f"{name}: the JSON of {len(changed)} plans changes: {changed[0]}"
    taken = [g["graph"] for g in found if not g["wrong_shape"]]
    assert not taken, f"{name}: a wrong shape was taken {len(taken)} times: {taken[0]}"


def run_one(device, mode):
    found = program(([] if LONG else ["--kinds"]) + mode + [DEVICES[device]] + models())
    judge(device, found)
    return found


def figures(found):
    times, sizes = sorted(g["ms"] for g in found), [g["bytes"] for g in found]
    return {
        "graphs": len(found),
        "ms_median": round(times[len(times) // 2], 1),
        "ms_max": round(times[-1], 1),
        "json_kib": round(sum(sizes) / 1024),
    }


def make_all(name, cases):
    """Two at a time: compiling is what takes the time."""
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda case: run_one(*case), cases))
    kept = {f"{d} {' '.join(m)}".strip(): figures(f) for (d, m), f in zip(cases, results)}
    kept["seconds"] = round(time.monotonic() - started, 1)
    print(f"{name}: {kept}", flush=True)
    story.keep_figures(**{name: kept})


def every_f16_graph_of_the_zoo_has_a_plan_on_each_device():
    # All kinds on Orin; the other devices share them.
    parts = {"sm_86": "0/3", "sm_90": "1/3", "sm_110": "2/3"}
    samples = {} if LONG else parts
    cases = [(d, ["--sample", samples[d]] if d in samples else []) for d in DEVICES]
    make_all("plans_f16", cases)


def f32_and_integer_graphs_have_plans():
    devices = DEVICES if LONG else ["sm_87"]
    modes = (["--float", "f32"] + SAMPLE_F32, ["--integer"])
    cases = [(device, mode) for device in devices for mode in modes]
    make_all("plans_f32_i8", cases)


def a_calibrated_model_has_plans():
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "calibration.json")
        command = [os.path.join(story.BUILD, "cli/picketctl"), "engine", "calibrate", DEMO]
        command += ["--samples", os.path.join(TOP, "demo/golden"), "--out", record]
        command += ["--card", os.path.join(TOP, "demo/card.yaml")]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        found = program(["--kinds", "--calibration", record, DEVICES["sm_87"], DEMO])
    judge("calibrated", found)
    assert any(" x:3" in g["graph"] for g in found), "nothing became integer"


def constants_are_those_of_the_real_header():
    folders = [f for f in cudalibs.include_folders() if glob.glob(f"{f}/cudnn_graph.h")]
    if not folders:
        raise story.Skip("no cudnn_graph.h: scripts/setup --with-cuda-libs test")
    # The header needs two types of the runtime's headers, which wheels do not hold whole.
    with open(os.path.join(FOLDER.name, "cuda_runtime_api.h"), "w", encoding="utf-8") as f:
        f.write("#include <stddef.h>\ntypedef void *cudaStream_t, *cudaGraph_t;\n")
    source = os.path.join(FOLDER.name, "check.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write('#include <cudnn_graph.h>\n#include "engine/cuda/cudnn/constants.h"\n')
        f.write("#define X(name, header, value) _Static_assert((int)header == value, #header);\n")
        f.write("PK_CUDNN_CONSTANT_LIST(X)\n")
    command = ["gcc", "-fsyntax-only", "-w", f"-I{TOP}", f"-I{FOLDER.name}"]
    command += [f"-I{folder}" for folder in cudalibs.include_folders()] + [source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-600:]


def a_changed_plan_is_stale():
    for line in program(["--changes", DEVICES["sm_87"], DEMO]):
        assert line["error"] == line["expected"], line


if __name__ == "__main__":
    sys.exit(
        story.run(
            constants_are_those_of_the_real_header,
            a_changed_plan_is_stale,
            every_f16_graph_of_the_zoo_has_a_plan_on_each_device,
            f32_and_integer_graphs_have_plans,
            a_calibrated_model_has_plans,
        )
    )
