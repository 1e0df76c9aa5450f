// The joint step of the M networks of a training set that follow their scores and repel each other.
//
// bnnbench/methods/shared/particles.py defines the drifts. With the gradients g_j, which are minus
// the scores, the centred particles c_j and N training rows, each drift is
//
//     -drift_i = sum_j A_ij g_j - 1 / (N h^2) sum_j B_ij c_j
//
//     svgd      A = K / M     B = (R - K) / M
//     kde_wgd   A = 1         B = 1 - R^-1 K
//     sge_wgd   A = 1         B = (K + eta)^-1 (R - K)
//
// with the kernel matrix K of bandwidth h and its row sums in the diagonal matrix R. The rows of B
// add up to zero. In `function`, c_j are the outputs of network j, and the second term of `kde_wgd`
// is added to the gradients at the outputs.

#pragma once

#include "network.h"

namespace {

// In the order of NATIVE_DRIFTS in bnnbench/methods/svgd.py.
enum class Drift { svgd, kde_wgd, sge_wgd, function };

constexpr float ETA = 0.01f;

class Repulsion {
 public:
  Repulsion(Size members, Size coordinates)
      : members_(members), centred_(members * coordinates + SLACK), across_(centred_.size()),
        moves_(centred_.size()), mean_(coordinates), products_(members * members + SLACK),
        kernel_(products_.size()), factors_(products_.size()), sums_(members),
        left_(members * members), right_(members * members) {}

  // Adds the repulsion of particles [M, n], times `weight`, to their gradients [M, n]. For `svgd` it
  // replaces the gradients by a mixture, for which `spare` [M, n] is scratch space. All three are
  // followed by SLACK numbers.
  void apply(Drift drift, Size n, const float *particles, float weight, Floats &gradients,
             Floats &spare) {
    centre(particles, n);
    compare(n);
    set_factors(drift);
    if (drift == Drift::svgd) {
      for (float &value : kernel_) value /= members_;
      product(members_, members_, n, {kernel_.data(), members_, 1}, {gradients.data(), n},
              spare.data(), n);
      gradients.swap(spare);
    }
    product(members_, members_, n, {factors_.data(), members_, 1}, {centred_.data(), n},
            moves_.data(), n);
    float *__restrict to = gradients.data();
    const float *__restrict moves = moves_.data();
    const float square = bandwidth_;
    for (Size i = 0; i < members_ * n; ++i) to[i] -= weight * (moves[i] / square);
  }

 private:
  // Centred, since a large common offset would cancel badly.
  void centre(const float *__restrict particles, Size n) {
    float *__restrict mean = mean_.data();
    std::copy_n(particles, n, mean);
    for (Size m = 1; m < members_; ++m)
      for (Size i = 0; i < n; ++i) mean[i] += particles[m * n + i];
    for (Size i = 0; i < n; ++i) mean[i] /= members_;
    for (Size m = 0; m < members_; ++m) {
      float *__restrict to = &centred_[m * n];
      for (Size i = 0; i < n; ++i) to[i] = particles[m * n + i] - mean[i];
    }
  }

  // The kernel matrix, its row sums, and the squared bandwidth.
  void compare(Size n) {
    const Size m = members_;
    transpose(centred_.data(), m, n, across_.data(), m);
    product(m, n, m, {across_.data(), 1, m}, {across_.data(), m}, products_.data(), m);
    pairs_.clear();
    for (Size i = 0; i < m; ++i)
      for (Size j = 0; j < m; ++j) {
        const float *of = products_.data();
        const float apart = of[i * m + i] + of[j * m + j] - 2 * of[i * m + j];
        kernel_[i * m + j] = i == j || apart < 0 ? 0 : apart;  // preserves NaN
        if (i < j) pairs_.push_back(kernel_[i * m + j]);
      }
    bandwidth_ = 0.5f * median() / float(portable_log(m + 1));
    if (bandwidth_ < MIN_BANDWIDTH) bandwidth_ = MIN_BANDWIDTH;
    for (Size i = 0; i < m * m; i += LANE)
      store(&kernel_[i], exponential(-0.5f * load(&kernel_[i]) / bandwidth_));
    for (Size i = 0; i < m; ++i) {
      sums_[i] = 0;
      for (Size j = 0; j < m; ++j) sums_[i] += kernel_[i * m + j];
    }
  }

  // Of all M^2 squared distances: M zeros, and each pair twice.
  float median() {
    const Size count = members_ * members_;
    return 0.5f * (ordered((count - 1) / 2) + ordered(count / 2));
  }

