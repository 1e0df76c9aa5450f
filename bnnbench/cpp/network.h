// The outputs and gradient of one small network.
//
// A ReLU network is a flat vector w of matrices W_l, one per layer, whose last row is the bias.
// With a column of ones appended to the inputs of each layer, the outputs F for the rows X are
//
//     H_0 = [X 1],   H_l = [max(H_(l-1) W_l, 0)  1],   F = H_(L-1) W_L
//
// For a loss sum_b c_b loss(F_b, y_b) of the targets y,
//
//     D_L     = c loss'(F, y)                                    gradient at the outputs
//     G_l     = H_(l-1)' D_l                                     gradient of W_l
//     D_(l-1) = D_l W_l' where H_(l-1) > 0, without the bias
//
// Networks are processed one at a time, so that weights and activations stay in the first-level
// cache (or the second, for large networks). Networks share no data, so NaN in one cannot affect
// another. Matrices are stored in row-major order.

#pragma once

#include <optional>
#include <vector>

#include "portable.h"
#include "products.h"
#include "shallow.h"

namespace {

// Branch-free, because branches on active units are unpredictable. NaN is not below zero and is
// preserved, as in torch.
void rectify(float *values, Size n) {
  for (Size i = 0; i < n; i += LANE) {
    const Lane lane = load(values + i);
    store(values + i, lane < 0 ? Lane{} : lane);
  }
}

// An active unit may be negative after dropout.
void zero_inactive(const float *activations, float *values, Size n) {
  for (Size i = 0; i < n; i += LANE)
    store_within(values + i, load(activations + i) == 0 ? Lane{} : load(values + i), n - i);
}

struct Layer {
  Size in, out;  // `in` includes the column of ones
  Size weights() const { return in * out; }
};

// The rows of a minibatch, with a column of ones appended.
struct Rows {
  Size count, stride;
  Floats inputs, across;  // [count, in] and its transpose, [in, stride]
  Floats targets, weights;

  void put(Size place, const float *input, Size features, float target, float weight) {
    std::copy_n(input, features, &inputs[place * (features + 1)]);
    targets[place] = target;
    weights[place] = weight;
  }

  // Call this after all rows have been put.
  void put_across() {
    transpose(inputs.data(), count, across.size() / stride, across.data(), stride);
  }

  Block block(Size first, Size size) const {
    const Size in = across.size() / stride;
    return {size, &inputs[first * in], &across[first], stride, &targets[first], &weights[first]};
  }
};

// Dropout: a random number for each layer, sample, row and input, without the column of ones. A
// uniform number below `dropout` drops the input; with `gaussian` noise, the numbers are normal and
// inputs are multiplied by 1 + sqrt(dropout / (1 - dropout)) times their number. With null numbers
// inputs do not change. Every row is passed through the network with `samples` masks, whose numbers
// are `stride` rows apart. The last numbers are followed by SLACK numbers.
struct Mask {
  const float *const *numbers;
  float dropout;
  bool gaussian = false;
  Size samples = 1, stride = 0;

