// A network with one hidden layer and one output, which is what most runs train.
//
// The results are those of `product` and `dot`, bit for bit: every sum adds the same products in
// the same order. But the steps of a pass are merged while numbers are in registers, and no lane is
// wasted: units are divided into chunks of sixteen, which lie side by side in lanes, and a tail of
// fewer units, for which the rows of a minibatch lie side by side.

#pragma once

#include <array>
#include <utility>

#include "products.h"

namespace {

constexpr int LANES_PER_CHUNK = PARTS / LANE;

// Sizes of tiles of sums that fit in the registers: rows and chunks in the forward pass, inputs and
// lanes in the backward pass.
#if defined __AVX512VL__ || defined __aarch64__
constexpr int TALLEST = LANE == 4 ? 6 : 8, MOST_CHUNKS = LANE == 16 ? 3 : 1;
constexpr int MOST_INPUTS = 7, MOST_LANES = 3;
#else
constexpr int TALLEST = LANE == 8 ? 6 : 2, MOST_CHUNKS = 1;
constexpr int MOST_INPUTS = 4, MOST_LANES = 2;
#endif

// Some rows of a minibatch, with a column of ones appended to the inputs. The arrays are followed
// by SLACK numbers.
struct Block {
  Size count;
  const float *inputs;  // [count, in]
  const float *across;  // [in, stride], the transpose
  Size stride;
  const float *targets, *weights;
};

class Shallow {
 public:
  Shallow(Size in, Size width, Size rows)
      : in_(in), width_(width), full_(width / PARTS * PARTS), tail_(width - full_),
        room_((rows + PARTS - 1) / PARTS * PARTS + SLACK), top_(room_ * full_ + SLACK),
        parts_(room_ * PARTS), sums_(room_), tail_top_(tail_ * room_),
        tail_delta_((tail_ + 1) * room_), tail_gradient_((tail_ + 1) * (in + SLACK)),
        losses_(room_) {}

  // Whether the column of ones of the hidden layer is not part of a chunk.
  static bool supports(Size width) { return (width + 1) % PARTS != 0; }

  // The outputs of a block of rows.
  void evaluate(const float *w, const Block &block, float *out) {
    forward(w, block);
    for (Size b = 0; b < block.count; b += LANE) {
      const Lane lane = output(w, b);
      std::memcpy(out + b, &lane, std::min<Size>(LANE, block.count - b) * sizeof(float));
    }
  }

  // Writes the gradient of the block's loss to `out`, or adds it. Returns the sum of `loss` and the
  // losses of the rows.
  float gradient(const float *w, const Block &block, float precision, float loss, float *out,
                 bool add) {
    forward(w, block);
    differentiate(w, block, precision);
    backward(w, block, out, add);
    backward_tail(block, out, add);
    for (Size b = 0; b < block.count; ++b) loss += losses_[b];
    return loss;
  }

 private:
  const float *heads(const float *w) const { return w + in_ * width_; }

  // Computes ROWS x CHUNKS of the activations, and the partial sums of the outputs.
  template <int ROWS, int CHUNKS>
  void activate(const float *w, const Block &block, Size b, Size c) {
    constexpr int LANES = CHUNKS * LANES_PER_CHUNK;
    const float *across = block.across + b, *weights = w + c;
    Lane sum[ROWS][LANES] = {};
    for (Size k = 0; k < in_; ++k, across += block.stride, weights += width_) {
      Lane factor[LANES];
      UNROLLED
      for (int l = 0; l < LANES; ++l) factor[l] = load(weights + l * LANE);
      UNROLLED
      for (int r = 0; r < ROWS; ++r)
        UNROLLED
        for (int l = 0; l < LANES; ++l) sum[r][l] = fused(across[r], factor[l], sum[r][l]);
    }
    float *top = &top_[b * full_ + c], *parts = &parts_[b * PARTS];
    const float *head = heads(w) + c;
    UNROLLED
    for (int r = 0; r < ROWS; ++r) {
      Lane part[LANES_PER_CHUNK];
      UNROLLED
      for (int p = 0; p < LANES_PER_CHUNK; ++p)
        part[p] = c == 0 ? Lane{} : load(parts + r * PARTS + p * LANE);
      UNROLLED
      for (int l = 0; l < LANES; ++l) {
        const Lane active = sum[r][l] < 0 ? Lane{} : sum[r][l];
        store(top + r * full_ + l * LANE, active);
        part[l % LANES_PER_CHUNK] =
            fused(active, load(head + l * LANE), part[l % LANES_PER_CHUNK]);
      }
      UNROLLED
      for (int p = 0; p < LANES_PER_CHUNK; ++p) store(parts + r * PARTS + p * LANE, part[p]);
    }
  }

