# SPDX-License-Identifier: Apache-2.0
"""Where NVIDIA's libraries and headers are: an installed toolkit, or wheels in build/cuda-venv."""

import glob
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(TOP, "build/cuda-venv")
# What stands for each library, and what a check without a GPU needs of a toolkit.
FILES = {"cudnn": "libcudnn.so.*", "nvrtc": "libnvrtc.so.*", "cublasLt": "libcublasLt.so.*"}
NEEDED = ("cudnn", "nvrtc")


def toolkit_folders() -> list:
    """Library folders of installed toolkits, in the order in which the loader would look."""
    roots = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    folders += [os.path.join(root, name) for root in roots if root for name in ("lib64", "lib")]
    folders += glob.glob("/usr/lib/*-linux-gnu") + ["/usr/lib", "/usr/lib64"]
    return [folder for folder in folders if folder and os.path.isdir(folder)]


def wheel_folders() -> list:
    return sorted(glob.glob(f"{VENV}/lib/python3*/site-packages/nvidia/*/lib"))


def find(folders: list) -> dict:
    """Library name: the folder that holds it."""
    found = {}
    for name, pattern in FILES.items():
        for folder in folders:
            if glob.glob(os.path.join(folder, pattern)):
                found[name] = folder
                break
    return found


def has_needed(found: dict) -> bool:
    return all(name in found for name in NEEDED)


def is_installed() -> bool:
    """Whether the machine itself has what the checks need."""
    return has_needed(find(toolkit_folders()))


def libraries() -> dict:
    """The installed toolkit if it is whole, else the wheels; what is not there is left out."""
    installed = find(toolkit_folders())
    return installed if has_needed(installed) else find(wheel_folders())


def library_path() -> str:
    """For LD_LIBRARY_PATH; empty when there is nothing to add."""
    return ":".join(dict.fromkeys(libraries().values()))


def include_folders() -> list:
    """Folders with cuda.h or cudnn.h, if any."""
    found = []
    for folder in libraries().values():
        include = os.path.join(os.path.dirname(folder), "include")
        if glob.glob(f"{include}/cuda.h") or glob.glob(f"{include}/cudnn.h"):
            found.append(include)
    return list(dict.fromkeys(found))


# As a program: exits 0 when a toolkit is installed; `path` and `include` print folders.
if __name__ == "__main__":
    WHAT = sys.argv[1] if len(sys.argv) > 1 else ""
    if WHAT == "path":
        print(library_path())
    elif WHAT == "include":
        print(":".join(include_folders()))
    else:
        sys.exit(0 if is_installed() else 1)
