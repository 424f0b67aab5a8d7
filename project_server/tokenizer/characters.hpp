// Characters of UTF-8 texts, with the classes that the library `tokenizers` uses.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dedloc::tokenizer {

/// The character that begins at byte `at`, which is moved behind it. Requires UTF-8 and at <
/// text.size().
char32_t next_character(std::string_view text, std::size_t& at);
/// The character that ends at byte `at`, which is moved before it. Requires UTF-8 and at > 0.
char32_t previous_character(std::string_view text, std::size_t& at);
/// Appends a character.
void append_character(std::string& text, char32_t character);

/// White space: Unicode's White_Space.
bool is_white_space(char32_t character);
/// A character of words, as `\w` in regular expressions (UTS 18).
bool is_word_character(char32_t character);
/// A number: category N.
bool is_number(char32_t character);
/// Punctuation: that of ASCII, with signs like `$` and `+`, and category P of Unicode 8.
bool is_punctuation(char32_t character);
/// Lower case of a character alone; U+0130, whose lower case has two characters, stays as it is.
char32_t lower_case_of(char32_t character);
/// A digit, also a raised one: Unicode's Numeric_Type Decimal or Digit.
bool is_digit(char32_t character);
/// A character of category C: controls, formats, private use, unassigned.
bool is_control(char32_t character);
/// A capital letter.
bool is_capital(char32_t character);
/// The version of Unicode whose marks and decompositions the library `tokenizers` knows: it keeps
/// newer characters as they are.
inline constexpr int kUnicodeVersion = 9;

/// A combining mark: category M, in this version of Unicode.
bool is_mark(char32_t character);

/// Bytes of white space at the beginning.
std::size_t leading_space(std::string_view text);
/// Bytes of white space at the end.
std::size_t trailing_space(std::string_view text);

}  // namespace dedloc::tokenizer
