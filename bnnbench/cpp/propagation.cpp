// Passes of probabilistic backpropagation over the data, one network after the other.
//
// Every weight has a Gaussian distribution. For a layer with n inputs, including the constant 1, M
// are the means and V the variances: matrices whose last row is the bias. Inputs with means z and
// variances u (zero for data and for the constant) give units with the moments
//
//     a = z M / sqrt(n),   v = ((z^2 + u) V + u M^2) / n
//
// and the next layer gets the moments of max(Normal(a, v), 0). At the output an observation y has
// the density Z = Normal(y; a, v + E[1 / precision]). With the derivatives s of log Z with respect
// to a / sqrt(n) and t with respect to v / n, those with respect to a weight's mean and variance
// are
//
//     m = z s + 2 M u t,   w = (z^2 + u) t
//
// Moment matching updates the weight to mean M + V m and variance V - V^2 (m^2 - 2 w). Equations
// and sources are in bnnbench/methods/pbp.py and shared/moment_propagation.py, the reference
// implementation.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <vector>

#include "portable.h"

namespace {

using Size = int64_t;
using Numbers = std::vector<double>;

#define SIMD _Pragma("omp simd")

constexpr double MAX_CAVITY_VARIANCE = 1e6;  // prior factors with a wider cavity are not refined

constexpr double ROOT_HALF = 0.70710678118654752440, ROOT_TWO_OVER_PI = 0.79788456080286535588;
constexpr double DENSITY_AT_ZERO = 0.39894228040143267794;  // of the standard normal

inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

// --- sums

// Every eighth number is added to the same partial sum, whatever the width of a register.
constexpr int PARTS = 8;
typedef double Sums __attribute__((vector_size(8 * PARTS)));

inline Sums eight(const double *from) {
  Sums numbers;
  std::memcpy(&numbers, from, sizeof numbers);
  return numbers;
}

inline double total(Sums parts) {
  double sum = parts[0];
  for (int p = 1; p < PARTS; ++p) sum += parts[p];
  return sum;
}

// --- a precision

struct Gamma {
  double shape, rate;
};

// Moment matching of a Gamma with a factor Normal(error | 0, variance + 1 / precision), given the
// squared error. Updates to a shape of at most 1 are skipped; NaN is propagated.
Gamma matched(Gamma old, double variance, double square) {
  const double v0 = variance + old.rate / (old.shape - 1), v1 = variance + old.rate / old.shape;
  const double v2 = variance + old.rate / (old.shape + 1);
  const double first = 0.5 * (portable_log(v0 / v1) + square * (1 / v0 - 1 / v1));
  const double second = 0.5 * (portable_log(v1 / v2) + square * (1 / v1 - 1 / v2));
  const double shape = 1 / portable_expm1(second - first + portable_log1p(1 / old.shape));
  const double mean = portable_exp(first) * old.shape / old.rate;
  return shape <= 1 ? old : Gamma{shape, shape / mean};
}

// --- one layer

struct Layer {
  Size in, out;  // `in` includes the constant 1
  Numbers z, u;  // moments of the inputs
  Numbers a, v;  // moments of the units before ReLU; later the derivatives s and t
  Numbers above, below, at_zero;  // probabilities of being above and below 0, and the density at 0

  Layer(Size inputs, Size outputs)
      : in(inputs + 1), out(outputs), z(in, 1), u(in), a(out), v(out), above(out), below(out),
        at_zero(out) {}

