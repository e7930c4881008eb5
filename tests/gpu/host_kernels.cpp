// SPDX-License-Identifier: Apache-2.0
// Launches kernels on the host: loops over blocks and threads, fibers where there are barriers.
#include "tests/gpu/host_kernels.h"

#include <stdlib.h>
#include <ucontext.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <vector>

#define PK_HOST_LAUNCHER
#include "tests/gpu/cuda_host.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define BEFORE_SWITCH(save, bottom, size) __sanitizer_start_switch_fiber(save, bottom, size)
#define AFTER_SWITCH(save)                __sanitizer_finish_switch_fiber(save, nullptr, nullptr)
#else
#define BEFORE_SWITCH(save, bottom, size) (void)(save)
#define AFTER_SWITCH(save)                (void)(save)
#endif

#define STACK_BYTES 65536
#define KERNELS_MAX 512

struct pk_host_kernel pk_host_kernels[KERNELS_MAX];
static int n_kernels;

pk_host_place pk_host_here;

namespace
{
struct fiber {
	ucontext_t context;
	void *stack = nullptr, *fake = nullptr;
	pk_host_dim3 thread = {};
	int line = 0; // of the barrier it waits at; 0: it runs or has ended
	bool ended = false;
};

// Kept from launch to launch: stacks cost more than most kernels.
struct scheduler {
	std::mutex lock;
	std::vector<fiber *> fibers;
	fiber *current = nullptr;
	ucontext_t home;
	void *home_fake = nullptr;
	const void *home_bottom = nullptr;
	size_t home_size = 0;
	pk_host_body *body = nullptr;
	void *const *args = nullptr;
	pk_host_order order = PK_HOST_FORWARD;
	std::minstd_rand random;
	std::vector<int> barriers;
	int dropped = 0;
	bool diverged = false;
};
scheduler &at = *new scheduler; // never destroyed: its fibers' stacks stay reachable

std::vector<unsigned> sequence(unsigned n)
{
	std::vector<unsigned> out(n);
	for (unsigned i = 0; i < n; i++)
		out[i] = at.order == PK_HOST_REVERSE ? n - 1 - i : i;
	if (at.order == PK_HOST_RANDOM)
		std::shuffle(out.begin(), out.end(), at.random);
	return out;
}

pk_host_dim3 place(unsigned i, const pk_host_dim3 &size)
{
	return {i % size.x, i / size.x % size.y, i / (size.x * size.y)};
}

void fiber_main()
{
	fiber *self = at.current;
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(nullptr, &at.home_bottom, &at.home_size);
#endif
	at.body(at.args);
	self->ended = true;
	self->line = 0;
	BEFORE_SWITCH(nullptr, at.home_bottom, at.home_size);
	setcontext(&at.home);
}

void resume(fiber *f)
{
	at.current = f;
	pk_host_here.thread = f->thread;
	f->line = 0;
	BEFORE_SWITCH(&at.home_fake, f->stack, STACK_BYTES);
	swapcontext(&at.home, &f->context);
	AFTER_SWITCH(at.home_fake);
	at.current = nullptr;
}

void start(unsigned i)
{
	if (i == at.fibers.size()) {
		at.fibers.push_back(new fiber);
		at.fibers[i]->stack = malloc(STACK_BYTES);
	}
	fiber *f = at.fibers[i];
	if (!f->stack)
		abort();
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = STACK_BYTES;
	f->context.uc_link = nullptr;
	f->ended = false;
	f->line = 0;
	f->fake = nullptr;
	f->thread = place(i, blockDim);
	makecontext(&f->context, fiber_main, 0);
}

// All threads to their next barrier; false when all have ended.
bool advance(unsigned n)
{
	int line = 0;
	unsigned n_ended = 0;
	for (unsigned i : sequence(n)) {
		fiber *f = at.fibers[i];
		if (!f->ended)
			resume(f);
		n_ended += f->ended;
		if (f->ended)
			continue;
		at.diverged |= line && f->line != line;
		line = f->line;
	}
	at.diverged |= n_ended && n_ended < n;
	return n_ended < n;
}

void run_fibers(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		start(i);
	while (advance(n)) {
	}
}

void run_block(unsigned n, bool sync)
{
	if (sync) {
		run_fibers(n);
		return;
	}
	if (at.order == PK_HOST_FORWARD) { // without a list of numbers: most launches are these
		for (unsigned i = 0; i < n; i++) {
			pk_host_here.thread = place(i, blockDim);
			at.body(at.args);
		}
		return;
	}
	for (unsigned i : sequence(n)) {
		pk_host_here.thread = place(i, blockDim);
		at.body(at.args);
	}
}
} // namespace

void pk_host_barrier(int line)
{
	fiber *self = at.current;
	if (!self) // the kernel was not listed as one with barriers
		abort();
	if (std::find(at.barriers.begin(), at.barriers.end(), line) == at.barriers.end())
		at.barriers.push_back(line);
	if (line == at.dropped)
		return;
	self->line = line;
	BEFORE_SWITCH(&self->fake, at.home_bottom, at.home_size);
	swapcontext(&self->context, &at.home);
	AFTER_SWITCH(self->fake);
}

void pk_host_launch(const unsigned grid[3], const unsigned block[3], bool sync, pk_host_body *body,
	void *const *args)
{
	std::lock_guard<std::mutex> held(at.lock);
	at.body = body;
	at.args = args;
	gridDim = {grid[0], grid[1], grid[2]};
	blockDim = {block[0], block[1], block[2]};
	unsigned n_threads = block[0] * block[1] * block[2];
	for (unsigned i : sequence(grid[0] * grid[1] * grid[2])) {
		blockIdx = place(i, gridDim);
		run_block(n_threads, sync);
	}
}

void pk_host_register(const char *name,
	void (*run)(const unsigned grid[3], const unsigned block[3], unsigned, void *const *))
{
	if (n_kernels + 1 == KERNELS_MAX)
		abort();
	pk_host_kernels[n_kernels++] = {name, run};
}

const struct pk_host_kernel *pk_host_kernel_by_name(const char *name)
{
	for (int i = 0; i < n_kernels; i++) {
		if (!strcmp(pk_host_kernels[i].name, name))
			return &pk_host_kernels[i];
	}
	return nullptr;
}

void pk_host_set_order(enum pk_host_order order, unsigned seed)
{
	at.order = order;
	at.random.seed(seed);
}

int pk_host_barrier_at(int idx)
{
	return idx >= 0 && (size_t)idx < at.barriers.size() ? at.barriers[(size_t)idx] : 0;
}

void pk_host_forget_barriers(void)
{
	at.barriers.clear();
}

void pk_host_drop_barrier(int line)
{
	at.dropped = line;
}

bool pk_host_take_divergence(void)
{
	bool diverged = at.diverged;
	at.diverged = false;
	return diverged;
}
