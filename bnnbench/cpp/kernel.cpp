// Gradients of many small networks, averaged over drawn weights, and the steps that follow them:
// products of small matrices, one network, means over samples, update rules, what torch calls.
//
// A network with ReLU layers is a flat vector w: layer after layer a matrix W_l whose last row is
// the bias. With a column of ones behind what goes into each layer,
//
//     H_0 = [X 1],   H_l = [max(H_(l-1) W_l, 0)  1],   F = H_(L-1) W_L
//
// are its outputs for the rows X, and for a loss sum_b c_b loss(F_b, y_b) of the targets y
//
//     D_L     = c loss'(F, y)                                    slopes at the outputs
//     G_l     = H_(l-1)' D_l                                     gradient
//     D_(l-1) = D_l W_l' where H_(l-1) > 0, without the bias
//
// Weights are drawn S times, w = loc + scale e, and their gradients g leave three means:
// of g, of g^2 and of g e. `moments` returns them for one minibatch; `take_steps` goes on with
// one of the update rules below, minibatch after minibatch.
//
// One network after the other goes through all of it: its weights and activations stay in the
// first-level cache, or the second where they are many, which products over all networks at once
// cannot do. Nothing is shared between networks, so none can notice that another holds NaN.
// Matrices are stored row by row.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <vector>

