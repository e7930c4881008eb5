#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The product's story on a booted container.
cd "$(dirname "$0")/../.." && exec scripts/test-system