  // out = the n inputs of a layer and row under the mask of a sample. Zero times NaN is NaN. `out`
  // may be `values`.
  void apply(Size layer, Size sample, Size row, Size n, const float *values, float *out) const {
    const float *drawn = numbers[layer] + (sample * stride + row) * n;
    const float spread = gaussian ? std::sqrt(dropout / (1 - dropout)) : 0;
    const auto masked = [&](Size i) {
      const Lane number = load(drawn + i), kept = number >= dropout ? Lane{} + 1 : Lane{};
      return (gaussian ? 1 + number * spread : kept) * load(values + i);
    };
    Size i = 0;
    for (; i + LANE <= n; i += LANE) store(out + i, masked(i));
    if (i < n) store_within(out + i, masked(i), n - i);
  }
};

// Activations processed at a time, 128 kB; larger minibatches are divided into blocks.
constexpr Size CACHED = 32000;

constexpr Size MAX_OUTPUTS = 2;

constexpr double MIN_VARIANCE = 1e-6;

struct Variance {
  double value, log_slope;  // the derivative of its logarithm
};

// The variance softplus(raw) + MIN_VARIANCE.
Variance variance_of(double raw) {
  const double power = portable_exp(-std::abs(raw));
  const double value = std::max(raw, 0.0) + portable_log1p(power) + MIN_VARIANCE;
  return {value, (raw > 0 ? 1 : power) / ((1 + power) * value)};
}

// Derivatives of the weighted negative log-likelihood of one target at a network's outputs. Returns
// the weighted negative log-likelihood without terms that do not depend on the outputs.
//
// A single output is the mean of a Gaussian with the given precision. A second output is the log
// standard deviation, bounded to +-7, or with `softplus` the variance.
float loss_slopes(const float *outputs, Size n_outputs, bool softplus, float target, float weight,
                  float precision, float *slopes) {
  const float error = outputs[0] - target;
  if (n_outputs == 1) {
    slopes[0] = error * (weight * precision);
    return 0.5f * error * slopes[0];
  }
  if (softplus) {
    const Variance variance = variance_of(outputs[1]);
    slopes[0] = error * (weight * float(1 / variance.value));
    slopes[1] = 0.5f * float(variance.log_slope) * (weight - error * slopes[0]);
    return weight * 0.5f * float(portable_log(variance.value)) + 0.5f * error * slopes[0];
  }
  const float seventh = outputs[1] / 7, bend = 1 / std::sqrt(1 + seventh * seventh);
  slopes[0] = error * (weight * float(portable_exp(-2 * outputs[1] * bend)));
  slopes[1] = bend * bend * bend * (weight - error * slopes[0]);
  return weight * outputs[1] * bend + 0.5f * error * slopes[0];
}

// The loss of one target: half the squared error for one output, the negative log-likelihood for
// two.
double loss_of(const float *outputs, Size n_outputs, bool softplus, float target) {
  const double error = double(outputs[0]) - target, half_log_2_pi = 0.91893853320467274;
  if (n_outputs == 1) return 0.5 * error * error;
  if (softplus) {
    const double variance = variance_of(outputs[1]).value;
    return 0.5 * (error * error / variance + portable_log(variance)) + half_log_2_pi;
  }
  const double seventh = outputs[1] / 7.0, log_scale = outputs[1] / std::sqrt(1 + seventh * seventh);
  return 0.5 * error * error * portable_exp(-2 * log_scale) + log_scale + half_log_2_pi;
}

// The shape of a network, and its working memory for up to `rows` rows, one after another in blocks
// of `least` or more. `softplus`: see loss_slopes.
class Network {
 public:
  Network(const Size *sizes, Size layers, Size rows, bool softplus, Size cached = CACHED,
          Size least = TALL)
      : outputs_(sizes[layers]), softplus_(softplus) {
    Size row = 0;
    for (Size l = 0; l < layers; ++l) {
      layers_.push_back({sizes[l] + 1, sizes[l + 1]});
      row += 2 * layers_[l].in;
      n_weights += layers_[l].weights();
    }
    block_ = std::min(rows, std::max(least, cached / row));
    for (const Layer &layer : layers_) {
      activations_.emplace_back(block_ * layer.in + SLACK, 1.0f);
      deltas_.emplace_back(block_ * layer.in + SLACK);
      transposed_.emplace_back(layer.weights() + SLACK);
    }
    heads_.resize(layers_.back().weights() + SLACK);
    of_heads_.resize(layers_.back().weights() + SLACK);
    slopes_.resize(block_ * outputs_ + SLACK);
    if (layers == 2 && outputs_ == 1 && Shallow::supports(sizes[1]))
      shallow_.emplace(layers_[0].in, sizes[1], block_);
  }

  Size n_weights = 0;

  const std::vector<Layer> &layers() const { return layers_; }

  Size outputs() const { return outputs_; }

  Rows room_for(Size rows) const {
    const Size in = layers_[0].in, stride = rows + SLACK;
    return {rows, stride, Floats(rows * in + SLACK, 1.0f), Floats(in * stride, 1.0f),
            Floats(stride), Floats(stride)};
  }

  // Writes the gradient to `out` [n_weights], which like `w` is followed by SLACK numbers. Returns
  // the loss. `further` [rows, outputs] is added to the derivatives at the outputs unless it is null.
  float gradient(const float *w, const Rows &rows, float precision, const Mask &mask, float *out,
                 const float *further = nullptr) {
    float loss = 0;
    if (shallow_ && !mask.numbers && !further) {
      for (Size first = 0, count; first < rows.count; first += count) {
        count = piece(rows.count - first, block_);
        loss = shallow_->gradient(w, rows.block(first, count), precision, loss, out, first > 0);
      }
      return loss;
    }
    each_block(w, rows, mask, [&](const Part &part) {
      for (Size b = 0, row = part.first; b < part.count; ++b, ++row) {
        loss += differentiate(part, b, rows, row, precision);
        for (Size o = 0; further && o < outputs_; ++o)
          slopes_[o * block_ + b] += further[row * outputs_ + o];
      }
      backward(part, out);
    });
    return loss;
  }

