// The joint step of the M networks of a training set that follow their scores and repel each other.
//
// bnnbench/methods/svgd.py defines the drifts. With the gradients g_j, which are minus
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

constexpr double ETA = 0.01;

// sum += factor values, rounded twice.
void add_scaled(Size n, float factor, const float *__restrict values, float *__restrict sum) {
  for (Size i = 0; i < n; ++i) sum[i] += factor * values[i];
}

class Repulsion {
 public:
  Repulsion(Size members, Size coordinates)
      : members_(members), row_((coordinates + PARTS - 1) / PARTS * PARTS),
        centred_(members * row_ + SLACK), mean_(row_), kernel_(members * members + SLACK),
        factors_(kernel_.size()), sums_(members) {}

  // Adds the repulsion of particles [M, n], times `weight`, to their gradients [M, n]. For `svgd`
  // it also replaces the gradients by a mixture; `spare` [M, n] is scratch space. The last two are
  // followed by SLACK numbers.
  void apply(Drift drift, Size n, const float *particles, float weight, Floats &gradients,
             Floats &spare) {
    centre(particles, n);
    compare(n);
    weight /= bandwidth_;
    if (drift == Drift::svgd) return mix(n, weight, gradients, spare);
    if (drift == Drift::kde_wgd)
      set_by_density();
    else
      set_by_stein();
    for (float &factor : factors_) factor *= -weight;
    product(members_, members_, n, {factors_.data(), members_, 1}, {centred_.data(), row_},
            gradients.data(), n, true);
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
      float *__restrict to = &centred_[m * row_];
      for (Size i = 0; i < n; ++i) to[i] = particles[m * n + i] - mean[i];
      std::fill(to + n, to + row_, 0.0f);
    }
  }

  // The kernel matrix, its row sums, and the squared bandwidth.
  void compare(Size n) {
    const Size m = members_;
    set_products((n + PARTS - 1) / PARTS * PARTS);
    for (Size i = 0; i < m; ++i) sums_[i] = kernel_[i * m + i];
    pairs_.clear();
    for (Size i = 0; i < m; ++i) {
      kernel_[i * m + i] = 0;
      for (Size j = 0; j < i; ++j) {
        const float apart = sums_[i] + sums_[j] - 2 * kernel_[i * m + j];
        pairs_.push_back(apart < 0 ? 0 : apart);  // preserves NaN
        kernel_[i * m + j] = kernel_[j * m + i] = pairs_.back();
      }
    }
    bandwidth_ = 0.5f * median() / float(portable_log(m + 1));
    if (bandwidth_ < MIN_BANDWIDTH) bandwidth_ = MIN_BANDWIDTH;
    for (Size i = 0; i < m * m; i += LANE)
      store(&kernel_[i], exponential(-0.5f * load(&kernel_[i]) / bandwidth_));
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    for (Size i = 0; i < m; ++i)  // of columns, since the matrix is symmetric
      for (Size j = 0; j < m; ++j) sums_[j] += kernel_[i * m + j];
  }

  // The scalar products c_i c_j for j <= i, in pairs of particles, which saves half of the loads.
  void set_products(Size padded) {
    constexpr int LANES = PARTS / LANE;
    for (Size i = 0; i < members_; i += 2)
      for (Size j = 0; j <= i; j += 2) {
        const Size of[] = {i, std::min(i + 1, members_ - 1), j, std::min(j + 1, members_ - 1)};
        const float *from[4];
        for (int k = 0; k < 4; ++k) from[k] = &centred_[of[k] * row_];
        Lane sum[2][2][LANES] = {};
        for (Size q = 0; q < padded; q += LANE * LANES)
          UNROLLED
          for (int l = 0; l < LANES; ++l) {
            const Size place = q + l * LANE;
            const Lane a = load(from[0] + place), b = load(from[1] + place);
            const Lane c = load(from[2] + place), d = load(from[3] + place);
            sum[0][0][l] = fused(a, c, sum[0][0][l]);
            sum[0][1][l] = fused(a, d, sum[0][1][l]);
            sum[1][0][l] = fused(b, c, sum[1][0][l]);
            sum[1][1][l] = fused(b, d, sum[1][1][l]);
          }
        for (int k = 0; k < 4; ++k)
          kernel_[of[k / 2] * members_ + of[2 + k % 2]] = sum_by_halves<PARTS>(sum[k / 2][k % 2]);
      }
  }

  // Of all M^2 squared distances: M zeros, and each pair twice.
  float median() {
    const Size count = members_ * members_, upper = count / 2, lower = (count - 1) / 2;
    if (upper < members_) return 0;
    const auto before = [](float a, float b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
    const auto found = pairs_.begin() + (upper - members_) / 2;
    std::nth_element(pairs_.begin(), found, pairs_.end(), before);
    if (lower < members_) return 0.5f * *found;
    if ((lower - members_) / 2 == (upper - members_) / 2) return *found;
    return 0.5f * (*std::max_element(pairs_.begin(), found, before) + *found);
  }

  // In a sum over j, the gradients and the particles have the same factor unless j = i. A few
  // coordinates at a time stay in the first-level cache.
  void mix(Size n, float weight, Floats &gradients, Floats &spare) {
    for (float &value : kernel_) value /= members_;
    for (Size first = 0, count; first < n; first += count) {
      count = piece(n - first, CACHED_COORDINATES);
      for (Size m = 0; m < members_; ++m)
        add_scaled(count, weight, &centred_[m * row_ + first], &gradients[m * n + first]);
      product(members_, members_, count, {kernel_.data(), members_, 1}, {&gradients[first], n},
              &spare[first], n);
      for (Size m = 0; m < members_; ++m)
        add_scaled(count, -weight * sums_[m] / members_, &centred_[m * row_ + first],
                   &spare[m * n + first]);
    }
    gradients.swap(spare);
  }

  // The factors B of `kde_wgd`.
  void set_by_density() {
    for (Size i = 0; i < members_; ++i)
      for (Size j = 0; j < members_; ++j)
        factors_[i * members_ + j] = float(i == j) - kernel_[i * members_ + j] / sums_[i];
  }

  // The factors B of `sge_wgd`, by Gaussian elimination in float64. The matrix is positive
  // definite, so it needs no pivots.
  void set_by_stein() {
    const Size m = members_;
    left_.assign(kernel_.begin(), kernel_.begin() + m * m);
    right_.resize(m * m);
    for (Size i = 0; i < m * m; ++i) right_[i] = -left_[i];
    for (Size i = 0; i < m; ++i) {
      left_[i * m + i] += ETA;
      right_[i * m + i] += sums_[i];
    }
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
    std::copy(right_.begin(), right_.end(), factors_.begin());
  }

  static constexpr Size CACHED_COORDINATES = 128;
  static constexpr float MIN_BANDWIDTH = 1.17549435e-38f;  // a single particle has no distances

  const Size members_, row_;  // numbers between the centred particles
  Floats centred_, mean_;     // [M, row], whose rest is zero; mean of the particles
  Floats kernel_, factors_;   // [M, M]: the squared distances, then K; B, then the factors of c_j
  Floats sums_;               // the squared norms of c_j, then row sums of K
  std::vector<float> pairs_;  // squared distances
  std::vector<double> left_, right_;
  float bandwidth_ = 0;  // squared
};

// The prior of a learned precision; both are NaN if it is not learned.
struct Gamma {
  float shape, rate;
  bool learned() const { return !std::isnan(shape); }
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
        outputs_(members * functions(network, rows) + SLACK), slopes_(outputs_.size()),
        repulsion_(members, std::max(coordinates_, functions(network, rows))) {}

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
  // How many outputs of each network are particles, at most.
  Size functions(const Network &network, Size rows) const {
    return drift_ == Drift::function ? rows * network.outputs() : 0;
  }

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
