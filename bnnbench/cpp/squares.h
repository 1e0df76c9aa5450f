// Sums of the squared gradients of single rows.
//
// The gradient of row b in a layer is the outer product of its inputs h_b and deltas d_b, so the sum
// of its squares over rows is (H H)' (D D), elementwise products in parentheses. The diagonal of the
// generalised Gauss-Newton matrix is a sum of such squares, whose deltas start from roots of the
// expected second derivatives of the loss at the outputs.

#pragma once

#include "network.h"

namespace {

// Square roots of the expected second derivatives of the weighted loss at the outputs; loss_slopes
// describes the arguments.
void curvature_roots(const float *outputs, Size n_outputs, bool softplus, float weight,
                     float precision, float *roots) {
  if (n_outputs == 1) {
    roots[0] = std::sqrt(weight * precision);
    return;
  }
  if (softplus) {
    const Variance variance = variance_of(outputs[1]);
    roots[0] = std::sqrt(weight * float(1 / variance.value));
    roots[1] = 0.5f * float(variance.log_slope) * std::sqrt(weight * 2);
    return;
  }
  const float seventh = outputs[1] / 7, bend = 1 / std::sqrt(1 + seventh * seventh);
  roots[0] = std::sqrt(weight * float(portable_exp(-2 * outputs[1] * bend)));
  roots[1] = bend * bend * bend * std::sqrt(weight * 2);
}

// values = values^2 times a factor.
void square(Size n, float factor, float *values) {
  for (Size i = 0; i < n; ++i) values[i] = values[i] * values[i] * factor;
}

class RowSquares : Network {
 public:
  // gauss_newton: whether the squares are those of the Gauss-Newton matrix.
  RowSquares(const Size *sizes, Size layers, Size rows, bool softplus, bool gauss_newton)
      : Network(sizes, layers, rows, softplus), gauss_newton_(gauss_newton),
        roots_(slopes_.size()) {}

  // Writes the gradient of the weighted loss to `out`, and adds the weighted sum of the squared
  // gradients of the rows' losses to `squares`. All rows have the same weight. The arrays
  // [n_weights] are followed by SLACK numbers.
  void gradient(const float *w, const Rows &rows, float precision, float *out, float *squares) {
    each_block(w, rows, Mask{}, [&](const Part &part) {
      for (Size b = 0; b < part.count; ++b)
        differentiate(part, b, rows, part.first + b, precision);
      if (gauss_newton_) set_roots(part, rows, precision);
      backward(part, out);
      square_inputs(part);
      if (!gauss_newton_) return add_squares(part, 1 / rows.weights[0], squares);
      for (Size o = 0; o < outputs_; ++o) {
        std::fill(slopes_.begin(), slopes_.end(), 0.0f);
        std::copy_n(&roots_[o * block_], part.count, &slopes_[o * block_]);
        carry(part);
        add_squares(part, 1, squares);
      }
    });
  }

 private:
  void set_roots(const Part &part, const Rows &rows, float precision) {
    for (Size b = 0; b < part.count; ++b) {
      float outputs[MAX_OUTPUTS] = {}, roots[MAX_OUTPUTS];
      put_out(top(part.inputs), b, outputs);
      curvature_roots(outputs, outputs_, softplus_, rows.weights[part.first + b], precision, roots);
      for (Size o = 0; o < outputs_; ++o) roots_[o * block_ + b] = roots[o];
    }
  }

  // Replaces activations by their squares, which show too which units are active.
  void square_inputs(const Part &part) {
    std::copy_n(part.inputs, part.rows() * layers_[0].in, activations_[0].begin());
    for (size_t l = 0; l < layers_.size(); ++l)
      square(part.rows() * layers_[l].in, 1, activations_[l].data());
  }

  // Replaces deltas by their squares, and adds the sums over rows.
  void add_squares(const Part &part, float factor, float *squares) {
    for (size_t l = 1; l < layers_.size(); ++l)
      square(part.rows() * (layers_[l].in - 1), factor, deltas_[l].data());
    square(outputs_ * block_, factor, slopes_.data());
    multiply(activations_[0].data(), part.rows(), squares, true);
  }

  bool gauss_newton_;
  Floats roots_;  // [outputs, block]
};

}  // namespace
