// Labelled examples as rows of token ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "boinc_app/albert/fine_tuned.hpp"
#include "peer/formats/run_file.hpp"
#include "project_server/finetune/labelled_files.hpp"

namespace dedloc::finetune {

/// The ids of a text in UTF-8, without [CLS] and [SEP].
using Encode = std::function<std::vector<std::uint16_t>(std::string_view text)>;

/// One example.
struct TokenRow {
    std::vector<std::uint16_t> tokens;  ///< all, [CLS] and [SEP] too
    std::vector<std::uint16_t> places;  ///< columns of tokens with a label, ascending
    std::vector<std::uint16_t> labels;  ///< the label of each place
};

/// Examples as rows.
struct TokenRows {
    std::vector<TokenRow> rows;  ///< in the order of the examples
    /// Words that are not measured, as they have no token or their first one is cut off.
    std::uint64_t unmeasured = 0;
};

/// Makes `[CLS] tokens [SEP]` of at most `max_tokens` tokens from each example. Of names, each word
/// is tokenised by itself, as `tokenizers` does with words that are divided already, and its label
/// belongs to its first token. Of classes, the label belongs to [CLS].
/// Requires max_tokens ≥ 3 (aborts). Cost: one tokenisation of each word.
TokenRows make_rows(const std::vector<Example>& examples, Task task, const Encode& encode,
                    const formats::SpecialTokens& special, std::size_t max_tokens);

/// The rows of these numbers as a batch, padded to the longest. A row's dropout is that of
/// `dropout_keys`, as many as rows, or of 0 if there are none. Requires at least one row (aborts).
training::albert::LabelledBatch make_batch(const std::vector<TokenRow>& rows,
                                           const std::vector<std::size_t>& numbers, Task task,
                                           const formats::SpecialTokens& special,
                                           std::vector<std::uint64_t> dropout_keys = {});

}  // namespace dedloc::finetune
