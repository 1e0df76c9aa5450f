// The mean and variance of a small network's output if all weights are independent Gaussians, and
// the gradient of the expected squared error.
//
// M_l and V_l are the means and variances of the weights W_l of network.h, Z_l and U_l those of the
// activations H_l, and Q_l = Z_l^2 + U_l. Data and the column of ones have the variance 0.
//
//     A_l = Z_(l-1) M_l,   S_l = Q_(l-1) V_l + U_(l-1) M_l^2       moments before ReLU, or outputs
//
// Z_l and U_l are the moments of max(a, 0) for a ~ Normal(A_l, S_l). With the derivatives P_l and
// T_l with respect to A_l and S_l, those with respect to the others are
//
//     M_l       Z_(l-1)' P_l + 2 M_l (U_(l-1)' T_l)
//     V_l       Q_(l-1)' T_l
//     Z_(l-1)   P_l M_l' + 2 Z_(l-1) (T_l V_l')
//     U_(l-1)   T_l (V_l + M_l^2)'
//
// Equations and sources are in bnnbench/methods/shared/moment_propagation.py, the reference
// implementation. Products of matrices are not elementwise; all other products are.

#pragma once

#include <vector>

#include "network.h"
#include "products.h"

namespace {

constexpr float HALF_ROOT = 0.707106781f, DENSITY_AT_0 = 0.398942280f;

// The density of the standard normal is set to 0 where it is less than 8e-36.
constexpr float MAX_HALF_SQUARE = 80;

// exp(x^2) erfc(x) for 0 <= x <= 10, to a relative error of 5e-7. Its product with x + 2 is
// approximated by a polynomial in t = (7 x - 10) / (5 x + 10), which is in [-1, 1].
inline Lane scaled_erfc(Lane x) {
  const Lane inverse = 1 / (x + 2), t = 1.4f - 4.8f * inverse;
  Lane p = -1.073246145e-04f * t - 3.889618821e-05f;
  p = (p * t + 1.172337642e-03f) * t + 1.260952973e-03f;
  p = (p * t - 1.230196593e-02f) * t - 1.193145797e-02f;
  p = (p * t + 2.040589208e-01f) * t - 6.524445850e-01f;
  return (p * t + 1.144023960f) * inverse;
}

// The inputs of a layer after the first one, [rows, in] each.
struct Units {
  Floats loc, scale;             // before ReLU; `scale` contains the variances first
  Floats mean, spread, square;   // after ReLU: Z, U and Q
  Floats above, below, at_zero;  // probabilities of being above and below 0, and the density at 0
  Floats by_loc, by_variance;    // derivatives with respect to the moments before ReLU
  Floats by_mean, by_spread;     // and after it

  explicit Units(Size size)
      : loc(size), scale(size, 1.0f), mean(size), spread(size), square(size), above(size),
        below(size), at_zero(size), by_loc(size), by_variance(size), by_mean(size),
        by_spread(size) {}

  // The moments after ReLU (eqs. 4.44 and 4.45). With the density d and the distribution function p
  // of the standard normal at loc / scale, the mean is scale (d + p loc / scale). The variance uses
  // both tails, since 1 - p would lose all digits of the smaller one.
  void rectify(Size rows, Size in) {
    const Size size = rows * in;
    for (Size i = 0; i < size; ++i) scale[i] = std::sqrt(scale[i]);
    for (Size i = 0; i < size; i += LANE) {
      const Lane s = load(&scale[i]), inverse = 1 / s, alpha = load(&loc[i]) * inverse;
      const Lane x = (alpha < 0 ? -alpha : alpha) * HALF_ROOT, half = x * x;
      const Lane gauss = half > MAX_HALF_SQUARE ? Lane{} : exponential(-half);
      const Lane tail = 0.5f * scaled_erfc(x) * gauss, density = DENSITY_AT_0 * gauss;
      const Lane up = alpha > 0 ? 1 - tail : tail, down = alpha > 0 ? tail : 1 - tail;
      const Lane moment = fused(alpha, up, density), excess = up > 0 ? moment / up : Lane{};
      const Lane z = s * moment, u = s * s * (up + excess * (moment * down - density));
      store(&mean[i], z);
      store(&spread[i], u);
      store(&square[i], z * z + u);
      store(&above[i], up);
      store(&below[i], down);
      store(&at_zero[i], density * inverse);
    }
    for (Size i = in - 1; i < size; i += in) mean[i] = square[i] = 1, spread[i] = 0;
  }