  Size weights() const { return in * out; }
};

void forward(Layer &layer, const double *M, const double *V) {
  const Size in = layer.in, out = layer.out;
  const double *z = layer.z.data(), *u = layer.u.data();
  double *a = layer.a.data(), *v = layer.v.data();
  std::fill_n(a, out, 0.0);
  std::fill_n(v, out, 0.0);
  for (Size i = 0; i < in; ++i, M += out, V += out) {
    const double mean = z[i], spread = u[i], square = mean * mean + spread;
    SIMD for (Size o = 0; o < out; ++o) {
      a[o] = fused(mean, M[o], a[o]);
      v[o] = fused(square, V[o], fused(spread, M[o] * M[o], v[o]));
    }
  }
  const double root = std::sqrt(double(in));
  SIMD for (Size o = 0; o < out; ++o) a[o] /= root;
  SIMD for (Size o = 0; o < out; ++o) v[o] /= in;
}

// Moments of the units after ReLU, the inputs of the next layer. Far below zero both tails are
// computed from one scaled function, so that their ratio is accurate even where they underflow.
void rectify(Layer &layer, Layer &next) {
  const double *a = layer.a.data(), *v = layer.v.data();
  double *z = next.z.data(), *u = next.u.data();
  double *above = layer.above.data(), *below = layer.below.data(), *at_zero = layer.at_zero.data();
  SIMD for (Size o = 0; o < layer.out; ++o) {
    const double scale = std::sqrt(v[o]), alpha = a[o] / scale;
    const double x = std::fabs(alpha) * ROOT_HALF;
    const double scaled = scaled_erfc(x), gauss = portable_exp(-x * x);
    const double tail = 0.5 * scaled * gauss, density = gauss * DENSITY_AT_ZERO;
    const double up = alpha > 0 ? 1 - tail : tail, down = alpha > 0 ? tail : 1 - tail;
    const double usual = density / up, far = ROOT_TWO_OVER_PI / scaled;
    const double ratio = alpha > 0 ? usual : far, excess = ratio + alpha;
    const double mean = scale * up * excess;
    z[o] = mean;
    u[o] = mean * scale * excess * down + up * v[o] * (1 - ratio * excess);
    above[o] = up;
    below[o] = down;
    at_zero[o] = density / scale;
  }
}

// Moments of all units for one row of inputs.
void forward_all(std::vector<Layer> &layers, const double *input, const double *M,
                 const double *V) {
  std::copy_n(input, layers[0].in - 1, layers[0].z.begin());
  for (size_t l = 0; l < layers.size(); ++l) {
    forward(layers[l], M, V);
    if (l + 1 < layers.size()) rectify(layers[l], layers[l + 1]);
    M += layers[l].weights(), V += layers[l].weights();
  }
}

// Converts derivatives of log Z with respect to a and v to s and t.
void scale_slopes(Layer &layer) {
  for (double &slope : layer.a) slope /= std::sqrt(double(layer.in));
  for (double &slope : layer.v) slope /= layer.in;
}

// Derivatives of log Z with respect to a and v of the layer before.
void back(const Layer &layer, const double *M, const double *V, Layer &before) {
  const double *s = layer.a.data(), *t = layer.v.data();
  for (Size i = 0; i < before.out; ++i, M += layer.out, V += layer.out) {
    Sums by_means = {}, by_vars = {}, by_squares = {};
    Size o = 0;
    for (; o + PARTS <= layer.out; o += PARTS) {
      const Sums mean = eight(M + o), slope = eight(t + o);
      by_means += eight(s + o) * mean;
      by_vars += slope * eight(V + o);
      by_squares += slope * (mean * mean);
    }
    for (int p = 0; o < layer.out; ++o, ++p) {
      by_means[p] += s[o] * M[o];
      by_vars[p] += t[o] * V[o];
      by_squares[p] += t[o] * (M[o] * M[o]);
    }
    const double by_mean = total(by_means), by_var = total(by_vars), by_square = total(by_squares);
    const double mean = layer.z[i], d_mean = by_mean + 2 * mean * by_var, d_var = by_var + by_square;
    const double above = before.above[i], at_zero = before.at_zero[i];
    before.a[i] = above * d_mean + 2 * mean * before.below[i] * d_var;
    before.v[i] = at_zero * (0.5 * d_mean - mean * d_var) + above * d_var;
  }
}

// Calls use(k, m, w) for every weight k of a layer, with its derivatives m and w.
template <class Use>
inline void for_each_weight(const Layer &layer, const double *M, Use use) {
  const Size in = layer.in, out = layer.out;
  const double *z = layer.z.data(), *u = layer.u.data();
  const double *s = layer.a.data(), *t = layer.v.data();
  if (out == 1) {
    SIMD for (Size i = 0; i < in; ++i)
      use(i, z[i] * s[0] + 2 * M[i] * (u[i] * t[0]), (z[i] * z[i] + u[i]) * t[0]);
    return;
  }
  for (Size i = 0; i < in; ++i) {
    const double mean = z[i], spread = u[i], square = mean * mean + spread;
    SIMD for (Size o = 0; o < out; ++o)
      use(i * out + o, mean * s[o] + 2 * M[i * out + o] * (spread * t[o]), square * t[o]);
  }
}

// Updates a weight by one observation; skipped if the new variance would not be positive.
inline void match(double m, double w, double &mean, double &var) {
  const double left = 1 - var * (m * m - 2 * w);
  const double new_mean = mean + var * m, new_var = var * left;
  mean = left > 0 ? new_mean : mean;
  var = left > 0 ? new_var : var;
}

// Adds the changes of a weight's precision and of precision times mean by one observation.
inline void collect(double m, double w, double mean, double var, double &precision, double &shift) {
  const double bend = m * m - 2 * w, left = 1 - var * bend;
  const double more = bend / left, moved = (m + mean * bend) / left;
  precision += left > 0 ? more : 0;
  shift += left > 0 ? moved : 0;
}

// --- a network

// The same fields in the same order as `PassArguments` in bnnbench/native/passes.py.
struct PassArguments {
  const Size *sizes;               // inputs, units of every hidden layer, one output
  Size layers, sets;
  const double *inputs, *targets;  // [sets, length, D] and [sets, length]
  const Size *counts;              // [sets], real rows; the rows after them are padding
  Size length, batch;              // `batch` rows are incorporated at once
  double *const *state;            // [sets, weights] or [sets] for each Entry
  bool *alive;                     // [sets]; the others are not changed
  const Size *order;               // [orders, length]; set r uses order r % orders
  Size orders;
  bool refine;                     // whether prior factors are refined at the end
};

enum Entry {
  LOC, VAR, FACTOR_PRECISION, FACTOR_SHAPE, FACTOR_RATE,  // per weight
  NOISE_SHAPE, NOISE_RATE, PRIOR_SHAPE, PRIOR_RATE,
  ENTRIES
};

class Trainer {
 public:
  explicit Trainer(const PassArguments &given) : all_(given) {
    for (Size l = 0; l < given.layers; ++l) {
      layers_.emplace_back(given.sizes[l], given.sizes[l + 1]);
      n_ += layers_[l].weights();
    }
    if (given.batch > 1) precision_.resize(n_), shift_.resize(n_);
  }

