// Gradients of many small networks averaged over sampled weights, and the update rules of methods.
// The forward and backward pass of a single network is in network.h.
//
// The weights w = loc + scale e are sampled S times. Their gradients g have three means of
// interest: those of g, g^2 and g e. `gradient_moments` returns them for one minibatch;
// `train_epochs` applies one of the update rules below to the minibatches of whole epochs. Networks
// are processed one after the other.

#include <new>

#include "energy.h"
#include "moments.h"
#include "network.h"
#include "particles.h"
#include "random.h"
#include "squares.h"

namespace {

// --- means over weight samples

void draw(Size n, const float *__restrict loc, const float *__restrict scale,
          const float *__restrict noise, float *__restrict out) {
  for (Size i = 0; i < n; ++i) out[i] = fused(scale[i], noise[i], loc[i]);
}

// Adds a gradient, its square if `square` is not null, and its product with the noise if `cross` is
// not null.
void add_moments(Size n, const float *__restrict one, const float *__restrict noise,
                 float *__restrict mean, float *__restrict square, float *__restrict cross) {
  if (square && cross)
    for (Size i = 0; i < n; ++i) square[i] = fused(one[i], one[i], square[i]);
  if (cross) {
    for (Size i = 0; i < n; ++i) {
      mean[i] += one[i];
      cross[i] = fused(one[i], noise[i], cross[i]);
    }
  } else if (square) {
    for (Size i = 0; i < n; ++i) {
      mean[i] += one[i];
      square[i] = fused(one[i], one[i], square[i]);
    }
  } else {
    for (Size i = 0; i < n; ++i) mean[i] += one[i];
  }
}

void add_products_times(Size n, float factor, const float *a, const float *b,
                        float *__restrict sum) {
  for (Size i = 0; i < n; ++i) sum[i] = fused(factor * a[i], b[i], sum[i]);
}

void add_times(Size n, float factor, const float *__restrict values, float *__restrict sum) {
  for (Size i = 0; i < n; ++i) sum[i] = fused(factor, values[i], sum[i]);
}

void divide(Size n, float by, float *values) {
  for (Size i = 0; i < n; ++i) values[i] /= by;
}

// Weights loc + scale noise; the noise of consecutive samples is `stride` numbers apart. If scale
// is null, the weights are loc, once or with a mask for every sample.
struct Draws {
  const float *loc, *scale, *noise;
  Size stride, samples;
  const Mask *masks;
};

// Means of a network's gradient, of its square and of its product with the noise; null if not
// needed.
struct Means {
  float *mean, *square, *cross;
};

// Samples with a smaller weight would not change a mean in float32.
constexpr float MIN_SAMPLE_WEIGHT = 1e-8f;

class Averager {
 public:
  Averager(const Size *sizes, Size layers, Size rows, bool softplus)
      : network(sizes, layers, rows, softplus), drawn_(network.n_weights + SLACK), one_(drawn_.size()) {}

  Network network;

  void average(const Rows &rows, float precision, const Draws &draws, const Means &out) {
    const Size n = network.n_weights, samples = draws.scale || draws.masks ? draws.samples : 1;
    if (!draws.scale) std::copy_n(draws.loc, n, drawn_.begin());
    for (float *sum : {out.mean, out.square, out.cross})
      if (sum) std::fill_n(sum, n, 0.0f);
    for (Size s = 0; s < samples; ++s) {
      const float *noise = draws.scale ? draws.noise + s * draws.stride : nullptr;
      if (draws.scale) draw(n, draws.loc, draws.scale, noise, drawn_.data());
      const Mask mask = draws.masks ? draws.masks[s] : Mask{};
      network.gradient(drawn_.data(), rows, precision, mask, one_.data());
      add_moments(n, one_.data(), noise, out.mean, out.square, out.cross);
    }
    for (float *sum : {out.mean, out.square, out.cross})
      if (sum) divide(n, float(samples), sum);
  }

  // log p(w, data) / q(w) of every sample up to a common constant, with the loss of all `count`
  // rows estimated from the minibatch. They weight the samples in the gradient of Renyi's bound.
  void log_ratios(const Rows &rows, float precision, const Draws &draws, float count, float prior,
                  Floats &out) {
    const Size n = network.n_weights;
    for (Size s = 0; s < draws.samples; ++s) {
      const float *noise = draws.noise + s * draws.stride;
      draw(n, draws.loc, draws.scale, noise, drawn_.data());
      const double loss = network.loss(drawn_.data(), rows) / rows.count;
      const float narrow = dot(noise, noise, n) - prior * dot(drawn_.data(), drawn_.data(), n);
      out[s] = 0.5f * narrow - count * loss * (precision > 0 ? precision : 1);
    }
  }

