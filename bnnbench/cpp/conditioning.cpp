// TAGI: conditioning networks on one minibatch after another, one network after the other.
//
// Every weight has a Gaussian distribution. For a layer whose inputs include the constant 1, M are
// the means and V the variances of the weights. Inputs with means z and variances u (zero for data
// and for the constant) give units with the moments
//
//     a = z M,   v = (z^2 + u) V + u M^2
//
// and the next layer gets the means max(a, 0), with the variances v where a > 0 and zero elsewhere.
// The target changes the moments of an output by v d and v^2 e. Going back through the layers,
//
//     d_before = d M' where z > 0,   e_before = e (M^2)' where z > 0
//
// and a minibatch changes the moments of the weights by V (z' d) and V^2 ((z^2)' e), at most by a
// multiple of the weight's standard deviation. Equations and sources are in
// bnnbench/methods/tagi.py, the reference implementation.
//
// Sums have the same order whatever the width of a register, and products are rounded before they
// are added.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <vector>

#include "lanes.h"
#include "portable.h"

namespace {

template <class Real>
using Numbers = std::vector<Real>;

#define SIMD _Pragma("omp simd")
#define UNROLLED _Pragma("GCC unroll 8")

constexpr double RESET_VARIANCE = 1e-5;  // of a weight whose variance would be negative

constexpr Size BLOCK = 32;  // rows whose activations stay in the cache

// --- products of small matrices

// N numbers, by default as many as a register holds.
template <class Real, int N = sizeof(Lane) / sizeof(Real)>
struct Register;
template <int N>
struct Register<float, N> {
  typedef float Type __attribute__((vector_size(N * sizeof(float))));
};
template <int N>
struct Register<double, N> {
  typedef double Type __attribute__((vector_size(N * sizeof(double))));
};

// The columns of matrices are padded with zeros to a multiple of this many numbers, and computed
// this many at a time.
template <class Real>
constexpr Size GROUP = 64 / sizeof(Real);

template <class Real>
Size padded(Size n) {
  return (n + GROUP<Real> - 1) / GROUP<Real> * GROUP<Real>;
}

// The left factor of a product, or its transpose: element (i, j) is data[i * row + j * column].
template <class Real>
struct Left {
  const Real *data;
  Size row, column;
};

// A matrix with padded rows.
template <class Real>
struct Matrix {
  Real *data;
  Size row;
};

// Computes ROWS rows and one group of columns of `left right`, which are added to `out` if `add`.
template <class Real, int ROWS>
void tile(Left<Real> left, Matrix<const Real> right, Size depth, Matrix<Real> out, bool add) {
  using Part = typename Register<Real>::Type;
  constexpr int LANES = 64 / sizeof(Part), WIDTH = sizeof(Part) / sizeof(Real);
  Part sum[ROWS][LANES];
  UNROLLED
  for (int r = 0; r < ROWS; ++r)
    UNROLLED
    for (int l = 0; l < LANES; ++l) {
      sum[r][l] = Part{};
      if (add) std::memcpy(&sum[r][l], out.data + r * out.row + l * WIDTH, sizeof(Part));
    }
  for (Size k = 0; k < depth; ++k) {
    Part factor[LANES];
    std::memcpy(factor, right.data + k * right.row, sizeof factor);
    UNROLLED
    for (int r = 0; r < ROWS; ++r)
      UNROLLED
      for (int l = 0; l < LANES; ++l)
        sum[r][l] += left.data[r * left.row + k * left.column] * factor[l];
  }
  UNROLLED
  for (int r = 0; r < ROWS; ++r)
    UNROLLED
    for (int l = 0; l < LANES; ++l)
      std::memcpy(out.data + r * out.row + l * WIDTH, &sum[r][l], sizeof(Part));
}

template <class Real>
using Tile = void (*)(Left<Real>, Matrix<const Real>, Size, Matrix<Real>, bool);
constexpr Size TALL = 6;
template <class Real>
constexpr Tile<Real> TILES[TALL] = {tile<Real, 1>, tile<Real, 2>, tile<Real, 3>,
                                    tile<Real, 4>, tile<Real, 5>, tile<Real, 6>};

// out [rows, columns] = left [rows, depth] right [depth, columns], or += if `add`, for a padded
// number of columns.
template <class Real>
void product(Size rows, Size depth, Size columns, Left<Real> left, Matrix<const Real> right,
             Matrix<Real> out, bool add = false) {
  for (Size r = 0, tall; r < rows; r += tall) {
    const Size pieces = (rows - r + TALL - 1) / TALL;
    tall = (rows - r + pieces - 1) / pieces;
    for (Size c = 0; c < columns; c += GROUP<Real>)
      TILES<Real>[tall - 1]({left.data + r * left.row, left.row, left.column},
                            {right.data + c, right.row}, depth,
                            {out.data + r * out.row + c, out.row}, add);
  }
}

// The sum of N numbers: the second half is added to the first until one is left.
template <class Real, int N>
inline Real sum_of(const void *numbers) {
  if constexpr (N == 1) {
    return *static_cast<const Real *>(numbers);
  } else {
    typename Register<Real, N / 2>::Type halves[2];
    std::memcpy(halves, numbers, sizeof halves);
    const auto sum = halves[0] + halves[1];
    return sum_of<Real, N / 2>(&sum);
  }
}

// The sum of n products, for a padded n. Every sixteenth product (eighth, for doubles) is added to
// the same partial sum.
template <class Real>
inline Real dot(const Real *a, const Real *b, Size n) {
  using Part = typename Register<Real>::Type;
  constexpr int LANES = 64 / sizeof(Part);
  Part sums[LANES] = {};
  for (Size i = 0; i < n; i += GROUP<Real>) {
    Part left[LANES], right[LANES];
    std::memcpy(left, a + i, sizeof left);
    std::memcpy(right, b + i, sizeof right);
    UNROLLED
    for (int l = 0; l < LANES; ++l) sums[l] += left[l] * right[l];
  }
  return sum_of<Real, GROUP<Real>>(sums);
}

// --- one layer

// Matrices of weights are [in, out] in hidden layers and [out, in] in the last, so that the padded
// columns are many.
template <class Real>
struct Layer {
  Size in, out;  // `in` includes the constant 1
  bool first, last;
  Size rows, columns;                      // of the matrices of weights
  Size inputs, units;                      // padded `in` and `out`
  Numbers<Real> loc, var, loc_square;      // M, V and M^2
  Numbers<Real> by_loc, by_var;            // z' d and (z^2)' e of a minibatch
  Numbers<Real> transposed;                // a matrix of weights as [out, in]
  Numbers<Real> z, u, z_square, z_second;  // z, u, z^2 and z^2 + u of each row of a block
  Numbers<Real> a, v;                      // of each row, and afterwards d and e

