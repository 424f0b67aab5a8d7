// Figures of models on held-out text: the table dedloc_evaluation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// One state of a run, measured by the project. Losses are means over samples, in nats.
struct EvaluationRow {
    std::uint64_t step = 0;      ///< number of updates done
    double loss = 0;             ///< masked_loss + order_loss, comparable to the training loss
    double loss_error = 0;       ///< standard error of `loss`
    double masked_loss = 0;      ///< masked tokens
    double order_loss = 0;       ///< sentence order
    double masked_accuracy = 0;  ///< share of the masked tokens that were predicted right
    double order_accuracy = 0;   ///< share of the sentence orders that were predicted right
    std::uint64_t samples = 0;   ///< number of samples
    double seconds = 0;          ///< how long it took
    std::string digest;          ///< the state's digest, hex
};

/// The valid rows of a run (dedloc_run.id), ascending by step. A row is void if its state is not
/// the initial one and dedloc_step has not its digest at its step: the step has become void.
std::vector<EvaluationRow> read_evaluations(Database& database, std::int64_t run);

/// Writes a row in one statement, and replaces one at that step. Writes nothing and returns false
/// if the row would be void.
bool write_evaluation(Database& database, std::int64_t run, const EvaluationRow& row);

}  // namespace dedloc::server
