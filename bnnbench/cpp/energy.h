// The gradient of the black-box alpha energy of networks with dropout (Li & Gal 2017).
//
// The loss of a row is computed from its losses l_s under S masks s:
//
//     -1 / alpha log mean_s exp(-alpha l_s)
//
// Its gradient is the mean of the gradients of l_s with weights proportional to exp(-alpha l_s). All
// samples of some rows form a batch, which goes through the network once in either direction.

#pragma once

#include "network.h"

namespace {

// Replaces log weights [samples, count] by weights that add up to one over samples. A column with
// NaN, or whose greatest number is infinite, becomes NaN, as in torch. Rows are followed by SLACK
// numbers.
void normalise(Size samples, Size count, Size stride, float *logs) {
  for (Size b = 0; b < count; b += LANE) {
    Lane top = load(logs + b), sum = {};
    for (Size s = 1; s < samples; ++s) {
      const Lane other = load(logs + s * stride + b);
      top = other > top ? other : top;
    }
    for (Size s = 0; s < samples; ++s) {
      const Lane weight = exponential(load(logs + s * stride + b) - top);
      store(logs + s * stride + b, weight);
      sum += weight;
    }
    for (Size s = 0; s < samples; ++s)
      store(logs + s * stride + b, load(logs + s * stride + b) / sum);
  }
}

class Energy : Network {
 public:
  Energy(const Size *sizes, Size layers, Size rows, Size samples, bool softplus)
      : Network(sizes, layers, rows * samples, softplus, CACHED, samples),
        stride_(block_ / samples + SLACK), weights_(samples * stride_ + SLACK) {}

  // Writes the gradient to `out` [n_weights], which like `w` is followed by SLACK numbers.
  void gradient(const float *w, const Rows &rows, float precision, float alpha, const Mask &mask,
                float *out) {
    const Size samples = mask.samples;
    each_block(w, rows, mask, [&](const Part &part) {
      const Size count = part.count;
      for (Size s = 0; s < samples; ++s)
        for (Size b = 0, row = part.first; b < count; ++b, ++row) {
          const float loss = differentiate(part, s * count + b, rows, row, precision);
          weights_[s * stride_ + b] = -alpha * (loss / rows.weights[row]);
        }
      normalise(samples, count, stride_, weights_.data());
      for (Size o = 0; o < outputs_; ++o)
        for (Size s = 0; s < samples; ++s)
          for (Size b = 0; b < count; ++b)
            slopes_[o * block_ + s * count + b] *= weights_[s * stride_ + b];
      backward(part, out);
    });
  }

 private:
  Size stride_;     // between the weights of samples
  Floats weights_;  // of samples and rows
};

}  // namespace
