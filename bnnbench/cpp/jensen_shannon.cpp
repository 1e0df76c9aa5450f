// Jensen-Shannon divergences of many pairs of Gaussians, and their derivatives, by quadrature.
//
// Let q be the narrower Gaussian of a pair, p the wider one, and x in standard units of q:
//
//     t(x) = log(q / p) = constant + x (linear + quadratic x),   odds = alpha / (1 - alpha)
//
// With the nodes and weights of a quadrature rule for the standard normal, these functions compute
//
//     sum_k weights_k J(t(x_k))                    the divergence
//     sum_k weights_k x_k^i J'(t(x_k)), i = 0 1 2  the moments for its derivatives
//
// J is defined in bnnbench/divergences/jensen_shannon.py. Each lane holds one pair and loops over
// all nodes, so no intermediate results are stored.

#include "lanes.h"
#include "portable.h"

// The same fields in the same order as in bnnbench/divergences/native_sums.py.
struct Pairs {
  const float *terms;             // [3, count]: constant, linear, quadratic
  Size count;
  const float *nodes, *weights;   // [n_nodes]
  Size n_nodes;
  double alpha;
  float lowest, highest;          // bounds to which t is clamped
  float *out;                     // [count], or [3, count] for moments
};

namespace {

inline Lane clamp(Lane t, float lowest, float highest) {
  t = t < lowest ? Lane{} + lowest : t;
  return t > highest ? Lane{} + highest : t;
}

inline Lane softplus(Lane x) {
  return x > 20 ? x : logarithm_of_one_and(exponential(x > 20 ? Lane{} + 20 : x));
}

// Calls `add(k, t)` for every node k of a lane of pairs, starting with the i-th pair.
template <class Add>
inline void over_nodes(const Pairs &pairs, Size i, Add add) {
  const Size n = pairs.count, here = std::min<Size>(LANE, n - i);
  const float *terms = pairs.terms + i;
  const Lane constant = load_within(terms, here), linear = load_within(terms + n, here);
  const Lane quadratic = load_within(terms + 2 * n, here);
  for (Size k = 0; k < pairs.n_nodes; ++k) {
    const float x = pairs.nodes[k];
    add(k, clamp(constant + x * (linear + quadratic * x), pairs.lowest, pairs.highest));
  }
}

inline void store_sum(const Pairs &pairs, Size row, Size i, Lane sum) {
  std::memcpy(pairs.out + row * pairs.count + i, &sum,
              std::min<Size>(LANE, pairs.count - i) * sizeof(float));
}

template <class Integrand>
void sums(const Pairs &pairs, Integrand integrand) {
  for (Size i = 0; i < pairs.count; i += LANE) {
    Lane sum = {};
    over_nodes(pairs, i, [&](Size k, Lane t) { sum += pairs.weights[k] * integrand(t); });
    store_sum(pairs, 0, i, sum);
  }
}

template <class Slope>
void moments_of(const Pairs &pairs, Slope slope) {
  for (Size i = 0; i < pairs.count; i += LANE) {
    Lane sum[3] = {};
    over_nodes(pairs, i, [&](Size k, Lane t) {
      const float x = pairs.nodes[k];
      const Lane part = pairs.weights[k] * slope(t);
      sum[0] += part;
      sum[1] += x * part;
      sum[2] += x * x * part;
    });
    for (Size row = 0; row < 3; ++row) store_sum(pairs, row, i, sum[row]);
  }
}

}  // namespace

// Writes the sum of `_far` for every pair to `out` [count].
extern "C" void js_far(const Pairs *pairs) {
  const double rest = portable_log1p(-pairs->alpha);
  const float most = -rest, odds = portable_log(pairs->alpha) - rest;
  sums(*pairs, [=](Lane t) {
    return most - 0.5f * (softplus(odds - t) + exponential(-t) * softplus(t + odds));
  });
}

// Writes the sum of `_near` for every pair to `out` [count].
extern "C" void js_near(const Pairs *pairs) {
  const float alpha = pairs->alpha;
  sums(*pairs, [=](Lane t) {
    const Exponential down(-t);
    const Lane here = logarithm_of_one_and(alpha * down.less_one());
    const Lane there = logarithm_of_one_and(alpha * Exponential(t).less_one());
    const Lane value = -0.5f * (here + down.value() * there);
    return value < 0 ? Lane{} : value;
  });
}

// Writes the moments of `_slope` for every pair to `out` [3, count].
extern "C" void js_slopes(const Pairs *pairs) {
  const float odds = pairs->alpha / (1 - pairs->alpha);
  const auto main_part = [=](Lane ratio) { return logarithm_of_one_and(odds * ratio) / ratio; };
  if (odds == 1)
    return moments_of(*pairs, [=](Lane t) { return 0.5f * main_part(exponential(t)); });
  moments_of(*pairs, [=](Lane t) {
    const Lane ratio = exponential(t);
    return 0.5f * (main_part(ratio) + odds / (odds + ratio) - odds / (1 + odds * ratio));
  });
}
