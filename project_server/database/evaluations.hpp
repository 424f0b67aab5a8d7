// Figures of models on held-out data: the tables dedloc_evaluation and dedloc_figure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "peer/formats/figures.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// One state of a run, measured by the project.
struct EvaluationRow {
    std::uint64_t step = 0;  ///< number of updates done
    double loss = 0;         ///< mean over samples, comparable to the training loss
    double loss_error = 0;   ///< standard error of `loss`
    std::vector<formats::MeasuredFigure> figures{};  ///< those of the run's task, ascending by name
    std::uint64_t samples = 0;                       ///< number of samples
    double seconds = 0;                              ///< how long it took
    std::string digest;                              ///< the state's digest, hex
};

/// The valid rows of a run (dedloc_run.id), ascending by step. A row is void if its state is not
/// the initial one and dedloc_step has not its digest at its step: the step has become void.
std::vector<EvaluationRow> read_evaluations(Database& database, std::int64_t run);

/// The figures of each of these (dedloc_run.id, step), ascending by name, in one message. They need
/// not be valid. Errors: DatabaseError.
std::vector<std::vector<formats::MeasuredFigure>> read_figures(
    Database& database, const std::vector<std::pair<std::int64_t, std::uint64_t>>& places);

/// Writes a row in one transaction, and replaces one at that step. Writes nothing and returns false
/// if the row would be void.
bool write_evaluation(Database& database, std::int64_t run, const EvaluationRow& row);

/// Moves the figures that earlier versions kept in columns of dedloc_evaluation, and drops these
/// columns. Returns a sentence if there were any. May be repeated after a crash at any moment.
std::optional<std::string> move_former_figures(Database& database);

}  // namespace dedloc::server
