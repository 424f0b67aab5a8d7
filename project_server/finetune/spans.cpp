#include "project_server/finetune/spans.hpp"

#include <algorithm>

#include "peer/base/check.hpp"

namespace dedloc::finetune {
namespace {

/// A tag in its two parts. Letters other than O, B, I, E and S only separate names by their types.
struct Tag {
    char letter = 'O';
    std::string_view type = "_";

    bool is_outside() const { return letter == 'O' || letter == '.'; }
};

Tag parse_tag(std::string_view text) {
    DEDLOC_CHECK(!text.empty(), "a tag has at least one byte");
    Tag tag{.letter = text.front()};
    const std::size_t dash = text.find('-', 1);
    const auto type = text.substr(dash == std::string_view::npos ? 1 : dash + 1);
    if (!type.empty()) tag.type = type;
    return tag;
}

bool is_among(char letter, std::string_view letters) {
    return letters.find(letter) != std::string_view::npos;
}

/// A name that goes on to `before` has its end there.
bool ends_between(const Tag& before, const Tag& next) {
    if (is_among(before.letter, "ES")) return true;
    if (is_among(before.letter, "BI") && is_among(next.letter, "BSO")) return true;
    return !before.is_outside() && before.type != next.type;
}

/// A name begins with `next`.
bool begins_between(const Tag& before, const Tag& next) {
    if (is_among(next.letter, "BS")) return true;
    if (is_among(before.letter, "ESO") && is_among(next.letter, "EI")) return true;
    return !next.is_outside() && before.type != next.type;
}

double ratio(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::vector<NameSpan> spans_of(std::span<const std::string_view> tags) {
    std::vector<NameSpan> spans;
    Tag before;
    std::size_t first = 0;
    for (std::size_t i = 0; i <= tags.size(); ++i) {
        const Tag next = i < tags.size() ? parse_tag(tags[i]) : Tag{};
        if (ends_between(before, next)) {
            spans.push_back({.type = before.type, .first = first, .last = i - 1});
        }
        if (begins_between(before, next)) first = i;
        before = next;
    }
    return spans;
}

void SpanScore::add(std::span<const std::string_view> wanted_tags,
                    std::span<const std::string_view> predicted_tags) {
    DEDLOC_CHECK(wanted_tags.size() == predicted_tags.size(), "a tag for each word",
                 wanted_tags.size(), predicted_tags.size());
    const auto there = spans_of(wanted_tags);
    const auto found = spans_of(predicted_tags);
    wanted += there.size();
    predicted += found.size();
    for (const NameSpan& span : found) {
        const auto at = std::ranges::lower_bound(there, span.last, {}, &NameSpan::last);
        if (at != there.end() && *at == span) ++right;
    }
}

double SpanScore::precision() const {
    return ratio(right, predicted);
}
double SpanScore::recall() const {
    return ratio(right, wanted);
}
double SpanScore::f1() const {
    return ratio(2 * right, predicted + wanted);
}

}  // namespace dedloc::finetune
