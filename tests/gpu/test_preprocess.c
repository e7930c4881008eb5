// SPDX-License-Identifier: Apache-2.0
// preprocess.cu against engine/image: formats, colours, geometry, tensor layouts.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cuda/kernels/preprocess.h"
#include "tests/gpu/gpu_case.h"
#include "tests/gpu/host_kernels.h"

#define MAX_SIDE 80

struct picture {
	struct pk_image image;
	uint8_t bytes[3][MAX_SIDE * MAX_SIDE * 3];
};

static void random_picture(struct picture *p, int round)
{
	int pad = (int)random_range(0, 7), w = (int)random_range(1, MAX_SIDE - 8);
	p->image = (struct pk_image){
		.format = (enum pk_pixel_format)(round % 5),
		.width = w,
		.height = (int)random_range(1, MAX_SIDE),
		.matrix = round / 5 % 2 ? PK_MATRIX_BT709 : PK_MATRIX_BT601,
		.full_range = round / 10 % 2,
	};
	for (int i = 0; i < 3; i++) {
		p->image.planes[i] = p->bytes[i];
		p->image.strides[i] = 3 * w + pad;
		for (size_t k = 0; k < sizeof(p->bytes[i]); k++)
			p->bytes[i][k] = (uint8_t)random_u32();
	}
}

static struct pk_image_spec random_spec(int round)
{
	struct pk_image_spec spec = {
		.width = (int)random_range(1, 64),
		.height = (int)random_range(1, 64),
		.nhwc = round / 3 % 2,
		.color = (enum pk_image_color)(round / 6 % 3),
		.resize = (enum pk_image_resize)(round / 2 % 3),
		.anchor_top_left = round / 4 % 2,
		.upscale = round / 8 % 2,
		.pad = {114, 110, 100},
		.scale = 1 / 255.0F,
	};
	for (int c = 0; c < 3; c++) {
		spec.mean[c] = 0.5F * random_float();
		spec.std[c] = 1 + 0.5F * random_float();
	}
	return spec;
}

static void run(struct pk_cuda_launch *l, const struct pk_image *image, void *y)
{
	const void *pointers[PK_CUDA_MAX_POINTERS];
	void *args[PK_CUDA_MAX_POINTERS + 1];
	for (int i = 0; i < l->n_pointers; i++) {
		bool input = l->pointers[i].kind == PK_CUDA_INPUT;
		pointers[i] = input ? (const void *)image->planes[l->pointers[i].idx] : y;
		args[i] = &pointers[i];
	}
	args[l->n_pointers] = l->params;
	const struct pk_host_kernel *kernel = pk_host_kernel_by_name(l->function);
	assert_non_null(kernel);
	kernel->run(l->grid, l->block, l->shared_bytes, args);
}

// The second of two pictures of a batch; the first stays as it was.
static void check(struct pk_preprocess *pre, const struct pk_image *image,
	const struct pk_value *value, enum pk_dtype float_type)
{
	struct pk_cuda_tensor t = gpu_case_tensor(value, float_type);
	size_t bytes = pk_dtype_bytes(t.dtype), n = (size_t)pk_shape_elements(&value->shape) / 2;
	uint8_t *y = aligned_alloc(64, ((size_t)t.elements * bytes + 63) / 64 * 64);
	float *expected = calloc(n, sizeof(float));
	struct pk_cuda_launch l;
	assert_non_null(y);
	assert_non_null(expected);
	memset(y, 0x11, (size_t)t.elements * bytes);
	pk_preprocess_run(pre, image, expected);
	for (int idx = 0; pk_cuda_preprocess_launch(pre, image, &t, 1, idx, &l); idx++)
		run(&l, image, y);
	for (size_t i = 0; i < n; i++) {
		int64_t at = t.strides[0], rest = (int64_t)i;
		for (int axis = 3; axis > 0; axis--) {
			at += rest % t.shape.dims[axis] * t.strides[axis];
			rest /= t.shape.dims[axis];
		}
		float got = t.dtype == PK_F16 ? pk_f16_to_f32(((uint16_t *)(void *)y)[at])
					      : ((float *)(void *)y)[at];
		float slack = t.dtype == PK_F16 ? 2e-3F : 2e-5F;
		if (!(fabsf(got - expected[i]) <= slack))
			fail_msg("element %zu is %g, expected %g", i, (double)got,
				(double)expected[i]);
	}
	for (int64_t i = 0; i < t.elements; i++) {
		uint16_t bits = ((uint16_t *)(void *)y)[i * (int64_t)bytes / 2];
		bool padding = i % t.channels >= t.shape.dims[1];
		if (i < t.strides[0])
			assert_true(bits == 0x1111 || (padding && bits == 0));
		else if (padding)
			assert_int_equal(bits, 0);
	}
	free(expected);
	free(y);
}

static void pictures(void **state)
{
	static struct picture p;
	(void)state;
	random_seed(101);
	pk_host_set_order(PK_HOST_REVERSE, 0);
	for (int round = 0; round < 120; round++) {
		struct pk_image_spec spec = random_spec(round);
		struct pk_preprocess *pre = NULL;
		struct pk_err err = {0};
		random_picture(&p, round);
		assert_int_equal(pk_preprocess_create(&spec, &p.image, &pre, &err), 0);
		int64_t c = spec.color == PK_COLOR_GRAY ? 1 : 3;
		struct pk_value value = {.dtype = PK_F32,
			.shape = spec.nhwc ? SHAPE(2, spec.height, spec.width, c)
					   : SHAPE(2, c, spec.height, spec.width)};
		check(pre, &p.image, &value, round % 2 ? PK_F16 : PK_F32);
		pk_preprocess_destroy(pre);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pictures)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
