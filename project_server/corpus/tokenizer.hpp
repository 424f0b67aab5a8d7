// Tokenizers, used by the project only: volunteers get token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"
#include "project_server/tokenizer/model_tokenizer.hpp"

namespace dedloc::corpus {

/// Trains a Unigram model as ALBERT uses: lower case, with the pieces <pad> 0, <unk> 1, [CLS] 2,
/// [SEP] 3 and [MASK] 4 first. Returns the serialised model. Equal sentences give equal bytes.
///
/// Errors  InputError when the text is too small for the vocabulary
/// Cost    about 1 s and 20 MB per MB of text
std::string train_tokenizer(const std::vector<std::string>& sentences, int vocabulary);

/// Turns sentences into token ids. Thread: any, several at a time.
class Tokenizer final {
  public:
    /// Errors: InputError, with `name` in the message, if `model` is not a SentencePiece model of
    /// at most 65,536 pieces, or lacks one of the special tokens. They are looked up by their
    /// usual names: <pad> or [PAD], the model's own unknown piece, [CLS], <cls> or <s>, [SEP],
    /// <sep> or </s>, [MASK] or <mask>.
    Tokenizer(const std::string& model, const std::string& name);
    /// As a tokenizer that was found in a model's files says. Errors: InputError, as above.
    explicit Tokenizer(const tokenizer::ModelTokenizer& found);
    ~Tokenizer();
    Tokenizer(const Tokenizer&) = delete;
    Tokenizer& operator=(const Tokenizer&) = delete;

    /// Token ids of a sentence. Errors: InputError.
    std::vector<std::uint16_t> encode(const std::string& sentence) const;
    /// How many of these ids stand for text of this sentence that is in no piece. Where the
    /// sentence has the unknown token as text, that does not count.
    std::uint64_t unknown_count(const std::string& sentence,
                                const std::vector<std::uint16_t>& ids) const;
    /// Whether capitals are kept, but no piece has any: each of them is then unknown.
    bool loses_capitals() const;
    /// Number of pieces.
    std::uint64_t vocabulary() const;
    /// The ids of the tokens with a special meaning.
    const formats::SpecialTokens& special_tokens() const { return special_; }

  private:
    struct Model;
    void load(const std::string& model);
    void take_pieces(const huggingface::TokenizerSpec& spec);
    std::uint16_t id_of(std::initializer_list<const char*> names, const char* meaning) const;
    void find_special_tokens();

    const std::string name_;
    const std::unique_ptr<Model> model_;
    formats::SpecialTokens special_;
};

}  // namespace dedloc::corpus
