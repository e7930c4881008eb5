// SPDX-License-Identifier: Apache-2.0
// Elementwise chains: a small program of unary, binary and select steps over broadcast operands,
// read and written once. Numbers are float, or 64-bit integers where no operand is a float.
//
// The program comes with the launch and is interpreted: registers are then an array in local
// memory (cached, but not registers of the machine). Compiled with -DPK_CHAIN_PROGRAM={…} the same
// text has a constant program: all loops unroll, nothing is interpreted. Has never run on a GPU.
#ifdef PK_CHAIN_PROGRAM
#define PK_CHAIN(given)   static constexpr struct pk_cu_chain p = PK_CHAIN_PROGRAM
#define PK_CHAIN_UNROLLED _Pragma("unroll")
#else // one copy of each switch: the text compiles on the node
#define PK_CHAIN(given)   const struct pk_cu_chain &p = given
#define PK_CHAIN_UNROLLED _Pragma("unroll 1")
#endif

template <typename R> PK_INLINE R pk_chain_load(int dtype, const void *data, int i)
{
	switch (dtype) {
	case PK_CU_F32:
		return (R)((const float *)data)[i];
	case PK_CU_F16:
		return (R)pk_half_to_float(((const pk_half *)data)[i]);
	case PK_CU_I8:
		return (R)((const signed char *)data)[i];
	case PK_CU_I16:
		return (R)((const short *)data)[i];
	case PK_CU_U16:
		return (R)((const unsigned short *)data)[i];
	case PK_CU_I32:
		return (R)((const int *)data)[i];
	case PK_CU_U32:
		return (R)((const unsigned *)data)[i];
	case PK_CU_I64:
		return (R)((const pk_i64 *)data)[i];
	default:
		return (R)((const unsigned char *)data)[i];
	}
}

// Floats to integers: cut off and saturated. 2147483520 is the largest float below 2^31, and so on.
PK_INLINE void pk_chain_store(int dtype, void *data, int i, float v)
{
	switch (dtype) {
	case PK_CU_F32:
		((float *)data)[i] = v;
		break;
	case PK_CU_F16:
		((pk_half *)data)[i] = pk_half_of(v);
		break;
	case PK_CU_I8:
		((signed char *)data)[i] = (signed char)pk_saturate(v, -128, 127);
		break;
	case PK_CU_U8:
		((unsigned char *)data)[i] = (unsigned char)pk_saturate(v, 0, 255);
		break;
	case PK_CU_I16:
		((short *)data)[i] = (short)pk_saturate(v, -32768, 32767);
		break;
	case PK_CU_U16:
		((unsigned short *)data)[i] = (unsigned short)pk_saturate(v, 0, 65535);
		break;
	case PK_CU_I32: {
		bool high = v >= 2147483648.0F;
		((int *)data)[i] =
			high ? 0x7fffffff : (int)pk_saturate(v, -2147483648.0F, 2147483520.0F);
		break;
	}
	case PK_CU_U32: {
		bool high = v >= 4294967296.0F;
		((unsigned *)data)[i] =
			high ? 0xffffffffU : (unsigned)pk_saturate(v, 0, 4294967040.0F);
		break;
	}
	case PK_CU_I64:
		((pk_i64 *)data)[i] =
			pk_saturate(v, -9223372036854775808.0F, 9223371487098961920.0F);
		break;
	default:
		((unsigned char *)data)[i] = v != 0;
	}
}

// Integers to narrower ones: the low bits.
PK_INLINE void pk_chain_store(int dtype, void *data, int i, pk_i64 v)
{
	switch (dtype) {
	case PK_CU_I8:
	case PK_CU_U8:
		((unsigned char *)data)[i] = (unsigned char)v;
		break;
	case PK_CU_I16:
	case PK_CU_U16:
		((unsigned short *)data)[i] = (unsigned short)v;
		break;
	case PK_CU_I32:
	case PK_CU_U32:
		((unsigned *)data)[i] = (unsigned)v;
		break;
	case PK_CU_I64:
		((pk_i64 *)data)[i] = v;
		break;
	default:
		((unsigned char *)data)[i] = v != 0;
	}
}

