# SPDX-License-Identifier: Apache-2.0
"""peak_memory.py FILE COMMAND...: runs it, writes the bytes it had resident at most to FILE.

A process of its own: a child's peak counts what it shared with its parent before exec, so that the
parent has to be small.
"""

import os
import sys

pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w", encoding="ascii") as file:
    file.write(str(usage.ru_maxrss * 1024))
code = os.waitstatus_to_exitcode(status)
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