  Layer(Size features, Size units_, bool first_, bool last_)
      : in(features + 1), out(units_), first(first_), last(last_), rows(last ? out : in),
        columns(padded<Real>(last ? in : out)), inputs(padded<Real>(in)), units(padded<Real>(out)),
        loc(rows * columns), var(loc), loc_square(loc), by_loc(loc), by_var(loc),
        transposed(last || first ? 0 : out * inputs), z(BLOCK * inputs), u(z), z_square(z),
        z_second(z), a(BLOCK * units), v(a) {}

  Size weights() const { return in * out; }

  // The place of the weight from input i to unit o.
  Size place(Size i, Size o) const { return last ? o * columns + i : i * columns + o; }

  Matrix<const Real> matrix(const Numbers<Real> &of) const { return {of.data(), columns}; }

  // A matrix of weights as [out, in].
  Matrix<const Real> by_unit(const Numbers<Real> &weights) {
    if (last) return matrix(weights);
    for (Size o = 0; o < out; ++o)
      for (Size i = 0; i < in; ++i) transposed[o * inputs + i] = weights[i * columns + o];
    return {transposed.data(), inputs};
  }

  // Copies the weights' moments from, or to, matrices [in, out] without padding.
  void load(const Real *locs, const Real *vars) {
    for (Numbers<Real> *numbers : {&loc, &var, &loc_square})  // padding may contain NaN
      std::fill(numbers->begin(), numbers->end(), Real(0));
    for (Size i = 0, k = 0; i < in; ++i)
      for (Size o = 0; o < out; ++o, ++k) {
        const Size to = place(i, o);
        loc[to] = locs[k], var[to] = vars[k], loc_square[to] = locs[k] * locs[k];
      }
  }
  void save(Real *locs, Real *vars) const {
    for (Size i = 0, k = 0; i < in; ++i)
      for (Size o = 0; o < out; ++o, ++k) locs[k] = loc[place(i, o)], vars[k] = var[place(i, o)];
  }

