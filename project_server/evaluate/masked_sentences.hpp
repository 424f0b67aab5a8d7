// Sentences with one masked word each, which a run's model answers at each measurement, so that
// people see it learn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "boinc_app/training/computation.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"
#include "project_server/database/evaluations.hpp"
#include "project_server/huggingface/tokenizer_spec.hpp"

namespace dedloc::evaluate {

/// Words that a sentence is answered with.
inline constexpr std::size_t kAnsweredWords = 5;
/// Sentences that are drawn if the administrator has chosen none.
inline constexpr std::size_t kDrawnSentences = 4;

/// A sentence as the model gets it.
struct MaskedSentence {
    std::string before;                 ///< the text before the masked word, UTF-8
    std::string after;                  ///< the text behind it
    std::string wanted;                 ///< the word that was there; empty: not known
    std::vector<std::uint16_t> tokens;  ///< [CLS] … [MASK] … [SEP]
    std::size_t masked_at = 0;          ///< place of [MASK] in `tokens`
};

/// Makes the sentences of a file that runs::parse_masked_lines() accepts, with the run's tokenizer.
/// What is beyond the run's sequence length is cut off.
/// Errors: InputError in one sentence: the tokenizer makes no [MASK] of "[MASK]", or the mask is
/// beyond the sequence length.
std::vector<MaskedSentence> chosen_sentences(const std::string& document, std::string_view text,
                                             const formats::RunFile& run,
                                             const huggingface::TokenizerSpec& spec);

/// Draws sentences from held-out shards by public numbers (the run's seed), so that they stay the
/// same in all of the run, and masks one word of each that is a single token. Fewer than `count` if
/// the text has not enough of them. The shards' ids are those of `spec` (aborts).
std::vector<MaskedSentence> drawn_sentences(const formats::RunFile& run,
                                            std::span<const formats::Shard> shards,
                                            const huggingface::TokenizerSpec& spec,
                                            std::size_t count);

/// What a model with these parameters answers. Nothing when interrupted.
/// Requires N parameters at a multiple of 64 bytes (aborts). Errors: as training::albert::Albert.
std::optional<std::vector<server::MaskedAnswer>> answer_sentences(
    const formats::RunFile& run, std::span<const float> parameters,
    const std::vector<MaskedSentence>& sentences, const huggingface::TokenizerSpec& spec,
    const training::IsInterrupted& is_interrupted);

}  // namespace dedloc::evaluate
