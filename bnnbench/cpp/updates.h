// The update rules of the methods with the same names, for the trainer of kernel.cpp.

#pragma once

#include "averager.h"

namespace {

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