  // The derivatives before ReLU, from those after it. `by_mean` lacks twice the mean times
  // `by_loc`, which contains T V' first.
  void rectify_back(Size size) {
    for (Size i = 0; i < size; i += LANE) {
      const Lane z = load(&mean[i]), up = load(&above[i]), of_spread = load(&by_spread[i]);
      const Lane of_mean = load(&by_mean[i]) + 2 * z * load(&by_loc[i]);
      const Lane both = 0.5f * of_mean - z * of_spread;
      store(&by_loc[i], up * of_mean + 2 * z * load(&below[i]) * of_spread);
      store(&by_variance[i], load(&at_zero[i]) * both + up * of_spread);
    }
  }
};

// The shape of a network with one output, and its working memory for up to `rows` rows.
class Propagation {
 public:
  Propagation(const Size *sizes, Size layers, Size rows) {
    Size row = 0, n = 0;
    for (Size l = 0; l < layers; ++l) {
      layers_.push_back({sizes[l] + 1, sizes[l + 1]});
      row += UNITS_ARRAYS * layers_[l].in;
      n += layers_[l].weights();
    }
    block_ = std::min(rows, std::max<Size>(TALL, CACHED / row));
    for (const Layer &layer : layers_) {
      units_.emplace_back(&layer == &layers_[0] ? 0 : block_ * layer.in + SLACK);
      for (auto *across : {&loc_across_, &variance_across_, &square_across_})
        across->emplace_back(layer.weights() + SLACK);
    }
    squared_inputs_.resize(block_ * layers_[0].in + SLACK);
    for (Floats *weights : {&loc_, &variance_, &loc_square_, &spare_}) weights->resize(n + SLACK);
    for (Floats *slopes : {&by_mean_, &by_variance_}) slopes->resize(block_ + SLACK);
  }

  // The gradient of sum_b c_b precision ((y_b - m_b)^2 + v_b) / 2, with the moments m and v of the
  // outputs, with respect to means and standard deviations of the weights.
  void gradient(const float *loc, const float *scale, const Rows &rows, float precision,
                float *by_loc, float *by_scale) {
    set_weights(loc, scale);
    set_transposes();
    for (Size first = 0, count; first < rows.count; first += count) {
      count = piece(rows.count - first, block_);
      const float *inputs = set_inputs(rows, first, count);
      forward(inputs, count);
      put_sums(inputs, count, by_mean_.data());
      for (Size b = 0; b < count; ++b) {
        const float weight = rows.weights[first + b] * precision;
        by_mean_[b] = weight * (by_mean_[b] - rows.targets[first + b]);
        by_variance_[b] = 0.5f * weight;
      }
      backward(inputs, count, by_loc, by_scale, first > 0);
    }
    for (Size i = 0; i < weights(); ++i) by_scale[i] *= 2 * scale[i];
  }

  // Means and variances [rows] of the outputs.
  void evaluate(const float *loc, const float *scale, const Rows &rows, float *mean,
                float *variance) {
    set_weights(loc, scale);
    for (Size first = 0, count; first < rows.count; first += count) {
      count = piece(rows.count - first, block_);
      const float *inputs = set_inputs(rows, first, count);
      forward(inputs, count);
      put_sums(inputs, count, by_mean_.data());
      put_variances(layers_.size() - 1, count, by_variance_.data(), 1);
      std::copy_n(by_mean_.data(), count, mean + first);
      std::copy_n(by_variance_.data(), count, variance + first);
    }
  }

 private:
  static constexpr Size UNITS_ARRAYS = 12;

  Size weights() const { return loc_.size() - SLACK; }

  // Number of weights before those of layer l.
  Size start(size_t l) const {
    Size sum = 0;
    for (size_t k = 0; k < l; ++k) sum += layers_[k].weights();
    return sum;
  }

  void set_weights(const float *loc, const float *scale) {
    for (Size i = 0; i < weights(); ++i) {
      loc_[i] = loc[i];
      variance_[i] = scale[i] * scale[i];
      loc_square_[i] = loc[i] * loc[i];
    }
  }

