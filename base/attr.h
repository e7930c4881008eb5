// SPDX-License-Identifier: Apache-2.0
// Compiler attributes and the ownership helpers that the whole tree uses.
#pragma once

#include <stddef.h>

#define pk_printf(fmt_idx, arg_idx) __attribute__((format(printf, fmt_idx, arg_idx)))
#define pk_must_check               __attribute__((warn_unused_result))
#define pk_noreturn                 __attribute__((noreturn))
#define pk_unused                   __attribute__((unused))
#define pk_cleanup(fn)              __attribute__((cleanup(fn)))

#define PK_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define pk_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

// Declares the scope-exit helper for a pointer type whose destructor takes NULL:
//     PK_DEFINE_AUTO(pk_store, pk_store_destroy);
//     pk_auto(pk_store) store = NULL;
// NAME is the struct's tag.
#define PK_DEFINE_AUTO(name, destroy)                                                              \
	static inline void pk_auto_##name(struct name **p)                                         \
	{                                                                                          \
		if (*p)                                                                            \
			destroy(*p);                                                               \
	}                                                                                          \
	struct name

#define pk_auto(name) pk_cleanup(pk_auto_##name) struct name *

// Scope-exit helpers for what libc owns.
void pk_auto_free_impl(void *p);  // p: address of a malloc'ed pointer
void pk_auto_close_impl(int *fd); // closes fd >= 0, keeps errno
#define pk_auto_free  pk_cleanup(pk_auto_free_impl)
#define pk_auto_close pk_cleanup(pk_auto_close_impl)

// Takes the value out of a scope-owned variable: ownership moves to the receiver.
#define pk_steal(ptr)                                                                              \
	({                                                                                         \
		__typeof__(ptr) pk_taken_ = (ptr);                                                 \
		(ptr) = NULL;                                                                      \
		pk_taken_;                                                                         \
	})
#define pk_steal_fd(fd)                                                                            \
	({                                                                                         \
		int pk_taken_ = (fd);                                                              \
		(fd) = -1;                                                                         \
		pk_taken_;                                                                         \
	})