  // Sets the input of one row of the block to data.
  void put(Size row, const Real *values) {
    std::copy_n(values, in - 1, z.begin() + row * inputs);
    set_constant(row);
    Real *means = &z[row * inputs], *squares = &z_square[row * inputs];
    SIMD for (Size i = 0; i < inputs; ++i) squares[i] = means[i] * means[i];
    std::copy_n(squares, inputs, z_second.begin() + row * inputs);
  }

  void set_constant(Size row) {
    const Size place = row * inputs + in - 1;
    z[place] = z_square[place] = z_second[place] = 1;
    u[place] = 0;
  }

  // Computes a and v of each row.
  void forward(Size count) {
    if (last) return forward_last(count);
    const Matrix<Real> means = {a.data(), units}, variances = {v.data(), units};
    product<Real>(count, in, columns, {z.data(), inputs, 1}, matrix(loc), means);
    product<Real>(count, in, columns, {z_second.data(), inputs, 1}, matrix(var), variances);
    if (first) return;
    product<Real>(count, in, columns, {u.data(), inputs, 1}, matrix(loc_square), variances, true);
  }

  void forward_last(Size count) {
    for (Size b = 0; b < count; ++b)
      for (Size o = 0; o < out; ++o) {
        const Size from = b * inputs, to = b * units + o, row = o * columns;
        a[to] = dot(&z[from], &loc[row], inputs);
        v[to] = dot(&z_second[from], &var[row], inputs);
        if (!first) v[to] += dot(&u[from], &loc_square[row], inputs);
      }
  }

  // Computes the inputs of the next layer.
  void rectify(Size count, Layer &next) const {
    for (Size b = 0; b < count; ++b) {
      const Real *mean = &a[b * units], *variance = &v[b * units];
      const Size to = b * next.inputs;
      Real *z_ = &next.z[to], *u_ = &next.u[to];
      Real *square = &next.z_square[to], *second = &next.z_second[to];
      SIMD for (Size o = 0; o < units; ++o) {
        const Real above = mean[o] < 0 ? 0 : mean[o];  // NaN is preserved
        z_[o] = above;
        u_[o] = variance[o] * (mean[o] > 0 ? Real(1) : Real(0));
        square[o] = above * above;
        second[o] = square[o] + u_[o];
      }
      next.set_constant(b);
    }
  }

  // Computes d and e of the layer before.
  void back(Size count, Layer &before) {
    const Matrix<Real> d_before = {before.a.data(), before.units};
    const Matrix<Real> e_before = {before.v.data(), before.units};
    product<Real>(count, out, before.units, {a.data(), units, 1}, by_unit(loc), d_before);
    product<Real>(count, out, before.units, {v.data(), units, 1}, by_unit(loc_square), e_before);
    for (Size b = 0; b < count; ++b) {
      const Real *mean = &z[b * inputs];
      Real *d = &before.a[b * before.units], *e = &before.v[b * before.units];
      SIMD for (Size i = 0; i < before.units; ++i) {
        const Real active = mean[i] > 0 ? 1 : 0;
        d[i] *= active;
        e[i] *= active;
      }
      for (Size i = before.out; i < before.units; ++i) d[i] = e[i] = 0;
    }
  }

  // Computes the sums of a minibatch over the rows of a block, after those of earlier blocks.
  void collect(Size count, bool add) {
    const Matrix<Real> to_loc = {by_loc.data(), columns}, to_var = {by_var.data(), columns};
    if (last) {
      product<Real>(rows, count, columns, {a.data(), 1, units}, {z.data(), inputs}, to_loc, add);
      product<Real>(rows, count, columns, {v.data(), 1, units}, {z_square.data(), inputs}, to_var,
                    add);
    } else {
      product<Real>(rows, count, columns, {z.data(), 1, inputs}, {a.data(), units}, to_loc, add);
      product<Real>(rows, count, columns, {z_square.data(), 1, inputs}, {v.data(), units}, to_var,
                    add);
    }
  }

