#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Our own declarations of the CUDA driver, NVRTC and cuDNN against NVIDIA's headers, where there
are some: constants by value, functions by calling each with the arguments that we declare."""

import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts/lib"))
sys.path.insert(0, os.path.join(TOP, "tests/lib"))
import cudalibs  # noqa: E402
import story  # noqa: E402

# Our opaque structs are theirs while this is compiled; an address is CUdeviceptr.
HEAD = """
#include <stddef.h>
#include <stdint.h>
#include <cuda.h>
#include <nvrtc.h>
#include <cudnn.h>
#define pk_cu_context CUctx_st
#define pk_cu_stream CUstream_st
#define pk_cu_event CUevent_st
#define pk_cu_module CUmod_st
#define pk_cu_function CUfunc_st
#define pk_cu_graph CUgraph_st
#define pk_cu_graph_exec CUgraphExec_st
#define pk_nvrtc_program _nvrtcProgram
#define pk_cudnn_context cudnnContext
#define uint64_t CUdeviceptr
#include "engine/cuda/abi.h"
#include "engine/cuda/cudnn/constants.h"
_Static_assert(sizeof(CUdeviceptr) == 8 && sizeof(CUdevice) == sizeof(int), "device types");
_Static_assert(sizeof(CUresult) == 4 && sizeof(cudnnStatus_t) == 4, "statuses");
#define X(ours, theirs, value) _Static_assert((long long)(theirs) == (value), #theirs);
PK_CUDA_CONSTANT_LIST(X)
PK_CUDNN_CONSTANT_LIST(X)
#undef X
"""
RUNTIME_TYPES = """#pragma once
typedef struct CUstream_st *cudaStream_t;
typedef struct CUgraph_st *cudaGraph_t;
"""
FLAGS = ["-std=gnu17", "-fsyntax-only", "-Wall", "-Werror", "-Wno-deprecated-declarations"]
FLAGS += ["-Wno-discarded-qualifiers"]  # we promise less about a descriptor
FLAGS += ["-Werror=incompatible-pointer-types", "-Werror=int-conversion"]
FUNCTION = re.compile(r"X\(\s*(\w+),\s*(cu\w+|nvrtc\w+|cudnn\w+),\s*\((.*?)\)\)(?=\s|$)", re.S)


def functions() -> list:
    """(field, symbol, arguments) of the three lists."""
    with open(os.path.join(TOP, "engine/cuda/abi.h"), encoding="utf-8") as f:
        text = f.read().replace("\\\n", "\n")
    return FUNCTION.findall(text)


def name_of(argument: str) -> str:
    """ "void (*call)(void *ctx)" gives call, "const char **name" gives name."""
    pointer = re.search(r"\(\*\s*(\w+)\)\(", argument)
    return pointer.group(1) if pointer else re.search(r"(\w+)\s*$", argument).group(1)


def split(arguments: str) -> list:
    """At the commas that are not in parentheses."""
    parts, depth = [""], 0
    for c in arguments:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def compile_text(text: str, includes: list) -> str:
    """What the compiler says; "" when it takes the text."""
    with tempfile.TemporaryDirectory(prefix="picket-abi-") as folder:
        # cudnn.h asks for the runtime API only for these types.
        for name in ("cuda_runtime.h", "cuda_runtime_api.h"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(RUNTIME_TYPES)
        path = os.path.join(folder, "abi.c")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        command = ["cc", *FLAGS, "-I", TOP, "-I", folder]
        for include in includes:
            command += ["-isystem", include]
        done = subprocess.run([*command, path], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def wrappers(found: list) -> str:
    text = ""
    for field, symbol, arguments in found:
        names = ", ".join(name_of(a) for a in split(arguments))
        text += f"int use_{field}_{symbol}({arguments});\n"
        text += f"int use_{field}_{symbol}({arguments}) {{ return (int){symbol}({names}); }}\n"
    return text


def headers() -> list:
    includes = cudalibs.include_folders()
    names = ("cuda.h", "nvrtc.h", "cudnn.h")
    if not all(any(os.path.isfile(f"{i}/{name}") for i in includes) for name in names):
        raise story.Skip("no CUDA headers: scripts/setup --with-cuda-libs oracle")
    return includes


def our_declarations_are_theirs():
    includes = headers()
    found = functions()
    story.check(len(found) > 45, f"only {len(found)} functions were read from abi.h")
    errors = compile_text(HEAD + wrappers(found), includes)
    story.check(not errors, errors[:1500])
    print(f"  {len(found)} functions")


def a_wrong_declaration_is_found():
    includes = headers()
    wrong = (
        "int f(int *a);\nint f(int *a) { return (int)cuMemAlloc_v2(a, 1); }\n",
        "int f(void);\nint f(void) { return (int)cuMemAlloc_v2(0); }\n",
        '_Static_assert(CUDA_ERROR_UNKNOWN == 1, "");\n',
    )
    story.check(not compile_text(HEAD, includes), "the headers alone do not compile")
    for text in wrong:
        story.check(compile_text(HEAD + text, includes), f"went through: {text}")


sys.exit(story.run(our_declarations_are_theirs, a_wrong_declaration_is_found))
