// draw() first draws all samples of a micro-batch, each with a generator of its own, because the
// longest one determines the padded length. The shards' masses give the shard and the start;
// sentences are taken until the sequence is full, cut in
// two, perhaps swapped, and shortened. The second loop lays the rows out and masks tokens with the
// generators as they are then. The order in which numbers are drawn is part of what a sample is: a
// change of it changes all samples.
#include "boinc_app/albert/batch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"

namespace dedloc::training::albert {
namespace {

using Tokens = std::vector<std::uint16_t>;

constexpr std::uint64_t kDropout = 1;    // label of a sample's generator of dropout
constexpr double kMaskTokenShare = 0.8;  // share of the masked tokens that become the mask token
constexpr double kRandomShare = 0.5;     // share of the others that become random; the rest is kept

/// Cuts the pair to `limit` tokens in total, always from the end of the longer one.
void cut_longest_first(Tokens& first, Tokens& second, std::size_t limit) {
    while (first.size() + second.size() > limit) {
        (first.size() > second.size() ? first : second).pop_back();
    }
}

}  // namespace

Sampler::Sampler(const formats::RunFile& run, std::span<const formats::Shard> shards)
    : vocabulary_(formats::albert_of(run).vocabulary),
      sequence_length_(run.sequence_length),
      special_(run.special_tokens),
      shards_(shards),
      masses_(run.sources) {
    for (std::uint32_t shard = 0; shard < shards.size(); ++shard) {
        if (shards[shard].vocabulary != vocabulary_) {
            throw InputError{fmt::format("shard {} has a vocabulary of {}; the run's is {}", shard,
                                         shards[shard].vocabulary, vocabulary_)};
        }
        masses_.add(shards[shard].weight, shards[shard].start_count(), shards[shard].source);
    }
    if (masses_.is_empty()) {
        throw InputError{"no document of the shards has two sentences"};
    }
}

Sampler::Sample Sampler::draw_sample(Random& random, std::span<const std::uint64_t> weights) const {
    const ShardPlace place = masses_.draw(random, weights);
    const formats::Shard& shard = shards_[place.shard];
    const auto start = shard.start(static_cast<std::size_t>(place.index));
    const std::size_t limit = sequence_length_ - 3;  // class token and two separators

    std::size_t end = start.sentence;
    for (std::size_t length = 0; end < start.document_end; ++end) {
        if (length >= limit && end >= start.sentence + 2) break;
        length += shard.sentence(end).size();
    }
    const std::size_t cut = start.sentence + 1 + random.below(end - start.sentence - 1);
    const auto joined = [&shard](std::size_t from, std::size_t to) {
        Tokens tokens;
        for (; from < to; ++from) {
            const auto sentence = shard.sentence(from);
            tokens.insert(tokens.end(), sentence.begin(), sentence.end());
        }
        return tokens;
    };
    Tokens first = joined(start.sentence, cut);
    Tokens second = joined(cut, end);
    const bool is_swapped = random.below(2) == 1;
    if (is_swapped) std::swap(first, second);
    cut_longest_first(first, second, limit);

    Sample sample{
        .tokens = {special_.cls}, .first_length = first.size() + 2, .is_swapped = is_swapped};
    sample.tokens.insert(sample.tokens.end(), first.begin(), first.end());
    sample.tokens.push_back(special_.sep);
    sample.tokens.insert(sample.tokens.end(), second.begin(), second.end());
    sample.tokens.push_back(special_.sep);
    return sample;
}

void Sampler::mask_tokens(const Sample& sample, std::size_t row, Random& random,
                          MicroBatch& batch) const {
    std::vector<std::size_t> candidates;
    for (std::size_t at = 0; at < sample.tokens.size(); ++at) {
        const std::uint16_t token = sample.tokens[at];
        if (token != special_.cls && token != special_.sep && token != special_.pad) {
            candidates.push_back(at);
        }
    }
    if (candidates.empty()) candidates.push_back(1);
    std::vector<std::size_t> masked;
    for (const std::size_t at : candidates) {
        if (random.uniform() < formats::kMaskedShare) masked.push_back(at);
    }
    if (masked.empty()) masked.push_back(candidates[random.below(candidates.size())]);
    for (const std::size_t at : masked) {
        const std::size_t position = row * batch.length + at;
        batch.masked_at.push_back(static_cast<std::int64_t>(position));
        batch.masked_tokens.push_back(sample.tokens[at]);
        batch.masked_weights.push_back(1.0f / static_cast<float>(masked.size()));
        if (random.uniform() < kMaskTokenShare) {
            batch.tokens[position] = special_.mask;
        } else if (random.uniform() < kRandomShare) {
            batch.tokens[position] = static_cast<std::int64_t>(random.below(vocabulary_));
        }
    }
}

MicroBatch Sampler::draw(const Random& step, std::uint64_t first, std::size_t count,
                         std::span<const std::uint64_t> weights, std::size_t grain) const {
    DEDLOC_CHECK(count >= 1 && grain >= 1, "a micro-batch has at least one sample");
    std::vector<Random> randoms;
    std::vector<Sample> samples;
    MicroBatch batch;
    batch.samples = count;
    for (std::size_t row = 0; row < count; ++row) {
        randoms.push_back(step.split(first + row));
        samples.push_back(draw_sample(randoms.back(), weights));
        batch.length = std::max(batch.length, samples.back().tokens.size());
    }
    const std::size_t whole = (batch.length + grain - 1) / grain * grain;
    batch.length = std::max(batch.length, std::min(whole, sequence_length_));
    batch.tokens.assign(batch.samples * batch.length, special_.pad);
    batch.types.assign(batch.samples * batch.length, 0);
    for (std::size_t row = 0; row < count; ++row) {
        const Sample& sample = samples[row];
        const auto begin = static_cast<std::ptrdiff_t>(row * batch.length);
        std::copy(sample.tokens.begin(), sample.tokens.end(), batch.tokens.begin() + begin);
        std::fill(batch.types.begin() + begin + static_cast<std::ptrdiff_t>(sample.first_length),
                  batch.types.begin() + begin + static_cast<std::ptrdiff_t>(sample.tokens.size()),
                  1);
        batch.row_lengths.push_back(static_cast<std::int64_t>(sample.tokens.size()));
        batch.is_swapped.push_back(sample.is_swapped ? 1 : 0);
        batch.dropout_keys.push_back(step.split(first + row).split(kDropout).next());
        mask_tokens(sample, row, randoms[row], batch);
    }
    return batch;
}

}  // namespace dedloc::training::albert
