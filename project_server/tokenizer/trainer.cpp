// SentencePiece gets every part once, with its number, in a fixed order, and changes nothing about
// it: no normalisation, no prefix, no divisions of its own but before ▁. Its trainer sums in as
// many threads as it is told, and the sums depend on their number, so that is fixed.
#include "project_server/tokenizer/trainer.hpp"

#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "project_server/huggingface/sentencepiece_model.hpp"

namespace dedloc::tokenizer {
namespace {

/// What SentencePiece's trainer reads: lines "part TAB number".
class CountedParts final : public sentencepiece::SentenceIterator {
  public:
    explicit CountedParts(std::vector<std::string> lines) : lines_(std::move(lines)) {}
    bool done() const override { return at_ == lines_.size(); }
    void Next() override { ++at_; }
    const std::string& value() const override { return lines_[at_]; }
    sentencepiece::util::Status status() const override { return {}; }

  private:
    const std::vector<std::string> lines_;
    std::size_t at_ = 0;
};

huggingface::TokenizerSpec without_pieces(const huggingface::TokenizerSpec& rules) {
    huggingface::TokenizerSpec only;
    only.normaliser = rules.normaliser;
    only.divisions = rules.divisions;
    return only;
}

std::string train_model(std::vector<std::string> lines, std::size_t vocabulary) {
    const std::unordered_map<std::string, std::string> options = {
        {"model_type", "unigram"},
        {"vocab_size", std::to_string(vocabulary)},
        {"input_format", "tsv"},
        {"normalization_rule_name", "identity"},
        {"add_dummy_prefix", "false"},
        {"remove_extra_whitespaces", "false"},
        {"split_by_unicode_script", "false"},
        {"split_by_number", "false"},
        {"pad_id", "0"},
        {"pad_piece", "<pad>"},
        {"unk_id", "1"},
        {"unk_piece", "<unk>"},
        {"bos_id", "2"},
        {"bos_piece", "[CLS]"},
        {"eos_id", "3"},
        {"eos_piece", "[SEP]"},
        {"control_symbols", "[MASK]"},
        {"num_threads", "2"},
        {"minloglevel", "2"}};
    CountedParts parts{std::move(lines)};
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(options, &parts, &model);
    if (!status.ok()) {
        throw InputError(fmt::format("the text is too small for a vocabulary of {} pieces: {}",
                                     vocabulary, status.error_message()));
    }
    return model;
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
    const std::string bytes = train_model(std::move(lines), vocabulary);
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
