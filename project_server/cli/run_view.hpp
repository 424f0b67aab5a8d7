// Formats a run's progress for a terminal, a log or a program.
#pragma once

#include <string>
#include <vector>

#include "project_server/cli/run.hpp"

namespace dedloc::cli {

/// One line for a step, for logs and pipes.
std::string step_line(const RunStatus& status, const StepLine& step);

/// The present progress as a few lines for a terminal of `columns` characters: bar, numbers, loss
/// curve as block characters.
std::vector<std::string> terminal_view(const RunStatus& status, const std::vector<StepLine>& steps,
                                       std::size_t columns);

/// The run as one JSON object, with all its steps.
std::string status_json(const RunStatus& status);

}  // namespace dedloc::cli
