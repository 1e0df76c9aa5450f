// Gradients of many small networks for one minibatch, their outputs, and their training for whole
// epochs. Networks are processed one after the other.

#include <new>

#include "averager.h"
#include "energy.h"
#include "moments.h"
#include "network.h"
#include "particles.h"
#include "random.h"
#include "squares.h"
#include "updates.h"

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
      : all_(given), rule_(RULES[given.rule]),
        averager_(given.sizes, given.layers, given.batch, given.softplus),
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
      row_squares_.emplace(given.sizes, given.layers, given.batch, given.softplus,
                           given.own[0] != 0);
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
    const bool weighted = rule_.gradients == Gradients::WEIGHTED;
    const bool learns_noise = weighted && all_.tensors > rule_.tensors;
    const float precision =
        learns_noise ? float(portable_exp(-own_[rule_.tensors][0])) : all_.precisions[set];
    Step step = {width(0), averager_.network.layers(), own_.data(), mean_.data(), second_.data(),
                 scale_.data(), spare_.data(), centre_.data(), pieces_[0],
                 float(all_.counts[set]), float(minibatch_.count), precision, all_.priors[set],
                 all_.dropouts[set], all_.kl_weights[b], float(taken),
                 {unbias(all_.betas[0], taken + 1), unbias(all_.betas[1], taken + 1)}, 0,
                 learns_noise};
    const Draws draws = {weighted ? step.centre : step.state[0],
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
  std::vector<float *> own_;             // the tensors of the current network
  std::vector<uint64_t> order_;          // of an epoch: a row in the lower half of each
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
