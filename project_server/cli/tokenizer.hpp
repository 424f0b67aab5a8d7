// SentencePiece, on the project's side only: volunteers get token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "project_server/cli/sentences.hpp"

namespace dedloc::cli {

/// Trains a Unigram model as ALBERT uses: lower case, and the pieces <pad> 0, <unk> 1, [CLS] 2,
/// [SEP] 3, [MASK] 4 first. The same documents give the same bytes. Returns the serialised model.
/// Errors   InputError when the text is too small for so large a vocabulary. Cost: about 1 s a MB
/// of text.
std::string train_tokenizer(const std::vector<Document>& documents, int vocabulary);

class Tokenizer final {
  public:
    /// Errors: InputError when `model` is no SentencePiece model of at most 65,536 pieces.
    explicit Tokenizer(const std::string& model);
    ~Tokenizer();
    Tokenizer(const Tokenizer&) = delete;
    Tokenizer& operator=(const Tokenizer&) = delete;

    std::vector<std::uint16_t> encode(const std::string& sentence) const;
    int vocabulary() const;

  private:
    struct Model;
    std::unique_ptr<Model> model_;
};

}  // namespace dedloc::cli