  // Weighted means of the gradient plus `decay` times the weights, and of its product with the
  // noise. The sample weights add up to one. Returns the weighted mean of the loss.
  float weighted_average(const Floats &weights, float decay, const Rows &rows, float precision,
                         const Draws &draws, const Means &out) {
    const Size n = network.n_weights;
    float loss = 0;
    for (float *sum : {out.mean, out.cross}) std::fill_n(sum, n, 0.0f);
    for (Size s = 0; s < draws.samples; ++s) {
      if (weights[s] < MIN_SAMPLE_WEIGHT) continue;
      const float *noise = draws.noise + s * draws.stride;
      draw(n, draws.loc, draws.scale, noise, drawn_.data());
      loss += weights[s] * network.gradient(drawn_.data(), rows, precision, Mask{}, one_.data());
      add_times(n, decay, drawn_.data(), one_.data());
      add_times(n, weights[s], one_.data(), out.mean);
      add_products_times(n, weights[s], one_.data(), noise, out.cross);
    }
    return loss;
  }

  // Means of the gradient, and of the squared gradients of the rows.
  void average_row_squares(RowSquares &squares, const Rows &rows, float precision,
                           const Draws &draws, const Means &out) {
    const Size n = network.n_weights;
    for (float *sum : {out.mean, out.square}) std::fill_n(sum, n, 0.0f);
    for (Size s = 0; s < draws.samples; ++s) {
      draw(n, draws.loc, draws.scale, draws.noise + s * draws.stride, drawn_.data());
      squares.gradient(drawn_.data(), rows, precision, one_.data(), out.square);
      add_moments(n, one_.data(), nullptr, out.mean, nullptr, nullptr);
    }
    for (float *sum : {out.mean, out.square}) divide(n, float(draws.samples), sum);
  }

