// The honest measure of a model: its loss and accuracy on text that no trainer has seen.
//
// The samples are drawn from all held-out shards of the run, as samples for training are drawn
// (batch.hpp), with masks too, from public numbers alone: evaluation_random(). So every evaluation
// of a run, on every machine, measures the same samples, and differences between two states are
// differences of the states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/albert/batch.hpp"
#include "boinc_app/training/evaluation.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"

namespace dedloc::training::albert {

/// Sums up the figures of samples. Losses are means over samples, in nats, without dropout; a
/// sample's masked tokens together weigh as much as those of any other, as in training. Requires at
/// least one (aborts).
Evaluation summarise(std::span<const SampleFigures> figures);

/// Evaluates states of one run. Thread: one, whose number of compute threads it uses.
///
/// The same state, machine, micro-batch and number of threads give the same figures bit for bit;
/// other machines and micro-batches differ by rounding.
class Evaluator {
  public:
    /// `run` and the shards must outlive it. Requires samples ≥ 1, micro_batch ≥ 1 (aborts).
    /// Errors: InputError, as Sampler: no document of the shards has two sentences, or their
    /// vocabulary is another.
    Evaluator(const formats::RunFile& run, std::span<const formats::Shard> held_out,
              std::uint64_t samples, std::size_t micro_batch);

    /// The figures of these parameters; nothing when `is_interrupted` returns true, which is called
    /// between two matrix products.
    ///
    /// Requires  N parameters at a multiple of 64 bytes (aborts)
    /// Errors    InputError, as Albert; c10::Error (a std::exception) when out of memory
    /// Cost      one forward pass of every sample        Memory  that of one micro-batch
    std::optional<Evaluation> evaluate(std::span<const float> parameters,
                                       const IsInterrupted& is_interrupted = {}) const;

  private:
    const formats::RunFile& run_;
    const Sampler sampler_;
    const std::uint64_t samples_;
    const std::size_t micro_batch_;
};

}  // namespace dedloc::training::albert
