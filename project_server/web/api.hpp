// What the pages show, as JSON from the dedloc_* tables.
#pragma once

#include <optional>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// {"runs":[{"name","state","step","steps"}]}, the newest first.
std::string runs_json(Database& database);

/// One run: progress, loss curve (at most about 600 points [step, loss]), peers. Nothing if there
/// is no such run.
std::optional<std::string> run_json(Database& database, const std::string& name, double now);

/// {"users":[...],"hosts":[...]}: the first 50 by credit.
std::string leaderboard_json(Database& database);

}  // namespace dedloc::server
