// Most steps only move the borders of parts. A part is first cut into stretches that are matches of
// the step's pattern or lie between matches; then the step's kind says which of them go and which
// are joined. Metaspace alone writes the text anew, because it has three bytes for a blank. As in
// `tokenizers`, a part without bytes vanishes after each step.
#include "project_server/tokenizer/divider.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "peer/base/error.hpp"
#include "project_server/tokenizer/characters.hpp"
#include "project_server/tokenizer/normaliser.hpp"

namespace dedloc::tokenizer {

using namespace huggingface;

namespace {

using Part = DividedText::Part;

constexpr std::string_view kBlank = "\u2581";

/// Bytes of a part that are a match, or lie between two.
struct Stretch {
    Span span;
    bool is_match = false;
};
using Stretches = std::vector<Stretch>;

template <class IsMatch>
Stretches stretches_by_character(std::string_view text, const IsMatch& is_match) {
    Stretches stretches;
    std::size_t done = 0;
    const auto add = [&](std::size_t begin, std::size_t end, bool matches) {
        stretches.push_back({.span = {.begin = begin, .end = end}, .is_match = matches});
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        if (!is_match(next_character(text, at))) continue;
        if (done < begin) add(done, begin, false);
        add(begin, at, true);
        done = at;
    }
    if (done < text.size()) add(done, text.size(), false);
    return stretches;
}

Stretches stretches_between(const std::vector<Span>& matches, std::size_t size) {
    Stretches stretches;
    std::size_t done = 0;
    for (const Span match : matches) {
        if (done < match.begin) stretches.push_back({.span = {.begin = done, .end = match.begin}});
        stretches.push_back({.span = match, .is_match = true});
        done = match.end;
    }
    if (done < size) stretches.push_back({.span = {.begin = done, .end = size}});
    return stretches;
}

std::vector<Span> occurrences(std::string_view text, const std::string& pattern) {
    std::vector<Span> found;
    for (auto at = text.find(pattern); at != std::string_view::npos;
         at = text.find(pattern, at + pattern.size())) {
        found.push_back({.begin = at, .end = at + pattern.size()});
    }
    return found;
}

/// Joins matches with a neighbour: a run of matches gives only its first one away.
std::vector<Span> joined_with_previous(const Stretches& stretches) {
    std::vector<Span> parts;
    bool after_match = false;
    for (const auto& [span, is_match] : stretches) {
        if (is_match && !after_match && !parts.empty()) {
            parts.back().end = span.end;
        } else {
            parts.push_back(span);
        }
        after_match = is_match;
    }
    return parts;
}
std::vector<Span> joined_with_next(const Stretches& stretches) {
    std::vector<Span> parts;
    bool before_match = false;
    for (auto stretch = stretches.rbegin(); stretch != stretches.rend(); ++stretch) {
        if (stretch->is_match && !before_match && !parts.empty()) {
            parts.back().begin = stretch->span.begin;
        } else {
            parts.push_back(stretch->span);
        }
        before_match = stretch->is_match;
    }
    std::ranges::reverse(parts);
    return parts;
}
std::vector<Span> joined_runs(const Stretches& stretches) {
    std::vector<Span> parts;
    bool after_match = false;
    for (const auto& [span, is_match] : stretches) {
        if (is_match == after_match && !parts.empty()) {
            parts.back().end = span.end;
        } else {
            parts.push_back(span);
        }
        after_match = is_match;
    }
    return parts;
}

std::vector<Span> arranged(const Stretches& stretches, Matched matched) {
    switch (matched) {
        case Matched::kContiguous:
            return joined_runs(stretches);
        case Matched::kMergedWithPrevious:
            return joined_with_previous(stretches);
        case Matched::kMergedWithNext:
            return joined_with_next(stretches);
        case Matched::kRemoved:
        case Matched::kIsolated:
            break;
    }
    std::vector<Span> parts;
    for (const auto& [span, is_match] : stretches) {
        if (!is_match || matched == Matched::kIsolated) parts.push_back(span);
    }
    return parts;
}

/// The parts that one step makes of a part's text.
struct Cut {
    std::string_view text;
    const std::optional<Regex>& regex;  ///< the one of a Split step

