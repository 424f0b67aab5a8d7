// Data with labels. The first byte chooses the format of what follows.
#include <cstdint>
#include <string_view>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "project_server/finetune/labelled_files.hpp"
#include "project_server/finetune/spans.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

using finetune::Example;
using finetune::Labels;

/// Scores the tags against themselves, and the names that spans_of() finds.
void score_tags(const std::vector<Example>& examples, const Labels& labels) {
    for (const Example& example : examples) {
        std::vector<std::string_view> tags;
        for (const std::uint16_t label : example.labels) tags.emplace_back(labels.names()[label]);
        std::size_t next = 0;
        for (const finetune::NameSpan& span : finetune::spans_of(tags)) {
            DEDLOC_CHECK(span.first >= next && span.last < tags.size() && span.first <= span.last,
                         "names do not overlap", span.first, span.last);
            next = span.last + 1;
        }
        finetune::SpanScore score;
        score.add(tags, tags);
        DEDLOC_CHECK(score.right == score.wanted && score.right == score.predicted,
                     "a sentence is right against itself", score.right, score.wanted);
    }
}

void check_examples(const std::vector<Example>& examples, const Labels& labels) {
    for (const Example& example : examples) {
        DEDLOC_CHECK(example.words.size() == example.labels.size() && !example.words.empty(),
                     "a label for each word", example.words.size());
        for (const std::uint16_t label : example.labels) {
            DEDLOC_CHECK(label < labels.names().size(), "a label has a name", label);
        }
    }
}

}  // namespace

void fuzz_labelled_file(std::span<const std::byte> input) {
    if (input.empty()) return;
    const std::string_view text{reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1};
    const bool has_tags = std::to_integer<unsigned>(input[0]) % 2 == 0;
    Labels labels;
    try {
        const auto examples = has_tags ? finetune::parse_tagged("file", text, labels)
                                       : finetune::parse_classified("file", text, labels);
        check_examples(examples, labels);
        if (has_tags) score_tags(examples, labels);
    } catch (const InputError&) {
    }
}

}  // namespace dedloc::fuzz
