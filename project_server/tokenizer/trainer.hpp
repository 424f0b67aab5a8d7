// Trains the pieces of a tokenizer of the library `tokenizers`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "peer/formats/run_file.hpp"
#include "project_server/huggingface/tokenizer_spec.hpp"
#include "project_server/tokenizer/divider.hpp"
#include "project_server/tokenizer/normaliser.hpp"

namespace dedloc::tokenizer {

/// Longest part that is trained on, in bytes. A longer one is no word.
inline constexpr std::size_t kMaxTrainedPart = 512;

/// Counts the parts that the rules make of texts, then chooses pieces. Thread: one.
class Trainer final {
  public:
    /// Only the normaliser and the divisions of `rules` count. Errors: InputError, as Pipeline.
    explicit Trainer(const huggingface::TokenizerSpec& rules);

    /// Counts the parts of a text in UTF-8. Memory: its parts that have not been seen.
    /// Errors: InputError: a regular expression needs too long for it.
    void add(std::string_view text);

    /// The rules with pieces: <pad> 0, <unk> 1, [CLS] 2, [SEP] 3 and [MASK] 4, which are added
    /// tokens too, then those that SentencePiece's trainer of Unigram models chooses. Equal texts
    /// give equal pieces.
    ///
    /// Errors  InputError: the texts are too small for so many pieces
    /// Cost    with 15 MB of Bengali 11 s of a processor and 0.11 GB for 8,000 pieces (RESULTS.md)
    huggingface::TokenizerSpec train(std::size_t vocabulary) const;

  private:
    const huggingface::TokenizerSpec rules_;
    const Normaliser normaliser_;
    const Divider divider_;
    std::unordered_map<std::string, std::uint64_t> counts_;
};

/// Ids of the special tokens of what Trainer::train() returns.
inline constexpr formats::SpecialTokens kTrainedTokens{
    .pad = 0, .unknown = 1, .cls = 2, .sep = 3, .mask = 4};

}  // namespace dedloc::tokenizer
