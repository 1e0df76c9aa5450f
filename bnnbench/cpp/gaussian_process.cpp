// The Gaussian process of the hyper-parameter search, with the same bits as the numpy code in
// bnnbench/search/gaussian_process.py, which documents the model.

#include <algorithm>
#include <new>
#include <vector>

#include "lanes.h"
#include "portable.h"

extern "C" int invert_positive(Size n, const double *matrix, double *inverse, double *diagonal);

namespace {

constexpr double ROOT5 = 2.23606797749978969641, LOG_2PI = 1.8378770664093453;
constexpr int POINTS = LANE / 2;  // predicted at once, one in each double of a register

typedef double Points __attribute__((vector_size(8 * POINTS)));

inline Points load(const double *from) {
  Points points;
  std::memcpy(&points, from, sizeof points);
  return points;
}

// numpy's sum of `count` rows of N numbers: halves of long sums, then eight sums side by side.
template <int N>
void pairwise_sum(const double *rows, Size count, double *out) {
  if (count > 128) {
    const Size half = count / 2 / 8 * 8;
    double rest[N];
    pairwise_sum<N>(rows, half, out);
    pairwise_sum<N>(rows + half * N, count - half, rest);
    for (int c = 0; c < N; ++c) out[c] += rest[c];
    return;
  }
  Size i = 0;
  std::fill_n(out, N, 0.0);
  if (count >= 8) {
    double sums[8 * N];
    std::copy_n(rows, 8 * N, sums);
    for (i = 8; i + 8 <= count; i += 8)
      for (int c = 0; c < 8 * N; ++c) sums[c] += rows[i * N + c];
    for (int width = 1; width < 8; width *= 2)
      for (int k = 0; k < 8; k += 2 * width)
        for (int c = 0; c < N; ++c) sums[k * N + c] += sums[(k + width) * N + c];
    std::copy_n(sums, N, out);
  }
  for (; i < count; ++i)
    for (int c = 0; c < N; ++c) out[c] += rows[i * N + c];
}

double sum(const std::vector<double> &terms) {
  double total;
  pairwise_sum<1>(terms.data(), Size(terms.size()), &total);
  return total;
}

inline double matern(double amplitude, double root) {
  return amplitude * (1 + root + root * root / 3) * portable_exp(-root);
}

}  // namespace

// The negative log marginal likelihood, infinite if the covariance is not positive definite, and
// its gradient. Returns 1 if memory is insufficient.
//
//   theta    logarithms of amplitude, length scales and noise variance [inputs + 2]
//   squares  squared differences of the inputs [inputs, n, n]
//   targets  [n]
//   out      the value and the gradient [inputs + 3]
extern "C" int marginal_likelihood(Size n, Size inputs, double jitter, const double *theta,
                                   const double *squares, const double *targets, double *out) try {
  const Size size = n * n;
  const double amplitude = portable_exp(theta[0]), noise = portable_exp(theta[inputs + 1]);
  std::vector<double> scales(inputs), roots(size), signal(size), matrix(size), inverse(size);
  std::vector<double> diagonal(n), weights(n), terms(n);
  for (Size k = 0; k < inputs; ++k) {
    scales[k] = portable_exp(-2 * theta[k + 1]);
    const double *square = squares + k * size;
    for (Size i = 0; i < size; ++i) roots[i] += scales[k] * square[i];
  }
  for (Size i = 0; i < size; ++i) {
    roots[i] = ROOT5 * std::sqrt(roots[i]);
    matrix[i] = signal[i] = matern(amplitude, roots[i]);
  }
  for (Size i = 0; i < n; ++i) matrix[i * n + i] += noise + jitter;
  std::fill_n(out, inputs + 3, 0.0);
  out[0] = INFINITE;
  if (invert_positive(n, matrix.data(), inverse.data(), diagonal.data())) return 0;

  for (Size k = 0; k < n; ++k)  // the inverse is symmetric
    for (Size i = 0; i < n; ++i) weights[i] += inverse[k * n + i] * targets[k];
  for (Size i = 0; i < n; ++i) terms[i] = targets[i] * weights[i];
  const double fit = sum(terms);
  for (Size i = 0; i < n; ++i) terms[i] = portable_log(diagonal[i]);
  out[0] = 0.5 * fit + sum(terms) + 0.5 * n * LOG_2PI;

  std::vector<double> &inner = inverse, &products = matrix;
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < n; ++j)
      inner[i * n + j] = 0.5 * (inverse[i * n + j] - weights[i] * weights[j]);
  for (Size i = 0; i < size; ++i) products[i] = inner[i] * signal[i];
  out[1] = sum(products);
  for (Size i = 0; i < n; ++i) terms[i] = inner[i * n + i];
  out[inputs + 2] = noise * sum(terms);
  std::vector<double> &by_scale = inner;
  for (Size i = 0; i < size; ++i)
    by_scale[i] = inner[i] * (5.0 / 3 * amplitude * (1 + roots[i]) * portable_exp(-roots[i]));
  for (Size k = 0; k < inputs; ++k) {
    const double *square = squares + k * size;
    for (Size i = 0; i < size; ++i) products[i] = by_scale[i] * (scales[k] * square[i]);
    out[k + 2] = sum(products);
  }
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}

// The mean and the variance of the standardised function. Returns 1 if memory is insufficient.
//
//   points          where to predict, divided by the length scales [count, inputs]
//   trials          the points of the fit, likewise [n, inputs]
//   inverse         of the covariance matrix of the trials [n, n]
//   weights         the product of `inverse` and the targets [n]
//   mean, variance  [count]
extern "C" int posterior(Size count, Size n, Size inputs, double amplitude, const double *points,
                         const double *trials, const double *inverse, const double *weights,
                         double *mean, double *variance) try {
  std::vector<double> at(inputs * POINTS), squares(inputs * POINTS);
  std::vector<double> across(n * POINTS), terms(n * POINTS);
  for (Size first = 0; first < count; first += POINTS) {
    const Size valid = std::min<Size>(POINTS, count - first);
    for (Size c = 0; c < valid; ++c)
      for (Size k = 0; k < inputs; ++k) at[k * POINTS + c] = points[(first + c) * inputs + k];
    for (Size j = 0; j < n; ++j) {
      for (Size k = 0; k < inputs; ++k)
        for (int c = 0; c < POINTS; ++c) {
          const double step = at[k * POINTS + c] - trials[j * inputs + k];
          squares[k * POINTS + c] = step * step;
        }
      pairwise_sum<POINTS>(squares.data(), inputs, &across[j * POINTS]);
    }
    for (Size i = 0; i < n * POINTS; ++i)
      across[i] = matern(amplitude, ROOT5 * std::sqrt(across[i]));
    double means[POINTS] = {}, explained[POINTS];
    for (Size j = 0; j < n; ++j)
      for (int c = 0; c < POINTS; ++c) means[c] += across[j * POINTS + c] * weights[j];
    for (Size j = 0; j < n; ++j) {
      Points solved = {};
      for (Size k = 0; k < n; ++k) solved += load(&across[k * POINTS]) * inverse[k * n + j];
      const Points term = solved * load(&across[j * POINTS]);
      std::memcpy(&terms[j * POINTS], &term, sizeof term);
    }
    pairwise_sum<POINTS>(terms.data(), n, explained);
    for (Size c = 0; c < valid; ++c) {
      mean[first + c] = means[c];
      variance[first + c] = amplitude - explained[c];
    }
  }
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}