  // Outputs [rows, outputs] of all rows.
  void evaluate(const float *w, const Rows &rows, float *out) {
    set_heads(w);
    for (Size first = 0, count; first < rows.count; first += count) {
      count = piece(rows.count - first, block_);
      put_outputs(w, rows, first, count, out + first * outputs_);
    }
  }

  // The unweighted loss of all rows.
  double loss(const float *w, const Rows &rows) {
    double sum = 0;
    set_heads(w);
    for (Size first = 0, count; first < rows.count; first += count) {
      count = piece(rows.count - first, block_);
      put_outputs(w, rows, first, count, slopes_.data());
      for (Size b = 0; b < count; ++b)
        sum += loss_of(&slopes_[b * outputs_], outputs_, softplus_, rows.targets[first + b]);
    }
    return sum;
  }

 protected:
  // A block of a minibatch: `count` rows from `first` on, once per sample of the mask. `inputs` are
  // those of the first layer after dropout.
  struct Part {
    const Mask &mask;
    const float *inputs;
    Size first, count;
    Size rows() const { return mask.samples * count; }
  };

  // Calls `use(part)` after the forward pass of each block.
  template <typename Use>
  void each_block(const float *w, const Rows &rows, const Mask &mask, Use use) {
    set_heads(w);
    set_transposes(w);
    for (Size first = 0, count; first < rows.count; first += count) {
      count = piece(rows.count - first, block_ / mask.samples);
      const float *inputs = rows.inputs.data() + first * layers_[0].in;
      if (mask.numbers) inputs = drop(0, inputs, mask, first, count);
      forward(w, inputs, mask, first, count);
      use(Part{mask, inputs, first, count});
    }
  }

  // The loss of the target of a row of the minibatch, whose outputs are in row b of the block, and
  // its derivatives.
  float differentiate(const Part &part, Size b, const Rows &rows, Size row, float precision) {
    float outputs[MAX_OUTPUTS] = {}, slopes[MAX_OUTPUTS];
    put_out(top(part.inputs), b, outputs);
    const float loss = loss_slopes(outputs, outputs_, softplus_, rows.targets[row],
                                   rows.weights[row], precision, slopes);
    for (Size o = 0; o < outputs_; ++o) slopes_[o * block_ + b] = slopes[o];
    return loss;
  }

  void set_heads(const float *w) {
    const Layer &last = layers_.back();
    transpose(w + n_weights - last.weights(), last.in, last.out, heads_.data(), last.in);
  }

  // Transposes of the weights between hidden layers.
  void set_transposes(const float *w) {
    for (size_t l = 0; l + 1 < layers_.size(); w += layers_[l].weights(), ++l)
      if (l > 0) transpose(w, layers_[l].in, layers_[l].out, transposed_[l].data(), layers_[l].in);
  }

  // The outputs of some rows.
  void put_outputs(const float *w, const Rows &rows, Size first, Size count, float *out) {
    if (shallow_) return shallow_->evaluate(w, rows.block(first, count), out);
    const float *top = forward(w, rows.inputs.data() + first * layers_[0].in, {}, first, count);
    for (Size b = 0; b < count; ++b) put_out(top, b, out + b * outputs_);
  }

  // The last hidden layer.
  const float *top(const float *inputs) const { return into(layers_.size() - 1, inputs); }

  // The outputs for row b of the last hidden layer.
  void put_out(const float *top, Size b, float *outputs) const {
    const Size width = layers_.back().in;
    for (Size o = 0; o < outputs_; ++o)
      outputs[o] = dot(top + b * width, &heads_[o * width], width);
  }

  // The inputs of layer l: the batch, or the activations of the layer before.
  const float *into(size_t l, const float *inputs) const {
    return l == 0 ? inputs : activations_[l].data();
  }

