// Trajectories of Hamiltonian dynamics in the posteriors of many small networks. One call runs all
// leapfrog steps of a trajectory; each network has its own step size and number of steps.
//
// The potential energy of weights w is U(w) = f_1 E_1 + f_2 E_2, with E_1 the loss of all rows and
// E_2 = |w|^2 / 2. With one output, the mean of a Gaussian, E_1 is half the sum of squared errors
// and f_1 the noise precision; with two outputs E_1 is the negative log-likelihood and f_1 is 1. A
// leapfrog step of size e is
//
//     p <- p - e/2 B U'(w),   w <- w + e B p,   p <- p - e/2 B U'(w)
//
// The last half step of p and the first half step of the next leapfrog are merged. B is a symmetric
// matrix per layer, the same for all its units, or the identity. Energies are summed in double
// precision.

#include <new>

#include "network.h"

// The same fields in the same order as in bnnbench/native/trajectories.py: C chains per training
// set.
struct Trajectories {
  const Size *sizes;
  Size layers, chains, sets, length;
  Size softplus;                  // whether a second output is the variance through a softplus
  const float *inputs, *targets;  // [sets, length, D] and [sets, length]
  const Size *counts;             // [sets], real rows; the rows after them are padding
  const double *factors;          // [2, chains, sets], f_1 and f_2
  const double *step;             // [chains, sets], step sizes
  const Size *steps;              // [chains, sets], numbers of steps, at least 1
  const float *roots;             // B of each set, layer after layer, or null
  float *position, *momentum;     // [chains, sets, P], changed in place
  double *before, *after;         // [2, chains, sets], E_1 and E_2 at both ends
};

namespace {

// Every eighth square is added to the same partial sum, whatever the width of a register.
double half_square(const float *values, Size n) {
  constexpr int PARTS = 8;
  double parts[PARTS] = {};
  Size i = 0;
  for (; i + PARTS <= n; i += PARTS)
    for (int p = 0; p < PARTS; ++p) parts[p] += double(values[i + p]) * values[i + p];
  for (int p = 0; i < n; ++i, ++p) parts[p] += double(values[i]) * values[i];
  for (int p = 1; p < PARTS; ++p) parts[0] += parts[p];
  return 0.5 * parts[0];
}

// Activations processed at a time, 24 kB, so that all data of a step fit in the first-level cache.
constexpr Size BLOCK = 6000;

class Integrator {
 public:
  explicit Integrator(const Trajectories &given)
      : all_(given), network_(given.sizes, given.layers, given.length, given.softplus, BLOCK), n_(network_.n_weights),
        rows_(network_.room_for(given.length)), w_(n_ + SLACK), p_(n_ + SLACK), slope_(n_ + SLACK),
        shaped_(n_ + SLACK) {
    for (const Layer &layer : network_.layers()) roots_size_ += layer.in * layer.in;
  }

  void run() {
    for (Size set = 0; set < all_.sets; ++set) {
      gather(set);
      for (Size chain = 0; chain < all_.chains; ++chain)
        integrate(chain * all_.sets + set, all_.roots ? all_.roots + set * roots_size_ : nullptr);
    }
  }

 private:
  void gather(Size set) {
    const Size features = all_.sizes[0];
    rows_.count = all_.counts[set];
    for (Size i = 0; i < rows_.count; ++i) {
      const Size row = set * all_.length + i;
      rows_.put(i, all_.inputs + row * features, features, all_.targets[row], 1.0f);
    }
    rows_.put_across();
  }

  // Runs one chain on the gathered training set.
  void integrate(Size place, const float *roots) {
    const Size all = all_.chains * all_.sets;
    float *__restrict p = p_.data();
    float *__restrict w = w_.data();
    const float noise = float(all_.factors[place]), prior = float(all_.factors[all + place]);
    const float whole = float(all_.step[place]), half = 0.5f * whole;
    std::copy_n(all_.position + place * n_, n_, w);
    std::copy_n(all_.momentum + place * n_, n_, p);
    energies(all_.before + place, all);
    kick(half, noise, prior, roots);
    for (Size taken = 1; taken <= all_.steps[place]; ++taken) {
      const float *__restrict velocity = multiply_by_roots(roots, p_);
      for (Size i = 0; i < n_; ++i) w[i] += whole * velocity[i];
      kick(taken < all_.steps[place] ? whole : half, noise, prior, roots);
    }
    energies(all_.after + place, all);
    std::copy_n(w, n_, all_.position + place * n_);
    std::copy_n(p, n_, all_.momentum + place * n_);
  }

  void kick(float size, float noise, float prior, const float *roots) {
    float *__restrict p = p_.data();
    float *__restrict slope = slope_.data();
    const float *__restrict w = w_.data();
    network_.gradient(w, rows_, noise, {}, slope);
    for (Size i = 0; i < n_; ++i) slope[i] += prior * w[i];
    const float *__restrict force = multiply_by_roots(roots, slope_);
    for (Size i = 0; i < n_; ++i) p[i] -= size * force[i];
  }

  // B times a vector, or the vector itself without roots.
  const float *multiply_by_roots(const float *roots, const Floats &vector) {
    if (!roots) return vector.data();
    const float *from = vector.data();
    float *to = shaped_.data();
    for (const Layer &layer : network_.layers()) {
      const auto [in, out] = layer;
      product(in, in, out, {roots, in, 1}, {from, out}, to, out);
      roots += in * in;
      from += layer.weights();
      to += layer.weights();
    }
    return shaped_.data();
  }

  void energies(double *out, Size apart) {
    out[0] = network_.loss(w_.data(), rows_);
    out[apart] = half_square(w_.data(), n_);
  }

  const Trajectories &all_;
  Network network_;
  const Size n_;
  Rows rows_;
  Floats w_, p_, slope_, shaped_;
  Size roots_size_ = 0;
};

}  // namespace

// Returns 1 if memory is insufficient, else 0.
extern "C" int take_trajectories(const Trajectories *given) try {
  Integrator(*given).run();
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}
