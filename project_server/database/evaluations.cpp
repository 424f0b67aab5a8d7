#include "project_server/database/evaluations.hpp"

namespace dedloc::server {

std::vector<EvaluationRow> read_evaluations(Database& database, std::int64_t run) {
    std::vector<EvaluationRow> rows;
    for (const Row& row : database.query(
             "select e.* from dedloc_evaluation e left join dedloc_step s on s.runid = e.runid and "
             "s.step = e.step where e.runid = ? and (e.step = 0 or s.digest = e.digest) "
             "order by e.step",
             {run})) {
        rows.push_back({.step = static_cast<std::uint64_t>(row.integer("step")),
                        .loss = row.real("loss"),
                        .loss_error = row.real("loss_error"),
                        .masked_loss = row.real("masked_loss"),
                        .order_loss = row.real("order_loss"),
                        .masked_accuracy = row.real("masked_accuracy"),
                        .order_accuracy = row.real("order_accuracy"),
                        .samples = static_cast<std::uint64_t>(row.integer("samples")),
                        .seconds = row.real("seconds"),
                        .digest = row.text("digest")});
    }
    return rows;
}

bool write_evaluation(Database& database, std::int64_t run, const EvaluationRow& row) {
    // The row of the run stands for step 0, that of the step for all others.
    const std::string source = row.step == 0
                                   ? "dedloc_run where id = ? and 0 = ? and ? <> ''"
                                   : "dedloc_step where runid = ? and step = ? and digest = ?";
    return database.execute(
               "insert into dedloc_evaluation (runid, step, loss, loss_error, masked_loss, "
               "order_loss, masked_accuracy, order_accuracy, samples, seconds, digest, "
               "evaluated_at) select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? from " +
                   source +
                   " on duplicate key update loss = values(loss), "
                   "loss_error = values(loss_error), masked_loss = values(masked_loss), "
                   "order_loss = values(order_loss), masked_accuracy = values(masked_accuracy), "
                   "order_accuracy = values(order_accuracy), samples = values(samples), "
                   "seconds = values(seconds), digest = values(digest), "
                   "evaluated_at = values(evaluated_at)",
               {run, row.step, row.loss, row.loss_error, row.masked_loss, row.order_loss,
                row.masked_accuracy, row.order_accuracy, row.samples, row.seconds, row.digest,
                unix_now(), run, row.step, row.digest}) > 0;
}

}  // namespace dedloc::server
