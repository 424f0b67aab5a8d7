// dedloc project check: gathers what project_server/check needs, and prints what it finds.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "project_server/check/findings.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::cli {

/// Checks a project that runs or not; changes nothing. If it does not run, starts its private
/// database for as long as it takes. `begins` is called with the name of each check.
/// Errors: InputError (no project, an unusable dedloc.json or config.xml). Cost: check_project().
check::Findings check_project(const std::filesystem::path& project, bool is_quick,
                              const std::function<void(const std::string&)>& begins = {});

/// {bad, warnings, unknown, checks: [{check, level, sentence, advice}]}
json::Value check_data(const check::Findings& findings);
/// A line for each finding, an indented one for its advice, and a sum.
std::string check_text(const check::Findings& findings);

}  // namespace dedloc::cli