  // Changes the weights' moments, each at most by `limit` standard deviations. NaN is preserved.
  void update(Real limit) {
    for (Size r = 0; r < rows; ++r) {
      Real *M = &loc[r * columns], *V = &var[r * columns], *square = &loc_square[r * columns];
      const Real *shifts = &by_loc[r * columns], *bends = &by_var[r * columns];
      SIMD for (Size c = 0; c < columns; ++c) {
        const Real largest = limit * std::sqrt(V[c]);
        const Real shift = V[c] * shifts[c], change = V[c] * V[c] * bends[c];
        const Real low = shift < -largest ? -largest : shift;
        const Real lower = change < -largest ? -largest : change;
        const Real mean = M[c] + (low > largest ? largest : low);
        const Real variance = V[c] + (lower > largest ? largest : lower);
        M[c] = mean;
        V[c] = variance < 0 ? Real(RESET_VARIANCE) : variance;
        square[c] = mean * mean;
      }
    }
  }
};

// --- a network

// The same fields in the same order as in bnnbench/native/passes.py. Numbers
// are floats or doubles.
struct ConditioningArguments {
  const Size *sizes;              // inputs, units of every hidden layer, one or two outputs
  Size layers, sets;
  const void *inputs, *targets;   // [sets, length, D] and [sets, length]
  const void *noise;              // [sets], variance; null if the second output predicts it
  const Size *counts;             // [sets], real rows; the rows after them are padding
  Size length, batch;             // `batch` rows are a minibatch
  void *loc, *var;                // [sets, weights]
  bool *alive;                    // [sets]; the others are not changed
  const Size *order;              // [orders, length]; set r uses order r % orders
  Size orders;
  double limit;                   // of changes, in standard deviations
  bool doubles;                   // whether numbers are doubles
};

template <class Real>
class Network {
 public:
  Network(const Size *sizes, Size layers) {
    for (Size l = 0; l < layers; ++l) {
      layers_.emplace_back(sizes[l], sizes[l + 1], l == 0, l + 1 == layers);
      n_ += layers_[l].weights();
    }
  }

  Size n_weights() const { return n_; }

  void load(const Real *loc, const Real *var) {
    for (Layer<Real> &layer : layers_) {
      layer.load(loc, var);
      loc += layer.weights(), var += layer.weights();
    }
  }

  void save(Real *loc, Real *var) const {
    for (const Layer<Real> &layer : layers_) {
      layer.save(loc, var);
      loc += layer.weights(), var += layer.weights();
    }
  }

  void put(Size row, const Real *inputs) { layers_.front().put(row, inputs); }

  // Computes the moments of the outputs of the rows that were put, and returns the last layer.
  Layer<Real> &forward(Size count) {
    for (size_t l = 0; l < layers_.size(); ++l) {
      layers_[l].forward(count);
      if (l + 1 < layers_.size()) layers_[l].rectify(count, layers_[l + 1]);
    }
    return layers_.back();
  }

  // Adds the changes by a block of rows to those of the minibatch, given d and e of the outputs.
  void backward(Size count, bool add) {
    for (size_t l = layers_.size(); l-- > 0;) {
      layers_[l].collect(count, add);
      if (l > 0) layers_[l].back(count, layers_[l - 1]);
    }
  }

  void update(Real limit) {
    for (Layer<Real> &layer : layers_) layer.update(limit);
  }