 private:
  Floats drawn_, one_;
};

// --- update rules of the methods with the same names

// The arguments of a rule: one network at one step.
struct Step {
  Size n;                      // number of weights
  const std::vector<Layer> &layers;
  float *const *state;         // the rule's tensors, `loc` first
  float *mean, *second;        // means of the gradient, and of its square or product with the noise
  float *scale, *spare;        // standard deviations of the sampled weights; scratch space
  float *centre;               // means of the sampled weights, if the rule computes them
  const float *noise;          // of this step
  float rows, batch;           // numbers of rows of the training set and of the minibatch
  float precision, prior;      // precisions of the observation noise and of the prior
  float dropout;
  float kl_weight;             // weight of the divergence
  float taken, unbias[2];      // t steps before this one; 1 / (1 - beta^(t + 1))
  float loss;                  // of the minibatch, if the means are weighted
  bool learns_noise;
};

struct Constants {
  float rate, betas[2], own[5];  // `own` has a different meaning for each rule
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

// The posterior precision is rows s + prior.
void scale_by_squares(Step step) {
  const float *__restrict s = step.state[1];
  float *__restrict scale = step.scale;
  for (Size i = 0; i < step.n; ++i) scale[i] = 1 / std::sqrt(step.rows * s[i] + step.prior);
}

void vadam(Step step, Constants c) {
  float *__restrict loc = step.state[0], *__restrict s = step.state[1];
  float *__restrict momentum = step.state[2];
  const float *__restrict mean = step.mean, *__restrict square = step.second;
  const float decay = step.prior / step.rows, rate = c.rate * step.unbias[0];
  for (Size i = 0; i < step.n; ++i) {
    momentum[i] = mixed(momentum[i], mean[i] + decay * loc[i], c.betas[0]);
    s[i] = mixed(s[i], square[i], c.betas[1]);
    loc[i] -= rate * momentum[i] / (std::sqrt(s[i] * step.unbias[1]) + decay);
  }
}

// own: 1 to divide by the square root of s, 0 to divide by s.
void vprop(Step step, Constants c) {
  float *__restrict loc = step.state[0], *__restrict s = step.state[1];
  const float *__restrict mean = step.mean, *__restrict square = step.second;
  const float decay = step.prior / step.rows;
  for (Size i = 0; i < step.n; ++i) {
    s[i] = mixed(s[i], square[i], c.betas[1]);
    const float size = (c.own[0] != 0 ? std::sqrt(s[i]) : s[i]) + decay;
    loc[i] -= c.rate * (mean[i] + decay * loc[i]) / size;
  }
}

void ivon(Step step, Constants c) {
  float *__restrict loc = step.state[0], *__restrict h = step.state[1];
  float *__restrict momentum = step.state[2];
  const float *__restrict mean = step.mean, *__restrict cross = step.second;
  const float *__restrict scale = step.scale;
  const float decay = step.prior / step.rows, fresh = 1 - c.betas[1];
  for (Size i = 0; i < step.n; ++i) {
    momentum[i] = mixed(momentum[i], mean[i], c.betas[0]);
    const float change = fresh * (cross[i] / scale[i] - h[i]);
    h[i] += change + 0.5f * change * change / (h[i] + decay);
    loc[i] -= c.rate * (momentum[i] * step.unbias[0] + decay * loc[i]) / (h[i] + decay);
  }
}

// scale = log(1 + exp(rho)), with its derivative exp(rho) / (1 + exp(rho)) in `spare`.
void scale_by_softplus(Step step) {
  std::copy_n(step.state[1], step.n, step.spare);
  for (Size i = 0; i < step.n; i += LANE) {
    const Lane rho = load(step.spare + i), e = exponential(rho > 20 ? Lane{} + 20 : rho);
    store(step.scale + i, rho > 20 ? rho : logarithm_of_one_and(e));
    store(step.spare + i, e / (1 + e));
  }
}

// Adds the gradients of the closed form of KL(Normal(loc, scale^2) || Normal(0, 1 / prior)) for the
// weights from `first` to `end`.
void add_divergence(Step step, float weight, float prior, Size first, Size end) {
  const float *__restrict loc = step.state[0], *__restrict scale = step.scale;
  const float *__restrict slope = step.spare;
  float *__restrict of_loc = step.mean, *__restrict of_rho = step.second;
  for (Size i = first; i < end; ++i) {
    of_loc[i] += weight * prior * loc[i];
    const float of_scale = of_rho[i] + weight * (prior * scale[i] - 1 / scale[i]);
    of_rho[i] = of_scale * slope[i];
  }
}

// own: the weight of the divergence, and the prior precision of biases, 0 for that of the weights.
void bbb(Step step, Constants c) {
  float *const *state = step.state, *of_loc = step.mean, *of_rho = step.second;
  const float weight = c.own[0] * step.kl_weight / step.rows;
  const float of_bias = c.own[1] > 0 ? c.own[1] : step.prior;
  Size first = 0;
  for (const Layer &layer : step.layers) {
    const Size end = first + layer.weights(), bias = end - layer.out;
    add_divergence(step, weight, step.prior, first, bias);
    add_divergence(step, weight, of_bias, bias, end);
    first = end;
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

// Adam for the number of steps in the entry after the state's tensors, then SGD with a constant
// step size and momentum, which starts from zero. own: the step size for a noise precision of 1,
// the momentum, and the noise precision to assume if a second output predicts it.
void swag(Step step, Constants c) {
  float *__restrict loc = step.state[0], *__restrict velocity = step.state[1];
  const float *__restrict gradient = step.mean;
  const float steps_of_adam = step.state[3][0];
  add_times(step.n, step.prior / step.rows, loc, step.mean);
  if (step.taken < steps_of_adam) return descend(step, c);
  const float momentum = step.taken > steps_of_adam ? c.own[1] : 0;
  const float size = c.own[0] / (step.precision > 0 ? step.precision : c.own[2]);
  for (Size i = 0; i < step.n; ++i) {
    velocity[i] = momentum * velocity[i] + gradient[i];
    loc[i] -= size * velocity[i];
  }
}

// The prior is on the weights times their factors, which have the mean square `moment`; biases have
// none. own: 1 if biases have a prior too, else 0, and 1 for Gaussian factors, else 0.
void mc_dropout(Step step, Constants c) {
  const float decay = step.prior / step.rows, *loc = step.state[0], keep = 1 - step.dropout;
  const float moment = c.own[1] != 0 ? 1 / keep : keep;
  float *gradient = step.mean;
  for (const Layer &layer : step.layers) {
    const Size matrix = layer.weights() - layer.out;
    add_times(matrix, moment * decay, loc, gradient);
    add_times(layer.out, c.own[0] * decay, loc + matrix, gradient + matrix);
    loc += layer.weights();
    gradient += layer.weights();
  }
  descend(step, c);
}

// own: step size, offset, decay, the factor of minibatches, and the noise precision to assume if a
// second output predicts it.
float langevin_size(Step step, Constants c) {
  const float shorter = std::min(1.0f, c.own[3] * step.batch / step.rows);
  const double slower = portable_exp(-c.own[2] * portable_log(c.own[1] + step.taken));
  return c.own[0] * float(slower) * shorter;
}

void sgld(Step step, Constants c) {
  float *__restrict loc = step.state[0];
  const float *__restrict mean = step.mean, *__restrict noise = step.noise;
  const float precision = step.precision > 0 ? step.precision : c.own[4];
  const float size = langevin_size(step, c) / precision, decay = step.prior / step.rows;
  const float spread = std::sqrt(size / step.rows);
  for (Size i = 0; i < step.n; ++i)
    loc[i] += spread * noise[i] - 0.5f * size * (mean[i] + decay * loc[i]);
}

// own: the same four, and the floor.
void preconditioned_sgld(Step step, Constants c) {
  float *__restrict loc = step.state[0], *__restrict square = step.state[1];
  const float *__restrict mean = step.mean, *__restrict noise = step.noise;
  const float whole = langevin_size(step, c), decay = step.prior / step.rows;
  for (Size i = 0; i < step.n; ++i) {
    square[i] = mixed(square[i], mean[i] * mean[i], c.betas[1]);
    const float size = whole / (std::sqrt(square[i] * step.unbias[1]) + c.own[4]);
    const float drift = 0.5f * size * (mean[i] + decay * loc[i]);
    loc[i] += std::sqrt(size / step.rows) * noise[i] - drift;
  }
}

// The posterior is a Gaussian factor Normal(u, e^s) times the prior. Its precision is e^-s + prior;
// its mean is u times the fraction e^-s / (e^-s + prior), which is stored in `spare`.
void scale_by_sites(Step step) {
  const float *u = step.state[0], *s = step.state[1];
  for (Size i = 0; i < step.n; ++i) {
    const float site = float(portable_exp(-s[i])), variance = 1 / (site + step.prior);
    step.scale[i] = std::sqrt(variance);
    step.spare[i] = site * variance;
    step.centre[i] = u[i] * step.spare[i];
  }
}

// Weights of the samples in the gradient of Renyi's bound of order alpha, proportional to their
// ratios to the power 1 - alpha. If that is infinite, the greatest or the least ratio has all
// weight.
void weight_samples(const Floats &log_ratios, float power, Floats &weights) {
  const Size samples = weights.size();
  Size top = 0;
  for (Size s = 1; s < samples; ++s) {
    const float here = log_ratios[s], best = log_ratios[top];
    if (!(power > 0 ? here <= best : here >= best) && !std::isnan(best)) top = s;
  }
  if (power == 0 || std::isinf(power)) {
    for (Size s = 0; s < samples; ++s) weights[s] = power == 0 ? 1.0f / samples : s == top;
    return;
  }
  float sum = 0;
  for (Size s = 0; s < samples; ++s)
    sum += weights[s] = float(portable_exp(power * (log_ratios[s] - log_ratios[top])));
  for (float &weight : weights) weight /= sum;
}

// For order 1 the KL divergence is added in closed form; for other orders the means include it.
// own: 1 - alpha.
void renyi_vi(Step step, Constants c) {
  float *const *state = step.state;
  const float decay = c.own[0] == 0 ? step.prior / step.rows : 0;
  for (Size i = 0; i < step.n; ++i) {
    const float fraction = step.spare[i], scale = step.scale[i];
    const float of_loc = step.mean[i] + decay * step.centre[i];
    const float of_scale = step.second[i] + decay * scale - 1 / (step.rows * scale);
    const float rest = step.prior * scale * scale;
    step.mean[i] = fraction * of_loc;
    step.second[i] = fraction * (0.5f * scale * of_scale - rest * state[0][i] * of_loc);
  }
  adam(step, c, step.mean, state[0], state[2], state[3]);
  adam(step, c, step.second, state[1], state[4], state[5]);
  if (!step.learns_noise) return;
  const float of_noise = 0.5f - step.loss;  // the loss is precision / 2 times the squared error
  Step one = step;
  one.n = 1;
  adam(one, c, &of_noise, state[6], state[7], state[8]);
}

// scale = sqrt(v) for the log variance log v, with v in `spare`. It is infinite for v that is too
// large for `exponential`.
void scale_by_log_variance(Step step) {
  std::copy_n(step.state[1], step.n, step.spare);
  for (Size i = 0; i < step.n; i += LANE) {
    const Lane log = load(step.spare + i), bounded = exponential(log > 88 ? Lane{} + 88 : log);
    store(step.spare + i, log > 88 ? Lane{} + HUGE_VALF : bounded);
  }
  for (Size i = 0; i < step.n; ++i) step.scale[i] = std::sqrt(step.spare[i]);
}

// `second` is the mean of the squared gradients of the rows. own: 1 if they are those of the
// Gauss-Newton matrix, else 0.
void practical_vi(Step step, Constants c) {
  float *const *state = step.state;
  const float decay = step.prior / step.rows, *variance = step.spare;
  add_times(step.n, decay, state[0], step.mean);
  for (Size i = 0; i < step.n; ++i)
    step.second[i] = 0.5f * (variance[i] * (step.second[i] + decay) - 1 / step.rows);
  adam(step, c, step.mean, state[0], state[2], state[3]);
  adam(step, c, step.second, state[1], state[4], state[5]);
}

// own: step size, friction, and the number of steps that adapt the scales.
void sghmc(Step step, Constants c) {
  float *__restrict loc = step.state[0], *__restrict momentum = step.state[1];
  float *__restrict tau = step.state[2], *__restrict average = step.state[3];
  float *__restrict v = step.state[4];
  const float *__restrict mean = step.mean, *__restrict noise = step.noise;
  const float tiny = 1e-16f, square = c.own[0] * c.own[0], friction = c.own[1];
  const bool adapts = step.taken < c.own[2];
  for (Size i = 0; i < step.n; ++i) {
    const float slope = step.rows * mean[i] + step.prior * loc[i];
    if (adapts) {
      const float weight = 1 / (tau[i] + 1);
      tau[i] += 1 - tau[i] * (average[i] * average[i] / (v[i] + tiny));
      average[i] += weight * (slope - average[i]);
      v[i] += weight * (slope * slope - v[i]);
    }
    const float size = square / (std::sqrt(v[i]) + tiny);
    const float variance = std::max(2 * friction * size - square * square, tiny);
    momentum[i] += std::sqrt(variance) * noise[i] - friction * momentum[i] - size * slope;
    loc[i] += momentum[i];
  }
}

// AdaGrad with a decaying average of squared gradients. In the code of Liu & Wang (2016), epsilon is
// 1e-6 for the gradient of the whole log-posterior; here that is divided by the number of rows.
void adagrad(Step step, Constants c) {
  float *__restrict parameter = step.state[0], *__restrict average = step.state[1];
  const float *__restrict gradient = step.mean;
  const float epsilon = 1e-6f / step.rows, decay = step.taken > 0 ? c.betas[1] : 0;
  for (Size i = 0; i < step.n; ++i) {
    average[i] = mixed(average[i], gradient[i] * gradient[i], decay);
    parameter[i] -= c.rate * gradient[i] / (std::sqrt(average[i]) + epsilon);
  }
}

// The means contain the gradient of the likelihood. own: with a prior precision per layer,
// (n + own[0]) / (sum of loc^2 + scale^2 of n weights + own[1]); NaN for the given one.
void dvi(Step step, Constants c) {
  float *const *state = step.state;
  Size first = 0;
  for (const Layer &layer : step.layers) {
    const Size n = layer.weights();
    const float *loc = state[0] + first, *scale = step.scale + first;
    const float squares = dot(loc, loc, n) + dot(scale, scale, n);
    const float prior =
        std::isnan(c.own[0]) ? step.prior : (n + c.own[0]) / (squares + c.own[1]);
    add_divergence(step, 1 / step.rows, prior, first, first + n);
    first += n;
  }
  adam(step, c, step.mean, state[0], state[2], state[3]);
  adam(step, c, step.second, state[1], state[4], state[5]);
}

enum class Gradients {
  AVERAGED,        // over samples
  WEIGHTED,        // by ratios to the power own[0]
  OF_ENERGY,       // of the black-box alpha energy of order own[2], see energy.h
  SQUARED_BY_ROW,  // and averaged; `square` is the mean of the squared gradients of rows
  JOINT,           // drifts of networks that repel each other, see particles.h
  OF_MOMENTS,      // of the moments of the output, see moments.h
};

struct Rule {
  Size tensors;         // number of state tensors
  bool square, cross;   // the second mean that it needs
  bool masks;           // whether units are dropped
  void (*scale)(Step);  // null if weights are not sampled
  void (*update)(Step, Constants);
  Gradients gradients = Gradients::AVERAGED;
};

// In the order of RULES in bnnbench/native/networks.py.
const Rule RULES[] = {
    {3, true, false, false, scale_by_squares, vadam},
    {2, true, false, false, scale_by_squares, vprop},
    {6, false, true, false, scale_by_softplus, bbb},
    {3, false, false, false, nullptr, map},
    {1, false, false, false, nullptr, sgld},
    {2, false, false, false, nullptr, preconditioned_sgld},
    {3, false, false, true, nullptr, mc_dropout},
    {3, false, true, false, scale_by_squares, ivon},
    {6, false, true, false, scale_by_sites, renyi_vi, Gradients::WEIGHTED},
    {5, false, false, false, nullptr, sghmc},
    {3, false, false, false, nullptr, swag},
    {3, false, false, true, nullptr, mc_dropout, Gradients::OF_ENERGY},
    {6, true, false, false, scale_by_log_variance, practical_vi, Gradients::SQUARED_BY_ROW},
    {3, false, false, false, nullptr, descend, Gradients::JOINT},
    {2, false, false, false, nullptr, adagrad, Gradients::JOINT},
    {6, false, false, false, scale_by_softplus, dvi, Gradients::OF_MOMENTS},
};

}  // namespace

// Mean gradients for one minibatch.
//
//   sizes       inputs, units of every hidden layer, outputs: `layers` + 1 numbers
//   sets        number of training sets; network r uses set r % sets
//   loc, scale  [networks, P]; without scale there is one sample, loc
//   noise       [samples, shared, P]; network r uses noise r % shared
//   inputs      [sets, rows, D]
//   targets     [sets, rows]
//   weights     [sets, rows]
//   precisions  [sets], of the noise; null if a second output predicts it
//   softplus    whether the second output is the variance through a softplus
//   mean, square, cross  [networks, P]; null if not needed
//
// Returns 1 if memory is insufficient, else 0.
extern "C" int gradient_moments(const Size *sizes, Size layers, Size networks, Size sets,
                                Size samples, Size shared, Size rows, const float *loc,
                                const float *scale, const float *noise, const float *inputs,
                                const float *targets, const float *weights,
                                const float *precisions, bool softplus, float *mean,
                                float *square, float *cross) try {
  Averager averager(sizes, layers, rows, softplus);
  const Size n = averager.network.n_weights, features = sizes[0];
  Rows batch = averager.network.room_for(rows);
  const auto at = [n](auto *values, Size r) { return values ? values + r * n : nullptr; };
  for (Size r = 0; r < networks; ++r) {
    const Size set = r % sets;
    for (Size b = 0; b < rows; ++b)
      batch.put(b, inputs + (set * rows + b) * features, features, targets[set * rows + b],
                weights[set * rows + b]);
    batch.put_across();
    const Draws draws = {at(loc, r), at(scale, r), at(noise, r % shared), shared * n, samples,
                         nullptr};
    averager.average(batch, precisions ? precisions[set] : 0, draws,
                     {at(mean, r), at(square, r), at(cross, r)});
  }
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}

// Outputs [samples, sets, rows, O] of networks with weights [samples, sets, P] for the inputs
// [sets, rows, D] of each set. Returns 1 if memory is insufficient, else 0.
extern "C" int evaluate(const Size *sizes, Size layers, Size samples, Size sets, Size rows,
                        const float *weights, const float *inputs, float *out) try {
  Network network(sizes, layers, rows, false);
  const Size n = network.n_weights, features = sizes[0], outputs = sizes[layers];
  Rows all = network.room_for(rows);
  Floats w(n + SLACK);
  for (Size r = 0; r < sets; ++r) {
    for (Size b = 0; b < rows; ++b)
      all.put(b, inputs + (r * rows + b) * features, features, 0, 0);
    all.put_across();
    for (Size s = 0; s < samples; ++s) {
      const Size place = s * sets + r;
      std::copy_n(weights + place * n, n, w.begin());
      network.evaluate(w.data(), all, out + place * rows * outputs);
    }
  }
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}

// Means and variances [sets, rows] of the outputs of networks with one output, given the means and
// standard deviations [sets, P] of their weights, for the inputs [sets, rows, D]. Returns 1 if
// memory is insufficient, else 0.
extern "C" int propagate_moments(const Size *sizes, Size layers, Size sets, Size rows,
                                 const float *loc, const float *scale, const float *inputs,
                                 float *mean, float *variance) try {
  const Network network(sizes, layers, rows, false);
  Propagation propagation(sizes, layers, rows);
  const Size n = network.n_weights, features = sizes[0];
  Rows all = network.room_for(rows);
  for (Size r = 0; r < sets; ++r) {
    for (Size b = 0; b < rows; ++b)
      all.put(b, inputs + (r * rows + b) * features, features, 0, 0);
    propagation.evaluate(loc + r * n, scale + r * n, all, mean + r * rows, variance + r * rows);
  }
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}

// The same fields in the same order as `TrainingArguments` in bnnbench/native/networks.py.
struct TrainingArguments {
  const Size *sizes;              // inputs, units of every hidden layer, outputs
  Size layers, sets, members;     // `members` networks per training set
  Size softplus;                  // whether a second output is the variance through a softplus
  const float *inputs, *targets;  // [sets, length, D] and [sets, length]
  const Size *counts;             // [sets], real rows; the rows after them are padding
  const float *precisions;        // [sets], of the noise; 0 if a second output predicts it
  const float *priors;            // [sets], prior precisions
  const float *dropouts;          // [sets]
  const float *kl_weights;        // [minibatches per epoch], weights of the divergence
  Size length, samples, batch;    // `batch` rows per minibatch
  Size rule;
  double betas[2], own[5];
  float *const *state;            // the rule's tensors [sets, members, P], then tensors with one
  Size tensors;                   //   number per network; `tensors` counts all of them. Networks
                                  //   that repel each other may have more than P coordinates
  bool *alive;                    // [sets]; the others are not changed
  const uint64_t *keys;           // [groups], the streams of random numbers
  const Size *drawn;              // [minibatches, pieces]: one piece [samples, P], or one per layer
  Size pieces, groups;            //   [samples, batch, units]
  const Size *group;              // [sets], the noise group of each set
  Size epoch, epochs;             // trains `epochs` epochs from this one, counted from 0
  const double *rates;            // [epochs], learning rates
  uint64_t place;                 // the counter of the first random number, the same for all groups
  const Size *saved;              // [copies], increasing step numbers, from 1, counted over epochs
  Size copies;
  float *out;                     // [copies, sets, members, P], the first tensor after these steps
};

namespace {

class Trainer {
 public:
  explicit Trainer(const TrainingArguments &given)
      : all_(given), rule_(RULES[given.rule]), averager_(given.sizes, given.layers, given.batch, given.softplus),
        n_(averager_.network.n_weights), minibatch_(averager_.network.room_for(given.batch)),
        constants_{0, {float(given.betas[0]), float(given.betas[1])},
                   {float(given.own[0]), float(given.own[1]), float(given.own[2]),
                    float(given.own[3]), float(given.own[4])}},
        mean_(n_ + SLACK), second_(n_ + SLACK), scale_(n_ + SLACK), spare_(n_ + SLACK),
        centre_(n_ + SLACK), ratios_(given.samples), weights_(given.samples), own_(given.tensors),
        order_(given.length), rows_(given.sets), before_(given.sets),
        pieces_(std::max<Size>(given.pieces, 1)), numbers_(given.samples * given.layers),
        masks_(given.samples) {
    if (rule_.gradients == Gradients::OF_ENERGY)
      energy_.emplace(given.sizes, given.layers, given.batch, given.samples, given.softplus);
    if (rule_.gradients == Gradients::SQUARED_BY_ROW)
      row_squares_.emplace(given.sizes, given.layers, given.batch, given.softplus, given.own[0] != 0);
    if (rule_.gradients == Gradients::JOINT)
      particles_.emplace(averager_.network, given.members, given.batch, given.own);
    if (rule_.gradients == Gradients::OF_MOMENTS)
      propagation_.emplace(given.sizes, given.layers, given.batch);
  }

  // Trains the networks of a noise group, all of which use the same random numbers.
  void train(Size group) {
    std::vector<Size> sets;
    for (Size set = 0; set < all_.sets; ++set)
      if (all_.group[set] == group) sets.push_back(set);
    uint64_t place = all_.place;
    for (Size e = 0; e < all_.epochs; ++e) {
      constants_.rate = float(all_.rates[e]);
      place = train_epoch(group, sets, all_.epoch + e, place);
    }
  }

 private:
  // Trains one epoch, and returns the next counter. A set that is not finite afterwards returns to
  // its state before the epoch, and is no longer alive.
  uint64_t train_epoch(Size group, const std::vector<Size> &sets, Size epoch, uint64_t place) {
    place = draw_order(group, place);
    for (Size set : sets) {
      if (!all_.alive[set]) continue;
      arrange(set);
      keep(set);
    }
    const Size batches = (all_.length + all_.batch - 1) / all_.batch, done = epoch * batches;
    for (Size b = 0; b < batches; ++b) {
      place = draw_noise(group, b, place);
      for (Size set : sets)
        if (all_.alive[set] && b < minibatches(set)) take_step(set, b, epoch);
      save_copies(sets, done + b, done + b + 1);
    }
    for (Size set : sets) {
      if (!all_.alive[set] || finite(set)) continue;
      all_.alive[set] = false;
      restore(set);
      save_copies({set}, done, done + batches);
    }
    return place;
  }

  // Draws the order in which an epoch visits the rows, that of random multiples of 2^-24. Returns
  // the next counter.
  uint64_t draw_order(Size group, uint64_t place) {
    Floats drawn(order_.size());
    draw_numbers(all_.keys[group], place, false, all_.length, drawn.data());
    for (Size row = 0; row < all_.length; ++row)
      order_[row] = uint64_t(drawn[row] * 0x1p24f) << 32 | row;
    std::sort(order_.begin(), order_.end());
    return place + room_for_draw(all_.length) / 4;
  }

  // Saves the first tensor of some sets as the copies of the steps after `first` up to `last`.
  void save_copies(const std::vector<Size> &sets, Size first, Size last) {
    const Size *end = all_.saved + all_.copies, *step = std::upper_bound(all_.saved, end, first);
    for (; step < end && *step <= last; ++step)
      for (Size set : sets) {
        const Size place = (step - all_.saved) * all_.sets + set;
        std::copy_n(tensor(set, 0), size(0), all_.out + place * size(0));
      }
  }

  // Keeps a set's state, or returns to the state that was kept.
  void keep(Size set) {
    before_[set].clear();
    for (Size k = 0; k < all_.tensors; ++k)
      before_[set].insert(before_[set].end(), tensor(set, k), tensor(set, k) + size(k));
  }

  void restore(Size set) {
    const float *from = before_[set].data();
    for (Size k = 0; k < all_.tensors; from += size(k++))
      std::copy_n(from, size(k), tensor(set, k));
  }

  Size minibatches(Size set) const { return (all_.counts[set] + all_.batch - 1) / all_.batch; }

  // The rows of a training set, in the order of the epoch.
  void arrange(Size set) {
    rows_[set].clear();
    for (uint64_t place : order_) {
      const Size row = uint32_t(place);
      if (row < all_.counts[set]) rows_[set].push_back(row);
    }
  }

  // Draws the noise of minibatch b, and returns the next counter.
  uint64_t draw_noise(Size group, Size b, uint64_t place) {
    const Size *drawn = all_.drawn + b * all_.pieces;
    Size room = 0;
    for (Size p = 0; p < all_.pieces; ++p) room += room_for_draw(drawn[p]);
    if (Size(noise_.size()) < room + SLACK) noise_.resize(room + SLACK);
    float *to = noise_.data();
    for (Size p = 0; p < all_.pieces; ++p) {
      draw_numbers(all_.keys[group], place, !rule_.masks || is_gaussian(), drawn[p], to);
      pieces_[p] = to;
      to += room_for_draw(drawn[p]);
      place += room_for_draw(drawn[p]) / 4;
    }
    return place;
  }

  void take_step(Size set, Size b, Size epoch) {
    gather(set, b);
    if (rule_.masks) prepare_masks(set, b);
    for (Size m = 0; m < updates(); ++m) step(set, m, b, epoch * minibatches(set) + b);
  }

  void gather(Size set, Size b) {
    const Size start = b * all_.batch, features = all_.sizes[0];
    minibatch_.count = std::min<Size>(all_.batch, rows_[set].size() - start);
    for (Size i = 0; i < minibatch_.count; ++i) {
      const Size row = set * all_.length + rows_[set][start + i];
      minibatch_.put(i, all_.inputs + row * features, features, all_.targets[row],
                     1.0f / minibatch_.count);
    }
    minibatch_.put_across();
  }

  // Whether the factors of dropped units are Gaussian.
  bool is_gaussian() const { return rule_.masks && constants_.own[1] != 0; }

  void prepare_masks(Size set, Size b) {
    const Size rows = std::min(all_.batch, all_.length - b * all_.batch);
    for (Size s = 0; s < all_.samples; ++s) {
      const float **numbers = &numbers_[s * all_.layers];
      for (Size l = 0; l < all_.layers; ++l)
        numbers[l] = pieces_[l] + s * rows * all_.sizes[l];
      masks_[s] = {numbers, all_.dropouts[set], is_gaussian(), 1, rows};
    }
  }

  // Number of updates of a step: one of all networks if they repel each other.
  Size updates() const { return particles_ ? 1 : all_.members; }

  // One step of a network, or of all networks that repel each other, on minibatch b.
  void step(Size set, Size member, Size b, Size taken) {
    for (Size k = 0; k < all_.tensors; ++k)
      own_[k] = tensor(set, k) + member * width(k);
    const bool learns_noise = (rule_.gradients == Gradients::WEIGHTED) && all_.tensors > rule_.tensors;
    const float precision =
        learns_noise ? float(portable_exp(-own_[rule_.tensors][0])) : all_.precisions[set];
    Step step = {width(0), averager_.network.layers(), own_.data(), mean_.data(), second_.data(),
                 scale_.data(), spare_.data(), centre_.data(), pieces_[0],
                 float(all_.counts[set]), float(minibatch_.count), precision, all_.priors[set],
                 all_.dropouts[set], all_.kl_weights[b], float(taken),
                 {unbias(all_.betas[0], taken + 1), unbias(all_.betas[1], taken + 1)}, 0,
                 learns_noise};
    const Draws draws = {(rule_.gradients == Gradients::WEIGHTED) ? step.centre : step.state[0],
                         rule_.scale ? step.scale : nullptr, step.noise, n_, all_.samples,
                         rule_.masks ? masks_.data() : nullptr};
    const Means means = {mean_.data(), rule_.square ? second_.data() : nullptr,
                         rule_.cross ? second_.data() : nullptr};
    if (rule_.scale) rule_.scale(step);
    differentiate(step, draws, means);
    rule_.update(step, constants_);
  }

  void differentiate(Step &step, const Draws &draws, const Means &means) {
    switch (rule_.gradients) {
      case Gradients::AVERAGED:
        return averager_.average(minibatch_, step.precision, draws, means);
      case Gradients::WEIGHTED:
        step.loss = average_by_ratios(step, draws, means);
        return;
      case Gradients::OF_ENERGY:
        return differentiate_energy(step);
      case Gradients::SQUARED_BY_ROW:
        return averager_.average_row_squares(*row_squares_, minibatch_, step.precision, draws,
                                             means);
      case Gradients::JOINT:
        step.mean = particles_->descent(averager_.network, minibatch_, step.state[0],
                                        {step.rows, step.precision, step.prior});
        return;
      case Gradients::OF_MOMENTS:
        propagation_->gradient(step.state[0], step.scale, minibatch_, step.precision, step.mean,
                               step.second);
    }
  }

  // At the power 0 the ratios are not needed.
  float average_by_ratios(const Step &step, const Draws &draws, const Means &means) {
    const float power = constants_.own[0];
    if (power != 0)
      averager_.log_ratios(minibatch_, step.precision, draws, step.rows, step.prior, ratios_);
    weight_samples(ratios_, power, weights_);
    return averager_.weighted_average(weights_, power == 0 ? 0 : step.prior / step.rows, minibatch_,
                                      step.precision, draws, means);
  }

  // All samples are rows of one larger batch: the first mask, with the numbers of the others.
  void differentiate_energy(const Step &step) {
    Mask together = masks_[0];
    together.samples = all_.samples;
    std::copy_n(step.state[0], n_, spare_.begin());
    energy_->gradient(spare_.data(), minibatch_, step.precision, constants_.own[2], together,
                      step.mean);
  }

  // How many numbers of a tensor belong to one update, and to all updates of a set.
  Size width(Size tensor) const {
    return tensor >= rule_.tensors ? 1 : particles_ ? particles_->size() : n_;
  }
  Size size(Size tensor) const { return updates() * width(tensor); }

  float *tensor(Size set, Size k) const { return all_.state[k] + set * size(k); }

  bool finite(Size set) const {
    const auto known = [](float value) { return std::isfinite(value); };
    for (Size k = 0; k < all_.tensors; ++k)
      if (!std::all_of(tensor(set, k), tensor(set, k) + size(k), known)) return false;
    return true;
  }

  static float unbias(double beta, Size steps) { return float(1 / (1 - portable_power(beta, steps))); }

  const TrainingArguments &all_;
  const Rule &rule_;
  Averager averager_;
  std::optional<Particles> particles_;
  std::optional<Propagation> propagation_;
  const Size n_;
  Rows minibatch_;
  Constants constants_;
  Floats mean_, second_, scale_, spare_, centre_;
  Floats ratios_, weights_;             // of the samples
  std::vector<float *> own_;            // the tensors of the current network
  std::vector<uint64_t> order_;           // of an epoch: a row in the lower half of each
  std::vector<std::vector<Size>> rows_;  // of every training set, in order
  std::vector<Floats> before_;           // the state of every set before the epoch
  Floats noise_;                        // of the current minibatch
  std::vector<const float *> pieces_;   // of this noise
  std::vector<const float *> numbers_;  // of the masks, per sample and layer
  std::vector<Mask> masks_;             // per sample
  std::optional<Energy> energy_;        // if the rule has this loss
  std::optional<RowSquares> row_squares_;  // if the rule needs them
};

}  // namespace

// Trains the networks of all sets that are alive. Returns 1 if memory is insufficient, else 0.
extern "C" int train_epochs(const TrainingArguments *given) try {
  Trainer trainer(*given);
  for (Size group = 0; group < given->groups; ++group) trainer.train(group);
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}