namespace {

using Size = int64_t;
using Floats = std::vector<float>;

// --- products of small matrices

// Floats of a register. Of AVX-512 the half: 50 units take 7 lanes of 8, or 4 of 16, which is more.
#ifdef __AVX__
constexpr int LANE = 8;
#else
constexpr int LANE = 4;
#endif
typedef float Lane __attribute__((vector_size(4 * LANE)));
typedef int32_t LaneMask __attribute__((vector_size(4 * LANE)));

// A tile of sums that stays in the registers while it grows: there are 32 of them, or 16.
constexpr int TALL = 6;
#if defined __AVX512VL__ || defined __aarch64__
constexpr int WIDE = 4;
#else
constexpr int WIDE = 2;
#endif

// Behind every array that is read lane by lane: its last lane may reach over the end.
constexpr Size SLACK = WIDE * LANE;

inline Lane load(const float *from) {
  Lane lane;
  std::memcpy(&lane, from, sizeof lane);
  return lane;
}

inline void store(float *to, Lane lane) { std::memcpy(to, &lane, sizeof lane); }

// For what has no slack behind it.
inline Lane load_within(const float *from, Size count) {
  if (count >= LANE) return load(from);
  Lane lane = {};
  std::memcpy(&lane, from, count * sizeof(float));
  return lane;
}

// Of a last lane, that part that is within `count`; what is behind it stays.
inline void store_within(float *to, Lane lane, Size count) {
  LaneMask places;
  for (int l = 0; l < LANE; ++l) places[l] = l;
  store(to, places < int32_t(std::min<Size>(count, LANE)) ? lane : load(to));
}

inline LaneMask bits(Lane lane) {
  LaneMask mask;
  std::memcpy(&mask, &lane, sizeof mask);
  return mask;
}

inline Lane power_of_two(LaneMask k) {
  const LaneMask exponent = (k + 127) << 23;
  Lane lane;
  std::memcpy(&lane, &exponent, sizeof lane);
  return lane;
}

// The left factor of a product, or its transpose: element (i, j) is data[i * row + j * column].
struct Left {
  const float *data;
  Size row, column;
};

// The right factor: element (i, j) is data[i * row + j], and there is slack behind it.
struct Right {
  const float *data;
  Size row;
};

#define UNROLLED _Pragma("GCC unroll 8")

// ROWS x (LANES * LANE) elements of `left right`; columns past `columns` are left alone.
template <int ROWS, int LANES>
void tile(Left left, Right right, Size depth, float *out, Size out_row, Size columns, bool add) {
  Lane sum[ROWS][LANES];
  UNROLLED
  for (int r = 0; r < ROWS; ++r)
    UNROLLED
    for (int l = 0; l < LANES; ++l) sum[r][l] = Lane{};
  for (Size k = 0; k < depth; ++k) {
    Lane factor[LANES];
    UNROLLED
    for (int l = 0; l < LANES; ++l) factor[l] = load(right.data + k * right.row + l * LANE);
    UNROLLED
    for (int r = 0; r < ROWS; ++r)
      UNROLLED
      for (int l = 0; l < LANES; ++l)
        sum[r][l] += left.data[r * left.row + k * left.column] * factor[l];
  }
  UNROLLED
  for (int r = 0; r < ROWS; ++r)
    UNROLLED
    for (int l = 0; l < LANES; ++l) {
      float *to = out + r * out_row + l * LANE;
      const Lane total = add ? load(to) + sum[r][l] : sum[r][l];
      if (l + 1 < LANES)
        store(to, total);
      else
        store_within(to, total, columns - l * LANE);
    }
}

// By their numbers of rows and lanes; where WIDE is 2, the last two of four are not asked for.
using Tile = void (*)(Left, Right, Size, float *, Size, Size, bool);
#define TILES_OF(rows) {tile<rows, 1>, tile<rows, 2>, tile<rows, WIDE - 1>, tile<rows, WIDE>}
const Tile TILES[TALL][4] = {TILES_OF(1), TILES_OF(2), TILES_OF(3),
                             TILES_OF(4), TILES_OF(5), TILES_OF(6)};

// The next of as few pieces of at most `most` as `rest` needs, all about the same.
inline Size piece(Size rest, Size most) {
  const Size pieces = (rest + most - 1) / most;
  return (rest + pieces - 1) / pieces;
}

// out [rows, columns] = left [rows, depth] right [depth, columns], or that added to it.
void product(Size rows, Size depth, Size columns, Left left, Right right, float *out, Size out_row,
             bool add = false) {
  for (Size r = 0, tall; r < rows; r += tall) {
    tall = piece(rows - r, TALL);
    const Left lower = {left.data + r * left.row, left.row, left.column};
    for (Size c = 0, wide; c < columns; c += wide * LANE) {
      wide = piece((columns - c + LANE - 1) / LANE, WIDE);
      TILES[tall - 1][wide - 1](lower, {right.data + c, right.row}, depth,
                                out + r * out_row + c, out_row, columns - c, add);
    }
  }
}

// out [columns, rows] of a matrix [rows, columns].
void transpose(const float *matrix, Size rows, Size columns, float *out) {
  for (Size c = 0; c < columns; ++c)
    for (Size r = 0; r < rows; ++r) out[c * rows + r] = matrix[r * columns + c];
}

float dot(const float *a, const float *b, Size n) {
  Lane lanes = {};
  Size i = 0;
  for (; i + LANE <= n; i += LANE) lanes += load(a + i) * load(b + i);
  float sum = 0;
  for (; i < n; ++i) sum += a[i] * b[i];
  for (Size l = 0; l < LANE; ++l) sum += lanes[l];
  return sum;
}

// --- one network

// By lanes, since a processor cannot foresee which units are active. NaN is neither below nor above
// zero: it goes through, as it does in torch.
void rectify(float *values, Size n) {
  for (Size i = 0; i < n; i += LANE) {
    const Lane lane = load(values + i);
    store(values + i, lane < 0 ? Lane{} : lane);
  }
}

void zero_inactive(const float *activations, float *values, Size n) {
  for (Size i = 0; i < n; i += LANE)
    store_within(values + i, load(activations + i) <= 0 ? Lane{} : load(values + i), n - i);
}

// out = values whose numbers are not below `least`, else zero times them: which NaN stays.
void keep_drawn(const float *numbers, float least, const float *values, float *out, Size n) {
  for (Size i = 0; i < n; i += LANE) {
    const Lane kept = load_within(numbers + i, n - i) >= least ? Lane{} + 1 : Lane{};
    store_within(out + i, kept * load(values + i), n - i);
  }
}

struct Layer {
  Size in, out;  // `in` counts the ones
  Size weights() const { return in * out; }
};

// The rows of a minibatch, each followed by a one.
struct Rows {
  Size count;
  Floats inputs, targets, weights;