  template <int ROWS>
  void activate_rows(const float *w, const Block &block, Size b) {
    for (Size c = 0, chunks; c < full_; c += chunks * PARTS) {
      chunks = piece((full_ - c) / PARTS, MOST_CHUNKS);
      if (chunks == 1)
        activate<ROWS, 1>(w, block, b, c);
      else if (chunks == 2)
        activate<ROWS, std::min(2, MOST_CHUNKS)>(w, block, b, c);
      else
        activate<ROWS, MOST_CHUNKS>(w, block, b, c);
    }
    for (int r = 0; r < ROWS; ++r)
      sums_[b + r] = full_ > 0 ? sum_by_halves<PARTS>(&parts_[(b + r) * PARTS]) : 0;
  }

  // The activations, and the sums of the outputs over all chunks.
  void forward(const float *w, const Block &block) {
    Size b = 0;
    for (; b + 2 < block.count; b += TALLEST) activate_rows<TALLEST>(w, block, b);
    for (; b < block.count; b += 2) activate_rows<2>(w, block, b);
    product(tail_, in_, block.count, {w + full_, 1, width_}, {block.across, block.stride},
            tail_top_.data(), room_);
    for (Size u = 0; u < tail_; ++u)
      for (Size i = 0; i < block.count; i += LANE) {
        const Lane lane = load(&tail_top_[u * room_ + i]);
        store(&tail_top_[u * room_ + i], lane < 0 ? Lane{} : lane);
      }
  }

  // The outputs of the rows from b on.
  Lane output(const float *w, Size b) const {
    const float *head = heads(w) + full_;
    Lane rest = {};
    for (Size u = 0; u < tail_; ++u) rest = fused(head[u], load(&tail_top_[u * room_ + b]), rest);
    return load(&sums_[b]) + fused(head[tail_], Lane{} + 1, rest);
  }

  // The losses and their derivatives at the outputs and at the units of the tail.
  void differentiate(const float *w, const Block &block, float precision) {
    const float *head = heads(w) + full_;
    for (Size b = 0; b < block.count; b += LANE) {
      const Lane error = output(w, b) - load(block.targets + b);
      const Lane slope = error * (load(block.weights + b) * precision);
      store(&losses_[b], 0.5f * error * slope);
      store(slopes() + b, slope);
      for (Size u = 0; u < tail_; ++u) {
        const Lane delta = slope * head[u];
        store(&tail_delta_[u * room_ + b], load(&tail_top_[u * room_ + b]) <= 0 ? Lane{} : delta);
      }
    }
  }

  float *slopes() { return &tail_delta_[tail_ * room_]; }

