// Gradients of many small networks, for the methods that average them over drawn weights.
//
// A network with ReLU layers and one output is a flat vector w: layer after layer a matrix W_l
// whose last row is the bias. With a column of ones behind what goes into each layer,
//
//     H_0 = [X 1],   H_l = [max(H_(l-1) W_l, 0)  1],   f = H_(L-1) W_L
//
// are its outputs for the rows X, and for the loss sum_b c_b precision (f_b - y_b)^2 / 2
//
//     D_L     = c precision (f - y)                              slope at the output
//     G_l     = H_(l-1)' D_l                                     gradient
//     D_(l-1) = D_l W_l' where H_(l-1) > 0, without the bias
//
// Weights are drawn S times, w = loc + scale e, and their gradients g leave three means:
// of g, of g^2 and of g e.
//
// One network's weights and the activations of a block of rows stay in the first-level cache,
// which is why this is faster than one product over all networks after the other. Nothing is
// shared between networks, so none can notice that another holds NaN. Matrices are row by row.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using Size = int64_t;
using Floats = std::vector<float>;

// --- products of small matrices

typedef float Lane __attribute__((vector_size(32)));
typedef int32_t LaneMask __attribute__((vector_size(32)));
constexpr Size LANE = 8;
constexpr LaneMask PLACES = {0, 1, 2, 3, 4, 5, 6, 7};

// A tile of sums that stays in the registers while it grows: with AVX-512 there are 32 of them.
#ifdef __AVX512VL__
constexpr int TALL = 6, WIDE = 4;
#else
constexpr int TALL = 6, WIDE = 2;
#endif

// Behind every array that is read lane by lane: its last lane may reach over the end.
constexpr Size SLACK = WIDE * LANE;

inline Lane load(const float *from) {
  Lane lane;
  std::memcpy(&lane, from, sizeof lane);
  return lane;
}

inline void store(float *to, Lane lane) { std::memcpy(to, &lane, sizeof lane); }

// A matrix, or its transpose, whose element (i, j) lies at data[i * row + j * column].
struct Matrix {
  const float *data;
  Size row, column;
};

// ROWS x (LANES * 8) elements of `left right`, of which columns past `columns` are left alone.
template <int ROWS, int LANES>
void tile(Matrix left, const float *right, Size right_row, Size depth, float *out, Size out_row,
          Size columns, bool add) {
  Lane sum[ROWS][LANES];
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 8
    for (int l = 0; l < LANES; ++l) sum[r][l] = Lane{};
  for (Size k = 0; k < depth; ++k) {
    Lane factor[LANES];
#pragma GCC unroll 8
    for (int l = 0; l < LANES; ++l) factor[l] = load(right + k * right_row + l * LANE);
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 8
      for (int l = 0; l < LANES; ++l)
        sum[r][l] += left.data[r * left.row + k * left.column] * factor[l];
  }
  const LaneMask last = PLACES < static_cast<int32_t>(columns - (LANES - 1) * LANE);
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 8
    for (int l = 0; l < LANES; ++l) {
      float *to = out + r * out_row + l * LANE;
      const Lane before = load(to);
      const Lane total = add ? before + sum[r][l] : sum[r][l];
      store(to, l + 1 < LANES ? total : last ? total : before);
    }
}

using Tile = void (*)(Matrix, const float *, Size, Size, float *, Size, Size, bool);
#define TILES_OF(rows) {tile<rows, 1>, tile<rows, 2>, tile<rows, WIDE - 1>, tile<rows, WIDE>}
const Tile TILES[TALL][4] = {TILES_OF(1), TILES_OF(2), TILES_OF(3),
                             TILES_OF(4), TILES_OF(5), TILES_OF(6)};

// The next of as few pieces of at most `most` as `rest` needs, all about the same.
inline Size piece(Size rest, Size most) {
  const Size pieces = (rest + most - 1) / most;
  return (rest + pieces - 1) / pieces;
}

