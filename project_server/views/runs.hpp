// The pages of the training runs.
#pragma once

#include <optional>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"
#include "project_server/views/run_history.hpp"

namespace dedloc::server {

/// The newest 100 runs, newest first: a list of {name, state, step, steps, loss, held_out}.
/// held_out: {step, loss, masked_accuracy, order_accuracy}, absent before an evaluation.
/// Errors: DatabaseError.
json::Value::List run_list(Database& database);

/// One run: progress, curve of at most 1,200 points [step, loss, samples per second, members,
/// computed_round_bytes()], peers of the last hour; and, unless it has not been evaluated,
/// held_out, the last figures on held-out text, held_out_curve, at most about 600 points [step,
/// loss, masked accuracy, order accuracy], and measurements, at most 20 of them as objects. The
/// user and the computer of a peer are those of the result for which its ticket was issued, and are
/// left out unless the user shows their computers. `now`: UTC seconds. Nothing if there is no such
/// run. Errors: DatabaseError.
std::optional<json::Value> run_data(Database& database, RunHistories& histories,
                                    const std::string& name, double now);

}  // namespace dedloc::server