PK_INLINE float pk_fmod_floor(float a, float b)
{
	float r = fmodf(a, b);
	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

PK_INLINE float pk_chain_step(const struct pk_cu_step &s, float a, float b, float c)
{
	switch (s.code) {
	case PK_FN_ADD:
		return a + b;
	case PK_FN_SUB:
		return a - b;
	case PK_FN_MUL:
		return a * b;
	case PK_FN_DIV:
		return a / b;
	case PK_FN_POW:
		return powf(a, b);
	case PK_FN_MOD:
		return pk_fmod_floor(a, b);
	case PK_FN_FMOD:
		return fmodf(a, b);
	case PK_FN_MIN:
		return a != a || a < b ? a : b;
	case PK_FN_MAX:
		return a != a || a > b ? a : b;
	case PK_FN_EQUAL:
		return a == b;
	case PK_FN_LESS:
		return a < b;
	case PK_FN_LESS_EQUAL:
		return a <= b;
	case PK_FN_GREATER:
		return a > b;
	case PK_FN_GREATER_EQUAL:
		return a >= b;
	case PK_CU_SELECT:
		return a != 0 ? b : c;
	case PK_CU_PRELU:
		return a < 0 ? b * a : a;
	default:
		return pk_unary(s.code, a, s.alpha, s.beta);
	}
}

PK_INLINE pk_i64 pk_wrap(unsigned long long v)
{
	return (pk_i64)v;
}
PK_INLINE pk_i64 pk_int_div(pk_i64 a, pk_i64 b)
{
	return b == 0 ? 0 : b == -1 ? pk_wrap(0 - (unsigned long long)a) : a / b;
}
PK_INLINE pk_i64 pk_int_rem(pk_i64 a, pk_i64 b)
{
	return b == 0 || b == -1 ? 0 : a % b;
}
PK_INLINE pk_i64 pk_int_mod(pk_i64 a, pk_i64 b)
{
	pk_i64 r = pk_int_rem(a, b);
	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
PK_INLINE pk_i64 pk_int_pow(pk_i64 a, pk_i64 b)
{
	unsigned long long base = (unsigned long long)a, r = 1;
	if (b < 0)
		return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
	for (; b; b >>= 1) {
		r = b & 1 ? r * base : r;
		base *= base;
	}
	return pk_wrap(r);
}
// Bounds of a clip as integers.
PK_INLINE pk_i64 pk_int_clip(pk_i64 a, float low, float high)
{
	if ((float)a < low)
		a = pk_saturate(low, -9223372036854775808.0F, 9223371487098961920.0F);
	return (float)a > high ? pk_saturate(high, -9223372036854775808.0F, 9223371487098961920.0F)
			       : a;
}

PK_INLINE pk_i64 pk_chain_step(const struct pk_cu_step &s, pk_i64 a, pk_i64 b, pk_i64 c)
{
	unsigned long long ua = (unsigned long long)a, ub = (unsigned long long)b;
	switch (s.code) {
	case PK_FN_ADD:
		return pk_wrap(ua + ub);
	case PK_FN_SUB:
		return pk_wrap(ua - ub);
	case PK_FN_MUL:
		return pk_wrap(ua * ub);
	case PK_FN_DIV:
		return pk_int_div(a, b);
	case PK_FN_POW:
		return pk_int_pow(a, b);
	case PK_FN_MOD:
		return pk_int_mod(a, b);
	case PK_FN_FMOD:
		return pk_int_rem(a, b);
	case PK_FN_MIN:
		return a < b ? a : b;
	case PK_FN_MAX:
		return a > b ? a : b;
	case PK_FN_EQUAL:
		return a == b;
	case PK_FN_LESS:
		return a < b;
	case PK_FN_LESS_EQUAL:
		return a <= b;
	case PK_FN_GREATER:
		return a > b;
	case PK_FN_GREATER_EQUAL:
		return a >= b;
	case PK_FN_AND:
		return a && b;
	case PK_FN_OR:
		return a || b;
	case PK_FN_XOR:
		return !a != !b;
	case PK_FN_NOT:
		return !a;
	case PK_FN_ABS:
		return a < 0 ? pk_wrap(0 - ua) : a;
	case PK_FN_NEG:
		return pk_wrap(0 - ua);
	case PK_FN_SIGN:
		return (a > 0) - (a < 0);
	case PK_FN_RELU:
		return a < 0 ? 0 : a;
	case PK_FN_CLIP:
		return pk_int_clip(a, s.alpha, s.beta);
	case PK_CU_SELECT:
		return a ? b : c;
	default:
		return a;
	}
}

// n of PK_CU_LANES neighbours, `step` apart; whole groups of floats lying side by side move as one.
template <typename R>
PK_INLINE void pk_chain_gather(
	R (&out)[PK_CU_LANES], int dtype, const void *data, int at, int step, int n)
{
	if (step == 1 && n == PK_CU_LANES && at % PK_CU_LANES == 0 &&
		(dtype == PK_CU_F16 || dtype == PK_CU_F32)) {
		float v[PK_CU_LANES];
		if (dtype == PK_CU_F16)
			pk_load(v, (const pk_half *)data + at);
		else
			pk_load(v, (const float *)data + at);
#pragma unroll
		for (int k = 0; k < PK_CU_LANES; k++)
			out[k] = (R)v[k];
		return;
	}
	PK_CHAIN_UNROLLED
	for (int k = 0; k < PK_CU_LANES; k++)
		out[k] = k < n ? pk_chain_load<R>(dtype, data, at + k * step) : (R)0;
}

// n neighbours of which those from `valid` on are padding.
template <typename R>
PK_INLINE void pk_chain_scatter(
	const R (&in)[PK_CU_LANES], int dtype, void *data, int at, int step, int n, int valid)
{
	if (step == 1 && n == PK_CU_LANES && at % PK_CU_LANES == 0 &&
		(dtype == PK_CU_F16 || dtype == PK_CU_F32)) {
		float v[PK_CU_LANES];
#pragma unroll
		for (int k = 0; k < PK_CU_LANES; k++)
			v[k] = k < valid ? (float)in[k] : 0;
		if (dtype == PK_CU_F16)
			pk_save((pk_half *)data + at, v);
		else
			pk_save((float *)data + at, v);
		return;
	}
	PK_CHAIN_UNROLLED
	for (int k = 0; k < PK_CU_LANES; k++) {
		if (k < n)
			pk_chain_store(dtype, data, at + k * step, k < valid ? in[k] : (R)0);
	}
}

// Offset of operand o at the outer position `row`.
PK_INLINE int pk_chain_row(const struct pk_cu_chain &p, const struct pk_cu_operand &o, int row)
{
	int at = o.offset;
	PK_CHAIN_UNROLLED
	for (int i = PK_CU_CH_RANK - 2; i >= 0; i--) {
		if (i < p.rank - 1) {
			at += row % p.dims[i] * o.strides[i];
			row /= p.dims[i];
		}
	}
	return at;
}

template <typename R>
PK_INLINE void pk_chain_run(const void *const (&in)[PK_CU_INPUTS],
	void *const (&out)[PK_CU_OUTPUTS], const struct pk_cu_chain &p)
{
	int i = PK_THREAD;
	if (i >= p.groups)
		return;
	int across = (p.inner + PK_CU_LANES - 1) / PK_CU_LANES;
	int row = i / across, lane = i % across * PK_CU_LANES, last = p.rank - 1;
	int n = p.inner - lane, valid = p.dims[last] - lane; // valid may be 0 or less
	R regs[PK_CU_REGS][PK_CU_LANES];
	n = n < PK_CU_LANES ? n : PK_CU_LANES;
	int n_read = valid < n ? valid : n;
	PK_CHAIN_UNROLLED
	for (int k = 0; k < PK_CU_INPUTS; k++) {
		if (k < p.n_inputs) {
			int step = p.in[k].strides[last];
			pk_chain_gather(regs[k], p.in[k].dtype, in[k],
				pk_chain_row(p, p.in[k], row) + lane * step, step, n_read);
		}
	}
	PK_CHAIN_UNROLLED
	for (int s = 0; s < p.n_steps; s++) {
		const struct pk_cu_step &step = p.steps[s];
		PK_CHAIN_UNROLLED
		for (int k = 0; k < PK_CU_LANES; k++)
			regs[step.dst][k] = pk_chain_step(
				step, regs[step.a][k], regs[step.b][k], regs[step.c][k]);
	}
	PK_CHAIN_UNROLLED
	for (int k = 0; k < PK_CU_OUTPUTS; k++) {
		if (k < p.n_outputs) {
			int step = p.out[k].strides[last];
			pk_chain_scatter(regs[p.from[k]], p.out[k].dtype, out[k],
				pk_chain_row(p, p.out[k], row) + lane * step, step, n, valid);
		}
	}
}

PK_ENTRY chain_float(const void *i0, const void *i1, const void *i2, const void *i3, const void *i4,
	const void *i5, void *o0, void *o1, const struct pk_cu_chain given)
{
	PK_CHAIN(given);
	const void *const in[PK_CU_INPUTS] = {i0, i1, i2, i3, i4, i5};
	void *const out[PK_CU_OUTPUTS] = {o0, o1};
	pk_chain_run<float>(in, out, p);
}
PK_EXPORT(chain_float)

PK_ENTRY chain_int(const void *i0, const void *i1, const void *i2, const void *i3, const void *i4,
	const void *i5, void *o0, void *o1, const struct pk_cu_chain given)
{
	PK_CHAIN(given);
	const void *const in[PK_CU_INPUTS] = {i0, i1, i2, i3, i4, i5};
	void *const out[PK_CU_OUTPUTS] = {o0, o1};
	pk_chain_run<pk_i64>(in, out, p);
}
PK_EXPORT(chain_int)