// out [rows, columns] = left [rows, depth] right [depth, columns], or that added to it.
void product(Size rows, Size depth, Size columns, Matrix left, const float *right, float *out,
             Size out_row, bool add = false) {
  for (Size r = 0, tall; r < rows; r += tall) {
    tall = piece(rows - r, TALL);
    const Matrix from = {left.data + r * left.row, left.row, left.column};
    for (Size c = 0, wide; c < columns; c += wide * LANE) {
      wide = piece((columns - c + LANE - 1) / LANE, WIDE);
      TILES[tall - 1][wide - 1](from, right + c, columns, depth, out + r * out_row + c, out_row,
                                columns - c, add);
    }
  }
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

// NaN is neither below nor above zero: it goes through, as it does in torch.
void rectify(float *__restrict values, Size n) {
  for (Size i = 0; i < n; ++i) values[i] = values[i] < 0 ? 0 : values[i];
}

void scaled_where_active(float factor, const float *__restrict weights,
                         const float *__restrict activations, float *__restrict out, Size n) {
  for (Size i = 0; i < n; ++i) out[i] = activations[i] <= 0 ? 0 : factor * weights[i];
}

void keep_where_active(const float *__restrict activations, float *__restrict values, Size n) {
  for (Size i = 0; i < n; ++i) values[i] = activations[i] <= 0 ? 0 : values[i];
}

struct Layer {
  Size in, out;  // `in` counts the ones
  Size weights() const { return in * out; }
};

// The rows of a minibatch, each followed by a one.
struct Rows {
  Size count;
  Floats inputs, targets, weights;
};

constexpr Size CACHED = 6000;  // floats of activations that fit the first-level cache

// The shape of a network, and room for one at work on a block of rows.
class Network {
 public:
  Network(const Size *sizes, Size layers) {
    Size row = 0, widest = 0;
    for (Size l = 0; l < layers; ++l) {
      layers_.push_back({sizes[l] + 1, sizes[l + 1]});
      row += 2 * layers_[l].in;
      widest = std::max(widest, layers_[l].weights());
      n_weights += layers_[l].weights();
    }
    block_ = std::max<Size>(TALL, CACHED / row);
    for (const Layer &layer : layers_) {
      activations_.emplace_back(block_ * layer.in + SLACK, 1.0f);
      deltas_.emplace_back(block_ * layer.in + SLACK);
    }
    slopes_.resize(block_ + SLACK);
    transposed_.resize(widest + SLACK);
  }

  Size n_weights = 0;

  Rows room_for(Size rows) const {
    return {rows, Floats(rows * layers_[0].in + SLACK, 1.0f), Floats(rows), Floats(rows)};
  }

  // Fills `out` `[n_weights]`, which like `w` has slack behind it.
  void gradient(const float *w, const Rows &rows, float precision, float *out) {
    for (Size first = 0, count; first < rows.count; first += count) {
      count = piece(rows.count - first, block_);
      const float *inputs = rows.inputs.data() + first * layers_[0].in;
      const float *top = forward(w, inputs, count);
      const Layer &last = layers_.back();
      const float *weights = w + n_weights - last.weights();
      for (Size b = 0; b < count; ++b) {
        const float error = dot(top + b * last.in, weights, last.in) - rows.targets[first + b];
        slopes_[b] = error * (rows.weights[first + b] * precision);
      }
      backward(w, inputs, count, out, first > 0);
    }
  }

 private:
  // What layer l is given: the batch itself, or what the layer before put out.
  const float *into(size_t l, const float *inputs) const {
    return l == 0 ? inputs : activations_[l].data();
  }

  const float *forward(const float *w, const float *inputs, Size rows) {
    for (size_t l = 0; l + 1 < layers_.size(); ++l) {
      const auto [in, out] = layers_[l];
      float *next = activations_[l + 1].data();
      product(rows, in, out, {into(l, inputs), in, 1}, w, next, out + 1);
      rectify(next, rows * (out + 1));
      w += layers_[l].weights();
    }
    return into(layers_.size() - 1, inputs);
  }

  void backward(const float *w, const float *inputs, Size rows, float *gradient, bool add) {
    const size_t last = layers_.size() - 1;
    const Size width = layers_[last].in;
    w += n_weights - layers_[last].weights();
    gradient += n_weights - layers_[last].weights();
    const float *top = into(last, inputs);
    product(1, rows, width, {slopes_.data(), 0, 1}, top, gradient, width, add);
    if (last == 0) return;
    for (Size b = 0; b < rows; ++b)
      scaled_where_active(slopes_[b], w, top + b * width, &deltas_[last][b * (width - 1)],
                          width - 1);
    for (size_t l = last; l-- > 0;) {
      const auto [in, out] = layers_[l];
      w -= layers_[l].weights();
      gradient -= layers_[l].weights();
      const float *delta = deltas_[l + 1].data();
      product(in, rows, out, {into(l, inputs), 1, in}, delta, gradient, out, add);
      if (l > 0) carry_back(l, w, delta, rows);
    }
  }

  void carry_back(size_t l, const float *w, const float *delta, Size rows) {
    const auto [in, out] = layers_[l];
    for (Size o = 0; o < out; ++o)
      for (Size i = 0; i < in - 1; ++i) transposed_[o * (in - 1) + i] = w[i * out + o];
    float *before = deltas_[l].data();
    product(rows, out, in - 1, {delta, out, 1}, transposed_.data(), before, in - 1);
    for (Size b = 0; b < rows; ++b)
      keep_where_active(&activations_[l][b * in], before + b * (in - 1), in - 1);
  }

  std::vector<Layer> layers_;
  Size block_;
  std::vector<Floats> activations_, deltas_;
  Floats slopes_, transposed_;
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

void divide(Size n, float by, float *values) {
  for (Size i = 0; i < n; ++i) values[i] /= by;
}

}  // namespace

// Means over samples: of each network's gradient, of its square, and of its product with the
// noise. Null for `square` or `cross` does not ask for it.
//
//   sizes       inputs, units of every hidden layer, 1: `layers` + 1 numbers
//   sets        training sets: network r has set r % sets
//   loc, scale  [replicas, P]; without scale there is one sample, loc itself
//   noise       [samples, shared, P]: network r has noise r % shared
//   inputs      [sets, rows, D]
//   targets     [sets, rows]
//   weights     [sets, rows]
//   precisions  [sets]
//   mean, square, cross  [replicas, P]
extern "C" void moments(const Size *sizes, Size layers, Size replicas, Size sets, Size samples,
                        Size shared, Size rows, const float *loc, const float *scale,
                        const float *noise, const float *inputs, const float *targets,
                        const float *weights, const float *precisions, float *mean,
                        float *square, float *cross) {
  Network network(sizes, layers);
  const Size n = network.n_weights, features = sizes[0];
  Rows batch = network.room_for(rows);
  Floats drawn(n + SLACK), one(n + SLACK);
  for (Size r = 0; r < replicas; ++r) {
    const Size set = r % sets;
    for (Size b = 0; b < rows; ++b)
      std::memcpy(&batch.inputs[b * (features + 1)], inputs + (set * rows + b) * features,
                  features * sizeof(float));
    std::copy_n(targets + set * rows, rows, batch.targets.begin());
    std::copy_n(weights + set * rows, rows, batch.weights.begin());
    for (float *sum : {mean, square, cross})
      if (sum) std::fill_n(sum + r * n, n, 0.0f);
    for (Size s = 0; s < samples; ++s) {
      const float *own = noise + (s * shared + r % shared) * n;
      if (scale)
        draw(n, loc + r * n, scale + r * n, own, drawn.data());
      else
        std::copy_n(loc + r * n, n, drawn.begin());
      network.gradient(drawn.data(), batch, precisions[set], one.data());
      add(n, one.data(), mean + r * n);
      if (square) add_products(n, one.data(), one.data(), square + r * n);
      if (cross) add_products(n, one.data(), own, cross + r * n);
    }
    for (float *sum : {mean, square, cross})
      if (sum) divide(n, static_cast<float>(samples), sum + r * n);
  }
}
