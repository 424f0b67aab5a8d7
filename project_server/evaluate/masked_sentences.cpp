// Texts are made of the pieces of the tokens, ▁ being a blank, so what people read is what the
// model gets, also where the normaliser has changed the text. A drawn word is one piece that begins
// with ▁ and is followed by another such piece: not a part of a word.
#include "project_server/evaluate/masked_sentences.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/training/evaluation.hpp"
#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "project_server/runs/masked_lines.hpp"
#include "project_server/tokenizer/pipeline.hpp"

namespace dedloc::evaluate {
namespace {

constexpr std::string_view kBlank = "▁";
/// Tokens of a drawn sentence.
constexpr std::size_t kMinDrawn = 6, kMaxDrawn = 40;
/// Sentences that are looked at for each that is drawn.
constexpr std::size_t kLooks = 200;
/// The part of evaluation_random() that the sentences are drawn with: no sample has this number.
constexpr std::uint64_t kStream = std::uint64_t{1} << 63;

/// The first characters of a text.
std::string first_characters(std::string_view text, std::size_t count) {
    std::size_t end = 0;
    while (count-- > 0 && end < text.size()) {
        const std::size_t length = utf8_length(text.substr(end));
        if (length == 0) break;
        end += length;
    }
    return std::string{text.substr(0, end)};
}

/// The last characters of a text.
std::string last_characters(std::string_view text, std::size_t count) {
    const auto is_first = [](char c) { return (c & 0xC0) != 0x80; };
    auto characters = static_cast<std::size_t>(std::ranges::count_if(text, is_first));
    while (characters > count) {
        text.remove_prefix(std::max<std::size_t>(1, utf8_length(text)));
        --characters;
    }
    return std::string{text};
}

std::string text_of(std::string_view piece) {
    std::string text;
    while (!piece.empty()) {
        const bool is_blank = piece.starts_with(kBlank);
        text += is_blank ? std::string{" "} : std::string{piece.substr(0, 1)};
        piece.remove_prefix(is_blank ? kBlank.size() : 1);
    }
    return text;
}

std::string text_of(const huggingface::TokenizerSpec& spec, std::span<const std::uint16_t> tokens) {
    std::string text;
    for (const std::uint16_t token : tokens) {
        DEDLOC_CHECK(token < spec.pieces.size(), "a token of the tokenizer", token);
        text += text_of(spec.pieces[token].text);
    }
    return text;
}

std::string word_of(const huggingface::TokenizerSpec& spec, std::size_t token) {
    if (token >= spec.pieces.size()) return fmt::format("#{}", token);  // no piece has this id
    std::string word = text_of(spec.pieces[token].text);
    if (word.starts_with(' ') && word.size() > 1) word.erase(0, 1);
    return first_characters(word, server::kMaxWordCharacters);
}

/// Puts [CLS] and [SEP] around the tokens, of which the one at `masked` is masked.
MaskedSentence sentence_of(const formats::RunFile& run, const huggingface::TokenizerSpec& spec,
                           std::span<const std::uint16_t> tokens, std::size_t masked) {
    const std::string before = text_of(spec, tokens.first(masked));
    MaskedSentence sentence{.before = last_characters(before, server::kMaxContextCharacters),
                            .after = first_characters(text_of(spec, tokens.subspan(masked + 1)),
                                                      server::kMaxContextCharacters),
                            .wanted = {},
                            .tokens = {run.special_tokens.cls},
                            .masked_at = masked + 1};
    if (sentence.before.starts_with(' ')) sentence.before.erase(0, 1);
    sentence.tokens.insert(sentence.tokens.end(), tokens.begin(), tokens.end());
    sentence.tokens[sentence.masked_at] = run.special_tokens.mask;
    sentence.tokens.push_back(run.special_tokens.sep);
    return sentence;
}

/// Places of whole words of one token.
std::vector<std::size_t> whole_words(const huggingface::TokenizerSpec& spec,
                                     std::span<const std::uint16_t> tokens) {
    const auto begins_word = [&](std::size_t i) {
        return spec.pieces[tokens[i]].text.starts_with(kBlank);
    };
    std::vector<std::size_t> places;
    for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
        const bool is_word = begins_word(i) && begins_word(i + 1) &&
                             spec.pieces[tokens[i]].text.size() > kBlank.size() + 3;
        if (is_word) places.push_back(i);
    }
    return places;
}

}  // namespace

