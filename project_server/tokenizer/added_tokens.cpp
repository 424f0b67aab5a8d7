#include "project_server/tokenizer/added_tokens.hpp"

#include <algorithm>
#include <utility>

#include "project_server/tokenizer/characters.hpp"

namespace dedloc::tokenizer {

using huggingface::AddedToken;

namespace {

/// Whether no character of a word is beside text[begin, end).
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
    std::size_t at = begin;
    if (begin > 0 && is_word_character(previous_character(text, at))) return false;
    at = end;
    return end == text.size() || !is_word_character(next_character(text, at));
}

}  // namespace

TokenFinder::TokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
    std::ranges::stable_sort(tokens_, [](const AddedToken& a, const AddedToken& b) {
        return a.content.size() > b.content.size();
    });
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
        by_first_byte_[static_cast<unsigned char>(tokens_[i].content[0])].push_back(i);
    }
}

const AddedToken* TokenFinder::find(std::string_view text, std::size_t at) const {
    for (const std::size_t i : by_first_byte_[static_cast<unsigned char>(text[at])]) {
        if (text.substr(at).starts_with(tokens_[i].content)) return &tokens_[i];
    }
    return nullptr;
}

std::vector<TextPart> TokenFinder::split(std::string_view text) const {
    std::vector<TextPart> parts;
    std::size_t done = 0;  // all before this byte is in a part
    for (std::size_t at = 0; at < text.size();) {
        const AddedToken* const token = find(text, at);
        if (token == nullptr) {
            ++at;
            continue;
        }
        std::size_t begin = at;
        std::size_t end = at + token->content.size();
        at = end;
        if (token->is_single_word && !stands_alone(text, begin, end)) continue;
        if (token->takes_space_before) {
            begin = std::max(done, begin - trailing_space(text.substr(0, begin)));
        }
        if (token->takes_space_after) end += leading_space(text.substr(end));
        begin = std::max(begin, done);
        if (begin > done) parts.push_back({.text = text.substr(done, begin - done)});
        parts.push_back({.text = text.substr(begin, end - begin), .token = token->id});
        done = end;
    }
    if (done < text.size()) parts.push_back({.text = text.substr(done)});
    return parts;
}

}  // namespace dedloc::tokenizer