  const float *forward(const float *w, const float *inputs, const Mask &mask, Size first,
                       Size rows) {
    const Size all = mask.samples * rows;
    for (size_t l = 0; l + 1 < layers_.size(); ++l) {
      const auto [in, out] = layers_[l];
      float *next = activations_[l + 1].data();
      product(all, in, out, {into(l, inputs), in, 1}, {w, out}, next, out + 1);
      rectify(next, all * (out + 1));
      if (mask.numbers) drop(l + 1, next, mask, first, rows);
      w += layers_[l].weights();
    }
    return top(inputs);
  }

  // Writes the inputs of layer l after dropout to `activations_`. The first layer's are the same for
  // all masks.
  const float *drop(size_t l, const float *from, const Mask &mask, Size first, Size rows) {
    const Size in = layers_[l].in, units = in - 1;
    float *to = activations_[l].data();
    for (Size s = 0; s < mask.samples; ++s)
      for (Size b = 0; b < rows; ++b, to += in)
        mask.apply(l, s, first + b, units, from + (l == 0 ? b : s * rows + b) * in, to);
    return activations_[l].data();
  }

  // Writes the gradient, or adds that of a block after the first.
  void backward(const Part &part, float *gradient) {
    carry(part);
    multiply(part.inputs, part.rows(), gradient, part.first > 0);
  }

  // The deltas of all hidden layers, from `slopes_`.
  void carry(const Part &part) {
    const size_t last = layers_.size() - 1;
    if (last == 0) return;
    carry_to_top(top(part.inputs), part.rows());
    for (size_t l = last;; --l) {
      if (part.mask.gaussian) scale_deltas(l, part);
      if (l == 1) return;
      const auto [in, out] = layers_[l - 1];
      product(part.rows(), out, in - 1, {deltas_[l].data(), out, 1},
              {transposed_[l - 1].data(), in}, deltas_[l - 1].data(), in - 1);
      for (Size b = 0; b < part.rows(); ++b)
        zero_inactive(into(l - 1, part.inputs) + b * in, &deltas_[l - 1][b * (in - 1)], in - 1);
    }
  }

  // Multiplies by the factors of the units, which dropped units do not need: they are zero.
  void scale_deltas(size_t l, const Part &part) {
    const Size units = layers_[l].in - 1;
    float *delta = deltas_[l].data();
    for (Size s = 0; s < part.mask.samples; ++s)
      for (Size b = 0; b < part.count; ++b, delta += units)
        part.mask.apply(l, s, part.first + b, units, delta, delta);
  }

  // The sums over rows of the products of the inputs of each layer and the deltas of its units.
  void multiply(const float *inputs, Size rows, float *sums, bool add) {
    const size_t last = layers_.size() - 1;
    const Size width = layers_[last].in;
    for (size_t l = 0; l < last; ++l) {
      const auto [in, out] = layers_[l];
      product(in, rows, out, {into(l, inputs), 1, in}, {deltas_[l + 1].data(), out}, sums, out, add);
      sums += layers_[l].weights();
    }
    product(outputs_, rows, width, {slopes_.data(), block_, 1}, {top(inputs), width},
            of_heads_.data(), width);
    for (Size o = 0; o < outputs_; ++o)
      for (Size i = 0; i < width; ++i) {
        float &one = sums[i * outputs_ + o];
        one = (add ? one : 0) + of_heads_[o * width + i];
      }
  }

  // From the outputs to the last hidden layer, in the order of rows, as a lane may overlap the
  // next.
  void carry_to_top(const float *top, Size rows) {
    const Size outputs = outputs_, block = block_, width = layers_.back().in;
    const float *heads = heads_.data(), *slopes = slopes_.data();
    float *delta = deltas_.back().data();
    for (Size b = 0; b < rows; ++b, top += width, delta += width - 1)
      for (Size i = 0; i < width - 1; i += LANE) {
        Lane sum = slopes[b] * load(heads + i);
        if (outputs > 1) sum += slopes[block + b] * load(heads + width + i);
        store(delta + i, load(top + i) == 0 ? Lane{} : sum);
      }
  }

  std::vector<Layer> layers_;
  Size outputs_, block_;
  bool softplus_;
  std::vector<Floats> activations_, deltas_;
  Floats heads_, of_heads_;  // [outputs, width + 1]: weights of the last layer and their gradient
  Floats slopes_;            // [outputs, block], or outputs [block, outputs]
  std::vector<Floats> transposed_;
  std::optional<Shallow> shallow_;
};

}  // namespace
