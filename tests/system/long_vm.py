#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The story of the machine with a kernel of its own: V4L2, memory limits."""

import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.execv(os.path.join(TOP, "scripts/test-system"), ["scripts/test-system", "--vm"])
