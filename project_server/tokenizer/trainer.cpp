// SentencePiece gets every part once, as a line "part TAB number", in a fixed order, and changes
// nothing about it: no normalisation, no prefix, no divisions of its own but before ▁.
#include "project_server/tokenizer/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "peer/base/bytes.hpp"
#include "project_server/huggingface/sentencepiece_model.hpp"
#include "project_server/tokenizer/train_unigram.hpp"

namespace dedloc::tokenizer {
namespace {

huggingface::TokenizerSpec without_pieces(const huggingface::TokenizerSpec& rules) {
    huggingface::TokenizerSpec only;
    only.normaliser = rules.normaliser;
    only.divisions = rules.divisions;
    return only;
}

}  // namespace

Trainer::Trainer(const huggingface::TokenizerSpec& rules)
    : rules_(without_pieces(rules)), normaliser_(rules.normaliser), divider_(rules.divisions) {}

void Trainer::add(std::string_view text) {
    const DividedText divided = divider_.apply(normaliser_.apply(text), true);
    for (const auto& part : divided.parts) {
        if (part.end - part.begin > kMaxTrainedPart) continue;
        std::string bytes = divided.text.substr(part.begin, part.end - part.begin);
        // These separate the trainer's own lines and fields.
        if (bytes.find_first_of(std::string_view{"\t\n\0", 3}) != std::string::npos) continue;
        ++counts_[std::move(bytes)];
    }
}

huggingface::TokenizerSpec Trainer::train(std::size_t vocabulary) const {
    std::vector<std::string> lines;
    for (const auto& [part, count] : counts_) lines.push_back(fmt::format("{}\t{}", part, count));
    std::ranges::sort(lines);
    const std::string bytes = train_unigram(lines, vocabulary,
                                            {{"input_format", "tsv"},
                                             {"normalization_rule_name", "identity"},
                                             {"add_dummy_prefix", "false"},
                                             {"remove_extra_whitespaces", "false"},
                                             {"split_by_unicode_script", "false"},
                                             {"split_by_number", "false"}});
    const auto model = huggingface::parse_sentencepiece(bytes_of(bytes));
    huggingface::TokenizerSpec spec = rules_;
    for (const auto& piece : model.pieces) {
        spec.pieces.push_back({.text = piece.text, .score = double{piece.score}});
    }
    constexpr auto kIds = kTrainedTokens;
    for (const std::uint16_t id : {kIds.pad, kIds.unknown, kIds.cls, kIds.sep, kIds.mask}) {
        spec.added.push_back({.content = spec.pieces[id].text,
                              .id = id,
                              .takes_space_before = id == kIds.mask,
                              .is_special = true});
    }
    spec.unknown = kIds.unknown;
    return spec;
}

}  // namespace dedloc::tokenizer
