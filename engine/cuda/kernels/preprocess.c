// SPDX-License-Identifier: Apache-2.0
// The launch of preprocess.cu, from the tables that the cpu's conversion has.
#include "engine/cuda/kernels/preprocess.h"

#include <math.h>
#include <string.h>

#include "engine/cuda/kernels/row_util.h"
#include "engine/image/preprocess.h"

// Output i reads at (i + 0.5) * scale + offset - 0.5, of n source pixels.
static struct pk_cu_axis axis_of(double scale, double offset, int n)
{
	return (struct pk_cu_axis){
		.start = llrint((0.5 * scale + offset - 0.5) * 0x1p32),
		.step = llrint(scale * 0x1p32),
		.last = n - 1,
	};
}

static void set_source(
	const struct pk_preprocess *pre, const struct pk_image *image, struct pk_cu_preprocess *p)
{
	const struct pk_image_map *m = &pre->map;
	p->format = (int)pre->format;
	p->x = axis_of(m->scale_x, m->offset_x, m->src_width);
	p->y = axis_of(m->scale_y, m->offset_y, m->src_height);
	p->chroma_x = axis_of(m->scale_x / 2, m->offset_x / 2, (m->src_width + 1) / 2);
	p->chroma_y = axis_of(m->scale_y / 2, m->offset_y / 2, (m->src_height + 1) / 2);
	for (int i = 0; i < 3; i++)
		p->strides[i] = image->strides[i];
	p->luma_scale = pre->luma_scale;
	p->luma_base = pre->luma_base;
	p->r_v = pre->r_v;
	p->g_u = pre->g_u;
	p->g_v = pre->g_v;
	p->b_u = pre->b_u;
}

static void set_tensor(const struct pk_preprocess *pre, const struct pk_cuda_tensor *y, int batch,
	struct pk_cu_preprocess *p)
{
	const struct pk_image_map *m = &pre->map;
	bool last = pre->spec.nhwc; // the tensor's own axes are n, h, w, c
	p->n_channels = pre->n_channels;
	p->swapped = pre->spec.color == PK_COLOR_BGR;
	p->width = pre->spec.width;
	p->height = pre->spec.height;
	p->x0 = m->x0;
	p->y0 = m->y0;
	p->x1 = m->x1;
	p->y1 = m->y1;
	p->to = (int)(batch * y->strides[0]);
	p->to_c = (int)y->strides[last ? 3 : 1];
	p->to_h = (int)y->strides[last ? 1 : 2];
	p->to_w = (int)y->strides[last ? 2 : 3];
	for (int c = 0; c < pre->n_channels; c++) {
		p->scale[c] = pre->scale[c];
		p->offset[c] = pre->offset[c];
		p->border[c] = pre->pad[c];
	}
}

_Static_assert((int)PK_CU_NV12 == (int)PK_PIXEL_NV12 && (int)PK_CU_GRAY8 == (int)PK_PIXEL_GRAY8 &&
		       (int)PK_CU_RGB == (int)PK_PIXEL_RGB,
	"the kernel's pixel formats are the pictures'");

bool pk_cuda_preprocess_launch(const struct pk_preprocess *pre, const struct pk_image *image,
	const struct pk_cuda_tensor *y, int batch, int idx, struct pk_cuda_launch *out)
{
	struct pk_cu_preprocess p = {.format = 0};
	set_source(pre, image, &p);
	set_tensor(pre, y, batch, &p);
	bool whole = p.to_c == 1 && p.to_w == PK_CUDA_CHANNEL_STEP; // the kernel writes padding too
	bool pads = pk_cu_has_pads(y) && !whole;
	if (idx == 0 && pads) {
		pk_cu_launch_pads(y, out);
		return true;
	}
	if (idx > pads)
		return false;
	pk_cu_launch(out, y->dtype == PK_F16 ? "preprocess_f16" : "preprocess_f32",
		(int64_t)p.width * p.height);
	for (int i = 0; i < 3; i++)
		pk_cu_pointer(out, PK_CUDA_INPUT, i);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}