  // Passes over the rows of a data set; returns whether the network is still finite.
  bool run_pass(Size set) {
    for (int e = 0; e < ENTRIES; ++e) own_[e] = all_.state[e] + set * size(e);
    const Size *order = all_.order + set % all_.orders * all_.length, count = all_.counts[set];
    rows_.clear();
    std::copy_if(order, order + all_.length, std::back_inserter(rows_),
                 [=](Size row) { return row < count; });
    for (Size b = 0; b < count; b += all_.batch) absorb(set, b, std::min(count, b + all_.batch));
    if (all_.refine) refine();
    for (int e = 0; e < ENTRIES; ++e)
      if (!std::all_of(own_[e], own_[e] + size(e), [](double x) { return std::isfinite(x); }))
        return false;
    return true;
  }

 private:
  Size size(int entry) const { return entry < NOISE_SHAPE ? n_ : 1; }

  // Incorporates some rows. Each is matched separately against the same network and the changes of
  // the natural parameters are summed; invalid sums are skipped. A single row is matched directly.
  void absorb(Size set, Size first, Size end) {
    const Gamma noise = {*own_[NOISE_SHAPE], *own_[NOISE_RATE]};
    Gamma sum = noise;
    std::fill(precision_.begin(), precision_.end(), 0.0);
    std::fill(shift_.begin(), shift_.end(), 0.0);
    for (Size b = first; b < end; ++b) {
      const Gamma one = absorb_row(set * all_.length + rows_[b], noise);
      sum = {sum.shape + (one.shape - noise.shape), sum.rate + (one.rate - noise.rate)};
    }
    if (all_.batch > 1) add_collected();
    if (sum.shape <= 1 || sum.rate <= 0) return;
    *own_[NOISE_SHAPE] = sum.shape;
    *own_[NOISE_RATE] = sum.rate;
  }

