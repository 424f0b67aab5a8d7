// BOINC's apps of a project, by their names in the table `app`.
#pragma once

#include <array>

namespace dedloc::server {

inline constexpr const char* kTrainerApp = "dedloc_train";         ///< on processors or a GPU
inline constexpr const char* kAggregatorApp = "dedloc_aggregate";  ///< non-CPU-intensive
inline constexpr std::array kApps{kTrainerApp, kAggregatorApp};
/// The same for a statement: "app.name in " and this.
inline constexpr const char* kAppsInSql = "('dedloc_train', 'dedloc_aggregate')";

}  // namespace dedloc::server
