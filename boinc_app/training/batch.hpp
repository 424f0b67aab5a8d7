// Samples for masked-LM and sentence order, drawn from shards.
//
// Each sample, its cut and its masked tokens follow from public numbers alone, so every machine
// with the same shards can draw it again, in micro-batches of any size:
//
//     Random(run.seed).split(w₀).split(w₁).split(w₂).split(w₃).split(step).split(index)
//
// with w the peer key as four little-endian 64-bit words, and index the number of the sample among
// those of this peer in this step. That generator's split(1) gives the key of its dropout. Every
// peer draws independently from all shards of its job, as in DeDLOC. A start is drawn with
// probability proportional to the weight of its shard, so with equal weights all starts are equally
// likely.
//
// Differences from DeDLOC's data pipeline: a sample starts at any sentence except the last of its
// document, not at fixed cuts; a sample whose draw masks no token gets one masked token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/random.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"

namespace dedloc::training {

/// Samples, padded to the longest of them. A row is a sample; positions count row by row. A masked
/// token is one to predict, also where the input keeps it.
struct MicroBatch {
    std::size_t samples = 0;           ///< number of rows
    std::size_t length = 0;            ///< tokens in a row, including padding
    std::vector<std::int64_t> tokens;  ///< samples × length, the input: masked tokens replaced
    std::vector<std::int64_t> types;  ///< samples × length: 0 for the first part, 1 for the second
    std::vector<std::int64_t> row_lengths;    ///< tokens of each row without padding
    std::vector<std::int64_t> masked_at;      ///< positions of the masked tokens, ascending
    std::vector<std::int64_t> masked_tokens;  ///< the masked tokens: the labels
    std::vector<float> masked_weights;        ///< 1 ÷ number of masked tokens of that sample
    std::vector<std::int64_t> is_swapped;     ///< per sample: 1 when the second part comes first
    std::vector<std::uint64_t> dropout_keys;  ///< per sample: key of its dropout (dropout.hpp)
    bool operator==(const MicroBatch&) const = default;
};

/// The random number generator of a peer's samples in one step: sample i draws from its split(i).
Random step_random(std::uint64_t run_seed, const PeerKey& peer, StepIndex step);

/// Draws micro-batches. The shards must outlive it. Thread: any, one at a time.
class Sampler {
  public:
    /// Errors  InputError when a shard's vocabulary is not the model's, or no document has two
    ///         sentences
    Sampler(const formats::RunFile& run, std::span<const formats::Shard> shards);

    /// Draws samples first, first + 1 … first + count − 1 of the step. Requires count ≥ 1 (aborts).
    MicroBatch draw(const Random& step, std::uint64_t first, std::size_t count) const;

  private:
    struct Sample {
        std::vector<std::uint16_t> tokens;
        std::size_t first_length = 0;  ///< tokens up to the first separator, inclusive
        bool is_swapped = false;
    };
    Sample draw_sample(Random& random) const;
    void mask_tokens(const Sample& sample, std::size_t row, Random& random,
                     MicroBatch& batch) const;

    const std::uint64_t vocabulary_;
    const std::size_t sequence_length_;
    const formats::SpecialTokens special_;
    const std::span<const formats::Shard> shards_;
    /// For each shard the sum of weight × starts of it and all shards before it.
    std::vector<std::uint64_t> mass_ends_;
};

}  // namespace dedloc::training
