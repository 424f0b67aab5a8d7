// SentencePiece's trainer of Unigram models, with the special tokens that our tokenizers have.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace dedloc::tokenizer {

/// Trains pieces on these lines: <pad> 0, <unk> 1, [CLS] 2, [SEP] 3 and [MASK] 4, then those that
/// the trainer chooses. `options` are more of SentencePiece's. Returns the bytes of a
/// spiece.model; equal arguments give equal bytes.
///
/// Errors  InputError: the lines are too few for so many pieces
std::string train_unigram(const std::vector<std::string>& lines, std::size_t vocabulary,
                          std::unordered_map<std::string, std::string> options);

}  // namespace dedloc::tokenizer
