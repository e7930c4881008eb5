// SPDX-License-Identifier: Apache-2.0
// Pictures lie in the memory that was asked for: who writes straight into it, who costs one copy,
// and that nothing of it is lost or given back while a frame still needs it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/fs.h"
#include "pipeline/source.h"
#include "tests/unit/pipeline/clip.h"
#include "tests/unit/pipeline/cm.h"

#define N_CLIP     45
#define MAX_BLOCKS 256

static char *folder, *clip;

// Memory like an accelerator's: of its own pages, which are gone once it is given back.
static struct {
	pthread_mutex_t lock;
	struct {
		uint8_t *at;
		size_t bytes;
	} blocks[MAX_BLOCKS];
	int n_live, n_allocs;
} pinned = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *pinned_alloc(void *ctx, size_t bytes)
{
	uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	pthread_mutex_lock(&pinned.lock);
	int i = 0;
	while (i < MAX_BLOCKS && pinned.blocks[i].at)
		i++;
	assert_true(i < MAX_BLOCKS);
	pinned.blocks[i].at = at;
	pinned.blocks[i].bytes = bytes;
	pinned.n_live++;
	pinned.n_allocs++;
	pthread_mutex_unlock(&pinned.lock);
	return at;
}

static void pinned_free(void *ctx, void *block, size_t bytes)
{
	pthread_mutex_lock(&pinned.lock);
	int i = 0;
	while (i < MAX_BLOCKS && pinned.blocks[i].at != block)
		i++;
	assert_true(i < MAX_BLOCKS && pinned.blocks[i].bytes == bytes);
	pinned.blocks[i].at = NULL;
	pinned.n_live--;
	pthread_mutex_unlock(&pinned.lock);
	munmap(block, bytes);
}

static bool is_pinned(const uint8_t *p)
{
	bool found = false;
	pthread_mutex_lock(&pinned.lock);
	for (int i = 0; i < MAX_BLOCKS; i++)
		found |= pinned.blocks[i].at && p >= pinned.blocks[i].at &&
			 p < pinned.blocks[i].at + pinned.blocks[i].bytes;
	pthread_mutex_unlock(&pinned.lock);
	return found;
}

static const struct pk_memory_kind pinned_kind = {
	.name = "pinned", .alloc = pinned_alloc, .free = pinned_free};

struct seen {
	_Atomic int n;
	int n_copied, n_outside, n_lost;
	enum pk_pixel_format format;
	struct pk_frame *kept; // the first
	uint64_t kept_sum;
};

static uint64_t sum_of(const struct pk_image *image)
{
	uint64_t sum = 0;
	for (int y = 0; y < image->height; y++)
		for (int x = 0; x < image->width; x++)
			sum = sum * 31 + image->planes[0][y * image->strides[0] + x];
	return sum;
}

static void on_frame(void *ctx, struct pk_frame *frame)
{
	struct seen *seen = ctx;
	seen->format = frame->image.format;
	for (int i = 0; i < 3 && frame->image.planes[i]; i++)
		seen->n_outside += !is_pinned(frame->image.planes[i]);
	if (atomic_fetch_add(&seen->n, 1) == 0) {
		seen->kept = pk_frame_ref(frame);
		seen->kept_sum = sum_of(&frame->image);
	}
	pk_frame_unref(frame);
}

static void on_copied(void *ctx)
{
	((struct seen *)ctx)->n_copied++;
}

static void on_lost(void *ctx)
{
	((struct seen *)ctx)->n_lost++;
}

static struct seen run(
	const struct pk_source_config *config, const struct pk_memory_kind *kind, int want)
{
	struct seen seen = {0};
	struct pk_err err = {0};
	const struct pk_source_receiver receiver = {.frame = on_frame,
		.lost = on_lost,
		.copied = on_copied,
		.memory = kind,
		.ctx = &seen};
	struct pk_source *source = NULL;
	int r = pk_source_create(config, &receiver, 0, &source, &err);
	int64_t until_ns = pk_now_ns() + 20 * PK_NS_PER_S;
	while (r == 0 && atomic_load(&seen.n) < want && pk_now_ns() < until_ns)
		r = pk_source_poll(source, 5 * PK_NS_PER_MS, &err);
	pk_source_destroy(source);
	if (r < 0)
		fail_msg("%s", err.text);
	assert_true(seen.n >= want);
	assert_int_equal(seen.n_lost, 0);
	return seen;
}

