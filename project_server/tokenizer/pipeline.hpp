// A tokenizer of Hugging Face's library `tokenizers`, with the same ids: added tokens are cut out,
// the text between them is normalised, divided at blanks, digits and the like, and divided into
// pieces by the model.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "project_server/huggingface/tokenizer_spec.hpp"
#include "project_server/tokenizer/added_tokens.hpp"
#include "project_server/tokenizer/divider.hpp"
#include "project_server/tokenizer/normaliser.hpp"
#include "project_server/tokenizer/unigram.hpp"

namespace dedloc::tokenizer {

/// Turns texts into ids. Thread: any, several at a time.
class Pipeline final {
  public:
    /// Errors: InputError: a normaliser's table that is damaged, or a regular expression that is
    /// none. Requires ids below the number of
    /// pieces (aborts).
    explicit Pipeline(const huggingface::TokenizerSpec& spec);

    /// Ids of a text in UTF-8, without [CLS] and [SEP] around them. Errors: InputError: a regular
    /// expression needs too long for the text (Regex::matches).
    std::vector<std::uint16_t> encode(std::string_view text) const;

  private:
    void encode_between(std::string_view text, bool is_first,
                        std::vector<std::uint16_t>& ids) const;

    const Normaliser normaliser_;
    const TokenFinder raw_tokens_;
    const TokenFinder normalised_tokens_;
    const Divider divider_;
    const Unigram model_;
};

}  // namespace dedloc::tokenizer