std::vector<MaskedSentence> chosen_sentences(const std::string& document, std::string_view text,
                                             const formats::RunFile& run,
                                             const huggingface::TokenizerSpec& spec) {
    const tokenizer::Pipeline pipeline{spec};
    std::vector<MaskedSentence> sentences;
    for (const runs::MaskedLine& line : runs::parse_masked_lines(document, text)) {
        auto tokens = pipeline.encode(line.sentence);
        tokens.resize(std::min<std::size_t>(tokens.size(), run.sequence_length - 2));
        const auto mask = std::ranges::find(tokens, run.special_tokens.mask);
        if (mask == tokens.end()) {
            throw InputError(fmt::format(
                "{}: the run's tokenizer makes no masked token of [MASK] in the first {} tokens of "
                "'{}'",
                document, tokens.size(), line.sentence));
        }
        const auto masked = static_cast<std::size_t>(mask - tokens.begin());
        auto& sentence = sentences.emplace_back(sentence_of(run, spec, tokens, masked));
        sentence.wanted = first_characters(line.wanted, server::kMaxWordCharacters);
    }
    return sentences;
}

std::vector<MaskedSentence> drawn_sentences(const formats::RunFile& run,
                                            std::span<const formats::Shard> shards,
                                            const huggingface::TokenizerSpec& spec,
                                            std::size_t count) {
    std::vector<MaskedSentence> sentences;
    if (shards.empty()) return sentences;
    Random random = training::evaluation_random(run.seed).split(kStream);
    const std::size_t longest = std::min<std::size_t>(kMaxDrawn, run.sequence_length - 2);
    for (std::size_t i = 0; i < count * kLooks && sentences.size() < count; ++i) {
        const formats::Shard& shard = shards[random.below(shards.size())];
        const auto tokens = shard.sentence(random.below(shard.sentence_count()));
        if (tokens.size() < kMinDrawn || tokens.size() > longest) continue;
        const auto places = whole_words(spec, tokens);
        if (places.empty()) continue;
        const std::size_t masked = places[random.below(places.size())];
        auto& sentence = sentences.emplace_back(sentence_of(run, spec, tokens, masked));
        sentence.wanted = word_of(spec, tokens[masked]);
    }
    return sentences;
}

std::optional<std::vector<server::MaskedAnswer>> answer_sentences(
    const formats::RunFile& run, std::span<const float> parameters,
    const std::vector<MaskedSentence>& sentences, const huggingface::TokenizerSpec& spec,
    const training::IsInterrupted& is_interrupted) {
    std::vector<server::MaskedAnswer> answers;
    if (sentences.empty()) return answers;
    training::albert::MicroBatch batch;
    batch.samples = sentences.size();
    for (const MaskedSentence& sentence : sentences) {
        batch.length = std::max(batch.length, sentence.tokens.size());
        batch.row_lengths.push_back(static_cast<std::int64_t>(sentence.tokens.size()));
    }
    batch.tokens.assign(batch.samples * batch.length, run.special_tokens.pad);
    batch.types.assign(batch.samples * batch.length, 0);
    batch.dropout_keys.resize(batch.samples);
    for (std::size_t row = 0; row < sentences.size(); ++row) {
        const std::size_t first = row * batch.length;
        std::ranges::copy(sentences[row].tokens,
                          batch.tokens.begin() + static_cast<std::ptrdiff_t>(first));
        batch.masked_at.push_back(static_cast<std::int64_t>(first + sentences[row].masked_at));
    }
    training::albert::Albert model{run, parameters};
    const auto guesses = model.guesses(
        batch, std::min<std::size_t>(kAnsweredWords, formats::albert_of(run).vocabulary),
        is_interrupted);
    if (!guesses) return std::nullopt;
    for (std::size_t row = 0; row < sentences.size(); ++row) {
        auto& answer = answers.emplace_back(server::MaskedAnswer{.before = sentences[row].before,
                                                                 .after = sentences[row].after,
                                                                 .wanted = sentences[row].wanted,
                                                                 .words = {}});
        for (const auto& guess : (*guesses)[row]) {
            answer.words.push_back(
                {word_of(spec, static_cast<std::size_t>(guess.token)), guess.probability});
        }
    }
    return answers;
}

}  // namespace dedloc::evaluate
