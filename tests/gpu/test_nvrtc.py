#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each kernel text compiles by the real NVRTC, without a GPU, for every architecture served."""

import concurrent.futures
import ctypes
import glob
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts/lib"))
sys.path.insert(0, os.path.join(TOP, "tests/lib"))
import cudalibs  # noqa: E402
import story  # noqa: E402

TOOL = os.path.join(story.BUILD, "tests/gpu/kernel-text")
# Cubins for desks and servers (75, 90), Orin (87) and Thor (110); PTX of Orin's for what is newer.
ARCHITECTURES = ["sm_75", "sm_87", "sm_90", "sm_110"]
# A chain of silu(x) * y on f16 rows of 64: the layout of struct pk_cu_chain.
PROGRAM = (
    "{2, 2, 1, 2, 16384, 64, {1024, 64}, {{2, 0, {64, 1}}, {2, 0, {64, 1}}}, {{2, 0, {64, 1}}},"
    " {2}, {{PK_FN_SILU, 2, 0, 0, 0, {}, 0, 0}, {PK_FN_MUL, 2, 2, 1, 0, {}, 0, 0}}}"
)


class Nvrtc:
    """The compiler by ctypes."""

    def __init__(self):
        folder = os.environ.get("PICKET_NVRTC_DIR") or cudalibs.libraries().get("nvrtc")
        found = sorted(glob.glob(f"{folder}/libnvrtc.so.*")) if folder else []
        if not found:
            raise story.Skip("NVRTC is not installed: scripts/setup --with-cuda-libs test")
        self.lib = ctypes.CDLL(found[0])

    def version(self):
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.lib.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def architectures(self):
        n = ctypes.c_int()
        self.lib.nvrtcGetNumSupportedArchs(ctypes.byref(n))
        archs = (ctypes.c_int * n.value)()
        self.lib.nvrtcGetSupportedArchs(archs)
        return list(archs)

    def _result(self, program, what):
        size = ctypes.c_size_t()
        getattr(self.lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value)
        getattr(self.lib, f"nvrtcGet{what}")(program, data)
        return data.raw

    def compile(self, name, text, *options):
        """(status, log, cubin or PTX)"""
        program = ctypes.c_void_p()
        status = self.lib.nvrtcCreateProgram(
            ctypes.byref(program), text, name.encode(), 0, None, None
        )
        assert status == 0, f"{name}: nvrtcCreateProgram: {status}"
        argv = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
        status = self.lib.nvrtcCompileProgram(program, len(options), argv)
        log = self._result(program, "ProgramLog").rstrip(b"\0").decode()
        what = "CUBIN" if "=sm_" in options[0] else "PTX"
        code = self._result(program, what) if status == 0 else b""
        self.lib.nvrtcDestroyProgram(ctypes.byref(program))
        return status, log, code


def text_of(name):
    return subprocess.run([TOOL, name], stdout=subprocess.PIPE, check=True).stdout


def names():
    done = subprocess.run([TOOL], stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout.split()


def every_kernel_compiles():
    """No error and no warning, for each architecture; PTX for compute_87 too."""
    nvrtc = Nvrtc()
    begun, n, n_bytes = time.monotonic(), 0, 0
    wanted = [a for a in ARCHITECTURES if int(a[3:]) in nvrtc.architectures()]
    assert len(names()) > 2 and "sm_87" in wanted, (names(), wanted)
    jobs = [(name, arch) for name in names() for arch in wanted + ["compute_87"]]

    def work(job):
        return nvrtc.compile(job[0], text_of(job[0]), f"--gpu-architecture={job[1]}", "--std=c++14")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (name, arch), (status, log, code) in zip(jobs, pool.map(work, jobs)):
            assert status == 0 and not log.strip(), f"{name} {arch}: {status}: {log[:1500]}"
            n, n_bytes = n + 1, n_bytes + len(code)
    seconds = time.monotonic() - begun
    print(f"   NVRTC {nvrtc.version()}: {n} compilations, {seconds:.1f} s, {n_bytes} bytes")
    story.keep_figures(nvrtc_compilations=n, nvrtc_seconds=round(seconds, 1))


def a_constant_chain_is_unrolled():
    """With its program given, the chain needs no registers in local memory and no switch."""
    nvrtc = Nvrtc()
    options = ["--gpu-architecture=compute_87", "--std=c++14"]
    status, log, generic = nvrtc.compile("chain.cu", text_of("chain.cu"), *options)
    assert status == 0 and b".local" in generic, (status, log)
    options.append(f"-DPK_CHAIN_PROGRAM={PROGRAM}")
    status, log, fixed = nvrtc.compile("chain.cu", text_of("chain.cu"), *options)
    assert status == 0, log
    kernel = fixed[fixed.index(b".entry chain_float") : fixed.index(b".entry chain_int")]
    assert b".local" not in kernel and b"brx" not in kernel, kernel.decode()[:2000]
    assert b"ld.global" in kernel and len(kernel) * 4 < len(generic), len(kernel)


def a_broken_text_is_refused():
    """The check can fail: a text with one word gone does not compile."""
    nvrtc = Nvrtc()
    text = text_of("pool.cu").replace(b"pk_load(v,", b"pk_lod(v,", 1)
    status, log, _ = nvrtc.compile("pool.cu", text, "--gpu-architecture=sm_87", "--std=c++14")
    assert status != 0 and "pk_lod" in log, (status, log)


if __name__ == "__main__":
    sys.exit(
        story.run(every_kernel_compiles, a_constant_chain_is_unrolled, a_broken_text_is_refused)
    )
