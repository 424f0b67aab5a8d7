// Unicode's data come from ICU. A step is applied to the whole text before the next one begins. The
// table of SentencePiece is applied to grapheme clusters of less than six bytes and to the single
// characters of all others, as `tokenizers` does; SentencePiece itself takes the longest entry.
#include "project_server/tokenizer/normaliser.hpp"

#include <unicode/brkiter.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/utext.h>

#include <memory>
#include <utility>
#include <variant>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "project_server/tokenizer/characters.hpp"

namespace dedloc::tokenizer {

namespace {

using namespace huggingface;

constexpr std::size_t kMaxClusterBytes = 5;

void require(UErrorCode code, const char* what) {
    if (U_FAILURE(code)) {
        throw Error(std::string{"ICU cannot "} + what + ": " + u_errorName(code));
    }
}

std::string replaced(const std::string& text, const std::string& pattern,
                     const std::string& content) {
    std::string out;
    std::size_t begin = 0;
    for (std::size_t found = text.find(pattern); found != std::string::npos;
         found = text.find(pattern, begin)) {
        out.append(text, begin, found - begin).append(content);
        begin = found + pattern.size();
    }
    return out.append(text, begin);
}

std::string with_blanks_replaced(const std::string& text, const std::string& content) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && text[end] == ' ') ++end;
        if (end - at >= 2) {
            out += content;
            at = end;
        } else {
            out += text[at++];
        }
    }
    return out;
}

const icu::Normalizer2& unicode_form(UnicodeForm::Form form) {
    UErrorCode code = U_ZERO_ERROR;
    const icu::Normalizer2* found = nullptr;
    switch (form) {
        case UnicodeForm::Form::kNfc:
            found = icu::Normalizer2::getNFCInstance(code);
            break;
        case UnicodeForm::Form::kNfd:
            found = icu::Normalizer2::getNFDInstance(code);
            break;
        case UnicodeForm::Form::kNfkc:
            found = icu::Normalizer2::getNFKCInstance(code);
            break;
        case UnicodeForm::Form::kNfkd:
            found = icu::Normalizer2::getNFKDInstance(code);
            break;
    }
    require(code, "normalise");
    DEDLOC_CHECK(found != nullptr, "every form has a normaliser");
    return *found;
}

/// The characters of the library's version of Unicode.
icu::UnicodeSet known_characters() {
    UErrorCode code = U_ZERO_ERROR;
    icu::UnicodeSet known;
    known.applyPropertyAlias("age", std::to_string(kUnicodeVersion).c_str(), code);
    require(code, "list characters");
    known.freeze();
    return known;
}

std::string in_unicode_form(const std::string& text, UnicodeForm::Form form,
                            const icu::UnicodeSet& known) {
    const icu::FilteredNormalizer2 normaliser{unicode_form(form), known};
    std::string out;
    icu::StringByteSink<std::string> sink(&out);
    UErrorCode code = U_ZERO_ERROR;
    normaliser.normalizeUTF8(0, text, sink, nullptr, code);
    require(code, "normalise");
    return out;
}

std::string without_marks(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        if (!is_mark(next_character(text, at))) out.append(text, begin, at - begin);
    }
    return out;
}

std::string in_lower_case(const std::string& text) {
    constexpr char32_t kDottedI = U'\u0130';  // the one character whose lower case has two
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const char32_t character = next_character(text, at);
        if (character == kDottedI) {
            out += "i\u0307";
        } else {
            append_character(out,
                             static_cast<char32_t>(u_tolower(static_cast<UChar32>(character))));
        }
    }
    return out;
}

/// Whether a grapheme cluster may have several characters, other than CR LF.
bool may_have_clusters(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const char32_t character = next_character(text, at);
        if (character < 0x300) continue;
        const auto kind =
            u_getIntPropertyValue(static_cast<UChar32>(character), UCHAR_GRAPHEME_CLUSTER_BREAK);
        if (kind != U_GCB_OTHER && kind != U_GCB_CONTROL) return true;
    }
    return false;
}

