// Gradients of many small networks, averaged over drawn weights, and the steps that follow them:
// means over samples, update rules, what torch calls. What one network does is in network.h.
//
// Weights are drawn S times, w = loc + scale e, and their gradients g leave three means:
// of g, of g^2 and of g e. `moments` returns them for one minibatch; `take_steps` goes on with
// one of the update rules below, minibatch after minibatch. One network after the other goes through
// all of it.

#include "network.h"

#include <iterator>
#include <new>

namespace {

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

void add_products_times(Size n, float factor, const float *a, const float *b,
                        float *__restrict sum) {
  for (Size i = 0; i < n; ++i) sum[i] += factor * a[i] * b[i];
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

// What a sample with a smaller share would add to a mean is below float32's rounding.
constexpr float LEAST_SHARE = 1e-8f;

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

  // Of every sample log p(w, data) / q(w), but for what they share, with the loss of the minibatch
  // for that of all `count` rows; by which slopes of Renyi's bound are weighed.
  void log_ratios(const Rows &rows, float precision, const Draws &draws, float count, float prior,
                  Floats &out) {
    const Size n = network.n_weights;
    for (Size s = 0; s < draws.samples; ++s) {
      const float *noise = draws.noise + s * draws.apart;
      draw(n, draws.loc, draws.scale, noise, drawn_.data());
      const double loss = network.loss(drawn_.data(), rows) / rows.count;
      const float narrow = dot(noise, noise, n) - prior * dot(drawn_.data(), drawn_.data(), n);
      out[s] = 0.5f * narrow - count * loss * (precision > 0 ? precision : 1);
    }
  }

  // Means of the gradient, with `pull` times the weights, and of its product with the noise, where
  // samples have shares that add up to one. Returns that mean of the loss.
  float average_by(const Floats &shares, float pull, const Rows &rows, float precision,
                   const Draws &draws, const Means &out) {
    const Size n = network.n_weights;
    float loss = 0;
    for (float *sum : {out.mean, out.cross}) std::fill_n(sum, n, 0.0f);
    for (Size s = 0; s < draws.samples; ++s) {
      if (shares[s] < LEAST_SHARE) continue;
      const float *noise = draws.noise + s * draws.apart;
      draw(n, draws.loc, draws.scale, noise, drawn_.data());
      loss += shares[s] * network.gradient(drawn_.data(), rows, precision, Mask{}, one_.data());
      add_times(n, pull, drawn_.data(), one_.data());
      add_times(n, shares[s], one_.data(), out.mean);
      add_products_times(n, shares[s], one_.data(), noise, out.cross);
    }
    return loss;
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
  float *centre;               // their means, of a rule that says them
  const float *noise;          // of this step
  float rows, batch;           // of the training set, and of the minibatch
  float precision, prior;      // of the noise of the observations, and of the weights
  float dropout;
  float share;                 // of the divergence
  float taken, unbias[2];      // t steps before this one; 1 / (1 - beta^(t + 1))
  float loss;                  // of the minibatch, where means are weighted
  bool learns_noise;
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

// Adam for as many steps as the entry behind the state's says, then steps of one size with momentum,
// whose running sum begins anew. Own: the size for a noise precision of 1, the momentum, and what
// counts as precision where a second output says it.
void swag(Step step, Constants c) {
  float *__restrict loc = step.state[0], *__restrict velocity = step.state[1];
  const float *__restrict gradient = step.mean;
  const float steps_of_adam = step.state[3][0];
  add_times(step.n, step.prior / step.rows, loc, step.mean);
  if (step.taken < steps_of_adam) return descend(step, c);
  const float kept = step.taken > steps_of_adam ? c.own[1] : 0;
  const float size = c.own[0] / (step.precision > 0 ? step.precision : c.own[2]);
  for (Size i = 0; i < step.n; ++i) {
    velocity[i] = kept * velocity[i] + gradient[i];
    loc[i] -= size * velocity[i];
  }
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

// A Gaussian factor Normal(u, e^s) times the prior is the posterior: its precision is e^-s + prior,
// and its mean u times the share of e^-s in that, which is kept in `spare`.
void scale_by_sites(Step step) {
  const float *u = step.state[0], *s = step.state[1];
  for (Size i = 0; i < step.n; ++i) {
    const float site = std::exp(-s[i]), variance = 1 / (site + step.prior);
    step.scale[i] = std::sqrt(variance);
    step.spare[i] = site * variance;
    step.centre[i] = u[i] * step.spare[i];
  }
}

// Shares of samples in the slope of Renyi's bound of order alpha: in proportion to their ratios to
// the power 1 - alpha. Where that is infinite, all of the greatest ratio or of the least.
void share_out(const Floats &log_ratios, float power, Floats &shares) {
  const Size samples = shares.size();
  Size top = 0;
  for (Size s = 1; s < samples; ++s) {
    const float here = log_ratios[s], best = log_ratios[top];
    if (!(power > 0 ? here <= best : here >= best) && !std::isnan(best)) top = s;
  }
  if (power == 0 || std::isinf(power)) {
    for (Size s = 0; s < samples; ++s) shares[s] = power == 0 ? 1.0f / samples : s == top;
    return;
  }
  float sum = 0;
  for (Size s = 0; s < samples; ++s)
    sum += shares[s] = std::exp(power * (log_ratios[s] - log_ratios[top]));
  for (float &share : shares) share /= sum;
}

// Of order 1 the KL divergence is in closed form; of others the means have it. Own: 1 - alpha.
void renyi_vi(Step step, Constants c) {
  float *const *state = step.state;
  const float pull = c.own[0] == 0 ? step.prior / step.rows : 0;
  for (Size i = 0; i < step.n; ++i) {
    const float share = step.spare[i], scale = step.scale[i];
    const float of_loc = step.mean[i] + pull * step.centre[i];
    const float of_scale = step.second[i] + pull * scale - 1 / (step.rows * scale);
    const float rest = step.prior * scale * scale;
    step.mean[i] = share * of_loc;
    step.second[i] = share * (0.5f * scale * of_scale - rest * state[0][i] * of_loc);
  }
  adam(step, c, step.mean, state[0], state[2], state[3]);
  adam(step, c, step.second, state[1], state[4], state[5]);
  if (!step.learns_noise) return;
  const float of_noise = 0.5f - step.loss;  // the loss is half the precision times the square
  Step one = step;
  one.n = 1;
  adam(one, c, &of_noise, state[6], state[7], state[8]);
}

// Own: step size, friction, and how many steps adapt the scales.
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
      const float share = 1 / (tau[i] + 1);
      tau[i] += 1 - tau[i] * (average[i] * average[i] / (v[i] + tiny));
      average[i] += share * (slope - average[i]);
      v[i] += share * (slope * slope - v[i]);
    }
    const float size = square / (std::sqrt(v[i]) + tiny);
    const float variance = std::max(2 * friction * size - square * square, tiny);
    momentum[i] += std::sqrt(variance) * noise[i] - friction * momentum[i] - size * slope;
    loc[i] += momentum[i];
  }
}

struct Rule {
  Size tensors;         // of its state
  bool square, cross;   // which second mean it takes
  bool masks;           // whether units are dropped
  void (*scale)(Step);  // null where weights are not drawn
  void (*update)(Step, Constants);
  bool weighted = false;  // whether its means are weighted, by ratios to its first own power
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
    {6, false, true, false, scale_by_sites, renyi_vi, true},
    {5, false, false, false, nullptr, sghmc},
    {3, false, false, false, nullptr, swag},
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

// Outputs [samples, sets, rows, O] of networks with weights [samples, sets, P] for the inputs
// [sets, rows, D] of each set. Returns 1 if there is too little memory, else 0.
extern "C" int evaluate(const Size *sizes, Size layers, Size samples, Size sets, Size rows,
                        const float *weights, const float *inputs, float *out) try {
  Network network(sizes, layers, rows);
  const Size n = network.n_weights, features = sizes[0], outputs = sizes[layers];
  Rows all = network.room_for(rows);
  Floats w(n + SLACK);
  for (Size r = 0; r < sets; ++r) {
    for (Size b = 0; b < rows; ++b)
      all.put(b, inputs + (r * rows + b) * features, features, 0, 0);
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
  float *const *state;            // the rule's tensors, [sets, members, P] each, and behind them
  Size tensors;                   //   those with one number for each network: all their number
  bool *alive;                    // [sets]: the others are left alone
  const Size *order;              // [orders, length]: set r has order r % orders
  const float *const *noise;      // [steps, pieces, groups]: one piece [samples, P], or one for
  Size pieces, groups;            //   every layer [samples, batch, units]
  const Size *group;              // [sets], whose noise it has
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
        centre_(n_ + SLACK), ratios_(given.samples), shares_(given.samples), own_(given.tensors),
        numbers_(given.samples * given.layers), masks_(given.samples) {}

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
        numbers[l] = noise(set, b, l) + s * rows * all_.sizes[l];
      masks_[s] = {numbers, all_.dropouts[set]};
    }
  }

