#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rungs with the cuda runtime: without any NVIDIA library, on the test double of them, and when
the double loses its context."""

import ctypes
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402
from story import check  # noqa: E402

DOUBLE = os.path.join(story.BUILD, "tests/lib/fake_cuda")
KERNELS = os.path.join(story.BUILD, "tests/gpu/libpicket-host-kernels.so")


class gpu_node:
    """A context: a started node whose chain begins with cuda, with these variables."""

    def __init__(self, **env: str):
        self.env = env

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="picket-gpu-")
        self.node = story.picket.Node(self.folder.name, story.BUILD)
        story.demo_bundle(self.node)
        text = story.config(self.node, "belt-a").replace("[cpu]", "[cuda, cpu]")
        # The double is slow: nothing is tried out on it.
        text = text.replace("build: {", "build: {opt_level: 0, ")
        self.node.write_config(text)
        self.node.start(env=self.env)
        return self.node

    def __exit__(self, *error):
        try:
            self.node.stop()
        finally:
            self.folder.cleanup()


def double(**env: str) -> dict:
    if not os.path.isfile(KERNELS):
        raise story.Skip("the kernels are not built for the host: no C++ compiler")
    folders = f"{DOUBLE}:{os.path.dirname(KERNELS)}"
    return {"LD_LIBRARY_PATH": folders, "PICKET_FAKE_KERNELS": KERNELS, **env}


def has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def without_any_nvidia_library_the_cpu_serves():
    if has_driver():
        raise story.Skip("this machine has an NVIDIA driver")
    with gpu_node() as node:
        model = node.wait_rung("parts", "cpu", 60)
        check("cuda: no driver" in model["cause"], f"cause: {model}")
        node.wait_for(
            lambda _s: any(
                r.get("runtime") == "cpu" and "no driver" in r.get("cause", "")
                for r in node.results()
            ),
            30,
            "results of the cpu that say why",
        )


def an_old_driver_is_named():
    with gpu_node(**double(PICKET_FAKE_CUDA_DRIVER="11000")) as node:
        model = node.wait_rung("parts", "cpu", 60)
        check("driver too old" in model["cause"], f"cause: {model}")


def the_engine_is_built_and_served_by_cuda():
    with gpu_node(**double()) as node:
        node.wait_rung("parts", "engine", 120)
        node.wait_for(
            lambda _s: any(r.get("runtime") == "cuda" for r in node.results()), 30, "cuda results"
        )
        result = [r for r in node.results() if r.get("runtime") == "cuda"][-1]
        check(result["rung"] == "engine", f"rung {result['rung']}")
        with open(f"/proc/{node.status()['pid']}/maps", encoding="ascii") as maps:
            check("libcuda" not in maps.read(), "picketd has loaded the driver")
        check(
            any(r["detections"] for r in node.results() if r.get("runtime") == "cuda"),
            "nothing seen",
        )


def a_lost_context_ends_the_worker_and_a_new_one_serves():
    with tempfile.TemporaryDirectory(prefix="picket-fault-") as folder:
        fault = os.path.join(folder, "fault")
        with gpu_node(**double(PICKET_FAKE_CUDA_FAIL_FILE=fault)) as node:
            node.wait_rung("parts", "engine", 120)
            after = node.last_event_id()
            with open(fault + ".new", "w", encoding="ascii") as f:
                f.write("700")
            os.rename(fault + ".new", fault)
            ended = node.wait_event("the accelerator was lost to it", 30, after)
            check("exit code 70" in ended["message"], f"event: {ended}")
            told = node.wait_event("(700)", 10, after)
            check("parts" in told["message"], f"event: {told}")
            node.wait_rung("parts", "engine", 60)  # in a new process, tried again


sys.exit(
    story.run(
        without_any_nvidia_library_the_cpu_serves,
        an_old_driver_is_named,
        the_engine_is_built_and_served_by_cuda,
        a_lost_context_ends_the_worker_and_a_new_one_serves,
    )
)
