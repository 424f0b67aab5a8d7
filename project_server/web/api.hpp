// JSON for the web pages, from the dedloc_* and BOINC tables.
#pragma once

#include <optional>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// {"runs":[{"name","state","step","steps"}]}: the newest 100 runs, newest first.
std::string runs_json(Database& database);

/// One run: progress, loss curve (at most about 1,200 points [step, loss]), peers. `now` is the
/// Unix time in seconds. Nothing if there is no such run.
std::optional<std::string> run_json(Database& database, const std::string& name, double now);

/// {"users":[...],"hosts":[...]}: the first 50 of each by credit.
std::string leaderboard_json(Database& database);

}  // namespace dedloc::server
