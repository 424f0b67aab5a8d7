#include "project_server/runs/status.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"

namespace dedloc::runs {
namespace {

std::uint64_t count_of(const server::Row& row, std::string_view column) {
    return static_cast<std::uint64_t>(row.integer(column));
}

}  // namespace

server::Row run_row(server::Database& database, const std::string& name) {
    const auto row = database.query_one("select * from dedloc_run where name = ?", {name});
    if (!row) throw InputError(fmt::format("the project has no run {}", name));
    return *row;
}

std::int64_t run_number(server::Database& database, const std::string& name) {
    return run_row(database, name).integer("id");
}

json::Value run_list(server::Database& database) {
    json::Value::List runs;
    for (const auto& row : database.query(
             "select d.name, d.state, d.steps, d.target_batch, d.credit_per_sample, "
             "d.credit_per_gigabyte_reduced, d.created, "
             "coalesce(s.step, 0) as step, coalesce(s.loss, 0) as loss, "
             "coalesce(s.committed_at, 0) as recorded, (select count(*) from dedloc_seat t where "
             "t.runid = d.id and t.role = 'trainer' and t.state = 'working') as peers, "
             "(select coalesce(sum(t.samples_per_second), 0) from dedloc_seat t where "
             "t.runid = d.id and t.role = 'trainer' and t.state = 'working') as rate "
             "from dedloc_run d left join dedloc_step s on s.runid = d.id and s.step = "
             "(select max(m.step) from dedloc_step m where m.runid = d.id) order by d.id")) {
        json::Value run;
        run.set("name", row.text("name"))
            .set("state", row.text("state"))
            .set("step", row.integer("step"))
            .set("steps", row.integer("steps"))
            .set("target_batch", row.integer("target_batch"))
            .set("loss", row.real("loss"))
            .set("peers", row.integer("peers"))
            .set("samples_per_second", row.real("rate"))
            .set("credit_per_sample", row.real("credit_per_sample"))
            .set("credit_per_gigabyte_reduced", row.real("credit_per_gigabyte_reduced"))
            .set("created_at", row.real("created"))
            .set("recorded_at", row.real("recorded"));
        runs.push_back(std::move(run));
    }
    json::Value data;
    data.set("runs", std::move(runs));
    return data;
}

RunStatus run_status(server::Database& database, const std::string& name, std::uint64_t after) {
    const auto row = run_row(database, name);
    RunStatus status{.name = name,
                     .state = row.text("state"),
                     .steps = count_of(row, "steps"),
                     .lines = {},
                     .final_digest = row.text("final_digest"),
                     .held_out = server::read_evaluations(database, row.integer("id"))};
    const auto seats = database.query_one(
        "select count(*) as peers, coalesce(sum(samples_per_second), 0) as rate from dedloc_seat "
        "where runid = ? and role = 'trainer' and state = 'working'",
        {row.integer("id")});
    status.peers = static_cast<int>(seats->integer("peers"));
    status.samples_per_second = seats->real("rate");
    for (const auto& step : database.query(
             "select step, loss, samples, seconds, members, equal_digests from dedloc_step "
             "where runid = ? and step > ? order by step",
             {row.integer("id"), after})) {
        status.lines.push_back({.step = count_of(step, "step"),
                                .loss = step.real("loss"),
                                .samples = count_of(step, "samples"),
                                .seconds = step.real("seconds"),
                                .members = static_cast<int>(step.integer("members")),
                                .equal_digests = static_cast<int>(step.integer("equal_digests"))});
    }
    return status;
}

}  // namespace dedloc::runs
