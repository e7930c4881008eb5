// SPDX-License-Identifier: Apache-2.0
// Every single allocation fails once: -ENOMEM or a noted problem, no crash, nothing leaked.
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "config/card.h"
#include "config/config.h"
#include "config/diff.h"
#include "tests/unit/config/cm.h"

// The linker sends our own calls here (--wrap); those of other libraries go on as ever.
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static long countdown = -1; // fails at 0; negative: never

static bool fails(void)
{
	return countdown >= 0 && countdown-- == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

static const char good[] =
	"models: {m: {artifact: 'oci:r:t'}, k: {artifact: 'oci:r:u', chain: [cpu]}}\n"
	"cameras:\n"
	"  a: {source: {kind: test}, model: m, sinks: [s]}\n"
	"  b: {source: {kind: file, uri: v}, model: k}\n"
	"sinks: {s: {kind: jsonl, path: s}}\n";
static const char bad[] = "models: {m: {artifact: x}, K: 1}\ncameras: [a]\nsinks: {s: {knd: "
			  "jsonl}}\nruntime: {chain: [cpu, cpu, {}]}\n";
static const char card[] =
	"card: 1\nname: m\ntask: detect\n"
	"inputs: [{shape: [1, 3, 8, 8], color: rgb, resize: {mode: stretch}, normalize: {scale: "
	"1}}]\n"
	"outputs: [{name: o, role: pred}]\ndecode: {family: yolo-v8, classes: 2}\nlabels: [a, b]\n";

static int run_config(const char *text)
{
	struct pk_problems problems = {0};
	struct pk_config *config = NULL;
	int rc = pk_config_parse(text, strlen(text), "t", "/d", &config, &problems);

	assert_true(rc == 0 || rc == -ENOMEM || rc == -EINVAL);
	assert_int_equal(rc == 0, config != NULL);
	assert_true(rc != -EINVAL || problems.n + problems.n_dropped > 0);
	pk_config_destroy(config);
	pk_problems_finish(&problems);
	return rc;
}

static int run_good(void)
{
	return run_config(good);
}

static int run_bad(void)
{
	return run_config(bad) == -EINVAL ? 0 : -ENOMEM;
}

static int run_card(void)
{
	struct pk_problems problems = {0};
	struct pk_card *c = NULL;
	int rc = pk_card_parse(card, strlen(card), "t", &c, &problems);

	assert_int_equal(rc == 0, c != NULL);
	pk_card_destroy(c);
	pk_problems_finish(&problems);
	return rc;
}

static struct pk_config *before, *after;

static int run_diff(void)
{
	struct pk_config_diff diff = {0};
	int rc = pk_config_diff(before, after, &diff);

	assert_true(rc == 0 || rc == -ENOMEM);
	pk_config_diff_finish(&diff);
	return rc;
}

static int run_dump(void)
{
	char *dump = pk_config_dump(after);
	int rc = dump ? 0 : -ENOMEM;

	free(dump);
	return rc;
}

// Lets the first, the second, … allocation fail until none is left to fail.
static void each_allocation(int (*run)(void), long at_least)
{
	long i = 0;
	bool through = false;

	for (; !through; i++) {
		assert_true(i < 100000);
		countdown = i;
		(void)run();
		through = countdown >= 0;
		countdown = -1;
	}
	assert_true(i > at_least);
	assert_int_equal(run(), 0);
}

static void test_config(void **state)
{
	each_allocation(run_good, 50);
}

static void test_mistakes(void **state)
{
	each_allocation(run_bad, 20);
}

static void test_card(void **state)
{
	each_allocation(run_card, 10);
}

static void test_diff_and_dump(void **state)
{
	struct pk_problems problems = {0};

	assert_int_equal(pk_config_parse("", 0, "t", "/", &before, &problems), 0);
	assert_int_equal(pk_config_parse(good, strlen(good), "t", "/", &after, &problems), 0);
	each_allocation(run_diff, 1);
	each_allocation(run_dump, 1);
	pk_config_destroy(before);
	pk_config_destroy(after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_card),
		cmocka_unit_test(test_diff_and_dump),
	};
	return cmocka_run_group_tests_name("no_memory", tests, NULL, NULL);
}
