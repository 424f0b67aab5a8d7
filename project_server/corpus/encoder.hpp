// Documents → token ids, on several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "project_server/corpus/sentences.hpp"
#include "project_server/corpus/tokenizer.hpp"

namespace dedloc::corpus {

/// A document as token ids, one list for each sentence that has a token.
using EncodedDocument = std::vector<std::vector<std::uint16_t>>;

/// A document, and how much of it is in no piece.
struct EncodedText {
    EncodedDocument document;   ///< its token ids
    std::uint64_t unknown = 0;  ///< ids that stand for text that is in no piece
};

/// Splits documents into sentences and tokenises them. Thread: one at a time.
class Encoder final {
  public:
    /// `tokenizer` must outlive it. Requires threads ≥ 1. Errors: as SentenceSplitter.
    Encoder(const Tokenizer& tokenizer, const std::string& language, unsigned threads);

    /// The documents in the same order, whatever the number of threads. Errors: InputError.
    std::vector<EncodedText> encode(std::span<const std::string> documents);

  private:
    const Tokenizer& tokenizer_;
    std::vector<std::unique_ptr<SentenceSplitter>> splitters_;  ///< one for each thread
};

}  // namespace dedloc::corpus
