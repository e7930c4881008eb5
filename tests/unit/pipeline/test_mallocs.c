// SPDX-License-Identifier: Apache-2.0
// After warm-up the way of a frame through mailbox, scheduler, decode, result and sinks allocates
// nothing: counted by taking malloc's place.
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "pipeline/decode/decode.h"
#include "pipeline/result.h"
#include "pipeline/scheduler.h"
#include "pipeline/sink.h"
#include "pipeline/station.h"
#include "tests/unit/pipeline/cm.h"

#if TEST_SANITIZED
int main(void)
{
	printf("skipped: a sanitizer has malloc's place already\n");
	return 77;
}
#else

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

// volatile: compilers believe that malloc reads nothing of ours
static __thread volatile bool counting;
static __thread volatile int n_mallocs;

void *malloc(size_t n)
{
	n_mallocs += counting;
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	n_mallocs += counting;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	n_mallocs += counting;
	return __libc_realloc(p, n);
}

enum { N = 1008, CLASSES = 4 };

static float tensor[(4 + CLASSES) * N];
static struct pk_detection found[PK_RESULT_MAX_DETECTIONS];

// Some hundred candidates, so that sorting, suppression and long lines are part of it.
static void fill_tensor(unsigned seed)
{
	for (size_t i = 0; i < N; i++) {
		seed = seed * 1664525u + 1013904223u;
		tensor[i] = (float)(seed >> 24);
		tensor[N + i] = (float)(seed >> 16 & 255);
		tensor[2 * N + i] = tensor[3 * N + i] = 12;
		for (size_t k = 0; k < CLASSES; k++)
			tensor[(4 + k) * N + i] = (float)((seed >> (k * 4)) & 15) / 16;
	}
}

static struct pk_sink *make_sink(enum pk_sink_kind kind, const char *path, int64_t interval_ns)
{
	struct pk_sink_config config = {.name = (char *)"s",
		.kind = kind,
		.path = (char *)path,
		.interval_ns = interval_ns};
	struct pk_sink *sink = NULL;
	assert_int_equal(pk_sink_create(&config, NULL, &sink, NULL), 0);
	return sink;
}

struct bench {
	struct pk_scheduler *scheduler;
	struct pk_station *station;
	struct pk_decoder *decoder;
	struct pk_sink *sinks[2];
	struct pk_buf line;
	struct pk_card card;
};

static void one_frame(struct bench *bench, struct pk_frame *frame)
{
	const struct pk_image_map map = {
		.scale_x = 2, .scale_y = 2, .src_width = 512, .src_height = 384};
	const void *tensors[] = {tensor};
	struct pk_lane *lane;
	pk_scheduler_offer(bench->scheduler, &bench->station->lane, pk_frame_ref(frame));
	struct pk_frame *taken = pk_scheduler_take(bench->scheduler, 0, &lane);
	struct pk_result result = {.camera = "belt",
		.frame = taken,
		.model = "parts",
		.rung = "engine",
		.runtime = "cpu",
		.card = &bench->card,
		.detections = found};
	result.n_detections = pk_decoder_run(bench->decoder, tensors, &map, found);
	pk_buf_clear(&bench->line);
	(void)pk_result_write_json(&result, &bench->line);
	for (int i = 0; i < 2; i++)
		pk_sink_take(bench->sinks[i], &result, bench->line.data, bench->line.len);
	pk_histogram_add(&bench->station->age, 1000);
	pk_frame_unref(taken);
	pk_lane_unref(lane);
}

static void test_no_mallocs(void **state)
{
	static char *labels[] = {(char *)"a", (char *)"b", (char *)"c", (char *)"d"};
	static struct pk_card_output pred = {(char *)"", PK_ROLE_PRED};
	char *folder = test_folder(), *path = pk_fs_join(folder, "r.jsonl");
	struct bench bench = {.card = {.name = (char *)"parts",
				      .outputs = &pred,
				      .n_outputs = 1,
				      .labels = labels,
				      .n_labels = CLASSES}};
	bench.card.input.shape[2] = 192;
	bench.card.input.shape[3] = 256;
	bench.card.decode.classes = CLASSES;
	bench.card.decode.candidates_last = true;
	bench.card.decode.box_format = PK_BOX_CXCYWH;
	bench.card.post.conf = 0.25;
	bench.card.post.iou = 0.45;
	bench.card.post.max_det = 300;
	struct pk_binding out = {.name = "o", .dtype = PK_F32, .shape = {3, {1, 4 + CLASSES, N}}};
	assert_int_equal(pk_decoder_create(&bench.card, -1, &out, 1, &bench.decoder, NULL), 0);
	bench.scheduler = pk_scheduler_create();
	bench.station = pk_station_create("belt");
	pk_scheduler_add(bench.scheduler, &bench.station->lane);
	bench.sinks[0] = make_sink(PK_SINK_JSONL, path, 0);
	bench.sinks[1] = make_sink(PK_SINK_SNAPSHOT, folder, 20 * PK_NS_PER_MS);
	pk_buf_init(&bench.line, 1 << 20);
	assert_non_null(pk_buf_reserve(&bench.line, 65536)); // as the inference thread does
	struct pk_frame *frame = test_frame(512, 384, 80, NULL);

	fill_tensor(1);
	one_frame(&bench, frame);
	counting = true;
	for (unsigned i = 2; i < 300; i++) {
		fill_tensor(i);
		one_frame(&bench, frame);
	}
	counting = false;
	assert_int_equal(n_mallocs, 0);
	assert_true(bench.sinks[0]->n_taken > 0 && bench.sinks[1]->n_taken > 0);
	assert_true(bench.line.len > 1000); // there were detections

	counting = true;              // and the counter does count
	void *volatile p = malloc(1); // volatile: else the compiler leaves both calls out
	free(p);
	counting = false;
	assert_int_equal(n_mallocs, 1);

	pk_frame_unref(frame);
	pk_sink_destroy(bench.sinks[0]);
	pk_sink_destroy(bench.sinks[1]);
	pk_buf_finish(&bench.line);
	pk_decoder_destroy(bench.decoder);
	pk_scheduler_remove(bench.scheduler, &bench.station->lane);
	pk_station_unref(bench.station);
	pk_scheduler_destroy(bench.scheduler);
	free(path);
	test_folder_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_mallocs)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