    std::vector<Span> operator()(const WhitespaceSplit&) const {
        return arranged(stretches_by_character(text, is_white_space), Matched::kRemoved);
    }
    std::vector<Span> operator()(const Digits& step) const {
        return arranged(stretches_by_character(text, is_number),
                        step.individual ? Matched::kIsolated : Matched::kContiguous);
    }
    std::vector<Span> operator()(const Punctuation& step) const {
        return arranged(stretches_by_character(text, is_punctuation), step.matched);
    }
    std::vector<Span> operator()(const Whitespace&) const {
        std::vector<Span> parts;
        enum class Kind : std::uint8_t { kSpace, kWord, kOther };
        Kind last = Kind::kSpace;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t begin = at;
            const char32_t character = next_character(text, at);
            Kind kind = Kind::kOther;
            if (is_word_character(character)) kind = Kind::kWord;
            if (is_white_space(character)) kind = Kind::kSpace;
            if (kind != Kind::kSpace && kind == last) {
                parts.back().end = at;
            } else if (kind != Kind::kSpace) {
                parts.push_back({.begin = begin, .end = at});
            }
            last = kind;
        }
        return parts;
    }
    std::vector<Span> operator()(const Split& step) const {
        auto stretches = stretches_between(
            regex ? regex->matches(text) : occurrences(text, step.pattern), text.size());
        if (step.inverts) {
            for (Stretch& stretch : stretches) stretch.is_match = !stretch.is_match;
        }
        return arranged(stretches, step.matched);
    }
    std::vector<Span> operator()(const FixedLength& step) const {
        std::vector<Span> parts;
        std::uint64_t count = 0;
        for (std::size_t at = 0; at < text.size(); ++count) {
            const std::size_t begin = at;
            next_character(text, at);
            if (count % step.length == 0) parts.push_back({.begin = begin, .end = at});
            parts.back().end = at;
        }
        return parts;
    }
    /// Divides before every ▁ of a text that has them already.
    std::vector<Span> operator()(const Metaspace& step) const {
        if (!step.splits) return {{.begin = 0, .end = text.size()}};
        std::vector<Span> parts;
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = std::min(text.size(), text.find(kBlank, begin + 1));
            parts.push_back({.begin = begin, .end = end});
            begin = end;
        }
        return parts;
    }
};

/// Writes ▁ for blanks, and before the parts that get one.
DividedText with_blanks(const DividedText& divided, const Metaspace& step) {
    DividedText out;
    out.text.reserve(divided.text.size() + divided.text.size() / 4);
    for (const Part& part : divided.parts) {
        const std::size_t begin = out.text.size();
        const auto text = std::string_view{divided.text}.substr(part.begin, part.end - part.begin);
        const bool has_prefix = step.prefix == Metaspace::Prefix::kAlways ||
                                (step.prefix == Metaspace::Prefix::kFirst && part.is_first);
        if (has_prefix && !text.starts_with(' ') && !text.starts_with(kBlank)) out.text += kBlank;
        for (const char c : text) {
            if (c == ' ') {
                out.text += kBlank;
            } else {
                out.text += c;
            }
        }
        out.parts.push_back({.begin = begin, .end = out.text.size(), .is_first = part.is_first});
    }
    return out;
}

}  // namespace

Divider::Divider(std::vector<Division> steps) {
    for (Division& rule : steps) {
        Step& step = steps_.emplace_back();
        const auto* const split = std::get_if<Split>(&rule);
        if (split != nullptr && split->is_regex) step.regex.emplace(split->pattern);
        step.rule = std::move(rule);
    }
}

DividedText Divider::apply(std::string text, bool is_first) const {
    DividedText divided;
    if (text.empty()) return divided;
    const std::size_t limit = max_normalised(text.size());
    divided.parts.push_back({.begin = 0, .end = text.size(), .is_first = is_first});
    divided.text = std::move(text);
    for (const Step& step : steps_) {
        if (const auto* const blanks = std::get_if<Metaspace>(&step.rule)) {
            divided = with_blanks(divided, *blanks);
            if (divided.text.size() > limit) {
                throw InputError(
                    "the pre_tokenizer makes a text more than a hundred times as large");
            }
        }
        std::vector<Part> parts;
        for (const Part& part : divided.parts) {
            const auto whole =
                std::string_view{divided.text}.substr(part.begin, part.end - part.begin);
            for (const Span span : std::visit(Cut{.text = whole, .regex = step.regex}, step.rule)) {
                if (span.begin == span.end) continue;
                parts.push_back({.begin = part.begin + span.begin,
                                 .end = part.begin + span.end,
                                 .is_first = part.is_first && span.begin == 0});
            }
        }
        divided.parts = std::move(parts);
    }
    return divided;
}

}  // namespace dedloc::tokenizer
