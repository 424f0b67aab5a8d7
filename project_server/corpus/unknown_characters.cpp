#include "project_server/corpus/unknown_characters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "project_server/tokenizer/characters.hpp"

namespace dedloc::corpus {
namespace {

constexpr std::size_t kExamples = 12;

/// Characters that a terminal shows as something else than themselves.
bool is_shown(char32_t character) {
    return !tokenizer::is_white_space(character) && !tokenizer::is_control(character);
}

}  // namespace

void UnknownCharacters::look_at(const std::string& text, const Tokenizer& tokenizer) {
    if (found_.size() >= kExamples) return;
    std::set<std::string> seen;
    for (std::size_t at = 0; at < text.size() && found_.size() < kExamples;) {
        const std::size_t begin = at;
        const char32_t code = tokenizer::next_character(text, at);
        std::string character = text.substr(begin, at - begin);
        if (!is_shown(code) || !seen.insert(character).second) continue;
        const auto ids = tokenizer.encode(character);
        const bool is_unknown =
            std::ranges::find(ids, tokenizer.special_tokens().unknown) != ids.end();
        const bool is_new = std::ranges::find(found_, character) == found_.end();
        if (is_unknown && is_new) found_.push_back(std::move(character));
    }
}

std::string UnknownCharacters::examples() const {
    if (found_.empty()) return {};
    return fmt::format(", such as {}", fmt::join(found_, " "));
}

}  // namespace dedloc::corpus
