// BOINC's apps of a project, by their names in the table `app`.
#pragma once

#include <array>
#include <string>

namespace dedloc::server {

inline constexpr const char* kTrainerApp = "dedloc_train";         ///< on processors or a GPU
inline constexpr const char* kAggregatorApp = "dedloc_aggregate";  ///< non-CPU-intensive
/// Names of all apps of this project in `app.name`.
inline constexpr std::array kApps{kTrainerApp, kAggregatorApp};
/// The same for a statement: "app.name in " and this.
inline const std::string kAppsInSql =
    std::string{"('"} + kTrainerApp + "', '" + kAggregatorApp + "')";

}  // namespace dedloc::server
