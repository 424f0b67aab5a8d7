// Draws the samples of masked-LM and sentence-order prediction from shards.
//
// Where a sample begins, where it is cut and which of its tokens are masked follow from public
// numbers alone. So every machine with the same shards can draw a sample again, in a micro-batch of
// any size. Its random number generator is
//
//     Random(run.seed).split(w₀).split(w₁).split(w₂).split(w₃).split(step).split(index)
//
// where w₀ … w₃ are the peer key as four little-endian 64-bit words, and `index` numbers the
// samples of this peer in this step. split(1) of that generator is the key of the sample's dropout.
//
// A sample begins at a random start: any sentence except the last of its document. Its source is
// drawn first, then the start, with a probability in proportion to the weight of its shard
// (shard_masses.hpp). Every peer draws independently from all shards of its job, as in DeDLOC.
//
// Differences from DeDLOC's data pipeline: its samples begin at fixed cuts of the text only; here a
// sample in which no token would be masked gets one masked token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "boinc_app/training/shard_masses.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"

namespace dedloc::training::albert {

/// Samples, one in each row, padded to the longest. The position of a token is row × length +
/// column. The model must predict the masked tokens, also those that the input shows unchanged.
struct MicroBatch {
    std::size_t samples = 0;           ///< number of rows
    std::size_t length = 0;            ///< tokens in a row, including padding
    std::vector<std::int64_t> tokens;  ///< samples × length: the input, with masked tokens replaced
    std::vector<std::int64_t> types;  ///< samples × length: 0 for the first part, 1 for the second
    std::vector<std::int64_t> row_lengths;    ///< tokens of each row without padding
    std::vector<std::int64_t> masked_at;      ///< positions of the masked tokens, ascending
    std::vector<std::int64_t> masked_tokens;  ///< the original tokens there: the labels
    std::vector<float> masked_weights;        ///< 1 ÷ number of masked tokens in the same sample
    std::vector<std::int64_t> is_swapped;     ///< per sample: 1 if its parts are in wrong order
    std::vector<std::uint64_t> dropout_keys;  ///< per sample: key of its dropout (dropout.hpp)
    bool operator==(const MicroBatch&) const = default;
};

/// Draws micro-batches. The shards must outlive it. Thread: any, one at a time.
class Sampler {
  public:
    /// Errors  InputError when a shard's vocabulary is not the model's, or no document has two
    ///         sentences
    Sampler(const formats::RunFile& run, std::span<const formats::Shard> shards);

    /// Draws samples first, first + 1 … first + count − 1 of the step. `weights`: as
    /// ShardMasses::draw. Their length is a multiple of `grain`, or the longest that a sample has.
    /// Requires count, grain ≥ 1 (aborts).
    MicroBatch draw(const Random& step, std::uint64_t first, std::size_t count,
                    std::span<const std::uint64_t> weights = {}, std::size_t grain = 1) const;

  private:
    struct Sample {
        std::vector<std::uint16_t> tokens;
        std::size_t first_length = 0;  ///< tokens up to the first separator, inclusive
        bool is_swapped = false;
    };
    Sample draw_sample(Random& random, std::span<const std::uint64_t> weights) const;
    void mask_tokens(const Sample& sample, std::size_t row, Random& random,
                     MicroBatch& batch) const;

    const std::uint64_t vocabulary_;
    const std::size_t sequence_length_;
    const formats::SpecialTokens special_;
    const std::span<const formats::Shard> shards_;
    ShardMasses masses_;  ///< things are the starts of shards
};

}  // namespace dedloc::training::albert
