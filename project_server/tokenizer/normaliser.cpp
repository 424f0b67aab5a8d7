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

/// A text that grows, but not beyond a limit.
class Growing {
  public:
    explicit Growing(std::size_t limit) : limit_(limit) {}

    Growing& append(std::string_view text) {
        if (text.size() > limit_ - out_.size()) {
            throw InputError("the normalizer makes a text more than a hundred times as large");
        }
        out_.append(text);
        return *this;
    }
    std::string take() && { return std::move(out_); }

  private:
    const std::size_t limit_;
    std::string out_;
};

std::string replaced(std::string_view text, const std::string& pattern, const std::string& content,
                     std::size_t limit) {
    Growing out{limit};
    std::size_t begin = 0;
    for (std::size_t found = text.find(pattern); found != std::string::npos;
         found = text.find(pattern, begin)) {
        out.append(text.substr(begin, found - begin)).append(content);
        begin = found + pattern.size();
    }
    out.append(text.substr(begin));
    return std::move(out).take();
}

std::string with_blanks_replaced(std::string_view text, const std::string& content,
                                 std::size_t limit) {
    Growing out{limit};
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && text[end] == ' ') ++end;
        if (end - at >= 2) {
            out.append(content);
            at = end;
        } else {
            out.append(text.substr(at++, 1));
        }
    }
    return std::move(out).take();
}

std::string with_matches_replaced(std::string_view text, const Regex& regex,
                                  const std::string& content, std::size_t limit) {
    if (text.empty()) return {};
    Growing out{limit};
    std::size_t begin = 0;
    for (const Span match : regex.matches(text)) {
        out.append(text.substr(begin, match.begin - begin)).append(content);
        begin = match.end;
    }
    out.append(text.substr(begin));
    return std::move(out).take();
}

bool is_dropped_by_nmt(char32_t c) {
    return (c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f ||
           c == 0x8f || c == 0x9f;
}
bool is_blank_for_nmt(char32_t c) {
    return c == 0x9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
           (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
           c == 0xfeff || c == 0xfffd;
}

std::string cleaned_by_nmt(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t character = next_character(text, at);
        if (is_dropped_by_nmt(character)) continue;
        if (is_blank_for_nmt(character)) {
            out += ' ';
        } else {
            out.append(text, begin, at - begin);
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
            append_character(out, lower_case_of(character));
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
    Mapping(const Charsmap& map, std::size_t limit) : map_(map), out_(limit) {}

    void add_cluster(std::string_view cluster) {
        if (cluster.size() <= kMaxClusterBytes && add_mapped(cluster)) return;
        for (std::size_t at = 0; at < cluster.size();) {
            const std::size_t begin = at;
            next_character(cluster, at);
            const auto character = cluster.substr(begin, at - begin);
            if (!add_mapped(character)) out_.append(character);
        }
    }
    std::string take() && { return std::move(out_).take(); }

  private:
    bool add_mapped(std::string_view chunk) {
        const auto replacement = map_.find(chunk);
        if (replacement) out_.append(*replacement);
        return replacement.has_value();
    }

    const Charsmap& map_;
    Growing out_;
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

std::string mapped(const std::string& text, const Charsmap& map, std::size_t limit) {
    Mapping mapping{map, limit};
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
    std::size_t limit;  ///< largest result, in bytes
    const icu::UnicodeSet& known;
    const std::optional<Charsmap>& table;  ///< the one of a Precompiled step
    const std::optional<Regex>& regex;     ///< the one of a ReplaceRegex step

    std::string operator()(const Replace& step) const {
        return replaced(text, step.pattern, step.content, limit);
    }
    std::string operator()(const ReplaceBlanks& step) const {
        return with_blanks_replaced(text, step.content, limit);
    }
    std::string operator()(const ReplaceRegex& step) const {
        return with_matches_replaced(text, *regex, step.content, limit);
    }
    std::string operator()(const Nmt&) const { return cleaned_by_nmt(text); }
    std::string operator()(const Prepend& step) const {
        if (text.empty()) return text;
        Growing out{limit};
        out.append(step.prefix).append(text);
        return std::move(out).take();
    }
    std::string operator()(const UnicodeForm& step) const {
        return in_unicode_form(text, step.form, known);
    }
    std::string operator()(const StripAccents&) const { return without_marks(text); }
    std::string operator()(const Lowercase&) const { return in_lower_case(text); }
    std::string operator()(const Precompiled&) const { return mapped(text, *table, limit); }
    std::string operator()(const Strip& step) const { return stripped(text, step); }
};

}  // namespace

struct Normaliser::Characters {
    icu::UnicodeSet set;
};

Normaliser::Normaliser(std::vector<huggingface::NormaliserStep> steps)
    : known_(new Characters{known_characters()}) {
    for (NormaliserStep& rule : steps) {
        Step& step = steps_.emplace_back();
        if (const auto* const table = std::get_if<Precompiled>(&rule)) {
            step.table.emplace(table->charsmap);
        }
        if (const auto* const replace = std::get_if<ReplaceRegex>(&rule)) {
            step.regex.emplace(replace->pattern);
        }
        step.rule = std::move(rule);
    }
}

Normaliser::~Normaliser() = default;

std::string Normaliser::apply(std::string_view text) const {
    const std::size_t limit = max_normalised(text.size());
    std::string normalised{text};
    for (const Step& step : steps_) {
        const Application apply{.text = normalised,
                                .limit = limit,
                                .known = known_->set,
                                .table = step.table,
                                .regex = step.regex};
        std::string next = std::visit(apply, step.rule);
        // The steps that do not look at the limit make at most 11 times as much.
        if (next.size() > limit) Growing{limit}.append(next);
        normalised = std::move(next);
    }
    return normalised;
}

}  // namespace dedloc::tokenizer
