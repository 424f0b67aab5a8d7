// ICU finds the ends in UTF-16. In languages with a danda it looks at a copy of the same length, in
// which dandas stand for what is written instead of them; sentences are cut from the text itself.
#include "project_server/corpus/sentences.hpp"

#include <fmt/format.h>
#include <unicode/brkiter.h>
#include <unicode/filteredbrk.h>
#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"

namespace dedloc::corpus {
namespace {

std::string with_single_spaces(std::string_view text) {
    std::string line;
    line.reserve(text.size());
    for (const char c : text) {
        const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
        if (!is_space) {
            line.push_back(c);
        } else if (!line.empty() && line.back() != ' ') {
            line.push_back(' ');
        }
    }
    if (line.ends_with(' ')) line.pop_back();
    return line;
}

/// Appends the sentence, or its pieces if it is too long.
void append(std::string sentence, std::vector<std::string>& sentences) {
    while (sentence.size() > kMaxSentenceBytes) {
        std::size_t end = sentence.rfind(' ', kMaxSentenceBytes);
        if (end == std::string::npos || end == 0) {
            end = kMaxSentenceBytes;
            while ((static_cast<unsigned char>(sentence[end]) & 0xC0) == 0x80) --end;
        }
        sentences.push_back(sentence.substr(0, end));
        sentence.erase(0, end + (sentence[end] == ' ' ? 1 : 0));
    }
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
}

icu::Locale locale_of(const std::string& language) {
    if (language == "root") return icu::Locale::getRoot();
    UErrorCode status = U_ZERO_ERROR;
    auto locale = icu::Locale::forLanguageTag(language, status);
    if (U_FAILURE(status) || locale.isBogus() || *locale.getISO3Language() == '\0') {
        throw InputError(fmt::format(
            "there is no language '{}': give a tag such as en or pt-BR, or root", language));
    }
    return locale;
}

/// Whether the language's full stop is the danda (U+0964).
bool has_danda(const icu::Locale& locale) {
    static constexpr std::array<std::string_view, 21> kLanguages{
        "as",  "awa", "bho", "bn", "brx", "doi", "gom", "hi", "hne", "kok", "mag",
        "mai", "mni", "mr",  "ne", "new", "or",  "pa",  "sa", "sat", "bgc"};
    return std::ranges::find(kLanguages, std::string_view{locale.getLanguage()}) !=
           kLanguages.end();
}

/// The text with dandas for what stands for them, of the same length: a vertical bar before white
/// space, another bar or the end; and the danda of older Bengali encodings.
icu::UnicodeString with_dandas(const icu::UnicodeString& text) {
    constexpr char16_t kDanda = 0x0964, kDoubleDanda = 0x0965;
    icu::UnicodeString replaced = text;
    for (std::int32_t at = 0; at < text.length(); ++at) {
        const char16_t c = text.charAt(at);
        const char16_t next = at + 1 < text.length() ? text.charAt(at + 1) : u' ';
        const bool is_bar = c == u'|' && (next == u'|' || next <= u' ');
        if (is_bar || c == 0x09E4 || c == 0x09F7) replaced.setCharAt(at, kDanda);
        if (c == 0x09E5) replaced.setCharAt(at, kDoubleDanda);
    }
    return replaced;
}

}  // namespace

struct SentenceSplitter::Rules {
    std::unique_ptr<icu::BreakIterator> ends;
    bool has_danda = false;  ///< the language's full stop is the danda
};

SentenceSplitter::SentenceSplitter(const std::string& language)
    : rules_(std::make_unique<Rules>()) {
    const auto locale = locale_of(language);
    rules_->has_danda = has_danda(locale);
    UErrorCode status = U_ZERO_ERROR;
    rules_->ends.reset(icu::BreakIterator::createSentenceInstance(locale, status));
    if (U_FAILURE(status)) {
        throw Error(fmt::format("ICU has no rules for sentences: {}", u_errorName(status)));
    }
    const std::unique_ptr<icu::FilteredBreakIteratorBuilder> builder{
        icu::FilteredBreakIteratorBuilder::createInstance(locale, status)};
    if (status == U_MISSING_RESOURCE_ERROR) return;  // no abbreviations of this language
    if (U_SUCCESS(status)) rules_->ends.reset(builder->build(rules_->ends.release(), status));
    if (U_FAILURE(status)) {
        throw Error(fmt::format("ICU has no list of abbreviations: {}", u_errorName(status)));
    }
}

SentenceSplitter::~SentenceSplitter() = default;

std::vector<std::string> SentenceSplitter::split(std::string_view document) {
    DEDLOC_CHECK(document.size() < std::size_t{1} << 31, "ICU's positions have 31 bits");
    const auto text = icu::UnicodeString::fromUTF8(
        icu::StringPiece{document.data(), static_cast<std::int32_t>(document.size())});
    auto& ends = *rules_->ends;
    // The iterator keeps the string. Sentences are cut from the text as it is.
    const icu::UnicodeString marked = rules_->has_danda ? with_dandas(text) : text;
    ends.setText(marked);
    std::vector<std::string> sentences;
    std::string bytes;
    std::int32_t begin = 0;
    for (std::int32_t end = ends.next(); end != icu::BreakIterator::DONE; end = ends.next()) {
        bytes.clear();
        text.tempSubStringBetween(begin, end).toUTF8String(bytes);
        append(with_single_spaces(bytes), sentences);
        begin = end;
    }
    return sentences;
}

}  // namespace dedloc::corpus