  // The gradient of the weights from INPUTS inputs to LANES of the units, and of their output
  // weights.
  template <int INPUTS, int LANES, bool HEADS>
  void pull(const float *w, const Block &block, Size first, Size c, float *out, bool add) {
    const float *inputs = block.inputs + first, *top = &top_[c], *slope = slopes();
    Lane head[LANES], sum[INPUTS][LANES] = {}, of_head[LANES] = {};
    UNROLLED
    for (int l = 0; l < LANES; ++l) head[l] = load(heads(w) + c + l * LANE);
    for (Size b = 0; b < block.count; ++b, inputs += in_, top += full_) {
      Lane delta[LANES];
      UNROLLED
      for (int l = 0; l < LANES; ++l) {
        const Lane active = load(top + l * LANE);
        delta[l] = active <= 0 ? Lane{} : slope[b] * head[l];
        if (HEADS) of_head[l] = fused(slope[b], active, of_head[l]);
      }
      UNROLLED
      for (int i = 0; i < INPUTS; ++i)
        UNROLLED
        for (int l = 0; l < LANES; ++l) sum[i][l] = fused(inputs[i], delta[l], sum[i][l]);
    }
    float *to = out + first * width_ + c;
    UNROLLED
    for (int i = 0; i < INPUTS; ++i)
      UNROLLED
      for (int l = 0; l < LANES; ++l) {
        float *place = to + i * width_ + l * LANE;
        store(place, add ? load(place) + sum[i][l] : sum[i][l]);
      }
    to = out + in_ * width_ + c;
    if (HEADS)
      UNROLLED
      for (int l = 0; l < LANES; ++l)
        store(to + l * LANE, (add ? load(to + l * LANE) : Lane{}) + of_head[l]);
  }

  using Pull = void (Shallow::*)(const float *, const Block &, Size, Size, float *, bool);

  template <int LANES, bool HEADS, int... I>
  static constexpr std::array<Pull, MOST_INPUTS> pulls(std::integer_sequence<int, I...>) {
    return {&Shallow::pull<I + 1, LANES, HEADS>...};
  }

  void backward(const float *w, const Block &block, float *out, bool add) {
    constexpr std::make_integer_sequence<int, MOST_INPUTS> SIZES{};
    static constexpr std::array<Pull, MOST_INPUTS> PULLS[][2] = {
        {pulls<1, false>(SIZES), pulls<1, true>(SIZES)},
        {pulls<2, false>(SIZES), pulls<2, true>(SIZES)},
        {pulls<MOST_LANES, false>(SIZES), pulls<MOST_LANES, true>(SIZES)}};  // not used for 2 lanes
    for (Size first = 0, inputs; first < in_; first += inputs) {
      inputs = piece(in_ - first, MOST_INPUTS);
      for (Size c = 0, lanes; c < full_; c += lanes * LANE) {
        lanes = piece((full_ - c) / LANE, MOST_LANES);
        (this->*PULLS[lanes - 1][first == 0][inputs - 1])(w, block, first, c, out, add);
      }
    }
  }

  // The same of the units of the tail. The last row of the product contains the gradient of the
  // output's bias.
  void backward_tail(const Block &block, float *out, bool add) {
    const Size row = in_ + SLACK;
    product(tail_ + 1, block.count, in_, {tail_delta_.data(), room_, 1}, {block.inputs, in_},
            tail_gradient_.data(), row);
    for (Size u = 0; u < tail_; ++u) {
      float *to = out + full_ + u, of_head = 0;
      const float *from = &tail_gradient_[u * row], *top = &tail_top_[u * room_];
      for (Size k = 0; k < in_; ++k, to += width_) *to = add ? *to + from[k] : from[k];
      UNROLLED
      for (Size b = 0; b < block.count; ++b) of_head = fused(slopes()[b], top[b], of_head);
      *to = (add ? *to : 0) + of_head;
    }
    float &bias = out[(in_ + 1) * width_];
    bias = (add ? bias : 0) + tail_gradient_[tail_ * row + in_ - 1];
  }

  Size in_, width_, full_, tail_;  // numbers of inputs, units, units in chunks and in the tail
  Size room_;                      // for rows
  Floats top_, parts_, sums_;      // activations [rows, full], partial sums [rows, 16], their sums
  Floats tail_top_, tail_delta_;   // [tail, rows]; a last row has the slopes of the outputs
  Floats tail_gradient_, losses_;
};

}  // namespace