  void set_transposes() {
    for (size_t l = 1; l < layers_.size(); ++l) {
      const auto [in, out] = layers_[l];
      const Size from = start(l);
      for (Size i = from; i < from + in * out; ++i) spare_[i] = variance_[i] + loc_square_[i];
      transpose(&loc_[from], in, out, loc_across_[l].data(), in);
      transpose(&variance_[from], in, out, variance_across_[l].data(), in);
      transpose(&spare_[from], in, out, square_across_[l].data(), in);
    }
  }

  // Returns the inputs of some rows, after squaring them.
  const float *set_inputs(const Rows &rows, Size first, Size count) {
    const Size in = layers_[0].in;
    const float *inputs = rows.inputs.data() + first * in;
    for (Size i = 0; i < count * in; ++i) squared_inputs_[i] = inputs[i] * inputs[i];
    return inputs;
  }

  const float *means(size_t l, const float *inputs) const {
    return l == 0 ? inputs : units_[l].mean.data();
  }

  const float *squares(size_t l) const {
    return l == 0 ? squared_inputs_.data() : units_[l].square.data();
  }

  // S of layer l, in rows of `out_row` numbers.
  void put_variances(size_t l, Size rows, float *to, Size out_row) const {
    const auto [in, out] = layers_[l];
    const Size from = start(l);
    product(rows, in, out, {squares(l), in, 1}, {&variance_[from], out}, to, out_row);
    if (l > 0)
      product(rows, in, out, {units_[l].spread.data(), in, 1}, {&loc_square_[from], out}, to,
              out_row, true);
  }

  void forward(const float *inputs, Size rows) {
    for (size_t l = 0; l + 1 < layers_.size(); ++l) {
      const auto [in, out] = layers_[l];
      Units &next = units_[l + 1];
      product(rows, in, out, {means(l, inputs), in, 1}, {&loc_[start(l)], out}, next.loc.data(),
              out + 1);
      put_variances(l, rows, next.scale.data(), out + 1);
      next.rectify(rows, out + 1);
    }
  }

  // The means of the outputs.
  void put_sums(const float *inputs, Size rows, float *to) const {
    const size_t last = layers_.size() - 1;
    const Size in = layers_[last].in;
    product(rows, in, 1, {means(last, inputs), in, 1}, {&loc_[start(last)], 1}, to, 1);
  }

  void backward(const float *inputs, Size rows, float *by_loc, float *by_variance, bool add) {
    const float *P = by_mean_.data(), *T = by_variance_.data();
    Size row = 1;
    for (size_t l = layers_.size(); l-- > 0;) {
      const auto [in, out] = layers_[l];
      const Size from = start(l);
      put_weight_slopes(l, rows, means(l, inputs), P, row, by_loc + from, add);
      put_weight_slopes(l, rows, squares(l), T, row, by_variance + from, add);
      if (l == 0) return;
      Units &units = units_[l];
      put_weight_slopes(l, rows, units.spread.data(), T, row, spare_.data(), false);
      for (Size i = 0; i < in * out; ++i) by_loc[from + i] += 2 * loc_[from + i] * spare_[i];
      product(rows, out, in, {P, row, 1}, {loc_across_[l].data(), in}, units.by_mean.data(), in);
      product(rows, out, in, {T, row, 1}, {variance_across_[l].data(), in}, units.by_loc.data(),
              in);
      product(rows, out, in, {T, row, 1}, {square_across_[l].data(), in}, units.by_spread.data(),
              in);
      units.rectify_back(rows * in);
      P = units.by_loc.data(), T = units.by_variance.data();
      row = in;
    }
  }

  // X' D for `slopes` D [rows, out] and X [rows, in], as a row if there is one output.
  void put_weight_slopes(size_t l, Size rows, const float *X, const float *slopes, Size row,
                         float *to, bool add) const {
    const auto [in, out] = layers_[l];
    if (out == 1)
      product(1, rows, in, {slopes, 0, row}, {X, in}, to, in, add);
    else
      product(in, rows, out, {X, 1, in}, {slopes, row}, to, out, add);
  }

  std::vector<Layer> layers_;
  Size block_;
  std::vector<Units> units_;
  Floats squared_inputs_;
  Floats loc_, variance_, loc_square_, spare_;                                // of the weights
  std::vector<Floats> loc_across_, variance_across_, square_across_;  // M', V' and (V + M^2)'
  Floats by_mean_, by_variance_;  // moments of the outputs, and derivatives with respect to them
};

}  // namespace
