// SIMD registers of floats and functions of them.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

namespace {

using Size = int64_t;

// Floats per register, which must not affect any result. Processors that execute AVX-512 in two
// halves use AVX registers instead: 50 units take 7 registers of 8 floats, or 4 of 16 at twice the
// cost. Tests choose other numbers.
#if !defined FLOATS_PER_LANE
#if defined __AVX512F__ && !defined BY_HALVES
#define FLOATS_PER_LANE 16
#elif defined __AVX__
#define FLOATS_PER_LANE 8
#else
#define FLOATS_PER_LANE 4
#endif
#endif
constexpr int LANE = FLOATS_PER_LANE;
typedef float Lane __attribute__((vector_size(4 * LANE)));
typedef int32_t LaneMask __attribute__((vector_size(4 * LANE)));

// Allocates arrays at the start of a cache line: a lane that extends over two lines takes twice as
// long.
template <typename T>
struct Aligned {
  using value_type = T;
  static constexpr std::align_val_t LINE{64};

  Aligned() = default;
  template <typename U>
  Aligned(const Aligned<U> &) {}

  T *allocate(size_t n) { return static_cast<T *>(::operator new(n * sizeof(T), LINE)); }
  void deallocate(T *data, size_t) { ::operator delete(data, LINE); }
  friend bool operator==(Aligned, Aligned) { return true; }
  friend bool operator!=(Aligned, Aligned) { return false; }
};

using Floats = std::vector<float, Aligned<float>>;

inline Lane load(const float *from) {
  Lane lane;
  std::memcpy(&lane, from, sizeof lane);
  return lane;
}

inline void store(float *to, Lane lane) { std::memcpy(to, &lane, sizeof lane); }

inline Lane broadcast(float value) { return value - Lane{}; }  // a sum would turn -0 into 0

// a b + c with a single rounding. Everywhere else a product and a sum round separately, because the
// library is compiled with -ffp-contract=off.
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

inline Lane fused(Lane a, Lane b, Lane c) {
#if defined __AVX512F__ && FLOATS_PER_LANE == 16
  return Lane(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
#elif defined __FMA__ && FLOATS_PER_LANE == 8
  return Lane(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
#elif defined __aarch64__ && FLOATS_PER_LANE == 4
  return Lane(vfmaq_f32(float32x4_t(c), float32x4_t(a), float32x4_t(b)));
#else
  for (int l = 0; l < LANE; ++l) c[l] = __builtin_fmaf(a[l], b[l], c[l]);
  return c;
#endif
}

inline Lane fused(float a, Lane b, Lane c) { return fused(broadcast(a), b, c); }

template <int N>
using Parts [[gnu::vector_size(4 * N)]] = float;

#if !defined __has_builtin
#define __has_builtin(name) 0
#endif

template <int N, int... I>
inline Parts<N / 2> add_halves(const Parts<N> &all, std::integer_sequence<int, I...>) {
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(all, all, I...) + __builtin_shufflevector(all, all, I + N / 2 ...);
#else
  Parts<N / 2> halves[2];
  std::memcpy(halves, &all, sizeof halves);
  return halves[0] + halves[1];
#endif
}

template <int N>
inline float sum_of(const Parts<N> &all) {
  if constexpr (N == 2)
    return all[0] + all[1];
  else
    return sum_of<N / 2>(add_halves<N>(all, std::make_integer_sequence<int, N / 2>{}));
}

// The sum of N floats: the second half is added to the first until one is left.
template <int N>
inline float sum_by_halves(const void *floats) {
  Parts<N / 2> first, second;  // not an array, which would be copied to the stack in pieces
  std::memcpy(&first, floats, sizeof first);
  std::memcpy(&second, static_cast<const float *>(floats) + N / 2, sizeof second);
  return sum_of<N / 2>(first + second);
}

// Loads the first `count` floats of a lane, for arrays without padding.
inline Lane load_within(const float *from, Size count) {
  Lane lane = {};
  std::memcpy(&lane, from, count * sizeof(float));
  return lane;
}

// Stores the first `count` floats of a lane, without changing those after them.
inline void store_within(float *to, Lane lane, Size count) {
  LaneMask places;
  for (int l = 0; l < LANE; ++l) places[l] = l;
  store(to, places < int32_t(std::min<Size>(count, LANE)) ? lane : load(to));
}

inline LaneMask bits(Lane lane) {
  LaneMask mask;
  std::memcpy(&mask, &lane, sizeof mask);
  return mask;
}

inline Lane power_of_two(LaneMask k) {
  const LaneMask exponent = (k + 127) << 23;
  Lane lane;
  std::memcpy(&lane, &exponent, sizeof lane);
  return lane;
}

// exp(x) = 2^k (1 + rest) for x <= 88, with x = k log 2 + r and a polynomial in r (Cephes, expf).
inline Lane exponential(Lane x) {
  x = x < -87 ? Lane{} - 87 : x;
  const Lane k = (x * 1.44269504f + 12582912.0f) - 12582912.0f;  // rounds to the nearest integer
  const Lane r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
  Lane p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = ((p * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r + 1.6666665459e-1f;
  const Lane rest = (p * r + 5.0000001201e-1f) * (r * r) + r;
  return (rest + 1) * power_of_two(__builtin_convertvector(k, LaneMask));
}

// log(1 + e) for e > -1, with 1 + e = 2^k (1 + f) and log(1 + f) = 2 artanh(f / (2 + f)).
Lane logarithm_of_one_and(Lane e) {
  const LaneMask k = (bits(1 + e) - 0x3f3504f3) >> 23;  // sqrt(1/2) <= 1 + f < sqrt(2)
  const Lane down = power_of_two(-k), f = e * down + (down - 1), z = f / (2 + f), y = z * z;
  const Lane artanh = z * (1 + y * (1 / 3.0f + y * (1 / 5.0f + y * (1 / 7.0f + y * (1 / 9.0f)))));
  return __builtin_convertvector(k, Lane) * 0.693147181f + 2 * artanh;
}

}  // namespace
