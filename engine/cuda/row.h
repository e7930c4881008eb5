// SPDX-License-Identifier: Apache-2.0
// The rows that the cuda runtime chooses from: one concrete way to run one operator on the GPU, by
// kernels of our own (engine/cuda/kernels/) or by a cuDNN plan (engine/cuda/cudnn/).
//
// A row is pure: everything it says follows from the call, so that a loaded engine asks it again
// instead of trusting its file. Rows never call the driver.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/ir/graph.h"
#include "engine/tensor.h"

#define PK_CUDA_ALIGN        256  // bytes: every operand, packed weights, workspace
#define PK_CUDA_CHANNEL_STEP 8    // NHWC channels are padded to a multiple of this
#define PK_CUDA_MAX_POINTERS 12   // device pointers of one launch
#define PK_CUDA_MAX_PARAMS   1024 // bytes of one launch's parameter struct

// Values of rank 4 that are F32 (kept in the engine's float type) or I8, U8 are NHWC; all others
// are dense row-major in their own type, F32 too.
enum pk_cuda_layout {
	PK_CUDA_DENSE,
	PK_CUDA_NHWC, // n, h, w, then channels; those of padding hold 0: every row writes them so
};

// How one tensor lies on the device.
struct pk_cuda_tensor {
	enum pk_dtype dtype; // of an element there; PK_DTYPE_NONE: the operand is left out
	enum pk_cuda_layout layout;
	struct pk_shape shape;        // ONNX order: [n,c,h,w]
	int64_t strides[PK_MAX_RANK]; // elements, by ONNX axis
	int64_t channels;             // NHWC: with padding (from pixel to pixel); DENSE: 0
	int64_t elements;             // of the buffer, padding included
};

// What a row sees of a node. Constants' host bytes are in node->inputs[i]->data, dense, of the
// value's own type, until they are elided (pk_cuda_row.host_inputs).
struct pk_cuda_call {
	const struct pk_node *node;
	const struct pk_cuda_tensor *inputs;  // node->n_inputs
	const struct pk_cuda_tensor *outputs; // node->n_outputs
	enum pk_dtype float_type;             // PK_F16 or PK_F32: of NHWC float values
};

// Which device address a launch passes.
enum pk_cuda_pointer_kind {
	PK_CUDA_INPUT,     // idx-th operand; address 0 when left out
	PK_CUDA_OUTPUT,    // idx-th result
	PK_CUDA_PACKED,    // what pack wrote
	PK_CUDA_WORKSPACE, // shared by all steps: holds nothing from another step
};
struct pk_cuda_pointer {
	uint8_t kind, idx;
};

// One kernel launch: kernel(pointers[0], …, pointers[n_pointers - 1], params). params is passed by
// value, one struct with fixed-width members, the same in C and in the .cu text; 0 bytes: none.
struct pk_cuda_launch {
	const char *function; // extern "C" entry of the row's source; unique over all sources
	uint32_t grid[3], block[3];
	uint32_t shared_bytes; // dynamic; at most 48 KiB
	int n_pointers;
	struct pk_cuda_pointer pointers[PK_CUDA_MAX_POINTERS];
	size_t params_bytes;
	_Alignas(16) uint8_t params[PK_CUDA_MAX_PARAMS];
};

struct pk_cuda_plan_ops;

struct pk_cuda_row {
	enum pk_op op;
	const char *name; // "pool_nhwc": unique, stays the same over versions (engine files)
	int rank;         // opt level 0 takes the supported row of highest rank
	bool in_place; // output element i may lie where element i of an equally laid operand lies
	// Bit i: constant operand i is read by pack only: its plain bytes need no place on
	// the device and leave the engine file (launch, at load, must not look at them).
	uint32_t host_inputs;
	// Looks at types, layouts, shapes and attributes only. Must refuse everything the row
	// cannot do right: the node may come from a damaged engine file (it passed the verifier).
	bool (*supports)(const struct pk_cuda_call *call);
	size_t (*workspace)(const struct pk_cuda_call *call); // bytes; NULL: none
	// Weights in the row's own order and type; NULL: none. pack writes pack_bytes().
	size_t (*pack_bytes)(const struct pk_cuda_call *call);
	void (*pack)(const struct pk_cuda_call *call, void *out);

	// Kernels of our own.
	const char *source; // its .cu text by name: "pool.cu"; NULL for a cuDNN row
	// The idx-th launch, in order; false when there are no more (at least one).
	bool (*launch)(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out);

	// A cuDNN row instead.
	const struct pk_cuda_plan_ops *plan;
};

// Device addresses of one step.
struct pk_cuda_addresses {
	const uint64_t *inputs, *outputs;
	uint64_t packed, workspace;
};

struct pk_cuda;          // libraries and device: engine/cuda/driver.h
struct pk_cudnn_context; // cudnnHandle_t (engine/cuda/abi.h), one per context, on its stream

struct pk_cuda_bytes {
	const void *data;
	size_t n;
};

struct pk_cuda_plan_visit {
	int max_per_mode; // plans of one heuristic mode that are made
	// One plan, named by engine and knobs. >0 ends the walk; a negative errno too.
	int (*visit)(void *ctx, const char *tag, const struct pk_cuda_bytes *json);
	void *ctx;
};

// A step that cuDNN carries out. Errors: negative errno by engine/cuda/status.h.
struct pk_cuda_plan_ops {
	// build and open: the context is current, pk_cuda_cudnn_handle gives a handle.
	// At build, on the node. Appends the plan's JSON. -ENOTSUP: no plan, the next row is asked.
	int (*build)(const struct pk_cuda_call *call, struct pk_cuda *cuda, struct pk_buf *json,
		struct pk_err *err);
	// At build, for the tuner: the plans to choose from, best guess first. -ENOTSUP: none.
	int (*each)(const struct pk_cuda_call *call, struct pk_cuda *cuda,
		const struct pk_cuda_plan_visit *visit, struct pk_err *err);
	// At load. -ESTALE: cuDNN refuses the JSON (other version or device): rebuild.
	int (*open)(const struct pk_cuda_call *call, struct pk_cuda *cuda,
		const struct pk_cuda_bytes *json, void **plan, struct pk_err *err);
	size_t (*workspace)(const void *plan);
	// Once for each slot; may allocate (variant pack).
	int (*bind)(
		void *plan, const struct pk_cuda_addresses *at, void **bound, struct pk_err *err);
	// cudnnBackendExecute on a handle of the context's own. Never allocates.
	int (*execute)(struct pk_cuda *cuda, struct pk_cudnn_context *handle, void *bound,
		struct pk_err *err);
	void (*unbind)(void *bound);
	void (*close)(void *plan);
};

// A .cu text of engine/cuda/kernels/, embedded: one text becomes one cubin.
struct pk_cuda_source {
	const char *name; // "pool.cu"
	const char *text; // self-contained: no #include
	size_t n;
};
// engine/cuda/kernels/: NULL-ended (name NULL for the sources).
extern const struct pk_cuda_row *const pk_cuda_kernel_rows[];
extern const struct pk_cuda_source pk_cuda_sources[];
// engine/cuda/cudnn/: NULL-ended.
extern const struct pk_cuda_row *const pk_cudnn_rows[];

const struct pk_cuda_row *pk_cuda_row_by_name(const char *name); // NULL when unknown
// The supported row of highest rank below `below` (INT_MAX: any); NULL when there is none.
const struct pk_cuda_row *pk_cuda_row_next(const struct pk_cuda_call *call, int below);
