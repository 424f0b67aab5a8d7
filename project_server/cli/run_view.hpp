// Formats a run's progress for a terminal, a log or a program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/json/value.hpp"
#include "project_server/views/run_status.hpp"

namespace dedloc::cli {

/// The steps to show: up to the last one whose members have reported its digest, or all if the run
/// is finished. An earlier step has no reports if its backbone was killed before they came.
std::span<const server::StepLine> reported_steps(const server::RunStatus& status);

/// One line for a step, for logs and pipes.
std::string step_line(const server::RunStatus& status, const server::StepLine& step);

/// "; masked tokens right 12.50 %": the headline figures of the run's task, empty if it has none.
std::string headline_clause(const server::EvaluationRow& row, std::string_view architecture);
/// Figures on held-out data in one line, for people.
std::string held_out_line(const server::EvaluationRow& row, std::string_view architecture);

/// The present progress as a few lines for a terminal of `columns` characters: bar, numbers, the
/// last figures on held-out data if there are any, loss curve as block characters.
std::vector<std::string> terminal_view(const server::RunStatus& status,
                                       const std::vector<server::StepLine>& steps,
                                       std::size_t columns);

/// The figures on held-out data, as views/held_out.hpp has them.
json::Value::List held_out_data(const server::RunStatus& status);

/// The step as one JSON object in one line.
std::string step_json(const server::StepLine& step);

/// The run as one JSON object, with all its steps and evaluations.
std::string status_json(const server::RunStatus& status);

}  // namespace dedloc::cli
