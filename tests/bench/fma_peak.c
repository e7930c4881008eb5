// SPDX-License-Identifier: Apache-2.0
// Fused multiply-adds out of registers: the peak that the layers of the cpu bench are held against.
// Prints GFLOP/s of one thread for the widest vectors this processor has.
#include <stdio.h>
#include <time.h>

#define N_FMAS  20000 // short: a shared core is taken away now and then
#define N_TRIES 4000

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// sums stay in registers: the loop over them is unrolled.
#define PEAK(name, attributes, bytes, n_sums)                                                      \
	typedef float name##_vec __attribute__((vector_size(bytes)));                              \
	attributes static float name(long n)                                                       \
	{                                                                                          \
		name##_vec sum[n_sums], a = {0}, b = {0};                                          \
		for (int i = 0; i < n_sums; i++)                                                   \
			sum[i] = (name##_vec){(float)i};                                           \
		a += 0.999F;                                                                       \
		b += 0.001F;                                                                       \
		for (; n > 0; n--) {                                                               \
			_Pragma("GCC unroll 24") for (int i = 0; i < n_sums; i++) sum[i] =         \
				sum[i] * a + b;                                                    \
		}                                                                                  \
		for (int i = 1; i < n_sums; i++)                                                   \
			sum[0] += sum[i];                                                          \
		return sum[0][0];                                                                  \
	}

#if defined(__x86_64__)
PEAK(peak_avx512, __attribute__((target("avx512f"), optimize("O2"))), 64, 24)
PEAK(peak_avx2, __attribute__((target("avx2,fma"), optimize("O2"))), 32, 12)
#endif
PEAK(peak_plain, __attribute__((optimize("O2"))), 16, 12)

static double gflops(float (*run)(long n), int lanes, int n_sums)
{
	double best = 0;
	volatile float keep = run(1000);
	for (int i = 0; i < N_TRIES; i++) {
		double start = now_s();
		keep = run(N_FMAS);
		double rate = 2.0 * N_FMAS * lanes * n_sums / (now_s() - start) * 1e-9;
		best = rate > best ? rate : best;
	}
	(void)keep;
	return best;
}

int main(void)
{
	double best = gflops(peak_plain, 4, 12);
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		best = gflops(peak_avx2, 8, 12);
	if (__builtin_cpu_supports("avx512f"))
		best = gflops(peak_avx512, 16, 24);
#endif
	printf("%.2f\n", best);
	return 0;
}
