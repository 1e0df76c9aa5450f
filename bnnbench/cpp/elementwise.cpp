// Functions of arrays of doubles with the same bits on every processor; the reference in numpy is
// bnnbench/portable_math.py.

#include <algorithm>
#include <new>
#include <vector>

#include "portable.h"

using Size = int64_t;

extern "C" void exponentials(Size count, const double *x, double *out) {
  for (Size i = 0; i < count; ++i) out[i] = portable_exp(x[i]);
}

extern "C" void logarithms(Size count, const double *x, double *out) {
  for (Size i = 0; i < count; ++i) out[i] = portable_log(x[i]);
}

namespace {

constexpr double DENSITY_AT_ZERO = 0.39894228040143267794;  // of the standard normal
constexpr double ROOT_HALF = 0.70710678118654752440;
constexpr Size BLOCK = 64;  // points whose sums stay in the first-level cache

// The expectation of |X| for X ~ Normal(mean, variance).
inline double mean_distance(double mean, double variance) {
  const double scale = std::sqrt(variance), far = std::fabs(mean), x = far / scale;
  const double gauss = portable_exp(-0.5 * (x * x));
  return far + gauss * (2 * DENSITY_AT_ZERO * scale - far * scaled_erfc(x * ROOT_HALF));
}

}  // namespace

// The continuous ranked probability score of Gaussian mixtures at their targets (Grimit et al.
// 2006): the mean distance of a component from the target, minus half that of two components.
//
//   loc, variance  [samples, points]
//   targets, out   [points]
extern "C" void mixture_crps(Size samples, Size points, const double *loc, const double *variance,
                             const double *targets, double *out) {
  double near[BLOCK], apart[BLOCK], row[BLOCK];
  for (Size first = 0; first < points; first += BLOCK) {
    const Size count = std::min(BLOCK, points - first);
    std::fill_n(near, count, 0.0);
    std::fill_n(apart, count, 0.0);
    for (Size i = 0; i < samples; ++i) {
      const double *m = loc + i * points + first, *v = variance + i * points + first;
      for (Size k = 0; k < count; ++k) {
        near[k] += mean_distance(targets[first + k] - m[k], v[k]);
        row[k] = 0.5 * mean_distance(0, v[k] + v[k]);
      }
      for (Size j = i + 1; j < samples; ++j) {
        const double *n = loc + j * points + first, *w = variance + j * points + first;
        for (Size k = 0; k < count; ++k) row[k] += mean_distance(m[k] - n[k], v[k] + w[k]);
      }
      for (Size k = 0; k < count; ++k) apart[k] += row[k];
    }
    for (Size k = 0; k < count; ++k)
      out[first + k] = near[k] / samples - apart[k] / (double(samples) * samples);
  }
}

// out [rows, columns] = a [rows, depth] b [depth, columns], summed in the order of `depth`.
extern "C" void ordered_product(Size rows, Size depth, Size columns, const double *a,
                                const double *b, double *out) {
  std::fill_n(out, rows * columns, 0.0);
  for (Size i = 0; i < rows; ++i, out += columns)
    for (Size k = 0; k < depth; ++k) {
      const double factor = a[i * depth + k], *row = b + k * columns;
      for (Size j = 0; j < columns; ++j) out[j] += factor * row[j];
    }
}

// The inverse of a symmetric matrix [n, n], and the diagonal of its lower Cholesky factor [n].
// Returns 1 if the matrix is not positive definite, 2 if memory is insufficient, else 0.
extern "C" int invert_positive(Size n, const double *matrix, double *inverse,
                               double *diagonal) try {
  std::vector<double> left(matrix, matrix + n * n), roots(n * n), column(n);
  for (Size k = 0; k < n; ++k) roots[k * n + k] = 1;
  // Row by row, the matrix becomes its factor L and the identity the inverse of L.
  for (Size k = 0; k < n; ++k) {
    const double pivot = left[k * n + k];
    if (!(pivot > 0)) return 1;
    const double root = std::sqrt(pivot);
    double *of_factor = &roots[k * n];
    diagonal[k] = root;
    for (Size j = 0; j <= k; ++j) of_factor[j] /= root;
    for (Size i = k + 1; i < n; ++i) column[i] = left[i * n + k] / root;
    for (Size i = k + 1; i < n; ++i) {
      double *rest = &left[i * n], *to = &roots[i * n];
      for (Size j = k + 1; j <= i; ++j) rest[j] -= column[i] * column[j];
      for (Size j = 0; j <= k; ++j) to[j] -= column[i] * of_factor[j];
    }
  }
  std::fill_n(inverse, n * n, 0.0);
  for (Size k = 0; k < n; ++k) {
    const double *row = &roots[k * n];
    for (Size i = 0; i <= k; ++i) {
      double *to = inverse + i * n;
      for (Size j = 0; j <= k; ++j) to[j] += row[i] * row[j];
    }
  }
  return 0;
} catch (const std::bad_alloc &) {
  return 2;
}
