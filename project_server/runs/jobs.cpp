#include "project_server/runs/jobs.hpp"

#include "project_server/views/runs.hpp"

namespace dedloc::runs {

json::Value run_jobs(server::Database& database, const std::string& name, const RunJobs& jobs) {
    const auto run = server::read_run(database, name).id;
    if (jobs.seats_ready) {
        database.execute("update dedloc_run set seats_ready = ? where id = ?",
                         {*jobs.seats_ready, run});
    }
    if (jobs.lease_hours) {
        database.execute("update dedloc_run set lease_hours = ? where id = ?",
                         {*jobs.lease_hours, run});
    }
    if (jobs.aggregators) {
        database.execute("update dedloc_run set aggregators = ? where id = ?",
                         {*jobs.aggregators, run});
    }
    const auto row = database.query_one(
        "select seats_ready, lease_hours, aggregators from dedloc_run where id = ?", {run});
    json::Value data;
    data.set("run", name)
        .set("seats_ready", row->integer("seats_ready"))
        .set("lease_hours", row->integer("lease_hours"))
        .set("aggregators", row->integer("aggregators"));
    return data;
}

}  // namespace dedloc::runs
