// Rules are checked before a text is read. The sample is that of `corpus build`; its sentences, as
// a corpus would have them, are what the tokenizer is trained on.
#include "project_server/corpus/tokenizer_training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/corpus/build_folder.hpp"
#include "project_server/corpus/sample.hpp"
#include "project_server/corpus/sentences.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/tokenizer/trainer.hpp"

namespace dedloc::corpus {
namespace {

namespace fs = std::filesystem;
using namespace huggingface;

const std::vector<std::pair<std::string_view, NormaliserStep>>& normaliser_steps() {
    using Form = UnicodeForm::Form;
    static const std::vector<std::pair<std::string_view, NormaliserStep>> kSteps{
        {"nmt", Nmt{}},
        {"nfc", UnicodeForm{Form::kNfc}},
        {"nfd", UnicodeForm{Form::kNfd}},
        {"nfkc", UnicodeForm{Form::kNfkc}},
        {"nfkd", UnicodeForm{Form::kNfkd}},
        {"lower-case", Lowercase{}},
        {"strip-accents", StripAccents{}},
        {"strip", Strip{}},
        {"blanks", ReplaceBlanks{" "}}};
    return kSteps;
}

const std::vector<std::pair<std::string_view, Division>>& division_steps() {
    static const std::vector<std::pair<std::string_view, Division>> kSteps{
        {"metaspace", Metaspace{}},
        {"digits", Digits{.individual = true}},
        {"digit-runs", Digits{.individual = false}},
        {"punctuation", Punctuation{}},
        {"whitespace", WhitespaceSplit{}}};
    return kSteps;
}

template <class Steps>
std::string names_of(const Steps& steps) {
    std::vector<std::string_view> names;
    for (const auto& [name, step] : steps) names.push_back(name);
    return fmt::format("{}", fmt::join(names, ", "));
}

/// The part of `text` behind this prefix, if it has it.
std::optional<std::string_view> behind(std::string_view text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return std::nullopt;
    return text.substr(prefix.size());
}

NormaliserStep normaliser_step(const std::string& name) {
    for (const auto& [known, step] : normaliser_steps()) {
        if (name == known) return step;
    }
    const auto text = behind(name, "text:");
    const auto regex = behind(name, "regex:");
    if (!text && !regex) {
        throw InputError(
            fmt::format("there is no step '{}' of a normaliser: {}, text:FROM=TO or "
                        "regex:EXPRESSION=TO",
                        name, names_of(normaliser_steps())));
    }
    const std::string_view both = text ? *text : *regex;
    const auto equals = both.rfind('=');
    if (equals == std::string_view::npos || equals == 0) {
        throw InputError(fmt::format("the step '{}' must have the form FROM=TO", name));
    }
    const std::string from{both.substr(0, equals)};
    const std::string to{both.substr(equals + 1)};
    if (text) return Replace{.pattern = from, .content = to};
    return ReplaceRegex{.pattern = from, .content = to};
}

Division division(const std::string& name) {
    for (const auto& [known, step] : division_steps()) {
        if (name == known) return step;
    }
    const auto regex = behind(name, "regex:");
    if (!regex || regex->empty()) {
        throw InputError(fmt::format("there is no division '{}': {} or regex:EXPRESSION", name,
                                     names_of(division_steps())));
    }
    return Split{.pattern = std::string{*regex}, .is_regex = true, .matched = Matched::kIsolated};
}

TokenizerSpec rules_of(const TokenizerOptions& options) {
    if (!options.like.empty()) {
        return parse_tokenizer(options.like.string(),
                               platform::read_text(options.like, kMaxTokenizerJsonBytes));
    }
    TokenizerSpec rules;
    for (const auto& name : options.normaliser) rules.normaliser.push_back(normaliser_step(name));
    for (const auto& name : options.divisions) rules.divisions.push_back(division(name));
    return rules;
}

}  // namespace

TrainedTokenizer train_tokenizer_folder(const TokenizerOptions& options) {
    if (options.texts.empty()) throw InputError("there is no text to train a tokenizer on");
    tokenizer::Trainer trainer{rules_of(options)};
    SentenceSplitter splitter{options.language};
    TrainedTokenizer trained;
    DocumentSample sample{options.seed, options.sample_bytes};
    for (const auto& text : options.texts) {
        DocumentReader reader{text, options.form.value_or(form_of(text))};
        for (std::string document; reader.next(document);) {
            sample.offer(trained.documents++, document);
        }
    }
    for (const auto& document : std::move(sample).take()) {
        for (const auto& sentence : splitter.split(document)) {
            trainer.add(sentence);
            ++trained.sentences;
        }
    }
    if (trained.sentences == 0) throw InputError("the text contains no sentence to train on");
    const TokenizerSpec spec = trainer.train(options.vocabulary);
    trained.pieces = spec.pieces.size();
    constexpr auto kTokens = tokenizer::kTrainedTokens;
    BuildFolder folder{options.folder};
    folder.resume(Digest{});
    platform::replace_file(folder.path() / "tokenizer.json", write_tokenizer(spec, kTokens));
    platform::replace_file(folder.path() / "tokenizer_config.json",
                           write_tokenizer_config(spec, kTokens, options.positions));
    folder.finish();
    return trained;
}

}  // namespace dedloc::corpus
