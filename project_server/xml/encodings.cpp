// A name is too short for the statistics of a charset detector. What tells code pages apart is
// whether the bytes make words: letters of one script, with capitals where words have them, and
// for Chinese and Japanese the characters in general use.
#include "project_server/xml/encodings.hpp"

#include <unicode/uchar.h>
#include <unicode/ucnv.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/base/utf8.hpp"

namespace dedloc::server {
namespace {

using Characters = std::vector<UChar32>;

bool is_ascii(UChar32 c) {
    return c < 0x80;
}
bool is_between(UChar32 c, UChar32 first, UChar32 last) {
    return c >= first && c <= last;
}

/// The bytes in an encoding of ICU; nothing if they are none of its characters.
std::optional<icu::UnicodeString> decoded(std::string_view bytes, const char* encoding) {
    UErrorCode failure = U_ZERO_ERROR;
    const std::unique_ptr<UConverter, decltype(&ucnv_close)> converter{
        ucnv_open(encoding, &failure), &ucnv_close};
    DEDLOC_CHECK(U_SUCCESS(failure), "ICU has the code pages of Windows", encoding);
    ucnv_setToUCallBack(converter.get(), UCNV_TO_U_CALLBACK_STOP, nullptr, nullptr, nullptr,
                        &failure);
    std::vector<UChar> text(bytes.size() + 1);  // no code page has longer characters
    const std::int32_t length =
        ucnv_toUChars(converter.get(), text.data(), static_cast<std::int32_t>(text.size()),
                      bytes.data(), static_cast<std::int32_t>(bytes.size()), &failure);
    if (U_FAILURE(failure)) return std::nullopt;
    return icu::UnicodeString{text.data(), length};
}

/// The words of a text: its longest runs of letters.
std::vector<Characters> words_of(const icu::UnicodeString& text) {
    std::vector<Characters> words;
    bool is_inside = false;
    for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
        const UChar32 c = text.char32At(i);
        if (u_isalpha(c) && !is_inside) words.emplace_back();
        is_inside = u_isalpha(c);
        if (is_inside) words.back().push_back(c);
    }
    return words;
}

/// Whether capitals are where words have them: everywhere, nowhere, at the beginning, or at the
/// beginning of each part of a compound, such as MeinRechner.
bool has_usual_capitals(const Characters& word) {
    if (std::ranges::all_of(word, [](UChar32 c) { return u_isupper(c); })) return true;
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= word.size(); ++i) {
        if (i < word.size() && !u_isupper(word[i])) continue;
        if (i - begin < 3 && begin + i != word.size()) return false;
        begin = i;
    }
    return true;
}

/// Whether all characters outside of ASCII are letters or `is_other`, and every word that has such
/// a letter is `is_word` and has its capitals where words have them.
template <class IsOther, class IsWord>
bool has_only_words(const icu::UnicodeString& text, const IsOther& is_other,
                    const IsWord& is_word) {
    for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
        const UChar32 c = text.char32At(i);
        if (!is_ascii(c) && !u_isalpha(c) && !is_other(c)) return false;
    }
    return std::ranges::all_of(words_of(text), [&](const Characters& word) {
        return std::ranges::all_of(word, is_ascii) || (is_word(word) && has_usual_capitals(word));
    });
}

/// Words of Latin letters, at least half of them without accents.
bool is_western(const icu::UnicodeString& text) {
    return has_only_words(
        text, [](UChar32) { return false; },
        [](const Characters& word) {
            const auto plain = std::ranges::count_if(word, is_ascii);
            return static_cast<std::size_t>(plain) * 2 >= word.size();
        });
}

/// Words of Cyrillic letters only.
bool is_cyrillic(const icu::UnicodeString& text) {
    return has_only_words(
        text, [](UChar32 c) { return c == 0x2116 || c == 0xAB || c == 0xBB || c == 0x2013; },
        [](const Characters& word) {
            return std::ranges::all_of(word, [](UChar32 c) { return is_between(c, 0x400, 0x4FF); });
        });
}

