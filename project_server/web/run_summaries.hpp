// The runs of a project, each with its last figures: the page's first table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// The last figures of a run on held-out text.
struct HeldOutFigures {
    std::int64_t step = 0;       ///< the state's step
    double loss = 0;             ///< in nats, comparable to the training loss
    double masked_accuracy = 0;  ///< share of the masked tokens that were predicted right
    double order_accuracy = 0;   ///< share of the sentence orders that were predicted right
};

/// One run.
struct RunSummary {
    std::string name;                        ///< the run's name
    std::string state;                       ///< "running", "paused" or "finished"
    std::int64_t step = 0;                   ///< number of updates done
    std::int64_t steps = 0;                  ///< updates until it is finished
    double loss = 0;                         ///< training loss of the last step, in nats
    std::optional<HeldOutFigures> held_out;  ///< absent: not evaluated yet
};

/// The newest 100 runs, newest first. Errors: DatabaseError.
std::vector<RunSummary> read_run_summaries(Database& database);

/// Rows of an HTML table, a line each: run, state, updates, training loss, held-out loss, its
/// update, shares of masked tokens and of sentence orders predicted right.
std::string runs_table_rows(const std::vector<RunSummary>& runs);

}  // namespace dedloc::server
