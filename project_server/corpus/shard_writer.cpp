// Documents collect in the builder, and their counts in pending_, apart from the journal. The end
// of a shard writes its file, then moves the counts into the journal, then replaces the journal: a
// build that is killed in between writes the same shard under the same name again, because the name
// is made from its digest. Weights are set at the end, when the number of starts of each text is
// known: the ratios become whole numbers, divided by their greatest common divisor. With sources
// all shards have weight 1, and the sources have the weights.
#include "project_server/corpus/shard_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::corpus {
namespace {

/// For each text the weight of its shards: weights[text] divided by its number of starts, in whole
/// numbers. The error of a share is below 10⁻⁶ of the largest.
std::vector<std::uint64_t> shard_weights(std::span<const double> weights,
                                         const std::vector<TextCount>& texts) {
    if (weights.empty()) return {};
    std::vector<double> density;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (i >= texts.size() || texts[i].starts == 0) {
            throw InputError(fmt::format("text {} has no document of two sentences", i + 1));
        }
        density.push_back(weights[i] / static_cast<double>(texts[i].starts));
    }
    const double max = std::ranges::max(density);
    std::vector<std::uint64_t> whole;
    std::uint64_t divisor = 0;
    for (const double value : density) {
        const double scaled = std::round(value / max * formats::kMaxShardWeight);
        whole.push_back(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled)));
        divisor = std::gcd(divisor, whole.back());
    }
    for (auto& value : whole) value /= divisor;
    return whole;
}

}  // namespace

ShardWriter::ShardWriter(std::filesystem::path folder, Journal journal, std::uint64_t shard_tokens,
                         std::vector<std::uint32_t> source_of)
    : folder_(std::move(folder)),
      shard_tokens_(shard_tokens),
      source_of_(std::move(source_of)),
      journal_(std::move(journal)),
      builder_(static_cast<std::uint32_t>(journal_.corpus.vocabulary)) {}

void ShardWriter::begin_text(std::uint64_t text) {
    journal_.text = text;
    journal_.offset = 0;
    journal_.document = 0;
}

void ShardWriter::begin_held_out() {
    journal_.is_held_out = true;
    begin_text(0);
}

void ShardWriter::add(const EncodedText& text, const Position& end) {
    const EncodedDocument& document = text.document;
    if (!document.empty()) {
        for (const auto& sentence : document) {
            builder_.add_sentence(sentence);
            pending_.tokens += sentence.size();
        }
        builder_.end_document();
        ++pending_.documents;
        pending_.unknown += text.unknown;
        pending_.held_out += journal_.is_held_out ? 1 : 0;
        pending_.single += document.size() == 1 ? 1 : 0;
        pending_.sentences += document.size();
    }
    if (builder_.token_count() >= shard_tokens_) end_shard(end);
}

/// The name is made from the digest, because BOINC requires that a file name always stands for the
/// same bytes.
void ShardWriter::write(const formats::Shard& shard) {
    auto& corpus = journal_.corpus;
    if (corpus.shards.size() == formats::kMaxShards) {
        throw InputError(fmt::format(
            "the text needs more than {} shards: choose a larger number of tokens per shard",
            formats::kMaxShards));
    }
    formats::ShardReference reference;
    reference.digest = blake2b(shard.file);
    reference.bytes = shard.file.size();
    reference.is_held_out = journal_.is_held_out;
    if (!source_of_.empty()) reference.source = source_of_[journal_.text];
    reference.name = fmt::format("{}-{}", reference.is_held_out ? "held-out" : "shard",
                                 reference.digest.hex().substr(0, 16));
    if (std::ranges::find(corpus.shards, reference.digest, &formats::ShardReference::digest) !=
        corpus.shards.end()) {
        throw InputError("two shards are equal: the text repeats itself");
    }
    platform::replace_file(folder_ / reference.name, shard.file);
    corpus.shards.push_back(std::move(reference));
}

void ShardWriter::end_shard(const Position& next) {
    if (builder_.token_count() > 0) {
        write(std::move(builder_).finish());
        if (!journal_.is_held_out) {
            journal_.texts.resize(std::max<std::size_t>(journal_.texts.size(), journal_.text + 1));
            ++journal_.texts.back().shards;
            journal_.texts.back().starts += pending_.sentences - pending_.documents;
        }
    }
    auto& corpus = journal_.corpus;
    builder_ = formats::ShardBuilder{static_cast<std::uint32_t>(corpus.vocabulary)};
    corpus.documents += pending_.documents;
    corpus.held_out += pending_.held_out;
    corpus.single += pending_.single;
    corpus.sentences += pending_.sentences;
    corpus.tokens += pending_.tokens;
    corpus.unknown += pending_.unknown;
    pending_ = {};
    journal_.offset = next.offset;
    journal_.document = next.document;
    write_journal(folder_, journal_);
}

void ShardWriter::finish_sources(std::span<const double> weights) {
    auto& sources = journal_.corpus.sources;
    std::vector<double> starts(sources.size());
    for (std::size_t text = 0; text < journal_.texts.size(); ++text) {
        starts[source_of_[text]] += static_cast<double>(journal_.texts[text].starts);
    }
    const auto whole = formats::whole_weights(weights.empty() ? starts : weights);
    for (std::size_t i = 0; i < sources.size(); ++i) {
        if (starts[i] == 0) {
            throw InputError(
                fmt::format("source {} has no document of two sentences", sources[i].name));
        }
        sources[i].weight = whole[i];
    }
    std::ranges::sort(journal_.corpus.shards, {}, &formats::ShardReference::name);
}

void ShardWriter::finish(std::span<const double> weights) {
    auto& shards = journal_.corpus.shards;
    auto shard = shards.begin();
    const auto of_texts = shard_weights(weights, journal_.texts);
    for (std::size_t text = 0; text < of_texts.size(); ++text) {
        for (std::uint64_t i = 0; i < journal_.texts[text].shards; ++i, ++shard) {
            shard->weight = of_texts[text];
        }
    }
    std::ranges::sort(shards, {}, &formats::ShardReference::name);
}

}  // namespace dedloc::corpus
