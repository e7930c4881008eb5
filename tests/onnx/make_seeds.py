#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes one small model per operator, as seeds for the ONNX fuzzers: make_seeds.py FOLDER…"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import single_op  # noqa: E402


def main() -> int:
    seeds = {}
    for case in single_op.cases(None):
        seeds.setdefault(case.name.split("-")[0], case.model)
    for folder in map(Path, sys.argv[1:]):
        folder.mkdir(parents=True, exist_ok=True)
        for op, model in seeds.items():
            (folder / f"{op}.onnx").write_bytes(model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
