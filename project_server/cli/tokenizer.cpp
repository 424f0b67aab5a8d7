#include "project_server/cli/tokenizer.hpp"

#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <unordered_map>

#include "peer/base/error.hpp"

namespace dedloc::cli {
namespace {

/// All sentences of all documents, one after the other.
class Sentences final : public sentencepiece::SentenceIterator {
  public:
    explicit Sentences(const std::vector<Document>& documents) : documents_(documents) {}
    bool done() const override { return document_ == documents_.size(); }
    void Next() override {
        if (++sentence_ < documents_[document_].size()) return;
        sentence_ = 0;
        ++document_;
    }
    const std::string& value() const override { return documents_[document_][sentence_]; }
    sentencepiece::util::Status status() const override { return {}; }

  private:
    const std::vector<Document>& documents_;
    std::size_t document_ = 0;
    std::size_t sentence_ = 0;
};

}  // namespace

std::string train_tokenizer(const std::vector<Document>& documents, int vocabulary) {
    Sentences sentences{documents};
    // The number of threads is fixed, because the result depends on it: each thread sums its own
    // share of the counts.
    const std::unordered_map<std::string, std::string> options = {
        {"model_type", "unigram"},
        {"vocab_size", std::to_string(vocabulary)},
        {"normalization_rule_name", "nmt_nfkc_cf"},
        {"pad_id", "0"},
        {"pad_piece", "<pad>"},
        {"unk_id", "1"},
        {"unk_piece", "<unk>"},
        {"bos_id", "2"},
        {"bos_piece", "[CLS]"},
        {"eos_id", "3"},
        {"eos_piece", "[SEP]"},
        {"control_symbols", "[MASK]"},
        {"num_threads", "2"},
        {"minloglevel", "2"}};
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(options, &sentences, &model);
    if (!status.ok()) {
        throw InputError(fmt::format("the text is too small for a vocabulary of {} pieces: {}",
                                     vocabulary, status.error_message()));
    }
    return model;
}

struct Tokenizer::Model {
    sentencepiece::SentencePieceProcessor processor;
};

Tokenizer::Tokenizer(const std::string& model) : model_(std::make_unique<Model>()) {
    if (!model_->processor.LoadFromSerializedProto(model).ok() || vocabulary() > 65'536) {
        throw InputError("the tokenizer is not a SentencePiece model of at most 65,536 pieces");
    }
}

Tokenizer::~Tokenizer() = default;

std::vector<std::uint16_t> Tokenizer::encode(const std::string& sentence) const {
    std::vector<int> ids;
    const auto status = model_->processor.Encode(sentence, &ids);
    if (!status.ok()) throw InputError("a sentence cannot be tokenised");
    return {ids.begin(), ids.end()};
}

int Tokenizer::vocabulary() const {
    return model_->processor.GetPieceSize();
}

}  // namespace dedloc::cli
