# SPDX-License-Identifier: Apache-2.0
"""A QEMU machine with a kernel of its own: memory controllers, a virtual V4L2 camera. Emulated."""

import glob
import os
import re
import shutil
import subprocess
import sys
import time

import rootfs

SKIP = 77
INSIDE = "/picket-tree"
MODULES = ("vivid",)
# What the story's tests read; the rest of the tree stays outside.
TREE = ["tests/system", "tests/lib", "scripts/lib", "demo", "docs", "packaging/debian/tests"]
MEMORY_MIB = 3072
TIMEOUT_S = 600

UNIT = f"""[Unit]
Description=Story
Wants=multi-user.target
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=oneshot
Environment=PICKET_FIGURES=/out/figures.json
ExecStart=/bin/sh -c 'exec >/dev/ttyS0 2>&1; python3 -B {INSIDE}/tests/system/story.py vm; \
  echo "story exit $$?"; echo "figures: $$(cat /out/figures.json)"'
"""


def why_not():
    if os.geteuid() != 0:
        return "not root"
    for tool in ("mmdebstrap", "qemu-system-x86_64", "cpio", "zstd", "modprobe"):
        if not shutil.which(tool):
            return f"no {tool}; run scripts/setup system"
    return ""


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"vm: {' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def kernel():
    """(image, folder of modules, version) of Debian's newest kernel, unpacked and kept."""
    text = output("apt-cache", "depends", "linux-image-amd64")
    package = re.search(r"Depends: (linux-image-\S+)", text).group(1)
    folder = os.path.join(rootfs.KEPT, package)
    if not os.path.isdir(folder):
        part = folder + ".part"
        shutil.rmtree(part, ignore_errors=True)
        os.makedirs(part)
        subprocess.run(["chmod", "777", part], check=True)  # apt fetches as a user of its own
        output("apt-get", "download", package, cwd=part)
        output("dpkg", "-x", glob.glob(f"{part}/*.deb")[0], f"{part}/root")
        os.rename(part, folder)
    image = glob.glob(f"{folder}/root/boot/vmlinuz-*")[0]
    return image, f"{folder}/root", os.path.basename(image)[len("vmlinuz-") :]


def add_modules(root, modules, version):
    """The modules and what they need, where modprobe finds them."""
    output("depmod", "-b", modules, version)
    for name in MODULES:
        text = output("modprobe", "-d", modules, "-S", version, "--show-depends", name)
        for path in re.findall(r"^insmod (\S+)", text, re.M):
            path = os.path.realpath(path)
            target = os.path.join(root, os.path.relpath(path, modules))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(path, target)
    for path in glob.glob(f"{modules}/lib/modules/{version}/modules.*"):
        shutil.copy(path, f"{root}/lib/modules/{version}/")
    output("depmod", "-b", root, version)


def archive(folder, path, *compress):
    """A folder as cpio; the kernel takes several one after the other."""
    pack = f"cd '{folder}' && find . -xdev -print0 | cpio --null -o -H newc --quiet"
    with open(path, "wb") as f:
        pipe = f"{pack} | {' '.join(compress)}" if compress else pack
        subprocess.run(["sh", "-c", pipe], stdout=f, check=True)
        f.seek(0, os.SEEK_END)
        f.write(bytes(-f.tell() % 512))


def base_archive(root):
    path = root + ".cpio.zst"
    if not os.path.isfile(path):
        archive(root, path + ".part", "zstd", "-q", "-3", "-T2")
        os.rename(path + ".part", path)
    return path


def story_archive(folder, debs, modules, version):
    """What is of this run: the tree, the packages, the unit, the kernel's modules."""
    top = os.path.join(folder, "extra")
    os.makedirs(top + "/out/debs")
    for path in TREE:
        shutil.copytree(os.path.join(rootfs.TOP, path), f"{top}{INSIDE}/{path}")
    for path in glob.glob(os.path.join(debs, "picket_*.deb")):
        shutil.copy(path, f"{top}/out/debs")
    os.makedirs(f"{top}/etc/systemd/system")
    with open(f"{top}/etc/systemd/system/story.service", "w", encoding="utf-8") as f:
        f.write(UNIT)
    os.symlink("/sbin/init", f"{top}/init")
    os.makedirs(f"{top}/usr/lib/modules/{version}")
    os.symlink("usr/lib", f"{top}/lib")
    add_modules(top, modules, version)
    os.unlink(f"{top}/lib")
    path = os.path.join(folder, "extra.cpio")
    archive(top, path)
    return path


def boot(image, initrd, log_path):
    command = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "qemu-system-x86_64",
        "-accel",
        "tcg,thread=multi",
        "-cpu",
        "max",
    ]
    command += ["-m", str(MEMORY_MIB), "-smp", "2", "-nographic", "-no-reboot", "-nic", "none"]
    command += ["-nodefaults", "-serial", "stdio", "-kernel", image, "-initrd", initrd]
    line = "console=ttyS0 quiet loglevel=3 panic=-1 systemd.unit=story.service"
    line += " systemd.mask=serial-getty@ttyS0.service"
    command += ["-append", line + " systemd.show_status=0"]
    with open(log_path, "wb") as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            child.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            print(f"not ok - vm: not done in {TIMEOUT_S} s")
        finally:
            child.kill()
            child.wait()


def run(debs):
    """Boots, passes the story's lines on; an exit code."""
    reason = why_not()
    if reason:
        print(f"skip - vm: {reason}")
        return SKIP
    root = rootfs.make("vm", rootfs.VM)
    image, modules, version = kernel()
    folder = os.path.join(rootfs.KEPT, "runs/vm")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    initrd, log_path = os.path.join(folder, "initrd"), os.path.join(folder, "serial.log")
    with open(initrd, "wb") as f:
        for part in (base_archive(root), story_archive(folder, debs, modules, version)):
            with open(part, "rb") as source:
                shutil.copyfileobj(source, f)
    started = time.monotonic()
    boot(image, initrd, log_path)
    os.unlink(initrd)
    with open(log_path, encoding="utf-8", errors="replace") as f:
        text = f.read().replace("\r", "")
    lines = [line for line in text.splitlines() if re.match(r"(ok|not ok|skip) - ", line)]
    print("\n".join(lines))
    print(f"vm: {time.monotonic() - started:.0f} s; log {log_path}")
    figures = re.search(r"^figures: (\{.*\})$", text, re.M)
    if figures:
        print(figures.group(0))
    ended = re.search(r"^story exit (\d+)$", text, re.M)
    if not ended:
        print("not ok - vm: the story did not end\n" + "\n".join(text.splitlines()[-30:]))
        return 1
    return int(ended.group(1))
