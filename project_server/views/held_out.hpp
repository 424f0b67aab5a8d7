// Figures of a run on held-out text.
#pragma once

#include "project_server/database/evaluations.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// {step, loss, loss_error, masked_loss, order_loss, masked_accuracy, order_accuracy, samples,
/// seconds, digest}: the row, as pages and the command line show it.
json::Value held_out_data(const EvaluationRow& row);

}  // namespace dedloc::server
