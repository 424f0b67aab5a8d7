#include "project_server/tokenizer/characters.hpp"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

namespace dedloc::tokenizer {
namespace {

const std::uint8_t* bytes_of_text(std::string_view text) {
    return reinterpret_cast<const std::uint8_t*>(text.data());
}
UChar32 code_of(char32_t character) {
    return static_cast<UChar32>(character);
}

/// Characters from `first` to `last`.
struct Range {
    char32_t first;
    char32_t last;
};
bool contains(std::span<const Range> ranges, char32_t character) {
    const auto after = std::ranges::upper_bound(ranges, character, {}, &Range::first);
    return after != ranges.begin() && character <= std::prev(after)->last;
}

// Characters newer than Unicode 15, which is ICU 72's, that `tokenizers` 0.23 has in its classes:
// make_fixtures.py compares all characters.

/// Category N of Unicode 16 and 17.
constexpr Range kNewNumbers[] = {
    {U'\U00010d40', U'\U00010d49'}, {U'\U000116d0', U'\U000116e3'}, {U'\U00011bf0', U'\U00011bf9'},
    {U'\U00011de0', U'\U00011de9'}, {U'\U00016130', U'\U00016139'}, {U'\U00016d70', U'\U00016d79'},
    {U'\U00016ff4', U'\U00016ff6'}, {U'\U0001ccf0', U'\U0001ccf9'}, {U'\U0001e5f1', U'\U0001e5fa'}};
/// Characters of words of Unicode 16.
constexpr Range kNewWordCharacters[] = {
    {U'\u0897', U'\u0897'},         {U'\u1c89', U'\u1c8a'},         {U'\ua7cb', U'\ua7cd'},
    {U'\ua7da', U'\ua7dc'},         {U'\U000105c0', U'\U000105f3'}, {U'\U00010d40', U'\U00010d65'},
    {U'\U00010d69', U'\U00010d6d'}, {U'\U00010d6f', U'\U00010d85'}, {U'\U00010ec2', U'\U00010ec4'},
    {U'\U00010efc', U'\U00010efc'}, {U'\U00011380', U'\U00011389'}, {U'\U0001138b', U'\U0001138b'},
    {U'\U0001138e', U'\U0001138e'}, {U'\U00011390', U'\U000113b5'}, {U'\U000113b7', U'\U000113c0'},
    {U'\U000113c2', U'\U000113c2'}, {U'\U000113c5', U'\U000113c5'}, {U'\U000113c7', U'\U000113ca'},
    {U'\U000113cc', U'\U000113d3'}, {U'\U000113e1', U'\U000113e2'}, {U'\U000116d0', U'\U000116e3'},
    {U'\U00011bc0', U'\U00011be0'}, {U'\U00011bf0', U'\U00011bf9'}, {U'\U00011f5a', U'\U00011f5a'},
    {U'\U00013460', U'\U000143fa'}, {U'\U00016100', U'\U00016139'}, {U'\U00016d40', U'\U00016d6c'},
    {U'\U00016d70', U'\U00016d79'}, {U'\U00018cff', U'\U00018cff'}, {U'\U0001ccf0', U'\U0001ccf9'},
    {U'\U0001e5d0', U'\U0001e5fa'}, {U'\U0002ebf0', U'\U0002ee5d'}};

/// Capitals of Unicode 16 and 17, and how far behind each its small letter is.
struct Capitals {
    char32_t first;
    char32_t last;
    int distance;
};
constexpr Capitals kNewCapitals[] = {
    {U'\u1c89', U'\u1c89', 1},          {U'\ua7cb', U'\ua7cb', 0x264 - 0xa7cb},
    {U'\ua7cc', U'\ua7cc', 1},          {U'\ua7ce', U'\ua7ce', 1},
    {U'\ua7d2', U'\ua7d2', 1},          {U'\ua7d4', U'\ua7d4', 1},
    {U'\ua7da', U'\ua7da', 1},          {U'\ua7dc', U'\ua7dc', 0x19b - 0xa7dc},
    {U'\U00010d50', U'\U00010d65', 32}, {U'\U00016ea0', U'\U00016eb8', 27}};

/// The oldest version of Unicode that has the character; 0: none that ICU knows.
int age_of(char32_t character) {
    UVersionInfo age;
    u_charAge(code_of(character), age);
    return age[0];
}

}  // namespace

char32_t next_character(std::string_view text, std::size_t& at) {
    const std::uint8_t* const bytes = bytes_of_text(text);
    UChar32 code = 0;
    U8_NEXT_OR_FFFD(bytes, at, text.size(), code);
    return static_cast<char32_t>(code);
}

char32_t previous_character(std::string_view text, std::size_t& at) {
    std::size_t begin = at - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0U) == 0x80U) --begin;
    at = begin;
    return next_character(text, begin);
}

