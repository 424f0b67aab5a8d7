#include "project_server/views/held_out.hpp"

namespace dedloc::server {

json::Value held_out_data(const EvaluationRow& row) {
    json::Value data;
    data.set("step", row.step)
        .set("loss", row.loss)
        .set("loss_error", row.loss_error)
        .set("masked_loss", row.masked_loss)
        .set("order_loss", row.order_loss)
        .set("masked_accuracy", row.masked_accuracy)
        .set("order_accuracy", row.order_accuracy)
        .set("samples", row.samples)
        .set("seconds", row.seconds)
        .set("digest", row.digest);
    return data;
}

}  // namespace dedloc::server