  void put(Size place, const float *input, Size features, float target, float weight) {
    std::copy_n(input, features, inputs.begin() + place * (features + 1));
    targets[place] = target;
    weights[place] = weight;
  }
};

// Dropout: for every layer a uniform number for each row and input, without the ones. What has a
// number below `dropout` is left out. Null leaves out nothing.
struct Mask {
  const float *const *numbers;
  float dropout;
};

// Floats of activations at a time, 64 kB: minibatches of thousands of rows are cut into blocks.
constexpr Size CACHED = 16000;

constexpr Size MOST_OUTPUTS = 2;

// Slopes of the negative log-likelihood of one target, times its weight, at a network's outputs.
//
// One output is the mean of a Gaussian of the given precision. Of two the second, bent so that it
// stays within 7 either way, is its log standard deviation.
void loss_slopes(const float *outputs, Size n_outputs, float target, float weight, float precision,
                 float *slopes) {
  const float error = outputs[0] - target;
  if (n_outputs == 1) {
    slopes[0] = error * (weight * precision);
    return;
  }
  const float seventh = outputs[1] / 7, bend = 1 / std::sqrt(1 + seventh * seventh);
  slopes[0] = error * (weight * std::exp(-2 * outputs[1] * bend));
  slopes[1] = bend * bend * bend * (weight - error * slopes[0]);
}

// The shape of a network, and room for one at work on up to so many rows.
class Network {
 public:
  Network(const Size *sizes, Size layers, Size rows) : outputs_(sizes[layers]) {
    Size row = 0, widest = 0;
    for (Size l = 0; l < layers; ++l) {
      layers_.push_back({sizes[l] + 1, sizes[l + 1]});
      row += 2 * layers_[l].in;
      widest = std::max(widest, layers_[l].weights());
      n_weights += layers_[l].weights();
    }
    block_ = std::min(rows, std::max<Size>(TALL, CACHED / row));
    for (const Layer &layer : layers_) {
      activations_.emplace_back(block_ * layer.in + SLACK, 1.0f);
      deltas_.emplace_back(block_ * layer.in + SLACK);
    }
    heads_.resize(layers_.back().weights() + SLACK);
    of_heads_.resize(layers_.back().weights() + SLACK);
    slopes_.resize(block_ * outputs_);
    transposed_.resize(widest + SLACK);
  }

  Size n_weights = 0;

  const std::vector<Layer> &layers() const { return layers_; }

  Rows room_for(Size rows) const {
    return {rows, Floats(rows * layers_[0].in + SLACK, 1.0f), Floats(rows), Floats(rows)};
  }

  // Fills `out` `[n_weights]`, which like `w` has slack behind it.
  void gradient(const float *w, const Rows &rows, float precision, const Mask &mask, float *out) {
    const Layer &last = layers_.back();
    transpose(w + n_weights - last.weights(), last.in, last.out, heads_.data());
    for (Size first = 0, count; first < rows.count; first += count) {
      count = piece(rows.count - first, block_);
      const float *inputs = rows.inputs.data() + first * layers_[0].in;
      if (mask.numbers) inputs = drop(0, inputs, mask, first, count);
      const float *top = forward(w, inputs, mask, first, count);
      for (Size b = 0; b < count; ++b) {
        float outputs[MOST_OUTPUTS] = {}, slopes[MOST_OUTPUTS];
        for (Size o = 0; o < outputs_; ++o)
          outputs[o] = dot(top + b * last.in, &heads_[o * last.in], last.in);
        loss_slopes(outputs, outputs_, rows.targets[first + b], rows.weights[first + b], precision,
                    slopes);
        for (Size o = 0; o < outputs_; ++o) slopes_[o * block_ + b] = slopes[o];
      }
      backward(w, inputs, count, out, first > 0);
    }
  }

 private:
  // What layer l is given: the batch itself, or what the layer before put out.
  const float *into(size_t l, const float *inputs) const {
    return l == 0 ? inputs : activations_[l].data();
  }

  const float *forward(const float *w, const float *inputs, const Mask &mask, Size first,
                       Size rows) {
    for (size_t l = 0; l + 1 < layers_.size(); ++l) {
      const auto [in, out] = layers_[l];
      float *next = activations_[l + 1].data();
      product(rows, in, out, {into(l, inputs), in, 1}, {w, out}, next, out + 1);
      rectify(next, rows * (out + 1));
      if (mask.numbers) drop(l + 1, next, mask, first, rows);
      w += layers_[l].weights();
    }
    return into(layers_.size() - 1, inputs);
  }

  // Leaves out some of what goes into layer l, which lies in `activations_` afterwards.
  const float *drop(size_t l, const float *from, const Mask &mask, Size first, Size rows) {
    const Size units = layers_[l].in - 1;
    float *to = activations_[l].data();
    for (Size b = 0; b < rows; ++b)
      keep_drawn(mask.numbers[l] + (first + b) * units, mask.dropout, from + b * (units + 1),
                 to + b * (units + 1), units);
    return to;
  }

