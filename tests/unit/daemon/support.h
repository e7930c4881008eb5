// SPDX-License-Identifier: Apache-2.0
// What the daemon's tests share: temporary folders, modes of the doubles, turning a loop.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first.
#include <cmocka.h>

#include "daemon/loop.h"

// A new folder; removed by remove_folder. malloc'ed.
char *make_folder(void);
void remove_folder(char *folder);
void write_text(const char *folder, const char *name, const char *text);
// The file's text, malloc'ed; "" when there is none.
char *read_text(const char *folder, const char *name);
// Tells the doubles what to do (double_mode.h).
void set_mode(const char *folder, const char *variable, const char *mode);
unsigned n_lines(const char *text);

// Turns the loop until done says so. False after limit_ms.
bool turn_until(struct pk_loop *loop, bool (*done)(void *ctx), void *ctx, int limit_ms);
void turn_for(struct pk_loop *loop, int ms);
