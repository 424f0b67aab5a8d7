// Published versions of the app: what volunteers use, and which ones get no new jobs any more.
#pragma once

#include <optional>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::project {

/// BOINC's number of a version: 107 for "1.7". Errors: InputError.
int version_number(const std::string& text);

/// The number of a BOINC client's version: 72005 for "7.20.5", 0 for "any". Errors: InputError.
int client_number(const std::string& text);

/// {versions: [{app, version, platform, plan_class, is_withdrawn, min_client, jobs, hosts, files,
/// size_bytes, created_at}]} of all apps, newest first. `jobs` are those that volunteers have now,
/// `hosts` those that ever got one and are still known, and `size_bytes` is what a host downloads
/// that has none of the files.
///
/// Errors  DatabaseError      Cost  for each version the jobs in progress and host_app_version
json::Value app_versions(server::Database& database);

/// Which versions change_versions() changes.
struct ChosenVersions {
    std::string app{};                        ///< short name
    int version = 0;                          ///< BOINC's number
    std::string platform{};                   ///< BOINC's name; empty: all
    std::optional<std::string> plan_class{};  ///< absent: all
};

/// What becomes of them; absent: stays as it is.
struct VersionChange {
    std::optional<bool> is_withdrawn{};  ///< no new jobs; jobs that volunteers have go on
    std::optional<int> min_client{};     ///< older BOINC clients get no new jobs; 0: any
};

/// Changes versions. The scheduler acts on it once it has read the versions again
/// (kCatalogueSeconds). Returns {versions: [{app, version, platform, plan_class, is_withdrawn,
/// min_client, jobs}], offered}: the chosen ones, and how many versions of the app are offered now.
/// Repeating it changes nothing. Errors: InputError (no such version), DatabaseError.
json::Value change_versions(server::Database& database, const ChosenVersions& choice,
                            const VersionChange& change);

}  // namespace dedloc::project
