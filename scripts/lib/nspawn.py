# SPDX-License-Identifier: Apache-2.0
"""A booted container of a root file system: private network, cgroup2, its changes kept apart."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

# A cgroup2 view of its own: on machines with cgroup v1 the host's mounts stay as they are.
CGROUP2 = """
if [ "$(stat -f -c %T /sys/fs/cgroup)" != cgroup2fs ]; then
	umount -l /sys/fs/cgroup/* 2>/dev/null
	umount -l /sys/fs/cgroup 2>/dev/null
	mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 78
fi
exec "$@"
"""

UNIT = """[Unit]
Description=Story
Wants=multi-user.target
After=multi-user.target
SuccessAction=exit
FailureAction=exit

[Service]
Type=oneshot
ExecStart={command}
StandardOutput=append:/out/story.log
StandardError=append:/out/story.log
TimeoutStartSec=900
"""


def why_not():
    """Why no container can be booted on this machine; "" when it can."""
    if os.geteuid() != 0:
        return "not root"
    for tool in ("systemd-nspawn", "mmdebstrap", "unshare", "setpriv"):
        if not shutil.which(tool):
            return f"no {tool}; run scripts/setup system"
    probe = ["unshare", "-m", "--propagation", "private", "sh", "-c", CGROUP2, "sh", "true"]
    done = subprocess.run(probe, capture_output=True, check=False)
    return "" if done.returncode == 0 else "no cgroup2 here"


class Container:
    """One root with an overlay of its own; may be booted, killed and booted again."""

    def __init__(self, root, folder, binds=()):
        """binds: (outside, inside) pairs, read-only. folder/out is /out inside."""
        self.root, self.folder, self.binds = root, folder, list(binds)
        self.upper = os.path.join(folder, "upper")
        self.merged = os.path.join(folder, "merged")
        self.out = os.path.join(folder, "out")
        # A file system that may hold an overlay's upper layer, and is fast.
        for path in (self.upper, os.path.join(folder, "work"), self.merged, self.out):
            os.makedirs(path, exist_ok=True)

    def boot(self, command, on_poll=None, timeout=900):
        """
        Boots, runs command as a unit, shuts down; the command's exit code. on_poll is called
        several times a second; when it returns True, the container is killed: -SIGKILL.
        """
        unit = os.path.join(self.folder, "story.service")
        with open(unit, "w", encoding="utf-8") as f:
            f.write(UNIT.format(command=command))
        layers = f"lowerdir={self.root},upperdir={self.upper},workdir={self.folder}/work"
        inner = f'mount -t overlay overlay -o "{layers}" "{self.merged}" || exit 79\n' + CGROUP2
        # Whatever ends us ends the container: its processes go with their pid namespace.
        call = ["setpriv", "--pdeathsig", "KILL", "unshare", "-m", "--propagation", "private"]
        call += ["-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", inner, "sh"]
        call += ["systemd-nspawn", "-q", "-D", self.merged, "-M", "picket-story"]
        call += ["--register=no", "--keep-unit", "--private-network", "--system-call-filter=bpf"]
        call += [f"--bind-ro={outside}:{inside}" for outside, inside in self.binds]
        call += [f"--bind={self.out}:/out", f"--bind-ro={unit}:/etc/systemd/system/story.service"]
        call += ["-b", "--console=pipe", "systemd.unit=story.service"]
        with open(os.path.join(self.folder, "console.log"), "ab") as console:
            self.child = subprocess.Popen(
                call,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
            )
        try:
            return self._wait(on_poll, timeout)
        finally:
            self.kill()

    def _wait(self, on_poll, timeout):
        end = time.monotonic() + timeout
        while self.child.poll() is None:
            if time.monotonic() > end:
                raise TimeoutError(f"the container did not end within {timeout} s")
            if on_poll and on_poll():
                self.kill()
                return -signal.SIGKILL
            time.sleep(0.1)
        return self.child.returncode

    def kill(self):
        """Ends the container at once, with all its processes."""
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def new_folder(parent):
    os.makedirs(parent, exist_ok=True)
    return tempfile.mkdtemp(prefix="run-", dir=parent)
