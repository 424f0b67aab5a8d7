#include "project_server/views/tasks.hpp"

#include <fmt/format.h>

#include <utility>

#include "project_server/database/job_states.hpp"

namespace dedloc::server {
namespace {

constexpr int kTaskRows = 50;
constexpr int kRecentJobs = 20;

/// The tasks of which a column (userid, hostid, id) has a value, the newest first.
Rows read_tasks(Database& database, const char* column, std::int64_t value, int limit,
                int offset = 0) {
    return database.query(
        fmt::format("select r.id, r.name, r.userid, r.hostid, r.server_state, r.outcome, "
                    "r.validate_state, r.exit_status, r.sent_time, r.report_deadline, "
                    "r.received_time, r.elapsed_time, r.cpu_time, r.peak_working_set_size, "
                    "r.granted_credit, a.user_friendly_name as app from result r left join app a "
                    "on a.id = r.appid where r.{} = ? order by r.id desc limit ? offset ?",
                    column),
        {value, limit, offset});
}

json::Value brief(const Row& row) {
    json::Value data;
    data.set("id", row.integer("id"))
        .set("name", row.text("name"))
        .set("host", row.integer("hostid"))
        .set("state", task_state(row))
        .set("sent", row.integer("sent_time"))
        .set("deadline", row.integer("report_deadline"))
        .set("reported", row.integer("received_time"))
        .set("hours", row.real("elapsed_time") / 3600)
        .set("credit", row.real("granted_credit"));
    return data;
}

}  // namespace

std::int64_t owner_of_task(Database& database, const std::string& name) {
    const auto row = database.query_one("select userid from result where name = ?", {name});
    return row ? row->integer("userid") : 0;
}

json::Value task_list(Database& database, std::int64_t user, int page) {
    json::Value::List tasks;
    bool has_next = false;
    for (const Row& row :
         read_tasks(database, "userid", user, kTaskRows + 1, (page - 1) * kTaskRows)) {
        has_next = tasks.size() == static_cast<std::size_t>(kTaskRows);
        if (has_next) break;
        tasks.push_back(brief(row));
    }
    json::Value data;
    data.set("is_recent", false).set("page", page);
    data.set("previous", page > 1 ? json::Value{page - 1} : json::Value{false});
    data.set("next", has_next ? json::Value{page + 1} : json::Value{false});
    data.set("tasks", std::move(tasks));
    return data;
}

json::Value::List recent_jobs(Database& database, std::int64_t host) {
    json::Value::List list;
    for (const Row& row : read_tasks(database, "hostid", host, kRecentJobs)) {
        json::Value job;
        job.set("id", row.integer("id"))
            .set("name", row.text("name"))
            .set("state", task_state(row))
            .set("exit_status", row.integer("exit_status"))
            .set("sent_at", row.integer("sent_time"))
            .set("reported_at", row.integer("received_time"))
            .set("hours", row.real("elapsed_time") / 3600)
            .set("credit", row.real("granted_credit"));
        list.push_back(std::move(job));
    }
    return list;
}

std::optional<json::Value> task_data(Database& database, std::int64_t task, std::int64_t user) {
    const Rows found = read_tasks(database, "id", task, 1);
    if (found.empty() || user == 0 || found[0].integer("userid") != user) return std::nullopt;
    const Row& row = found[0];
    json::Value data = brief(row);
    const auto samples = database.query_one(
        "select coalesce(sum(samples), 0) as samples, coalesce(sum(reduced_bytes), 0) as bytes, "
        "count(distinct step) as steps "
        "from dedloc_contribution where resultid = ?",
        {task});
    data.set("app", row.text("app"))
        .set("exit_status", row.integer("exit_status"))
        .set("processor_hours", row.real("cpu_time") / 3600)
        .set("peak_memory", row.real("peak_working_set_size"))
        .set("samples", samples->integer("samples"))
        .set("reduced_bytes", samples->integer("bytes"))
        .set("steps", samples->integer("steps"));
    return data;
}

}  // namespace dedloc::server
