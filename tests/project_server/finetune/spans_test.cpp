// Names in tagged sentences, against seqeval's own results (make_seqeval_cases.py).
#include "project_server/finetune/spans.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <string>

#include "peer/platform/files.hpp"

namespace dedloc::finetune {
namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + separator.size());
    }
}

double number(std::string_view text) {
    return std::strtod(std::string{text}.c_str(), nullptr);
}

/// The names in the form of the fixture.
std::string names_text(const std::vector<NameSpan>& spans) {
    std::string text;
    for (const NameSpan& span : spans) {
        text +=
            fmt::format("{}{}:{}:{}", text.empty() ? "" : " ", span.type, span.first, span.last);
    }
    return text;
}

}  // namespace

TEST_CASE("names and their scores are those of seqeval", "[server]") {
    const std::string text =
        platform::read_text(std::string{DEDLOC_FIXTURES} + "/seqeval_cases.tsv");
    std::size_t cases = 0;
    for (const std::string_view line : split(text, "\n")) {
        if (line.empty()) continue;
        CAPTURE(line);
        const auto columns = split(line, "\t");
        REQUIRE(columns.size() == 6);
        const auto wanted = split(columns[0], " / ");
        const auto found = split(columns[1], " / ");
        REQUIRE(wanted.size() == found.size());
        SpanScore score;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            score.add(split(wanted[i], " "), split(found[i], " "));
        }
        CHECK(score.precision() == Approx(number(columns[2])).margin(1e-15));
        CHECK(score.recall() == Approx(number(columns[3])).margin(1e-15));
        CHECK(score.f1() == Approx(number(columns[4])).margin(1e-15));
        CHECK(names_text(spans_of(split(found[0], " "))) == columns[5]);
        ++cases;
    }
    CHECK(cases == 405);
}

TEST_CASE("no words have no names", "[server]") {
    CHECK(spans_of({}).empty());
    SpanScore score;
    score.add({}, {});
    CHECK(score.f1() == 0);
}

}  // namespace dedloc::finetune
