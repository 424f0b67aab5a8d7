#include "project_server/cli/sentences.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

namespace dedloc::cli {
namespace {

bool is_space(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}
bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

std::string with_single_spaces(std::string_view text) {
    std::string line;
    for (const char c : text) {
        if (!is_space(c)) {
            line.push_back(c);
        } else if (!line.empty() && line.back() != ' ') {
            line.push_back(' ');
        }
    }
    if (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
}

bool is_abbreviation(std::string_view word) {
    static constexpr std::array<std::string_view, 16> kKnown = {
        "Mr", "Mrs", "Ms", "Dr",  "St",  "Prof", "Jr",  "Sr",
        "vs", "etc", "No", "Vol", "Fig", "cf",   "e.g", "i.e"};
    return word.size() == 1 || std::ranges::find(kKnown, word) != kKnown.end();
}

/// Whether the sentence may end with text[stop] (one of . ! ?), judged by the word before it.
bool may_end_at(std::string_view text, std::size_t stop) {
    if (text[stop] != '.') return true;
    std::size_t start = stop;
    while (start > 0 && (is_letter(text[start - 1]) || text[start - 1] == '.')) --start;
    return !is_abbreviation(text.substr(start, stop - start));
}

bool starts_a_sentence(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isupper(byte) != 0 || is_digit(c) || c == '"' || c == '\'' || c == '(' ||
           byte >= 0x80;
}

struct Verse {
    std::string_view chapter;  ///< e.g. "Ge1"
    std::string_view text;
};

/// Parses "Ge1:1 text" or "1Ch12:3 text": book, chapter, colon, verse, space.
std::optional<Verse> parse_verse(std::string_view line) {
    const auto colon = line.substr(0, 12).find(':');
    if (colon == std::string_view::npos || colon < 2 || !is_digit(line[colon - 1])) return {};
    const auto chapter = line.substr(0, colon);
    if (std::ranges::any_of(chapter, is_space) || std::ranges::none_of(chapter, is_letter)) {
        return {};
    }
    std::size_t end = colon + 1;
    while (end < line.size() && is_digit(line[end])) ++end;
    if (end == colon + 1 || end >= line.size() || line[end] != ' ') return {};
    return Verse{.chapter = chapter, .text = line.substr(end + 1)};
}

}  // namespace

std::vector<std::string> split_sentences(std::string_view paragraph) {
    const std::string text = with_single_spaces(paragraph);
    std::vector<std::string> sentences;
    std::size_t start = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '.' && text[at] != '!' && text[at] != '?') continue;
        std::size_t end = at + 1;
        while (end < text.size() &&
               std::string_view(")]\"'").find(text[end]) != std::string::npos) {
            ++end;
        }
        if (end + 1 >= text.size() || text[end] != ' ') continue;
        if (!starts_a_sentence(text[end + 1]) || !may_end_at(text, at)) continue;
        sentences.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    if (start < text.size()) sentences.push_back(text.substr(start));
    return sentences;
}

std::vector<Document> read_documents(std::istream& text) {
    std::vector<Document> documents;
    std::string chapter;
    for (std::string line; std::getline(text, line);) {
        if (const auto verse = parse_verse(line)) {
            if (verse->chapter != chapter) documents.emplace_back();
            chapter = verse->chapter;
            auto sentence = with_single_spaces(verse->text);
            if (!sentence.empty()) documents.back().push_back(std::move(sentence));
        } else {
            chapter.clear();
            auto sentences = split_sentences(line);
            if (!sentences.empty()) documents.push_back(std::move(sentences));
        }
    }
    std::erase_if(documents, [](const Document& document) { return document.empty(); });
    return documents;
}

}  // namespace dedloc::cli
