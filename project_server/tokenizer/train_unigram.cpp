// The trainer sums in as many threads as it is told, and the sums depend on their number, so that
// is fixed.
#include "project_server/tokenizer/train_unigram.hpp"

#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include "peer/base/error.hpp"

namespace dedloc::tokenizer {
namespace {

/// What SentencePiece's trainer reads.
class Lines final : public sentencepiece::SentenceIterator {
  public:
    explicit Lines(const std::vector<std::string>& lines) : lines_(lines) {}
    bool done() const override { return at_ == lines_.size(); }
    void Next() override { ++at_; }
    const std::string& value() const override { return lines_[at_]; }
    sentencepiece::util::Status status() const override { return {}; }

  private:
    const std::vector<std::string>& lines_;
    std::size_t at_ = 0;
};

}  // namespace

std::string train_unigram(const std::vector<std::string>& lines, std::size_t vocabulary,
                          std::unordered_map<std::string, std::string> options) {
    options.insert({{"model_type", "unigram"},
                    {"vocab_size", std::to_string(vocabulary)},
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
                    {"minloglevel", "2"}});
    Lines iterator{lines};
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(options, &iterator, &model);
    if (!status.ok()) {
        throw InputError(fmt::format("the text is too small for a vocabulary of {} pieces: {}",
                                     vocabulary, status.error_message()));
    }
    return model;
}

}  // namespace dedloc::tokenizer
