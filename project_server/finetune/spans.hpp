// Names in tagged sentences, scored as seqeval scores them by default: a name counts if its type,
// its first and its last word are all right.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::finetune {

/// A name in a sentence.
struct NameSpan {
    std::string_view type;  ///< "PER", …
    std::size_t first = 0;  ///< its first word
    std::size_t last = 0;   ///< its last word
    auto operator<=>(const NameSpan&) const = default;
};

/// The names of a sentence, in the order of their ends. A tag is the letter O, B, I, E or S, then
/// "-TYPE"; without a type it is "_". The rules are those of CoNLL's conlleval, as seqeval applies
/// them by default, to tags that are no valid IOB2 too: I-X begins a name where no name of type X
/// goes on. The tags must outlive the result. Requires tags of at least one byte (aborts).
std::vector<NameSpan> spans_of(std::span<const std::string_view> tags);

/// Counts of names, over all types.
struct SpanScore {
    std::uint64_t right = 0;      ///< names that are predicted as they are
    std::uint64_t predicted = 0;  ///< names that are predicted
    std::uint64_t wanted = 0;     ///< names that there are

    /// Adds a sentence. Requires as many predicted tags as wanted ones (aborts).
    void add(std::span<const std::string_view> wanted_tags,
             std::span<const std::string_view> predicted_tags);
    /// Share of predicted names that are right; 0 if none is predicted.
    double precision() const;
    /// Share of names that are predicted as they are; 0 if there are none.
    double recall() const;
    /// Harmonic mean of both; 0 if they are.
    double f1() const;
};

}  // namespace dedloc::finetune
