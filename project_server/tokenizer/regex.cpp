// Syntax and options are the defaults of Oniguruma, as in `tokenizers`. An expression comes from a
// stranger's file and may need exponential time, so each search has a budget of steps back, which
// Oniguruma counts; unlike a limit of time it gives the same answer on every machine. A match is
// searched for from the end of the last one, and an empty one directly there is skipped.
#include "project_server/tokenizer/regex.hpp"

#include <fmt/format.h>
#include <oniguruma.h>

#include <memory>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "project_server/huggingface/tokenizer_spec.hpp"

namespace dedloc::tokenizer {
namespace {

constexpr unsigned kMaxDepth = 200;  // nested groups of an expression

struct FreeRegex {
    void operator()(regex_t* regex) const { onig_free(regex); }
};
struct FreeRegion {
    void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
};
struct FreeParameters {
    void operator()(OnigMatchParam* parameters) const { onig_free_match_param(parameters); }
};

const OnigUChar* characters_of(std::string_view text) {
    return reinterpret_cast<const OnigUChar*>(text.data());
}

std::string reason_of(int code, OnigErrorInfo* info) {
    OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
    const int length = onig_error_code_to_str(text, code, info);
    return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(length)};
}

}  // namespace

struct Regex::Compiled {
    std::string pattern;
    std::unique_ptr<regex_t, FreeRegex> regex;
};

Regex::Regex(const std::string& pattern) : compiled_(std::make_unique<Compiled>()) {
    if (pattern.size() > huggingface::kMaxRegexBytes) {
        throw InputError(
            fmt::format("a regular expression of {} bytes is too long, at most {} are "
                        "read",
                        pattern.size(), huggingface::kMaxRegexBytes));
    }
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
    onig_set_parse_depth_limit(kMaxDepth);
    OnigErrorInfo info{};
    regex_t* regex = nullptr;
    const int code =
        onig_new(&regex, characters_of(pattern), characters_of(pattern) + pattern.size(),
                 ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info);
    if (code != ONIG_NORMAL) {
        throw InputError(fmt::format("the regular expression '{}' cannot be used: {}", pattern,
                                     reason_of(code, &info)));
    }
    compiled_->regex.reset(regex);
    compiled_->pattern = pattern;
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::vector<Span> Regex::matches(std::string_view text) const {
    std::vector<Span> found;
    const std::unique_ptr<OnigRegion, FreeRegion> region{onig_region_new()};
    const std::unique_ptr<OnigMatchParam, FreeParameters> parameters{onig_new_match_param()};
    if (!region || !parameters) throw Error("there is no memory for a regular expression");
    const unsigned long retries = kRetriesPerByte * (text.size() + 1'000);
    onig_set_retry_limit_in_match_of_match_param(parameters.get(), retries);
    onig_set_retry_limit_in_search_of_match_param(parameters.get(), retries);
    onig_set_match_stack_limit_size_of_match_param(parameters.get(), kMaxStackEntries);
    const OnigUChar* const begin = characters_of(text);
    const OnigUChar* const end = begin + text.size();
    for (std::size_t at = 0; at <= text.size();) {
        const int result =
            onig_search_with_param(compiled_->regex.get(), begin, end, begin + at, end,
                                   region.get(), ONIG_OPTION_NONE, parameters.get());
        if (result == ONIG_MISMATCH) break;
        if (result < 0) {
            throw InputError(
                fmt::format("the regular expression '{}' gives up in a text of {} "
                            "bytes: {}",
                            compiled_->pattern, text.size(), reason_of(result, nullptr)));
        }
        const Span match{.begin = static_cast<std::size_t>(region->beg[0]),
                         .end = static_cast<std::size_t>(region->end[0])};
        const bool is_behind_another =
            match.begin == match.end && !found.empty() && found.back().end == match.end;
        if (is_behind_another) {
            at = match.end < text.size() ? match.end + utf8_length(text.substr(match.end))
                                         : text.size() + 1;
        } else {
            found.push_back(match);
            at = match.end;
        }
    }
    return found;
}

}  // namespace dedloc::tokenizer