  void backward(const float *w, const float *inputs, Size rows, float *gradient, bool add) {
    const size_t last = layers_.size() - 1;
    const Size width = layers_[last].in;
    w += n_weights - layers_[last].weights();
    gradient += n_weights - layers_[last].weights();
    const float *top = into(last, inputs);
    product(outputs_, rows, width, {slopes_.data(), block_, 1}, {top, width}, of_heads_.data(),
            width);
    for (Size o = 0; o < outputs_; ++o)
      for (Size i = 0; i < width; ++i) {
        float &one = gradient[i * outputs_ + o];
        one = (add ? one : 0) + of_heads_[o * width + i];
      }
    if (last == 0) return;
    carry_to_top(top, rows);
    for (size_t l = last;; --l) {
      const auto [in, out] = layers_[l - 1];
      w -= layers_[l - 1].weights();
      gradient -= layers_[l - 1].weights();
      const float *delta = deltas_[l].data();
      product(in, rows, out, {into(l - 1, inputs), 1, in}, {delta, out}, gradient, out, add);
      if (l == 1) return;
      transpose(w, in, out, transposed_.data());
      product(rows, out, in - 1, {delta, out, 1}, {transposed_.data(), in}, deltas_[l - 1].data(),
              in - 1);
      for (Size b = 0; b < rows; ++b)
        zero_inactive(into(l - 1, inputs) + b * in, &deltas_[l - 1][b * (in - 1)], in - 1);
    }
  }

  // From the outputs to the last hidden layer, row by row: a lane may reach into the next.
  void carry_to_top(const float *top, Size rows) {
    const Size outputs = outputs_, block = block_, width = layers_.back().in;
    const float *heads = heads_.data(), *slopes = slopes_.data();
    float *delta = deltas_.back().data();
    for (Size b = 0; b < rows; ++b, top += width, delta += width - 1)
      for (Size i = 0; i < width - 1; i += LANE) {
        Lane sum = slopes[b] * load(heads + i);
        for (Size o = 1; o < outputs; ++o)
          sum += slopes[o * block + b] * load(heads + o * width + i);
        store(delta + i, load(top + i) <= 0 ? Lane{} : sum);
      }
  }

  std::vector<Layer> layers_;
  Size outputs_, block_;
  std::vector<Floats> activations_, deltas_;
  Floats heads_, of_heads_;  // [outputs, width + 1]: weights of the last layer, and their gradient
  Floats slopes_;            // [outputs, block]
  Floats transposed_;
};

// --- means over weight samples

void draw(Size n, const float *__restrict loc, const float *__restrict scale,
          const float *__restrict noise, float *__restrict out) {
  for (Size i = 0; i < n; ++i) out[i] = loc[i] + scale[i] * noise[i];
}

void add(Size n, const float *__restrict values, float *__restrict sum) {
  for (Size i = 0; i < n; ++i) sum[i] += values[i];
}

void add_products(Size n, const float *a, const float *b, float *__restrict sum) {
  for (Size i = 0; i < n; ++i) sum[i] += a[i] * b[i];
}

void add_times(Size n, float factor, const float *__restrict values, float *__restrict sum) {
  for (Size i = 0; i < n; ++i) sum[i] += factor * values[i];
}

void divide(Size n, float by, float *values) {
  for (Size i = 0; i < n; ++i) values[i] /= by;
}

// Weights loc + scale noise, whose noise begins `apart` numbers behind that of the sample before;
// without a scale they are loc itself, once or with a mask for every sample.
struct Draws {
  const float *loc, *scale, *noise;
  Size apart, samples;
  const Mask *masks;
};

// Of a network's gradient, of its square and of its product with the noise; null for what is not
// wanted.
struct Means {
  float *mean, *square, *cross;
};

class Averager {
 public:
  Averager(const Size *sizes, Size layers, Size rows)
      : network(sizes, layers, rows), drawn_(network.n_weights + SLACK), one_(drawn_.size()) {}

  Network network;

  void average(const Rows &rows, float precision, const Draws &draws, const Means &out) {
    const Size n = network.n_weights, samples = draws.scale || draws.masks ? draws.samples : 1;
    if (!draws.scale) std::copy_n(draws.loc, n, drawn_.begin());
    for (float *sum : {out.mean, out.square, out.cross})
      if (sum) std::fill_n(sum, n, 0.0f);
    for (Size s = 0; s < samples; ++s) {
      const float *noise = draws.scale ? draws.noise + s * draws.apart : nullptr;
      if (draws.scale) draw(n, draws.loc, draws.scale, noise, drawn_.data());
      const Mask mask = draws.masks ? draws.masks[s] : Mask{};
      network.gradient(drawn_.data(), rows, precision, mask, one_.data());
      add(n, one_.data(), out.mean);
      if (out.square) add_products(n, one_.data(), one_.data(), out.square);
      if (out.cross) add_products(n, one_.data(), noise, out.cross);
    }
    for (float *sum : {out.mean, out.square, out.cross})
      if (sum) divide(n, float(samples), sum);
  }

