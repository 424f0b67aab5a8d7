// The parts of a serialised SentencePiece model that a tokenizer of Hugging Face needs. The library
// itself does not give access to the normaliser's table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "peer/base/bytes.hpp"

namespace dedloc::huggingface {

/// One piece of the vocabulary; its index is the token's id.
struct Piece {
    std::string text;        ///< UTF-8, with ▁ for a blank
    float score = 0;         ///< log probability
    std::uint64_t type = 1;  ///< 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte
};

/// The model's pieces and normaliser.
struct SentencePieceModel {
    std::vector<Piece> pieces;  ///< the vocabulary, by id
    std::string charsmap;  ///< compiled table of the normaliser; empty: characters stay as they are
    bool adds_prefix = true;           ///< a text begins with ▁
    bool removes_extra_blanks = true;  ///< blanks at the ends go, several become one
    std::uint64_t algorithm = 1;       ///< 1 Unigram, 2 BPE, 3 words, 4 characters
    std::uint64_t unknown = 0;         ///< id of the piece for text that is in no other
};

/// Reads a model file. Errors: InputError, if it is none (also of more than 65,536 pieces).
SentencePieceModel parse_sentencepiece(std::span<const std::byte> bytes);

}  // namespace dedloc::huggingface