  // The squared distance at a place in ascending order, NaN last.
  float ordered(Size place) {
    if (place < members_) return 0;
    const auto before = [](float a, float b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
    const auto found = pairs_.begin() + (place - members_) / 2;
    std::nth_element(pairs_.begin(), found, pairs_.end(), before);
    return *found;
  }

  void set_factors(Drift drift) {
    const Size m = members_;
    for (Size i = 0; i < m; ++i)
      for (Size j = 0; j < m; ++j) {
        const float one = i == j, value = kernel_[i * m + j];
        const float of_sums = one * sums_[i] - value;
        factors_[i * m + j] =
            drift == Drift::svgd ? of_sums / m : one - value / sums_[i];
        left_[i * m + j] = value + one * ETA;
        right_[i * m + j] = of_sums;
      }
    if (drift != Drift::sge_wgd) return;
    solve();
    std::copy(right_.begin(), right_.end(), factors_.begin());
  }

  // Replaces the right-hand sides by the solution, by Gaussian elimination. The matrix is positive
  // definite, so it needs no pivots.
  void solve() {
    const Size m = members_;
    for (Size k = 0; k < m; ++k)
      for (Size i = k + 1; i < m; ++i) {
        const double factor = left_[i * m + k] / left_[k * m + k];
        for (Size j = k + 1; j < m; ++j) left_[i * m + j] -= factor * left_[k * m + j];
        for (Size j = 0; j < m; ++j) right_[i * m + j] -= factor * right_[k * m + j];
      }
    for (Size k = m - 1; k >= 0; --k) {
      for (Size j = 0; j < m; ++j) right_[k * m + j] /= left_[k * m + k];
      for (Size i = 0; i < k; ++i)
        for (Size j = 0; j < m; ++j) right_[i * m + j] -= left_[i * m + k] * right_[k * m + j];
    }
  }

  static constexpr float MIN_BANDWIDTH = 1.17549435e-38f;  // a single particle has no distances

  const Size members_;
  Floats centred_, across_, moves_;  // [M, n] and its transpose; their products with the factors
  Floats mean_;                      // of the particles
  Floats products_, kernel_;         // [M, M]; the kernel matrix, at first the squared distances
  Floats factors_, sums_;            // B [M, M]; row sums of the kernel matrix
  std::vector<double> left_, right_;
  std::vector<float> pairs_;  // squared distances
  float bandwidth_ = 0;       // squared
};

// The prior of a learned precision; both are zero if it is not learned.
struct Gamma {
  float shape, rate;
  bool learned() const { return shape > 0; }
};

// What the particles of a training set share: the number of its rows, and the precisions that are
// not learned.
struct Shared {
  float rows, noise, prior;
};

class Particles {
 public:
  // own: the drift, and the Gamma distributions of the precisions of the prior and of the noise.
  Particles(const Network &network, Size members, Size rows, const double *own)
      : n_(network.n_weights), members_(members), drift_(Drift(int(own[0]))),
        of_prior_{float(own[1]), float(own[2])}, of_noise_{float(own[3]), float(own[4])},
        coordinates_(n_ + of_noise_.learned() + of_prior_.learned()), weights_(n_ + SLACK),
        gradients_(members * coordinates_ + SLACK), spare_(gradients_.size()),
        outputs_(members * rows * network.outputs() + SLACK), slopes_(outputs_.size()),
        repulsion_(members, std::max(coordinates_, rows * network.outputs())) {}

  // Numbers of all particles: weights, then logarithms of learned precisions, of each.
  Size size() const { return members_ * coordinates_; }

  // Minus the drift of the particles [M, Q] divided by the number of training rows.
  float *descent(Network &network, const Rows &batch, const float *particles, Shared shared) {
    const Size of_one = batch.count * network.outputs();
    if (drift_ == Drift::function) {
      for (Size m = 0; m < members_; ++m)
        network.evaluate(weights_of(particles, m), batch, &outputs_[m * of_one]);
      std::fill(slopes_.begin(), slopes_.end(), 0.0f);
      repulsion_.apply(Drift::kde_wgd, of_one, outputs_.data(), 1 / shared.rows, slopes_, spare_);
    }
    for (Size m = 0; m < members_; ++m) {
      const float *slopes = drift_ == Drift::function ? &slopes_[m * of_one] : nullptr;
      differentiate(network, batch, particles, m, shared, slopes);
    }
    if (drift_ != Drift::function)
      repulsion_.apply(drift_, coordinates_, particles, 1 / shared.rows, gradients_, spare_);
    return gradients_.data();
  }

 private:
  // A copy, which is followed by SLACK numbers.
  const float *weights_of(const float *particles, Size m) {
    std::copy_n(particles + m * coordinates_, n_, weights_.begin());
    return weights_.data();
  }

  // Minus the score of particle m, divided by the number of training rows. `slopes` [rows, outputs]
  // are added to the derivatives at the outputs.
  void differentiate(Network &network, const Rows &batch, const float *particles, Size m,
                     Shared shared, const float *slopes) {
    const float *own = particles + m * coordinates_, *w = weights_of(particles, m);
    float *to = &gradients_[m * coordinates_], rows = shared.rows;
    const float noise = of_noise_.learned() ? float(portable_exp(own[n_])) : shared.noise;
    const float prior =
        of_prior_.learned() ? float(portable_exp(own[coordinates_ - 1])) : shared.prior;
    const float loss = network.gradient(w, batch, noise, Mask{}, to, slopes);
    const float decay = prior / rows;
    for (Size i = 0; i < n_; ++i) to[i] += decay * w[i];
    if (of_noise_.learned())  // the loss is precision / 2 times the mean squared error
      to[n_] = loss - 0.5f - (of_noise_.shape - of_noise_.rate * noise) / rows;
    if (of_prior_.learned())
      to[coordinates_ - 1] = decay * (0.5f * dot(w, w, n_) + of_prior_.rate) -
                             (0.5f * n_ + of_prior_.shape) / rows;
  }

  const Size n_, members_;
  const Drift drift_;
  const Gamma of_prior_, of_noise_;
  const Size coordinates_;
  Floats weights_;             // of one particle
  Floats gradients_, spare_;   // [M, Q]
  Floats outputs_, slopes_;    // [M, rows, outputs]
  Repulsion repulsion_;
};

}  // namespace
