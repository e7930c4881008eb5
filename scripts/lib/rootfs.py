# SPDX-License-Identifier: Apache-2.0
"""Small Debian root file systems for tests, made by mmdebstrap and kept under build/system."""

import hashlib
import os
import shutil
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEPT = os.path.join(TOP, "build/system")
SUITE = "bookworm"
SOURCES = "/etc/apt/sources.list.d/debian.sources"
RECIPE = 1  # part of the key: another number, another root

BASE = "systemd,systemd-sysv,dbus,ca-certificates,iproute2,procps,curl,jq,openssl,python3"
# What the packages depend on, so that they can be installed without a network, and the peers.
STORY = (
    BASE + ",docker-registry,mosquitto,mosquitto-clients,skopeo,gcc,libc6-dev"
    ",gstreamer1.0-plugins-base,gstreamer1.0-plugins-good,gstreamer1.0-plugins-bad"
    ",gstreamer1.0-plugins-ugly,gstreamer1.0-libav,gstreamer1.0-tools,libgstrtspserver-1.0-0"
    ",libyaml-0-2,libcurl4,libjansson4,libmicrohttpd12,libmosquitto1,libseccomp2,libturbojpeg0"
    ",python3-numpy,python3-pil"
)
# Small, because an emulated machine unpacks it into its memory: raw video needs no decoder.
VM = (
    BASE + ",kmod,udev,gstreamer1.0-plugins-base,gstreamer1.0-plugins-good,libyaml-0-2,libcurl4"
    ",libjansson4,libmicrohttpd12,libmosquitto1,libseccomp2,libturbojpeg0,libgstrtspserver-1.0-0"
)
# Only what the packages depend on: what is left behind after a purge stands out.
PIUPARTS = (
    "apt,ca-certificates,systemd,systemd-sysv,adduser,debconf"
    ",gstreamer1.0-plugins-base,gstreamer1.0-plugins-good,gstreamer1.0-plugins-bad"
    ",gstreamer1.0-libav,libyaml-0-2,libcurl4,libjansson4,libmicrohttpd12,libmosquitto1"
    ",libseccomp2,libturbojpeg0,libgstrtspserver-1.0-0"
)
# An amd64 root that compiles for arm64, with what our unit tests need to run under qemu-user.
CROSS_OPTIONS = ["--architectures=amd64,arm64"]
CROSS_ARM64 = (
    "libsystemd-dev,libyaml-dev,libcurl4-openssl-dev,libssl-dev,libjansson-dev,libmicrohttpd-dev"
    ",libmosquitto-dev,libseccomp-dev,libturbojpeg0-dev,libgstreamer1.0-dev,libcmocka-dev"
    ",libgstreamer-plugins-base1.0-dev,libgstrtspserver-1.0-dev"
    ",gstreamer1.0-plugins-base,gstreamer1.0-plugins-good,gstreamer1.0-plugins-bad"
    ",gstreamer1.0-libav"
)
CROSS = (
    "crossbuild-essential-arm64,build-essential,meson,ninja-build,pkg-config,debhelper,uthash-dev"
    ",qemu-user-static,ccache,python3,"
    + ",".join(name + ":arm64" for name in CROSS_ARM64.split(","))
)
LEAVE_OUT = ["/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*"]


def say(text):
    print(f"rootfs: {text}", flush=True)


def key_of(name, packages, extra):
    """Names the root: another package list or recipe is another root."""
    text = "\n".join([str(RECIPE), SUITE, packages, *extra])
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def command_of(packages, extra):
    command = ["mmdebstrap", "--mode=root", "--variant=minbase", "--include=" + packages]
    command += ["--aptopt=Acquire::Check-Valid-Until false", "--aptopt=Acquire::Languages none"]
    command += ["--aptopt=Apt::Install-Recommends false", "--dpkgopt=force-unsafe-io"]
    command += ["--dpkgopt=path-exclude=" + pattern for pattern in LEAVE_OUT]
    command += ["--dpkgopt=path-include=/usr/share/doc/*/copyright"]
    return command + list(extra) + [SUITE, "-"] + ([SOURCES] if os.path.isfile(SOURCES) else [])