static struct pk_source_config config_of(enum pk_source_kind kind)
{
	return (struct pk_source_config){.kind = kind,
		.uri = clip,
		.launch = (char *)"",
		.pattern = (char *)"ball",
		.width = 322,
		.height = 242,
		.rate_hz = 30};
}

static void finish(struct seen *seen)
{
	assert_true(sum_of(&seen->kept->image) == seen->kept_sum); // its source is gone
	pk_frame_unref(seen->kept);
	assert_int_equal(pinned.n_live, 0);
}

static void report(const char *what, const struct seen *seen)
{
	printf("%s: %d frames, %d copies, %d blocks\n", what, seen->n, seen->n_copied,
		pinned.n_allocs);
	pinned.n_allocs = 0;
}

static void test_raw_pictures_are_made_in_place(void **state)
{
	struct pk_source_config config = config_of(PK_SOURCE_TEST);
	struct seen seen = run(&config, &pinned_kind, 20);
	report("test", &seen);
	assert_int_equal(seen.n_outside, 0);
	assert_int_equal(seen.n_copied, 0);
	finish(&seen);
}

// A format that we do not read: its conversion writes into our memory, and is the only copy.
static void test_converted_pictures_are_made_in_place(void **state)
{
	struct pk_source_config config = config_of(PK_SOURCE_GST);
	config.launch = (char *)"videotestsrc num-buffers=20 ! "
				"video/x-raw,format=YUY2,width=64,height=48,framerate=100/1";
	struct seen seen = run(&config, &pinned_kind, 20);
	report("gst YUY2", &seen);
	assert_int_equal(seen.n_outside, 0);
	assert_int_equal(seen.n_copied, 0);
	finish(&seen);
}

static void test_h264_costs_one_copy_at_most(void **state)
{
	struct pk_source_config config = config_of(PK_SOURCE_FILE);
	struct seen seen = run(&config, &pinned_kind, N_CLIP);
	report("file", &seen);
	assert_int_equal(seen.n_outside, 0);
	assert_true(seen.n_copied <= seen.n);
	assert_true(seen.format == PK_PIXEL_I420 || seen.format == PK_PIXEL_NV12);
	finish(&seen);
}

// The heap is host memory like any other: decoders keep their own, nothing is copied by us.
static void test_heap_costs_none(void **state)
{
	struct pk_source_config config = config_of(PK_SOURCE_FILE);
	struct seen seen = run(&config, NULL, N_CLIP);
	report("file, heap", &seen);
	assert_int_equal(seen.n_copied, 0);
	assert_true(seen.format == PK_PIXEL_I420 || seen.format == PK_PIXEL_NV12);
	finish(&seen);
}

// A tee hands on what its other branches need too, so its pictures miss our memory, and are copied.
static void test_misses_are_copied_and_counted(void **state)
{
	struct pk_source_config config = config_of(PK_SOURCE_GST);
	config.launch = (char *)"videotestsrc num-buffers=20 ! "
				"video/x-raw,format=I420,width=66,height=50,framerate=100/1 ! "
				"tee ! queue";
	struct seen seen = run(&config, &pinned_kind, 20);
	report("tee", &seen);
	assert_int_equal(seen.n_outside, 0);
	assert_int_equal(seen.n_copied, seen.n);
	finish(&seen);
}

static int make_clip(void **state)
{
	folder = test_folder();
	clip = pk_fs_join(folder, "clip.mp4");
	test_need_clip(clip, N_CLIP);
	return 0;
}

static int remove_clip(void **state)
{
	free(clip);
	test_folder_remove(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_raw_pictures_are_made_in_place),
		cmocka_unit_test(test_converted_pictures_are_made_in_place),
		cmocka_unit_test(test_h264_costs_one_copy_at_most),
		cmocka_unit_test(test_heap_costs_none),
		cmocka_unit_test(test_misses_are_copied_and_counted),
	};
	return cmocka_run_group_tests(tests, make_clip, remove_clip);
}