  // Incorporates one row and returns the updated noise precision.
  Gamma absorb_row(Size row, Gamma noise) {
    double *M = own_[LOC] + n_, *V = own_[VAR] + n_;
    forward_all(layers_, all_.inputs + row * all_.sizes[0], own_[LOC], own_[VAR]);
    Layer &last = layers_.back();
    const double error = all_.targets[row] - last.a[0], variance = last.v[0];
    const double total = variance + noise.rate / (noise.shape - 1);
    last.a[0] = error / total;
    last.v[0] = 0.5 * (last.a[0] * last.a[0] - 1 / total);
    for (size_t l = layers_.size(); l-- > 0;) {
      M -= layers_[l].weights(), V -= layers_[l].weights();
      scale_slopes(layers_[l]);
      if (l > 0) back(layers_[l], M, V, layers_[l - 1]);
      if (all_.batch == 1) {
        for_each_weight(layers_[l], M, [=](Size k, double m, double w) { match(m, w, M[k], V[k]); });
      } else {
        double *precision = precision_.data() + (M - own_[LOC]);
        double *shift = shift_.data() + (M - own_[LOC]);
        for_each_weight(layers_[l], M, [=](Size k, double m, double w) {
          collect(m, w, M[k], V[k], precision[k], shift[k]);
        });
      }
    }
    return matched(noise, variance, error * error);
  }

  void add_collected() {
    double *M = own_[LOC], *V = own_[VAR];
    for (Size k = 0; k < n_; ++k) {
      const double grown = 1 + V[k] * precision_[k];
      if (!(grown > 0)) continue;
      M[k] = (M[k] + V[k] * shift_[k]) / grown;
      V[k] /= grown;
    }
  }

  // Refines the prior factors of all weights in sequence; each update changes the Gamma of the
  // prior.
  void refine() {
    Gamma prior = {*own_[PRIOR_SHAPE], *own_[PRIOR_RATE]};
    for (Size k = 0; k < n_; ++k) {
      double &loc = own_[LOC][k], &var = own_[VAR][k], &factor = own_[FACTOR_PRECISION][k];
      double &shape = own_[FACTOR_SHAPE][k], &rate = own_[FACTOR_RATE][k];
      const double rest = 1 / var - factor;
      if (!(rest > 1 / MAX_CAVITY_VARIANCE && var > 0)) continue;
      const double mean = loc / var / rest;
      const Gamma cavity = {prior.shape - shape, prior.rate - rate};
      if (cavity.rate > 0 && cavity.shape > 1) {
        prior = matched(cavity, 1 / rest, mean * mean);
        shape = prior.shape - cavity.shape;
        rate = prior.rate - cavity.rate;
        factor = (cavity.shape - 1) / cavity.rate;
      }
      var = 1 / (rest + factor);
      loc = mean * rest * var;
    }
    *own_[PRIOR_SHAPE] = prior.shape;
    *own_[PRIOR_RATE] = prior.rate;
  }

  const PassArguments &all_;
  std::vector<Layer> layers_;
  Size n_ = 0;
  double *own_[ENTRIES];       // the entries of the current network
  std::vector<Size> rows_;     // of the current data set, in order
  Numbers precision_, shift_;  // changes of the natural parameters by a batch
};

}  // namespace

// One pass over the data for all networks that are alive. A network that is not finite afterwards
// is no longer alive. Returns 1 if memory is insufficient, else 0.
extern "C" int propagate(const PassArguments *given) try {
  Trainer trainer(*given);
  for (Size set = 0; set < given->sets; ++set)
    if (given->alive[set]) given->alive[set] = trainer.run_pass(set);
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}

// Moments [sets, rows] of the outputs for inputs [sets, rows, D], given the moments of the weights
// [sets, weights]. Returns 1 if memory is insufficient, else 0.
extern "C" int output_moments(const Size *sizes, Size depth, Size sets, Size rows,
                              const double *inputs, const double *loc, const double *var,
                              double *mean, double *variance) try {
  std::vector<Layer> layers;
  Size n = 0;
  for (Size l = 0; l < depth; ++l) {
    layers.emplace_back(sizes[l], sizes[l + 1]);
    n += layers[l].weights();
  }
  for (Size set = 0; set < sets; ++set)
    for (Size b = set * rows; b < (set + 1) * rows; ++b) {
      forward_all(layers, inputs + b * sizes[0], loc + set * n, var + set * n);
      mean[b] = layers.back().a[0];
      variance[b] = layers.back().v[0];
    }
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}