 private:
  std::vector<Layer<Real>> layers_;
  Size n_ = 0;
};

// Replaces the moments of the outputs of one row by d and e.
template <class Real>
void condition(Real *a, Real *v, Real target, const Real *fixed) {
  const Real noise =
      fixed ? *fixed : Real(portable_exp(a[1] + Real(0.5) * v[1]));  // E[exp(output)]
  const Real precision = 1 / (v[0] + noise), residual = (target - a[0]) * precision;
  if (!fixed) {
    // The noise w ~ Normal(0, noise) given the target, its square, and the square's prior.
    const Real w_loc = noise * residual, w_square = w_loc * w_loc;
    const Real w_var = noise - noise * noise * precision;
    const Real noise_var = noise * noise * Real(portable_expm1(v[1]));
    const Real square_var = 3 * noise_var + 2 * (noise * noise), gain = noise / square_var;
    const Real posterior_var = 2 * (w_var * w_var) + 4 * w_square * w_var;
    a[1] = gain * (w_square + w_var - noise);
    v[1] = gain * gain * (posterior_var - square_var);
  }
  a[0] = residual;
  v[0] = -precision;
}

// Conditions a network on all minibatches; returns whether it is still finite.
template <class Real>
bool run_pass(const ConditioningArguments &all, Network<Real> &network, Size set) {
  const Real *inputs = static_cast<const Real *>(all.inputs) + set * all.length * all.sizes[0];
  const Real *targets = static_cast<const Real *>(all.targets) + set * all.length;
  const Real *noise = all.noise ? static_cast<const Real *>(all.noise) + set : nullptr;
  const Size n = network.n_weights(), count = all.counts[set];
  Real *loc = static_cast<Real *>(all.loc) + set * n, *var = static_cast<Real *>(all.var) + set * n;
  const Size *order = all.order + set % all.orders * all.length;
  std::vector<Size> rows;
  std::copy_if(order, order + all.length, std::back_inserter(rows),
               [=](Size row) { return row < count; });
  network.load(loc, var);
  for (Size first = 0; first < count; first += all.batch) {
    const Size end = std::min(count, first + all.batch);
    for (Size b = first, size; b < end; b += size) {
      size = std::min(BLOCK, end - b);
      for (Size k = 0; k < size; ++k) network.put(k, inputs + rows[b + k] * all.sizes[0]);
      Layer<Real> &outputs = network.forward(size);
      for (Size k = 0; k < size; ++k)
        condition(&outputs.a[k * outputs.units], &outputs.v[k * outputs.units],
                  targets[rows[b + k]], noise);
      network.backward(size, b > first);
    }
    network.update(Real(all.limit));
  }
  network.save(loc, var);
  const auto finite = [](Real x) { return std::isfinite(x); };
  return std::all_of(loc, loc + n, finite) && std::all_of(var, var + n, finite);
}

template <class Real>
void run_passes(const ConditioningArguments &given) {
  Network<Real> network(given.sizes, given.layers);
  for (Size set = 0; set < given.sets; ++set)
    if (given.alive[set]) given.alive[set] = run_pass(given, network, set);
}

template <class Real>
void predict(const Size *sizes, Size layers, Size sets, Size rows, const Real *inputs,
             const Real *loc, const Real *var, Real *mean, Real *variance) {
  Network<Real> network(sizes, layers);
  const Size outputs = sizes[layers];
  for (Size set = 0; set < sets; ++set) {
    network.load(loc + set * network.n_weights(), var + set * network.n_weights());
    for (Size b = 0, size; b < rows; b += size) {
      size = std::min(BLOCK, rows - b);
      for (Size k = 0; k < size; ++k) network.put(k, inputs + (set * rows + b + k) * sizes[0]);
      const Layer<Real> &last = network.forward(size);
      for (Size k = 0; k < size; ++k) {
        const Size to = (set * rows + b + k) * outputs;
        std::copy_n(&last.a[k * last.units], outputs, mean + to);
        std::copy_n(&last.v[k * last.units], outputs, variance + to);
      }
    }
  }
}

}  // namespace

// One pass over the data for all networks that are alive. A network that is not finite afterwards
// is no longer alive. Returns 1 if memory is insufficient, else 0.
extern "C" int condition_networks(const ConditioningArguments *given) try {
  given->doubles ? run_passes<double>(*given) : run_passes<float>(*given);
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}

// Moments [sets, rows, O] of the outputs for inputs [sets, rows, D], given the moments of the
// weights [sets, weights]. Returns 1 if memory is insufficient, else 0.
extern "C" int linearised_moments(const Size *sizes, Size layers, Size sets, Size rows, bool doubles,
                                  const void *inputs, const void *loc, const void *var, void *mean,
                                  void *variance) try {
  const auto call = [=](auto zero) {
    using Real = decltype(zero);
    predict(sizes, layers, sets, rows, static_cast<const Real *>(inputs),
            static_cast<const Real *>(loc), static_cast<const Real *>(var),
            static_cast<Real *>(mean), static_cast<Real *>(variance));
  };
  doubles ? call(0.0) : call(0.0f);
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}
