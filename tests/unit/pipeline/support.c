// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share.
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/fs.h"
#include "tests/unit/pipeline/cm.h"

struct heap_frame {
	struct pk_frame frame;
	uint8_t *pixels;
	_Atomic int *released;
};

static void release(struct pk_frame *frame)
{
	struct heap_frame *heap = (struct heap_frame *)frame;
	if (heap->released)
		atomic_fetch_add(heap->released, 1);
	free(heap->pixels);
	free(heap);
}

struct pk_frame *test_frame(int width, int height, uint8_t luma, _Atomic int *released)
{
	struct heap_frame *heap = calloc(1, sizeof(*heap));
	size_t cw = (size_t)(width + 1) / 2, ch = (size_t)(height + 1) / 2;
	size_t y = (size_t)width * (size_t)height;
	heap->pixels = malloc(y + 2 * cw * ch);
	memset(heap->pixels, luma, y);
	memset(heap->pixels + y, 128, 2 * cw * ch);
	heap->released = released;
	heap->frame = (struct pk_frame){.refs = 1,
		.image = {.format = PK_PIXEL_I420,
			.width = width,
			.height = height,
			.planes = {heap->pixels, heap->pixels + y, heap->pixels + y + cw * ch},
			.strides = {width, (int)cw, (int)cw}},
		.pts_ns = -1,
		.release = release};
	heap->frame.at_ns[PK_STAGE_CAPTURED] = pk_now_ns();
	heap->frame.realtime_ns = pk_realtime_ns();
	return &heap->frame;
}

char *test_folder(void)
{
	const char *base = getenv("TMPDIR");
	char *folder = NULL;
	if (asprintf(&folder, "%s/pk-pipeline-XXXXXX", base ? base : "/tmp") < 0 ||
		!mkdtemp(folder))
		abort();
	return folder;
}

void test_folder_remove(char *folder)
{
	(void)pk_fs_remove_tree(folder, NULL);
	free(folder);
}

void test_sleep(int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
	nanosleep(&t, NULL);
}
