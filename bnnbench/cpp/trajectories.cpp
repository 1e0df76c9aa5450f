// Trajectories of Hamiltonian dynamics through the posteriors of many small networks: whole
// trajectories of leapfrogs in one call, each network with its own step size and number of steps.
//
// The potential energy of weights w is f_1 E_1 + f_2 E_2, the loss of all rows and |w|^2 / 2 with
// their factors. One output is the mean of a Gaussian, E_1 half the sum of squared errors and f_1
// the noise precision; of two E_1 is the negative log-likelihood and f_1 is 1. A leapfrog of size e:
//
//     p <- p - e/2 U'(w),   w <- w + e p,   p <- p - e/2 U'(w)
//
// where the last half step of p and the first of the next leapfrog are taken as one. What is added
// up to an energy is added in double precision.

#include <new>

#include "network.h"

// As bnnbench.native.trajectories fills it: C chains of each of several training sets.
struct Trajectories {
  const Size *sizes;
  Size layers, chains, sets, length;
  const float *inputs, *targets;  // [sets, length, D] and [sets, length]
  const Size *counts;             // [sets], real rows: those behind them are padding
  const double *factors;          // [2, chains, sets]
  const double *step;             // [chains, sets], sizes
  const Size *steps;              // [chains, sets], at least 1
  float *position, *momentum;     // [chains, sets, P], changed in place
  double *before, *after;         // [2, chains, sets], parts of the energy without their factors
};

namespace {

double half_square(const float *values, Size n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Size i = 0; i < n; ++i) sum += double(values[i]) * values[i];
  return 0.5 * sum;
}

// Floats of activations at a time, 24 kB: all that a step touches stays in the first-level cache.
constexpr Size BLOCK = 6000;

class Mover {
 public:
  explicit Mover(const Trajectories &given)
      : all_(given), network_(given.sizes, given.layers, given.length, BLOCK), n_(network_.n_weights),
        rows_(network_.room_for(given.length)), w_(n_ + SLACK), slope_(n_ + SLACK) {}

  void move_all() {
    for (Size set = 0; set < all_.sets; ++set) {
      gather(set);
      for (Size chain = 0; chain < all_.chains; ++chain) move(chain * all_.sets + set);
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
  }

  // One chain of the training set that was gathered.
  void move(Size place) {
    const Size all = all_.chains * all_.sets;
    float *__restrict p = all_.momentum + place * n_;
    float *__restrict w = w_.data();
    const float *__restrict slope = slope_.data();
    const float noise = float(all_.factors[place]), prior = float(all_.factors[all + place]);
    const float whole = float(all_.step[place]), half = 0.5f * whole;
    std::copy_n(all_.position + place * n_, n_, w);
    energies(all_.before + place, all);
    network_.gradient(w, rows_, noise, {}, slope_.data());
    for (Size i = 0; i < n_; ++i) p[i] -= half * (slope[i] + prior * w[i]);
    for (Size taken = 1; taken <= all_.steps[place]; ++taken) {
      const float kick = taken < all_.steps[place] ? whole : half;
      for (Size i = 0; i < n_; ++i) w[i] += whole * p[i];
      network_.gradient(w, rows_, noise, {}, slope_.data());
      for (Size i = 0; i < n_; ++i) p[i] -= kick * (slope[i] + prior * w[i]);
    }
    energies(all_.after + place, all);
    std::copy_n(w, n_, all_.position + place * n_);
  }

  void energies(double *out, Size apart) {
    out[0] = network_.loss(w_.data(), rows_);
    out[apart] = half_square(w_.data(), n_);
  }

  const Trajectories &all_;
  Network network_;
  const Size n_;
  Rows rows_;
  Floats w_, slope_;
};

}  // namespace

// Returns 1 if there is too little memory, else 0.
extern "C" int take_trajectories(const Trajectories *given) try {
  Mover(*given).move_all();
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}
