// Figures of models on held-out data, and their answers to masked sentences: the tables
// dedloc_evaluation, dedloc_figure and dedloc_answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "peer/formats/figures.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// A word that a model gives for a masked one.
struct AnsweredWord {
    std::string word;        ///< UTF-8, at most kMaxWordCharacters characters; may have markup
    double probability = 0;  ///< what the model says
    bool operator==(const AnsweredWord&) const = default;
};

/// Limits of the table, in characters.
inline constexpr std::size_t kMaxWordCharacters = 100;
inline constexpr std::size_t kMaxContextCharacters = 1'000;  ///< on each side of the masked word

/// A sentence with one masked word, and a model's best words for it.
struct MaskedAnswer {
    std::string before;               ///< the text before the word
    std::string after;                ///< the text behind it
    std::string wanted;               ///< the word that was there; empty: not known
    std::vector<AnsweredWord> words;  ///< the most probable first
    bool operator==(const MaskedAnswer&) const = default;
};

/// One state of a run, measured by the project.
struct EvaluationRow {
    std::uint64_t step = 0;  ///< number of updates done
    double loss = 0;         ///< mean over samples, comparable to the training loss
    double loss_error = 0;   ///< standard error of `loss`
    std::vector<formats::MeasuredFigure> figures{};  ///< those of the run's task, ascending by name
    std::uint64_t samples = 0;                       ///< number of samples
    double seconds = 0;                              ///< how long it took
    std::string digest;                              ///< the state's digest, hex
    std::vector<MaskedAnswer>
        answers{};  ///< to masked sentences; written, and read by read_answers
};

/// The valid rows of a run (dedloc_run.id), ascending by step. A row is void if its state is not
/// the initial one and dedloc_step has not its digest at its step: the step has become void.
std::vector<EvaluationRow> read_evaluations(Database& database, std::int64_t run);

/// The figures of each of these (dedloc_run.id, step), ascending by name, in one message. They need
/// not be valid. Errors: DatabaseError.
std::vector<std::vector<formats::MeasuredFigure>> read_figures(
    Database& database, const std::vector<std::pair<std::int64_t, std::uint64_t>>& places);

/// The answers at each of these steps of a run, in the order of the sentences, in one message. They
/// need not be valid. Errors: DatabaseError.
std::vector<std::vector<MaskedAnswer>> read_answers(Database& database, std::int64_t run,
                                                    const std::vector<std::uint64_t>& steps);

/// Writes a row in one transaction, and replaces one at that step. Writes nothing and returns false
/// if the row would be void.
bool write_evaluation(Database& database, std::int64_t run, const EvaluationRow& row);

/// Moves the figures that earlier versions kept in columns of dedloc_evaluation, and drops these
/// columns. Returns a sentence if there were any. May be repeated after a crash at any moment.
std::optional<std::string> move_former_figures(Database& database);

}  // namespace dedloc::server