void append_character(std::string& text, char32_t character) {
    std::uint8_t bytes[U8_MAX_LENGTH];
    std::size_t length = 0;
    U8_APPEND_UNSAFE(bytes, length, code_of(character));
    text.append(reinterpret_cast<const char*>(bytes), length);
}

bool is_white_space(char32_t character) {
    return u_isUWhiteSpace(code_of(character)) != 0;
}

bool is_word_character(char32_t character) {
    const UChar32 code = code_of(character);
    constexpr std::uint32_t kClasses = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
    return u_isUAlphabetic(code) != 0 || (U_GET_GC_MASK(code) & kClasses) != 0 ||
           u_hasBinaryProperty(code, UCHAR_JOIN_CONTROL) != 0 ||
           contains(kNewWordCharacters, character);
}

bool is_number(char32_t character) {
    return (U_GET_GC_MASK(code_of(character)) & U_GC_N_MASK) != 0 ||
           contains(kNewNumbers, character);
}

bool is_punctuation(char32_t character) {
    if (character < 0x80) return u_isgraph(code_of(character)) && !u_isalnum(code_of(character));
    // One was punctuation then and is a mark today, one is a sign today.
    if (character == U'\u166d' || character == U'\U000111c9') return true;
    constexpr int kVersion = 8;
    return (U_GET_GC_MASK(code_of(character)) & U_GC_P_MASK) != 0 && age_of(character) <= kVersion;
}

char32_t lower_case_of(char32_t character) {
    for (const Capitals& range : kNewCapitals) {
        if (character < range.first || character > range.last) continue;
        return static_cast<char32_t>(static_cast<int>(character) + range.distance);
    }
    return static_cast<char32_t>(u_tolower(code_of(character)));
}

bool is_digit(char32_t character) {
    const auto kind = u_getIntPropertyValue(code_of(character), UCHAR_NUMERIC_TYPE);
    return kind == U_NT_DECIMAL || kind == U_NT_DIGIT;
}

bool is_control(char32_t character) {
    return (U_GET_GC_MASK(code_of(character)) & U_GC_C_MASK) != 0;
}

bool is_capital(char32_t character) {
    return u_hasBinaryProperty(code_of(character), UCHAR_UPPERCASE) != 0;
}

bool is_mark(char32_t character) {
    // Two marks of that time are letters today, and a mark of today was punctuation.
    if (character == U'\u1cf2' || character == U'\u1cf3') return true;
    if (character == U'\U000111c9') return false;
    return age_of(character) <= kUnicodeVersion &&
           (U_GET_GC_MASK(code_of(character)) & U_GC_M_MASK) != 0;
}

std::size_t leading_space(std::string_view text) {
    std::size_t end = 0;
    for (std::size_t at = 0; at < text.size(); end = at) {
        if (!is_white_space(next_character(text, at))) break;
    }
    return end;
}

std::size_t trailing_space(std::string_view text) {
    std::size_t begin = text.size();
    for (std::size_t at = text.size(); at > 0; begin = at) {
        if (!is_white_space(previous_character(text, at))) break;
    }
    return text.size() - begin;
}

}  // namespace dedloc::tokenizer
