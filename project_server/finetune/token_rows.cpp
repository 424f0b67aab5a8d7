#include "project_server/finetune/token_rows.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::finetune {
namespace {

/// Adds a word's tokens, as far as there is place for [SEP] behind them. False if its first one is
/// not there.
bool add_word(TokenRow& row, const std::vector<std::uint16_t>& tokens, std::size_t max_tokens) {
    const std::size_t free = max_tokens - 1 - row.tokens.size();
    const std::size_t count = std::min(free, tokens.size());
    row.tokens.insert(row.tokens.end(), tokens.begin(),
                      tokens.begin() + static_cast<std::ptrdiff_t>(count));
    return count > 0;
}

}  // namespace

TokenRows make_rows(const std::vector<Example>& examples, Task task, const Encode& encode,
                    const formats::SpecialTokens& special, std::size_t max_tokens) {
    DEDLOC_CHECK(max_tokens >= 3, "a row has place for [CLS], a token and [SEP]", max_tokens);
    TokenRows all;
    for (const Example& example : examples) {
        TokenRow& row = all.rows.emplace_back();
        row.tokens.push_back(special.cls);
        for (std::size_t i = 0; i < example.words.size(); ++i) {
            const std::size_t place = task == Task::kClasses ? 0 : row.tokens.size();
            const bool is_there = add_word(row, encode(example.words[i]), max_tokens);
            if (!is_there && task == Task::kNames) {
                ++all.unmeasured;
                continue;
            }
            row.places.push_back(static_cast<std::uint16_t>(place));
            row.labels.push_back(example.labels[i]);
        }
        row.tokens.push_back(special.sep);
    }
    return all;
}

training::albert::LabelledBatch make_batch(const std::vector<TokenRow>& rows,
                                           const std::vector<std::size_t>& numbers, Task task,
                                           const formats::SpecialTokens& special,
                                           std::vector<std::uint64_t> dropout_keys) {
    DEDLOC_CHECK(!numbers.empty(), "a batch has at least one row");
    training::albert::LabelledBatch batch;
    auto& inputs = batch.inputs;
    inputs.samples = numbers.size();
    for (const std::size_t number : numbers) {
        inputs.length = std::max(inputs.length, rows[number].tokens.size());
    }
    inputs.tokens.assign(inputs.samples * inputs.length, special.pad);
    inputs.types.assign(inputs.samples * inputs.length, 0);
    inputs.dropout_keys = std::move(dropout_keys);
    inputs.dropout_keys.resize(inputs.samples);
    for (std::size_t r = 0; r < numbers.size(); ++r) {
        const TokenRow& row = rows[numbers[r]];
        const std::size_t first = r * inputs.length;
        std::ranges::copy(row.tokens, inputs.tokens.begin() + static_cast<std::ptrdiff_t>(first));
        inputs.row_lengths.push_back(static_cast<std::int64_t>(row.tokens.size()));
        for (std::size_t i = 0; i < row.places.size(); ++i) {
            const std::size_t place = task == Task::kClasses ? r : first + row.places[i];
            batch.places.push_back(static_cast<std::int64_t>(place));
            batch.labels.push_back(row.labels[i]);
        }
    }
    return batch;
}

}  // namespace dedloc::finetune
