// Rows of a project that has been public for a while.
#pragma once

#include <sstream>
#include <string>

#include "tests/project_server/web/site_fixture.hpp"

namespace dedloc::server {

/// Adds a run with so many steps, 51 evaluations and 64 peers, users with computers, and a team.
/// Returns the run's id.
inline std::int64_t fill(Database& database, int steps) {
    constexpr int kPeers = 64;
    const auto run = add_run(database, "albert");
    std::string rows;
    for (int step = 1; step <= steps; ++step) {
        std::ostringstream row;
        row << (rows.empty() ? "" : ",") << '(' << run << ',' << step << ",4096,"
            << 3 + 8.0 / (1 + step / 100.0) << ",0.1,64,64,'" << std::string(64, 'd') << "',7.5,"
            << 1.8e9 + step << ')';
        rows += row.str();
        if (step % 2000 == 0 || step == steps) {
            database.execute("insert into dedloc_step values " + rows);
            rows.clear();
        }
    }
    for (int at = 0; at <= 50; ++at) {
        database.execute("insert into dedloc_evaluation values (?, ?, ?, 0.02, 1024, 9, ?, 1)",
                         {run, at * (steps / 50), 3.2 + 8.0 / (1 + at), std::string(64, 'd')});
        database.execute(
            "insert into dedloc_figure values (?, ?, 'masked_loss', 4, null), "
            "(?, ?, 'order_loss', 0.5, null), (?, ?, 'masked_accuracy', 0.4, 0.01), "
            "(?, ?, 'order_accuracy', 0.8, 0.01)",
            {run, at * (steps / 50), run, at * (steps / 50), run, at * (steps / 50), run,
             at * (steps / 50)});
    }
    for (int at = 0; at < kPeers; ++at) {
        const auto user = add_user(database, "Volunteer " + std::to_string(at), 1000 - at,
                                   at % 5 != 0, at % 3 == 0 ? "Latvia" : "Kenya");
        const auto host = add_host(database, user, "AMD Ryzen 7 5800X 8-Core Processor", 900 - at);
        database.execute("insert into result (name, userid, hostid) values (?, ?, ?)",
                         {"r" + std::to_string(at), user, host});
        const std::string key = std::to_string(100 + at) + std::string(61, 'a');
        database.execute(
            "insert into dedloc_ticket (runid, peer_key, resultid, issued, expires) values (?, ?, "
            "?, 1, 2)",
            {run, key, database.insert_id()});
        database.execute(
            "insert into dedloc_seat (runid, peer_key, role, state, step, samples_per_second, "
            "digest, last_seen) values (?, ?, 'trainer', 'working', ?, 8.5, ?, "
            "unix_timestamp() + 3000)",
            {run, key, steps, std::string(64, 'd')});
    }
    database.execute(
        "insert into team (name, userid, description, country, total_credit, nusers, "
        "create_time, joinable) values ('Team Riga', 1, 'We train.\n\nJoin us!', 'Latvia', 5000, "
        "12, 1800000000, 1)");
    database.execute("update user set teamid = 1 where id < 13");
    database.execute(
        "insert into app (name, user_friendly_name) values ('dedloc_train', 'DeDLOC')");
    return run;
}

}  // namespace dedloc::server
