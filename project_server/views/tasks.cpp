#include "project_server/views/tasks.hpp"

#include "project_server/database/job_states.hpp"

namespace dedloc::server {
namespace {

constexpr int kTaskRows = 50;

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

json::Value task_list(Database& database, std::int64_t user, int page) {
    json::Value::List tasks;
    bool has_next = false;
    for (const Row& row : database.query(
             "select id, name, hostid, server_state, outcome, validate_state, sent_time, "
             "report_deadline, received_time, elapsed_time, granted_credit from result "
             "where userid = ? order by id desc limit ? offset ?",
             {user, kTaskRows + 1, (page - 1) * kTaskRows})) {
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

std::optional<json::Value> task_data(Database& database, std::int64_t task, std::int64_t user) {
    const auto row = database.query_one(
        "select r.*, a.user_friendly_name as app from result r left join app a on a.id = r.appid "
        "where r.id = ? and r.userid = ? and r.userid <> 0",
        {task, user});
    if (!row) return std::nullopt;
    json::Value data = brief(*row);
    const auto samples = database.query_one(
        "select coalesce(sum(samples), 0) as samples, coalesce(sum(reduced_bytes), 0) as bytes, "
        "count(distinct step) as steps "
        "from dedloc_contribution where resultid = ?",
        {task});
    data.set("app", row->text("app"))
        .set("exit_status", row->integer("exit_status"))
        .set("processor_hours", row->real("cpu_time") / 3600)
        .set("peak_memory", row->real("peak_working_set_size"))
        .set("samples", samples->integer("samples"))
        .set("reduced_bytes", samples->integer("bytes"))
        .set("steps", samples->integer("steps"));
    return data;
}

}  // namespace dedloc::server