  // A step of one network by minibatch b.
  void step(Size set, Size member, Size b, Size taken) {
    for (Size k = 0; k < all_.tensors; ++k)
      own_[k] = all_.state[k] + (set * all_.members + member) * width(k);
    const bool learns_noise = rule_.weighted && all_.tensors > rule_.tensors;
    const float precision =
        learns_noise ? std::exp(-own_[rule_.tensors][0]) : all_.precisions[set];
    Step step = {n_, averager_.network.layers(), own_.data(), mean_.data(), second_.data(),
                 scale_.data(), spare_.data(), centre_.data(), noise(set, b, 0),
                 float(all_.counts[set]), float(minibatch_.count), precision, all_.priors[set],
                 all_.dropouts[set], all_.shares[b], float(taken),
                 {unbias(all_.betas[0], taken + 1), unbias(all_.betas[1], taken + 1)}, 0,
                 learns_noise};
    const Draws draws = {rule_.weighted ? step.centre : step.state[0],
                         rule_.scale ? step.scale : nullptr, step.noise, n_, all_.samples,
                         rule_.masks ? masks_.data() : nullptr};
    const Means means = {mean_.data(), rule_.square ? second_.data() : nullptr,
                         rule_.cross ? second_.data() : nullptr};
    if (rule_.scale) rule_.scale(step);
    if (rule_.weighted)
      step.loss = average_by_ratios(step, draws, means);
    else
      averager_.average(minibatch_, precision, draws, means);
    rule_.update(step, constants_);
  }

