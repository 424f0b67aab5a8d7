#include "project_server/evaluate/run_questions.hpp"

#include <utility>
#include <variant>

#include "boinc_app/inputs/shard_files.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/files.hpp"
#include "project_server/runs/masked_lines.hpp"
#include "project_server/runs/run_tokenizer.hpp"

namespace dedloc::evaluate {

RunQuestions::RunQuestions(std::filesystem::path folder, const formats::RunFile& run)
    : folder_(std::move(folder)), run_(run) {}

std::vector<MaskedSentence> RunQuestions::sentences() {
    if (!tokenizer_) tokenizer_ = runs::run_tokenizer(folder_, run_.special_tokens);
    const auto file = folder_ / runs::kMaskedLinesFile;
    if (std::filesystem::exists(file)) {
        return chosen_sentences(file.string(), platform::read_text(file, runs::kMaxMaskedFileBytes),
                                run_, *tokenizer_);
    }
    if (!drawn_) {
        const auto shards = inputs::open_held_out_shards(folder_ / "held_out", run_);
        if (tokenizer_->pieces.size() < formats::albert_of(run_).vocabulary) {
            throw InputError("the tokenizer has fewer pieces than the model");
        }
        drawn_ = drawn_sentences(run_, shards, *tokenizer_, kDrawnSentences);
    }
    return *drawn_;
}

void RunQuestions::complain(const std::string& sentence) {
    if (complaint_ != sentence) {
        log_warning("run {} answers no masked sentences: {}", run_.name, sentence);
    }
    complaint_ = sentence;
}

std::optional<std::vector<server::MaskedAnswer>> RunQuestions::ask(
    std::span<const float> parameters, const training::IsInterrupted& is_interrupted) {
    if (!std::holds_alternative<formats::AlbertSpec>(run_.model)) {
        return std::vector<server::MaskedAnswer>{};
    }
    try {
        return answer_sentences(run_, parameters, sentences(), *tokenizer_, is_interrupted);
    } catch (const InputError& error) {
        complain(error.what());
    } catch (const IoError& error) {
        complain(error.what());
    }
    return std::vector<server::MaskedAnswer>{};
}

}  // namespace dedloc::evaluate
