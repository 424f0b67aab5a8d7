// The masked sentences of a run: those of its administrator, or drawn ones.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"
#include "project_server/evaluate/masked_sentences.hpp"

namespace dedloc::evaluate {

/// Asks a run's model. A run without them (no text, no tokenizer, a wrong file) is measured all the
/// same: what is wrong is logged in one sentence, once.
class RunQuestions {
  public:
    /// `folder`: the run's. `run` must outlive it.
    RunQuestions(std::filesystem::path folder, const formats::RunFile& run);

    /// The answers of these parameters; empty if there are no sentences. Reads the administrator's
    /// file, which may have changed. Nothing when interrupted.
    /// Errors: c10::Error (a std::exception): no memory.
    std::optional<std::vector<server::MaskedAnswer>> ask(
        std::span<const float> parameters, const training::IsInterrupted& is_interrupted);

  private:
    std::vector<MaskedSentence> sentences();
    void complain(const std::string& sentence);

    const std::filesystem::path folder_;
    const formats::RunFile& run_;
    std::optional<huggingface::TokenizerSpec> tokenizer_;
    std::optional<std::vector<MaskedSentence>> drawn_;
    std::string complaint_;  ///< the last one that was logged
};

}  // namespace dedloc::evaluate
