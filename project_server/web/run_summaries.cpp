#include "project_server/web/run_summaries.hpp"

#include <fmt/format.h>

#include "project_server/scheduler/xml.hpp"

namespace dedloc::server {

std::vector<RunSummary> read_run_summaries(Database& database) {
    std::vector<RunSummary> runs;
    for (const Row& row :
         database.query("select r.name, r.state, r.steps, coalesce(s.step, 0) as step, s.loss, "
                        "e.step as held_out_step, e.loss as held_out_loss, e.masked_accuracy, "
                        "e.order_accuracy from dedloc_run r "
                        "left join dedloc_step s on s.runid = r.id and s.step = "
                        "(select max(step) from dedloc_step where runid = r.id) "
                        "left join dedloc_evaluation e on e.runid = r.id and e.step = "
                        "(select v.step from dedloc_evaluation v left join dedloc_step p on "
                        "p.runid = v.runid and p.step = v.step where v.runid = r.id and "
                        "(v.step = 0 or p.digest = v.digest) order by v.step desc limit 1) "
                        "order by r.id desc limit 100")) {
        RunSummary run{.name = row.text("name"),
                       .state = row.text("state"),
                       .step = row.integer("step"),
                       .steps = row.integer("steps"),
                       .loss = row.real("loss"),
                       .held_out = {}};
        if (!row.is_null("held_out_step")) {
            run.held_out = HeldOutFigures{.step = row.integer("held_out_step"),
                                          .loss = row.real("held_out_loss"),
                                          .masked_accuracy = row.real("masked_accuracy"),
                                          .order_accuracy = row.real("order_accuracy")};
        }
        runs.push_back(std::move(run));
    }
    return runs;
}

std::string runs_table_rows(const std::vector<RunSummary>& runs) {
    std::string rows;
    for (const RunSummary& run : runs) {
        const auto number = [&](const std::string& text) {
            rows += fmt::format("<td class=\"number\">{}</td>", text);
        };
        rows += fmt::format("<tr><td>{}</td><td>{}</td>", escape_markup(run.name),
                            escape_markup(run.state));
        number(fmt::format("{} of {}", run.step, run.steps));
        number(run.step > 0 ? fmt::format("{:.4f}", run.loss) : "–");
        number(run.held_out ? fmt::format("{:.4f}", run.held_out->loss) : "–");
        number(run.held_out ? fmt::format("{}", run.held_out->step) : "–");
        number(run.held_out ? fmt::format("{:.2f} %", 100 * run.held_out->masked_accuracy) : "–");
        number(run.held_out ? fmt::format("{:.2f} %", 100 * run.held_out->order_accuracy) : "–");
        rows += "</tr>\n";
    }
    return rows;
}

}  // namespace dedloc::server
