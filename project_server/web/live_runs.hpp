// The pages of runs while the database is away: what their backbones say now.
#pragma once

#include <vector>

#include "project_server/control/messages.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// Lists runs as run_summaries() of views/runs.hpp does, without figures on held-out data.
json::Value::List live_run_list(const std::vector<control::Snapshot>& pictures);

/// As run_data() of views/runs.hpp, without samples, credit, peers and figures on held-out data.
/// Its curve has the last control::kRecentSteps steps; without_database is true.
json::Value live_run_data(const control::Snapshot& picture);

}  // namespace dedloc::server
