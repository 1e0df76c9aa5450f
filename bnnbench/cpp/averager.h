// Means of the gradients of a small network over sampled weights.
//
// The weights w = loc + scale e are sampled S times. Their gradients g have three means of
// interest: those of g, g^2 and g e.

#pragma once

#include "network.h"
#include "squares.h"

namespace {

void draw(Size n, const float *__restrict loc, const float *__restrict scale,
          const float *__restrict noise, float *__restrict out) {
  for (Size i = 0; i < n; ++i) out[i] = fused(scale[i], noise[i], loc[i]);
}

// Adds a gradient, its square if `square` is not null, and its product with the noise if `cross` is
// not null.
void add_moments(Size n, const float *__restrict one, const float *__restrict noise,
                 float *__restrict mean, float *__restrict square, float *__restrict cross) {
  if (square && cross)
    for (Size i = 0; i < n; ++i) square[i] = fused(one[i], one[i], square[i]);
  if (cross) {
    for (Size i = 0; i < n; ++i) {
      mean[i] += one[i];
      cross[i] = fused(one[i], noise[i], cross[i]);
    }
  } else if (square) {
    for (Size i = 0; i < n; ++i) {
      mean[i] += one[i];
      square[i] = fused(one[i], one[i], square[i]);
    }
  } else {
    for (Size i = 0; i < n; ++i) mean[i] += one[i];
  }
}

void add_products_times(Size n, float factor, const float *a, const float *b,
                        float *__restrict sum) {
  for (Size i = 0; i < n; ++i) sum[i] = fused(factor * a[i], b[i], sum[i]);
}

void add_times(Size n, float factor, const float *__restrict values, float *__restrict sum) {
  for (Size i = 0; i < n; ++i) sum[i] = fused(factor, values[i], sum[i]);
}

void divide(Size n, float by, float *values) {
  for (Size i = 0; i < n; ++i) values[i] /= by;
}

// Weights loc + scale noise; the noise of consecutive samples is `stride` numbers apart. If scale
// is null, the weights are loc, once or with a mask for every sample.
struct Draws {
  const float *loc, *scale, *noise;
  Size stride, samples;
  const Mask *masks;
};

// Means of a network's gradient, of its square and of its product with the noise; null if not
// needed.
struct Means {
  float *mean, *square, *cross;
};

// Samples with a smaller weight would not change a mean in float32.
constexpr float MIN_SAMPLE_WEIGHT = 1e-8f;

class Averager {
 public:
  Averager(const Size *sizes, Size layers, Size rows, bool softplus)
      : network(sizes, layers, rows, softplus), drawn_(network.n_weights + SLACK), one_(drawn_.size()) {}

  Network network;

  void average(const Rows &rows, float precision, const Draws &draws, const Means &out) {
    const Size n = network.n_weights, samples = draws.scale || draws.masks ? draws.samples : 1;
    if (!draws.scale) std::copy_n(draws.loc, n, drawn_.begin());
    for (float *sum : {out.mean, out.square, out.cross})
      if (sum) std::fill_n(sum, n, 0.0f);
    for (Size s = 0; s < samples; ++s) {
      const float *noise = draws.scale ? draws.noise + s * draws.stride : nullptr;
      if (draws.scale) draw(n, draws.loc, draws.scale, noise, drawn_.data());
      const Mask mask = draws.masks ? draws.masks[s] : Mask{};
      network.gradient(drawn_.data(), rows, precision, mask, one_.data());
      add_moments(n, one_.data(), noise, out.mean, out.square, out.cross);
    }
    for (float *sum : {out.mean, out.square, out.cross})
      if (sum) divide(n, float(samples), sum);
  }

  // log p(w, data) / q(w) of every sample up to a common constant, with the loss of all `count`
  // rows estimated from the minibatch. They weight the samples in the gradient of Renyi's bound.
  void log_ratios(const Rows &rows, float precision, const Draws &draws, float count, float prior,
                  Floats &out) {
    const Size n = network.n_weights;
    for (Size s = 0; s < draws.samples; ++s) {
      const float *noise = draws.noise + s * draws.stride;
      draw(n, draws.loc, draws.scale, noise, drawn_.data());
      const double loss = network.loss(drawn_.data(), rows) / rows.count;
      const float narrow = dot(noise, noise, n) - prior * dot(drawn_.data(), drawn_.data(), n);
      out[s] = 0.5f * narrow - count * loss * (precision > 0 ? precision : 1);
    }
  }

  // Weighted means of the gradient plus `decay` times the weights, and of its product with the
  // noise. The sample weights add up to one. Returns the weighted mean of the loss.
  float weighted_average(const Floats &weights, float decay, const Rows &rows, float precision,
                         const Draws &draws, const Means &out) {
    const Size n = network.n_weights;
    float loss = 0;
    for (float *sum : {out.mean, out.cross}) std::fill_n(sum, n, 0.0f);
    for (Size s = 0; s < draws.samples; ++s) {
      if (weights[s] < MIN_SAMPLE_WEIGHT) continue;
      const float *noise = draws.noise + s * draws.stride;
      draw(n, draws.loc, draws.scale, noise, drawn_.data());
      loss += weights[s] * network.gradient(drawn_.data(), rows, precision, Mask{}, one_.data());
      add_times(n, decay, drawn_.data(), one_.data());
      add_times(n, weights[s], one_.data(), out.mean);
      add_products_times(n, weights[s], one_.data(), noise, out.cross);
    }
    return loss;
  }

  // Means of the gradient, and of the squared gradients of the rows.
  void average_row_squares(RowSquares &squares, const Rows &rows, float precision,
                           const Draws &draws, const Means &out) {
    const Size n = network.n_weights;
    for (float *sum : {out.mean, out.square}) std::fill_n(sum, n, 0.0f);
    for (Size s = 0; s < draws.samples; ++s) {
      draw(n, draws.loc, draws.scale, draws.noise + s * draws.stride, drawn_.data());
      squares.gradient(drawn_.data(), rows, precision, one_.data(), out.square);
      add_moments(n, one_.data(), nullptr, out.mean, nullptr, nullptr);
    }
    for (float *sum : {out.mean, out.square}) divide(n, float(draws.samples), sum);
  }

 private:
  Floats drawn_, one_;
};

}  // namespace