/// Whether the bytes of all characters outside of ASCII are pairs, the first of them between
/// `first` and `last`, the second at least `min`.
bool has_pairs(std::string_view bytes, unsigned char first, unsigned char last, unsigned char min) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto lead = static_cast<unsigned char>(bytes[i]);
        if (lead < 0x80) continue;
        if (++i == bytes.size() || lead < first || lead > last) return false;
        if (static_cast<unsigned char>(bytes[i]) < min) return false;
    }
    return true;
}

/// Kana, or kanji of the first level of JIS.
bool is_japanese(std::string_view bytes, const icu::UnicodeString& text) {
    bool has_kana = false;
    for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
        const UChar32 c = text.char32At(i);
        const bool is_kana = is_between(c, 0x3041, 0x30FF);
        has_kana = has_kana || is_kana;
        if (!is_ascii(c) && !is_kana && !is_between(c, 0x3000, 0x9FFF) &&
            !is_between(c, 0xFF01, 0xFF5E)) {
            return false;
        }
    }
    return has_kana || has_pairs(bytes, 0x88, 0x97, 0x40);
}

/// The bytes as UTF-8 if a code page is likely; nothing otherwise.
std::optional<icu::UnicodeString> guessed(std::string_view bytes) {
    if (auto western = decoded(bytes, "windows-1252"); western && is_western(*western)) {
        return western;
    }
    if (auto cyrillic = decoded(bytes, "windows-1251"); cyrillic && is_cyrillic(*cyrillic)) {
        return cyrillic;
    }
    if (auto japanese = decoded(bytes, "windows-31j"); japanese && is_japanese(bytes, *japanese)) {
        return japanese;
    }
    // The symbols and hanzi of GB 2312; the other pairs of the code page are rare.
    if (has_pairs(bytes, 0xA1, 0xF7, 0xA1)) return decoded(bytes, "windows-936");
    return std::nullopt;
}

/// `text` without the first bytes of a character at its end whose others are cut off.
std::string_view without_cut_character(std::string_view text) {
    for (std::size_t length = 1; length <= 3 && length <= text.size(); ++length) {
        const auto lead = static_cast<unsigned char>(text[text.size() - length]);
        if (lead < 0x80) break;
        if (lead < 0xC0) continue;
        const std::size_t whole = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        return whole > length ? text.substr(0, text.size() - length) : text;
    }
    return text;
}

}  // namespace

std::string utf8_of(std::string_view bytes) {
    if (is_utf8(bytes)) return std::string{bytes};
    const std::string_view whole = without_cut_character(bytes);
    const bool has_utf8 = std::ranges::any_of(whole, [](char c) { return (c & 0x80) != 0; });
    if (has_utf8 && is_utf8(whole)) return std::string{whole};
    auto text = guessed(bytes);
    if (!text) text = decoded(bytes, "windows-1252");
    DEDLOC_CHECK(text, "Windows-1252 has a character for each byte");
    std::string utf8;
    text->toUTF8String(utf8);
    return utf8;
}

std::string utf8_lines_of(std::string_view bytes) {
    if (is_utf8(bytes)) return std::string{bytes};
    std::string text;
    while (!bytes.empty()) {
        const std::string_view line = bytes.substr(0, bytes.find('\n'));
        text += utf8_of(line);
        bytes.remove_prefix(line.size());
        if (bytes.empty()) break;
        text += '\n';
        bytes.remove_prefix(1);
    }
    return text;
}

std::string_view cut_text(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) return text;
    std::size_t end = limit;
    const auto is_inside = [&] { return (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80; };
    while (end > 0 && limit - end < 4 && is_inside()) --end;
    // Bytes that are no UTF-8 have no characters to spare.
    return text.substr(0, limit - end < 4 ? end : limit);
}

}  // namespace dedloc::server
