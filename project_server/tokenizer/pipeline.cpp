// encode() cuts the raw added tokens out of the text, normalises each part between them, and cuts
// the other added tokens, which the constructor has normalised as well, out of the result. The
// parts that are left pass through all divisions, one after another, before the model encodes them.
// `is_first` goes with each part to the divisions, because some put a prefix before the begin of
// the whole text only.
#include "project_server/tokenizer/pipeline.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "peer/base/check.hpp"
#include "project_server/tokenizer/characters.hpp"

namespace dedloc::tokenizer {

using namespace huggingface;

namespace {

constexpr std::string_view kBlank = "\u2581";

/// A part of the text on its way to the model.
struct Part {
    std::string text;
    bool is_first = false;  ///< it begins where the text begins
};
using Parts = std::vector<Part>;

std::vector<AddedToken> tokens_of(const TokenizerSpec& spec, const Normaliser& normaliser,
                                  bool is_normalised) {
    std::vector<AddedToken> tokens;
    for (AddedToken token : spec.added) {
        DEDLOC_CHECK(token.id < spec.pieces.size(), "an added token is a piece", token.id);
        if (token.is_normalised != is_normalised) continue;
        if (is_normalised) token.content = normaliser.apply(token.content);
        tokens.push_back(std::move(token));
    }
    return tokens;
}

void divide(const WhitespaceSplit&, const Part& part, Parts& out) {
    const std::string_view text{part.text};
    std::size_t begin = 0;
    const auto add = [&](std::size_t end) {
        if (end == begin) return;
        out.push_back({.text = std::string{text.substr(begin, end - begin)},
                       .is_first = part.is_first && begin == 0});
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = at;
        if (!is_white_space(next_character(text, at))) continue;
        add(end);
        begin = at;
    }
    add(text.size());
}

void divide(const Metaspace& step, const Part& part, Parts& out) {
    std::string text;
    for (const char c : part.text) {
        if (c == ' ') {
            text += kBlank;
        } else {
            text += c;
        }
    }
    const bool has_prefix = step.prefix == Metaspace::Prefix::kAlways ||
                            (step.prefix == Metaspace::Prefix::kFirst && part.is_first);
    if (has_prefix && !text.empty() && !text.starts_with(kBlank)) text.insert(0, kBlank);
    if (!step.splits) {
        out.push_back({.text = std::move(text), .is_first = part.is_first});
        return;
    }
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.size(), text.find(kBlank, begin + 1));
        out.push_back(
            {.text = text.substr(begin, end - begin), .is_first = part.is_first && begin == 0});
        begin = end;
    }
}

}  // namespace

Pipeline::Pipeline(const TokenizerSpec& spec)
    : normaliser_(spec.normaliser),
      raw_tokens_(tokens_of(spec, normaliser_, false)),
      normalised_tokens_(tokens_of(spec, normaliser_, true)),
      divisions_(spec.divisions),
      model_(spec.pieces, spec.unknown) {}

void Pipeline::encode_between(std::string_view text, bool is_first,
                              std::vector<std::uint16_t>& ids) const {
    Parts parts{{.text = std::string{text}, .is_first = is_first}};
    for (const Division& division : divisions_) {
        Parts divided;
        for (const Part& part : parts) {
            std::visit([&](const auto& step) { divide(step, part, divided); }, division);
        }
        parts = std::move(divided);
    }
    for (const Part& part : parts) model_.encode(part.text, ids);
}

std::vector<std::uint16_t> Pipeline::encode(std::string_view text) const {
    std::vector<std::uint16_t> ids;
    bool is_first = true;
    for (const TextPart& part : raw_tokens_.split(text)) {
        if (part.token) {
            ids.push_back(*part.token);
        } else {
            const std::string normalised = normaliser_.apply(part.text);
            for (const TextPart& between : normalised_tokens_.split(normalised)) {
                if (between.token) {
                    ids.push_back(*between.token);
                } else {
                    encode_between(between.text, is_first, ids);
                }
                is_first = false;
            }
        }
        is_first = false;
    }
    return ids;
}

}  // namespace dedloc::tokenizer
