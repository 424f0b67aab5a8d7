#include "project_server/tokenizer/characters.hpp"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstdint>

namespace dedloc::tokenizer {
namespace {

const std::uint8_t* bytes_of_text(std::string_view text) {
    return reinterpret_cast<const std::uint8_t*>(text.data());
}
UChar32 code_of(char32_t character) {
    return static_cast<UChar32>(character);
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
           u_hasBinaryProperty(code, UCHAR_JOIN_CONTROL) != 0;
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
    UVersionInfo age;
    u_charAge(code_of(character), age);
    return age[0] <= kUnicodeVersion && (U_GET_GC_MASK(code_of(character)) & U_GC_M_MASK) != 0;
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
