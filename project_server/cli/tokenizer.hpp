// SentencePiece, used by the project only: volunteers get token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "project_server/cli/sentences.hpp"

namespace dedloc::cli {

/// Trains a Unigram model as ALBERT uses: lower case, with the pieces <pad> 0, <unk> 1, [CLS] 2,
/// [SEP] 3 and [MASK] 4 first. Returns the serialised model. Equal documents give equal bytes.
///
/// Errors  InputError when the text is too small for the vocabulary
/// Cost    about 1 s per MB of text
std::string train_tokenizer(const std::vector<Document>& documents, int vocabulary);

/// Turns sentences into token ids.
class Tokenizer final {
  public:
    /// Errors: InputError if `model` is not a SentencePiece model of at most 65,536 pieces.
    explicit Tokenizer(const std::string& model);
    ~Tokenizer();
    Tokenizer(const Tokenizer&) = delete;
    Tokenizer& operator=(const Tokenizer&) = delete;

    /// Token ids of a sentence. Errors: InputError.
    std::vector<std::uint16_t> encode(const std::string& sentence) const;
    /// Number of pieces.
    int vocabulary() const;

  private:
    struct Model;
    std::unique_ptr<Model> model_;
};

}  // namespace dedloc::cli
