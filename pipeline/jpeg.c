// SPDX-License-Identifier: Apache-2.0
// Writes one picture by libjpeg-turbo.
#include "pipeline/jpeg.h"

#include <errno.h>
#include <turbojpeg.h>

#include "base/fs.h"
#include "pipeline/canvas.h"

#define PK_JPEG_QUALITY 85

static int pk_jpeg_encode(
	const struct pk_canvas *canvas, unsigned char **out, unsigned long *n, struct pk_err *err)
{
	tjhandle jpeg = tjInitCompress();
	if (!jpeg)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = 0;
	if (tjCompress2(jpeg, canvas->rgb, canvas->width, 0, canvas->height, TJPF_RGB, out, n,
		    TJSAMP_420, PK_JPEG_QUALITY, 0) < 0)
		r = pk_fail(err, -EIO, "JPEG: %s", tjGetErrorStr2(jpeg));
	tjDestroy(jpeg);
	return r;
}

int pk_jpeg_write(const char *path, const struct pk_image *image, struct pk_err *err)
{
	struct pk_canvas canvas = {0};
	unsigned char *bytes = NULL;
	unsigned long n = 0;
	int r = pk_canvas_load(&canvas, image);
	if (r == 0)
		r = pk_jpeg_encode(&canvas, &bytes, &n, err);
	else
		pk_fail(err, r, "out of memory");
	if (r == 0)
		r = pk_fs_write_atomic(path, bytes, n, 0644, err);
	tjFree(bytes);
	pk_canvas_finish(&canvas);
	return r;
}