# Runs a command in a root: our mounts end with it, and the host's stay as they are.
ENTER = """
root=$1 outside=$2 inside=$3
shift 3
mkdir -p "$root$inside"
mount --rbind /dev "$root/dev" && mount -t proc proc "$root/proc" || exit 125
mount -t tmpfs tmpfs "$root/tmp" && mount --bind "$outside" "$root$inside" || exit 125
"""
START = """
exec chroot "$root" /usr/bin/env -C "$inside" HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
"""
# binfmt_misc belongs to a user namespace: programs of the target are started by qemu below this
# command and nowhere else. All ids are mapped to themselves, from outside. F: qemu is opened now,
# so each root that a test makes has it; P: the program sees the argv[0] that it was given.
EMULATED = """
inner='root=$1 inside=$2
shift 2
until grep -q . /proc/self/uid_map && grep -q . /proc/self/gid_map; do sleep 0.02; done
mount -t binfmt_misc binfmt_misc "$root/proc/sys/fs/binfmt_misc" || exit 125
printf %s "$PICKET_BINFMT" >"$root/proc/sys/fs/binfmt_misc/register" || exit 125
unset PICKET_BINFMT
exec chroot "$root" /usr/bin/env -C "$inside" HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"'
unshare -U -m --propagation private sh -c "$inner" sh "$root" "$inside" "$@" &
child=$!
for map in uid_map gid_map; do
	until echo 0 0 4294967295 2>/dev/null >/proc/$child/$map; do
		kill -0 $child || exit 125
		sleep 0.02
	done
done
wait $child
"""


def binfmt_aarch64(qemu):
    """The line for /proc/sys/fs/binfmt_misc/register: little-endian 64-bit ELF for aarch64."""
    magic = r"\x7fELF\x02\x01\x01" + r"\x00" * 9 + r"\x02\x00\xb7\x00"
    mask = r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe\xff\xff\xff"
    return f":picket-aarch64:M::{magic}:{mask}:{qemu}:PF"


def run(root, outside, inside, command, emulate=False, **options):
    """Runs a command in a root, with a folder of the host bound to inside; CompletedProcess.
    emulate: it may start programs for aarch64, by the root's qemu."""
    call = ["unshare", "-m", "--propagation", "private", "sh", "-c"]
    call += [ENTER + (EMULATED if emulate else START), "sh", root, outside, inside, *command]
    if emulate:
        qemu = os.path.join(root, "usr/bin/qemu-aarch64-static")
        options["env"] = {**options.get("env", os.environ), "PICKET_BINFMT": binfmt_aarch64(qemu)}
    return subprocess.run(call, stdin=subprocess.DEVNULL, check=False, **options)


def make(name, packages, extra=()):
    """The folder of the root, made unless it is there; its content may not be changed."""
    folder = os.path.join(KEPT, key_of(name, packages, extra))
    if os.path.isdir(folder):
        return folder
    os.makedirs(KEPT, exist_ok=True)
    say(f"making {os.path.basename(folder)}; this takes two to three minutes, once")
    started = time.monotonic()
    part, log_path = folder + ".part", folder + ".log"
    shutil.rmtree(part, ignore_errors=True)
    os.mkdir(part)
    # Unpacking and configuring are many small writes: on a tmpfs they take half the time.
    env = {**os.environ}
    if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 6 << 30:
        env["TMPDIR"] = "/dev/shm"
    with open(log_path, "wb") as log:
        maker = subprocess.Popen(
            command_of(packages, extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=env,
        )
        unpacked = subprocess.run(["tar", "-x", "-C", part], stdin=maker.stdout, check=False)
        maker.stdout.close()
        if maker.wait() != 0 or unpacked.returncode != 0:
            shutil.rmtree(part, ignore_errors=True)
            sys.exit(f"rootfs: mmdebstrap failed ({maker.returncode}); see {log_path}")
    with open(os.path.join(part, "etc/hosts"), "w", encoding="utf-8") as f:
        f.write("127.0.0.1 localhost\n")
    os.rename(part, folder)
    say(f"made in {time.monotonic() - started:.0f} s")
    return folder