 private:
  Floats drawn_, one_;
};

// --- update rules, as the methods of the same names have them

// What a rule is given of one network at one step.
struct Step {
  Size n;                      // weights
  const std::vector<Layer> &layers;
  float *const *state;         // the rule's tensors, `loc` first
  float *mean, *second;        // of the gradient, and of its square or product with the noise
  float *scale, *spare;        // deviations of the drawn weights, and room for as much again
  const float *noise;          // of this step
  float rows, batch;           // of the training set, and of the minibatch
  float precision, prior;      // of the noise of the observations, and of the weights
  float dropout;
  float share;                 // of the divergence
  float taken, unbias[2];      // t steps before this one; 1 / (1 - beta^(t + 1))
};

struct Constants {
  float rate, betas[2], own[5];  // `own` is what a rule says it is
};

inline float mixed(float old, float fresh, float decay) { return fresh + decay * (old - fresh); }

// Kingma & Ba 2015, Algorithm 1.
void adam(Step step, Constants c, const float *__restrict gradient, float *__restrict parameter,
          float *__restrict first, float *__restrict second) {
  for (Size i = 0; i < step.n; ++i) {
    first[i] = mixed(first[i], gradient[i], c.betas[0]);
    second[i] = mixed(second[i], gradient[i] * gradient[i], c.betas[1]);
    const float scale = std::sqrt(second[i] * step.unbias[1]) + 1e-8f;
    parameter[i] -= c.rate * step.unbias[0] * first[i] / scale;
  }
}

// The posterior's precision is rows s + prior.
void scale_by_squares(Step step) {
  const float *__restrict s = step.state[1];
  float *__restrict scale = step.scale;
  for (Size i = 0; i < step.n; ++i) scale[i] = 1 / std::sqrt(step.rows * s[i] + step.prior);
}

void vadam(Step step, Constants c) {
  float *__restrict loc = step.state[0], *__restrict s = step.state[1];
  float *__restrict momentum = step.state[2];
  const float *__restrict mean = step.mean, *__restrict square = step.second;
  const float pull = step.prior / step.rows, rate = c.rate * step.unbias[0];
  for (Size i = 0; i < step.n; ++i) {
    momentum[i] = mixed(momentum[i], mean[i] + pull * loc[i], c.betas[0]);
    s[i] = mixed(s[i], square[i], c.betas[1]);
    loc[i] -= rate * momentum[i] / (std::sqrt(s[i] * step.unbias[1]) + pull);
  }
}

// Own: 1 to divide by the root of s, 0 to divide by s.
void vprop(Step step, Constants c) {
  float *__restrict loc = step.state[0], *__restrict s = step.state[1];
  const float *__restrict mean = step.mean, *__restrict square = step.second;
  const float pull = step.prior / step.rows;
  for (Size i = 0; i < step.n; ++i) {
    s[i] = mixed(s[i], square[i], c.betas[1]);
    const float size = (c.own[0] != 0 ? std::sqrt(s[i]) : s[i]) + pull;
    loc[i] -= c.rate * (mean[i] + pull * loc[i]) / size;
  }
}

void ivon(Step step, Constants c) {
  float *__restrict loc = step.state[0], *__restrict h = step.state[1];
  float *__restrict momentum = step.state[2];
  const float *__restrict mean = step.mean, *__restrict cross = step.second;
  const float *__restrict scale = step.scale;
  const float pull = step.prior / step.rows, fresh = 1 - c.betas[1];
  for (Size i = 0; i < step.n; ++i) {
    momentum[i] = mixed(momentum[i], mean[i], c.betas[0]);
    const float change = fresh * (cross[i] / scale[i] - h[i]);
    h[i] += change + 0.5f * change * change / (h[i] + pull);
    loc[i] -= c.rate * (momentum[i] * step.unbias[0] + pull * loc[i]) / (h[i] + pull);
  }
}

// exp(x) for x of at most 88: x = k log 2 + r, and a polynomial in r (Cephes, expf).
Lane exponential(Lane x) {
  x = x < -87 ? Lane{} - 87 : x;
  const Lane k = (x * 1.44269504f + 12582912.0f) - 12582912.0f;  // to the nearest whole number
  const Lane r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
  Lane p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = ((p * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r + 1.6666665459e-1f;
  p = (p * r + 5.0000001201e-1f) * (r * r) + r + 1;
  return p * power_of_two(__builtin_convertvector(k, LaneMask));
}

// log(1 + e) for e of at least 0: 1 + e = 2^k (1 + f), and log(1 + f) = 2 artanh(f / (2 + f)).
Lane logarithm_of_one_and(Lane e) {
  const LaneMask k = (bits(1 + e) - 0x3f3504f3) >> 23;  // 1 + f is from sqrt(1/2) to sqrt(2)
  const Lane down = power_of_two(-k), f = e * down + (down - 1), z = f / (2 + f), y = z * z;
  const Lane artanh = z * (1 + y * (1 / 3.0f + y * (1 / 5.0f + y * (1 / 7.0f + y * (1 / 9.0f)))));
  return __builtin_convertvector(k, Lane) * 0.693147181f + 2 * artanh;
}

// scale = log(1 + exp(rho)), and its slope exp(rho) / (1 + exp(rho)) into `spare`.
void scale_by_softplus(Step step) {
  std::copy_n(step.state[1], step.n, step.spare);
  for (Size i = 0; i < step.n; i += LANE) {
    const Lane rho = load(step.spare + i), e = exponential(rho > 20 ? Lane{} + 20 : rho);
    store(step.scale + i, rho > 20 ? rho : logarithm_of_one_and(e));
    store(step.spare + i, e / (1 + e));
  }
}

// With the divergence KL(Normal(loc, scale^2) || Normal(0, 1 / prior)) in closed form. Own: its
// weight.
void bbb(Step step, Constants c) {
  float *const *state = step.state;
  const float *__restrict loc = state[0], *__restrict scale = step.scale;
  const float *__restrict slope = step.spare;
  float *__restrict of_loc = step.mean, *__restrict of_rho = step.second;
  const float share = c.own[0] * step.share / step.rows;
  for (Size i = 0; i < step.n; ++i) {
    of_loc[i] += share * step.prior * loc[i];
    const float of_scale = of_rho[i] + share * (step.prior * scale[i] - 1 / scale[i]);
    of_rho[i] = of_scale * slope[i];
  }
  adam(step, c, of_loc, state[0], state[2], state[3]);
  adam(step, c, of_rho, state[1], state[4], state[5]);
}

void descend(Step step, Constants c) {
  adam(step, c, step.mean, step.state[0], step.state[1], step.state[2]);
}

void map(Step step, Constants c) {
  add_times(step.n, step.prior / step.rows, step.state[0], step.mean);
  descend(step, c);
}

// The prior is on what is not left out, which biases never are. Own: 1 if they have it too, or 0.
void mc_dropout(Step step, Constants c) {
  const float pull = step.prior / step.rows, *loc = step.state[0];
  float *gradient = step.mean;
  for (const Layer &layer : step.layers) {
    const Size matrix = layer.weights() - layer.out;
    add_times(matrix, (1 - step.dropout) * pull, loc, gradient);
    add_times(layer.out, c.own[0] * pull, loc + matrix, gradient + matrix);
    loc += layer.weights();
    gradient += layer.weights();
  }
  descend(step, c);
}

// Own: step size, offset, decay, the factor of minibatches, and what counts as precision where a
// second output says it.
float langevin_size(Step step, Constants c) {
  const float shorter = std::min(1.0f, c.own[3] * step.batch / step.rows);
  return c.own[0] * std::pow(c.own[1] + step.taken, -c.own[2]) * shorter;
}

void sgld(Step step, Constants c) {
  float *__restrict loc = step.state[0];
  const float *__restrict mean = step.mean, *__restrict noise = step.noise;
  const float precision = step.precision > 0 ? step.precision : c.own[4];
  const float size = langevin_size(step, c) / precision, pull = step.prior / step.rows;
  const float spread = std::sqrt(size / step.rows);
  for (Size i = 0; i < step.n; ++i)
    loc[i] += spread * noise[i] - 0.5f * size * (mean[i] + pull * loc[i]);
}

// Own: the same four, and the floor.
void preconditioned_sgld(Step step, Constants c) {
  float *__restrict loc = step.state[0], *__restrict square = step.state[1];
  const float *__restrict mean = step.mean, *__restrict noise = step.noise;
  const float whole = langevin_size(step, c), pull = step.prior / step.rows;
  for (Size i = 0; i < step.n; ++i) {
    square[i] = mixed(square[i], mean[i] * mean[i], c.betas[1]);
    const float size = whole / (std::sqrt(square[i] * step.unbias[1]) + c.own[4]);
    const float drift = 0.5f * size * (mean[i] + pull * loc[i]);
    loc[i] += std::sqrt(size / step.rows) * noise[i] - drift;
  }
}

struct Rule {
  Size tensors;         // of its state
  bool square, cross;   // which second mean it takes
  bool masks;           // whether units are dropped
  void (*scale)(Step);  // null where weights are not drawn
  void (*update)(Step, Constants);
};

// In the order of RULES in bnnbench/native/steps.py.
const Rule RULES[] = {
    {3, true, false, false, scale_by_squares, vadam},
    {2, true, false, false, scale_by_squares, vprop},
    {6, false, true, false, scale_by_softplus, bbb},
    {3, false, false, false, nullptr, map},
    {1, false, false, false, nullptr, sgld},
    {2, false, false, false, nullptr, preconditioned_sgld},
    {3, false, false, true, nullptr, mc_dropout},
    {3, false, true, false, scale_by_squares, ivon},
};

}  // namespace

// One minibatch.
//
//   sizes       inputs, units of every hidden layer, outputs: `layers` + 1 numbers
//   sets        training sets: network r has set r % sets
//   loc, scale  [networks, P]; without scale there is one sample, loc itself
//   noise       [samples, shared, P]: network r has noise r % shared
//   inputs      [sets, rows, D]
//   targets     [sets, rows]
//   weights     [sets, rows]
//   precisions  [sets], of the noise; null where a second output says it
//   mean, square, cross  [networks, P]; null for what is not wanted
//
// Returns 1 if there is too little memory, else 0.
extern "C" int moments(const Size *sizes, Size layers, Size networks, Size sets, Size samples,
                       Size shared, Size rows, const float *loc, const float *scale,
                       const float *noise, const float *inputs, const float *targets,
                       const float *weights, const float *precisions, float *mean, float *square,
                       float *cross) try {
  Averager averager(sizes, layers, rows);
  const Size n = averager.network.n_weights, features = sizes[0];
  Rows batch = averager.network.room_for(rows);
  const auto at = [n](auto *values, Size r) { return values ? values + r * n : nullptr; };
  for (Size r = 0; r < networks; ++r) {
    const Size set = r % sets;
    for (Size b = 0; b < rows; ++b)
      batch.put(b, inputs + (set * rows + b) * features, features, targets[set * rows + b],
                weights[set * rows + b]);
    const Draws draws = {at(loc, r), at(scale, r), at(noise, r % shared), shared * n, samples,
                         nullptr};
    averager.average(batch, precisions ? precisions[set] : 0, draws,
                     {at(mean, r), at(square, r), at(cross, r)});
  }
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}

// The same names in the same order as in bnnbench/native/steps.py.
struct Steps {
  const Size *sizes;              // inputs, units of every hidden layer, outputs
  Size layers, sets, members;     // `members` networks for each training set
  const float *inputs, *targets;  // [sets, length, D] and [sets, length]
  const Size *counts;             // [sets], real rows: those behind them are padding
  const float *precisions;        // [sets], of the noise; 0 where a second output says it
  const float *priors;            // [sets], prior precisions
  const float *dropouts;          // [sets]
  const float *shares;            // [minibatches of an epoch], of the divergence
  Size length, samples, batch;    // `batch` rows of a minibatch
  Size rule;
  double rate, betas[2], own[5];
  float *const *state;            // the rule's tensors, [sets, members, P] each
  bool *alive;                    // [sets]: the others are left alone
  const Size *order;              // [orders, length]: set r has order r % orders
  const float *const *noise;      // [steps, pieces]: one piece [samples, shared, P], or one for
  Size pieces, shared;            //   every layer [samples, shared, batch, units]: r % shared
  Size orders;
  Size epoch, first, steps;       // which are taken: from minibatch `first` of the epoch on
};

namespace {

class Walker {
 public:
  explicit Walker(const Steps &given)
      : all_(given), rule_(RULES[given.rule]), averager_(given.sizes, given.layers, given.batch),
        n_(averager_.network.n_weights), minibatch_(averager_.network.room_for(given.batch)),
        constants_{float(given.rate), {float(given.betas[0]), float(given.betas[1])},
                   {float(given.own[0]), float(given.own[1]), float(given.own[2]),
                    float(given.own[3]), float(given.own[4])}},
        mean_(n_ + SLACK), second_(n_ + SLACK), scale_(n_ + SLACK), spare_(n_ + SLACK),
        own_(rule_.tensors), numbers_(given.samples * given.layers), masks_(given.samples) {}

  // Takes the networks of a training set through its minibatches; whether they are finite then.
  bool walk(Size set) {
    const Size count = all_.counts[set], minibatches = (count + all_.batch - 1) / all_.batch;
    const Size *order = all_.order + set % all_.orders * all_.length;
    rows_.clear();
    std::copy_if(order, order + all_.length, std::back_inserter(rows_),
                 [=](Size row) { return row < count; });
    for (Size b = all_.first; b < std::min(all_.first + all_.steps, minibatches); ++b) {
      gather(set, b);
      if (rule_.masks) prepare_masks(set, b);
      for (Size m = 0; m < all_.members; ++m) step(set, m, b, all_.epoch * minibatches + b);
    }
    return finite(set);
  }

 private:
  void gather(Size set, Size b) {
    const Size start = b * all_.batch, features = all_.sizes[0];
    minibatch_.count = std::min<Size>(all_.batch, rows_.size() - start);
    for (Size i = 0; i < minibatch_.count; ++i) {
      const Size row = set * all_.length + rows_[start + i];
      minibatch_.put(i, all_.inputs + row * features, features, all_.targets[row],
                     1.0f / minibatch_.count);
    }
  }

  void prepare_masks(Size set, Size b) {
    const Size rows = std::min(all_.batch, all_.length - b * all_.batch);
    for (Size s = 0; s < all_.samples; ++s) {
      const float **numbers = &numbers_[s * all_.layers];
      for (Size l = 0; l < all_.layers; ++l)
        numbers[l] = noise(set, b, l) + s * all_.shared * rows * all_.sizes[l];
      masks_[s] = {numbers, all_.dropouts[set]};
    }
  }

  // A step of one network by minibatch b.
  void step(Size set, Size member, Size b, Size taken) {
    for (Size k = 0; k < rule_.tensors; ++k)
      own_[k] = all_.state[k] + (set * all_.members + member) * n_;
    const Step step = {n_, averager_.network.layers(), own_.data(), mean_.data(),
                       second_.data(), scale_.data(), spare_.data(), noise(set, b, 0),
                       float(all_.counts[set]), float(minibatch_.count), all_.precisions[set],
                       all_.priors[set], all_.dropouts[set], all_.shares[b], float(taken),
                       {unbias(all_.betas[0], taken + 1), unbias(all_.betas[1], taken + 1)}};
    const Draws draws = {step.state[0], rule_.scale ? step.scale : nullptr, step.noise,
                         all_.shared * n_, all_.samples, rule_.masks ? masks_.data() : nullptr};
    if (rule_.scale) rule_.scale(step);
    averager_.average(minibatch_, step.precision, draws,
                      {mean_.data(), rule_.square ? second_.data() : nullptr,
                       rule_.cross ? second_.data() : nullptr});
    rule_.update(step, constants_);
  }

  // Where a piece of a training set's noise begins.
  const float *noise(Size set, Size b, Size piece) const {
    if (all_.pieces == 0) return nullptr;
    const Size rows = std::min(all_.batch, all_.length - b * all_.batch);
    const Size size = rule_.masks ? rows * all_.sizes[piece] : n_;
    return all_.noise[(b - all_.first) * all_.pieces + piece] + set % all_.shared * size;
  }

  bool finite(Size set) const {
    const Size size = all_.members * n_;
    return std::all_of(all_.state, all_.state + rule_.tensors, [=](const float *tensor) {
      return std::all_of(tensor + set * size, tensor + (set + 1) * size,
                         [](float value) { return std::isfinite(value); });
    });
  }

  static float unbias(double beta, Size steps) { return float(1 / (1 - std::pow(beta, steps))); }

  const Steps &all_;
  const Rule &rule_;
  Averager averager_;
  const Size n_;
  Rows minibatch_;
  const Constants constants_;
  Floats mean_, second_, scale_, spare_;
  std::vector<float *> own_;            // the tensors of the network at hand
  std::vector<Size> rows_;              // of the training set at hand, in order
  std::vector<const float *> numbers_;  // of its masks, for each sample and layer
  std::vector<Mask> masks_;             // for each sample
};

}  // namespace

// Steps of networks that are alive; those of a training set of which one is not finite are not.
// Returns 1 if there is too little memory, else 0.
extern "C" int take_steps(const Steps *given) try {
  Walker walker(*given);
  for (Size set = 0; set < given->sets; ++set)
    if (given->alive[set]) given->alive[set] = walker.walk(set);
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}
