// JSON for the web pages, from the dedloc_* and BOINC tables.
#pragma once

#include <optional>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// {"runs":[{"name","state","step","steps","loss","held_out"}]}: the newest 100 runs, newest first.
/// held_out: {"step","loss","masked_accuracy","order_accuracy"}, absent before an evaluation.
std::string runs_json(Database& database);

/// One run: progress, loss curve (at most about 1,200 points [step, loss]), peers; and, unless it
/// has not been evaluated, "held_out", the last figures on held-out text, and "held_out_curve", at
/// most about 600 points [step, loss, masked accuracy, order accuracy]. `now` is the Unix time in
/// seconds. Nothing if there is no such run.
std::optional<std::string> run_json(Database& database, const std::string& name, double now);

/// {"users":[...],"hosts":[...]}: the first 50 of each by credit.
std::string leaderboard_json(Database& database);

}  // namespace dedloc::server
