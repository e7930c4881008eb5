#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Runs as picketd would, in a unit that is picketd's but for the program: tries what the service must
not be able to do. Prints one line per attempt: "denied NAME: why" or "ALLOWED NAME".
"""

import ctypes
import errno
import mmap
import os
import socket
import sys


def attempt(name, action, *expected):
    """expected: the errnos that count as a denial; none: any."""
    try:
        action()
    except OSError as error:
        if expected and error.errno not in expected:
            print(f"UNEXPECTED {name}: {error}")
        else:
            print(f"denied {name}: {errno.errorcode.get(error.errno, error.errno)}")
        return
    print(f"ALLOWED {name}")


def create(path):
    def action():
        with open(path, "w", encoding="ascii") as f:
            f.write("x")

    return action


def read(path):
    def action():
        with open(path, "rb") as f:
            f.read(1)

    return action


def open_node(path):
    return lambda: os.close(os.open(path, os.O_RDWR))


def address_family(number):
    return lambda: socket.socket(number, socket.SOCK_DGRAM).close()


def syscall(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)

    def action():
        if getattr(libc, name)(*arguments) == -1:
            raise OSError(ctypes.get_errno(), name)

    return action


def writable_and_executable():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


WRITES = ["/etc/picket/x", "/etc/x", "/usr/x", "/var/x", "/var/log/x", "/srv/x", "/run/x", "/x"]
READS = ["/etc/shadow", os.path.expanduser("~alice/secret"), "/var/lib/secret/file"]
READS += [os.path.expanduser("~root/secret")]
FAMILIES = {"netlink": 16, "packet": 17, "vsock": 40, "bluetooth": 31, "can": 29, "alg": 38}
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000


def main():
    for path in WRITES:
        attempt(f"write {path}", create(path))
    for path in READS:
        attempt(f"read {path}", read(path))
    for path in sys.argv[1:]:
        attempt(f"device {path}", open_node(path), errno.EPERM)
    for name, number in FAMILIES.items():
        attempt(f"address family {name}", address_family(number), errno.EAFNOSUPPORT)
    attempt("write and execute", writable_and_executable, errno.EACCES, errno.EPERM)
    attempt("user namespace", syscall("unshare", CLONE_NEWUSER), errno.EPERM)
    attempt("network namespace", syscall("unshare", CLONE_NEWNET), errno.EPERM)
    attempt("mount", syscall("mount", b"none", b"/tmp", b"tmpfs", 0, None), errno.EPERM)
    attempt("ptrace", syscall("ptrace", 16, os.getppid(), None, None), errno.EPERM)
    attempt("personality", syscall("personality", 0x0040000), errno.EPERM)
    attempt("kernel tunable", create("/proc/sys/kernel/core_pattern"))
    attempt("other processes", lambda: os.stat("/proc/1/status"), errno.ENOENT)
    attempt("set user id", lambda: os.setuid(0), errno.EPERM)
    attempt("set-user-id file", lambda: os.chmod("/var/lib/picket/probe-file", 0o4755), errno.EPERM)
    with open("/proc/self/cgroup", encoding="ascii") as f:
        group = "/sys/fs/cgroup" + f.read().split("::", 1)[1].strip()
    attempt("another cgroup", lambda: os.mkdir(os.path.dirname(group) + "/other"))
    # What the service needs must work, or the denials above prove nothing.
    create("/var/lib/picket/probe-file")()
    os.mkdir(group + "/probe")
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close()
    os.nice(1)
    print(f"needed: works as uid {os.getuid()}")


with open("/var/lib/picket/probe-file", "w", encoding="ascii"):
    pass
main()