class Mapping {
  public:
    explicit Mapping(const Charsmap& map) : map_(map) {}

    void add_cluster(std::string_view cluster) {
        if (cluster.size() <= kMaxClusterBytes && add_mapped(cluster)) return;
        for (std::size_t at = 0; at < cluster.size();) {
            const std::size_t begin = at;
            next_character(cluster, at);
            const auto character = cluster.substr(begin, at - begin);
            if (!add_mapped(character)) out_.append(character);
        }
    }
    std::string take() && { return std::move(out_); }

  private:
    bool add_mapped(std::string_view chunk) {
        const auto replacement = map_.find(chunk);
        if (replacement) out_.append(*replacement);
        return replacement.has_value();
    }

    const Charsmap& map_;
    std::string out_;
};

void add_clusters(const std::string& text, Mapping& mapping) {
    UErrorCode code = U_ZERO_ERROR;
    const std::unique_ptr<icu::BreakIterator> breaks{
        icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), code)};
    require(code, "find characters");
    UText* const bytes =
        utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &code);
    const std::unique_ptr<UText, decltype(&utext_close)> closing{bytes, &utext_close};
    breaks->setText(bytes, code);
    require(code, "find characters");
    std::size_t begin = 0;
    for (auto end = breaks->next(); end != icu::BreakIterator::DONE; end = breaks->next()) {
        const auto next = static_cast<std::size_t>(end);
        mapping.add_cluster(std::string_view{text}.substr(begin, next - begin));
        begin = next;
    }
}

std::string mapped(const std::string& text, const Charsmap& map) {
    Mapping mapping{map};
    if (may_have_clusters(text)) {
        add_clusters(text, mapping);
        return std::move(mapping).take();
    }
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        next_character(text, at);
        if (text[begin] == '\r' && at < text.size() && text[at] == '\n') ++at;
        mapping.add_cluster(std::string_view{text}.substr(begin, at - begin));
    }
    return std::move(mapping).take();
}

std::string stripped(const std::string& text, const Strip& strip) {
    const std::size_t left = strip.left ? leading_space(text) : 0;
    std::string rest = text.substr(left);
    if (strip.right) rest.resize(rest.size() - trailing_space(rest));
    return rest;
}

/// One step, applied to `text`.
struct Application {
    const std::string& text;
    const icu::UnicodeSet& known;
    const Charsmap* table;  ///< the table of a Precompiled step

    std::string operator()(const Replace& step) const {
        return replaced(text, step.pattern, step.content);
    }
    std::string operator()(const ReplaceBlanks& step) const {
        return with_blanks_replaced(text, step.content);
    }
    std::string operator()(const UnicodeForm& step) const {
        return in_unicode_form(text, step.form, known);
    }
    std::string operator()(const StripAccents&) const { return without_marks(text); }
    std::string operator()(const Lowercase&) const { return in_lower_case(text); }
    std::string operator()(const Precompiled&) const { return mapped(text, *table); }
    std::string operator()(const Strip& step) const { return stripped(text, step); }
};

}  // namespace

struct Normaliser::Characters {
    icu::UnicodeSet set;
};

Normaliser::Normaliser(std::vector<huggingface::NormaliserStep> steps)
    : steps_(std::move(steps)), known_(new Characters{known_characters()}) {
    for (const NormaliserStep& step : steps_) {
        if (const auto* const table = std::get_if<Precompiled>(&step)) {
            tables_.emplace_back(table->charsmap);
        }
    }
}

Normaliser::~Normaliser() = default;

std::string Normaliser::apply(std::string_view text) const {
    std::string normalised{text};
    const Charsmap* table = tables_.data();
    for (const NormaliserStep& step : steps_) {
        const Application apply{.text = normalised, .known = known_->set, .table = table};
        std::string next = std::visit(apply, step);
        if (std::holds_alternative<Precompiled>(step)) ++table;
        normalised = std::move(next);
    }
    return normalised;
}

}  // namespace dedloc::tokenizer
