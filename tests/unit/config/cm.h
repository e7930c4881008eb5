// SPDX-License-Identifier: Apache-2.0
// cmocka with the headers that it needs before it.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