  // At the power 0 the ratios need not be known.
  float average_by_ratios(const Step &step, const Draws &draws, const Means &means) {
    const float power = constants_.own[0];
    if (power != 0)
      averager_.log_ratios(minibatch_, step.precision, draws, step.rows, step.prior, ratios_);
    share_out(ratios_, power, shares_);
    return averager_.average_by(shares_, power == 0 ? 0 : step.prior / step.rows, minibatch_,
                                step.precision, draws, means);
  }

  // Numbers of a network in one of the rule's tensors.
  Size width(Size tensor) const { return tensor < rule_.tensors ? n_ : 1; }

  // Where a piece of a training set's noise begins.
  const float *noise(Size set, Size b, Size piece) const {
    if (all_.pieces == 0) return nullptr;
    const Size place = (b - all_.first) * all_.pieces + piece;
    return all_.noise[place * all_.groups + all_.group[set]];
  }

  bool finite(Size set) const {
    const auto known = [](float value) { return std::isfinite(value); };
    for (Size k = 0; k < all_.tensors; ++k) {
      const Size size = all_.members * width(k);
      const float *tensor = all_.state[k] + set * size;
      if (!std::all_of(tensor, tensor + size, known)) return false;
    }
    return true;
  }

  static float unbias(double beta, Size steps) { return float(1 / (1 - std::pow(beta, steps))); }

  const Steps &all_;
  const Rule &rule_;
  Averager averager_;
  const Size n_;
  Rows minibatch_;
  const Constants constants_;
  Floats mean_, second_, scale_, spare_, centre_;
  Floats ratios_, shares_;              // of the samples
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
