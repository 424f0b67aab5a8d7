// Computers that work with a version of an app that is not the one which the project offers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// A computer with a job in progress by a version that is not the newest offered one of its app,
/// platform and plan class: it is older, or was withdrawn.
struct OldVersion {
    std::int64_t host = 0;  ///< the computer's id
    std::string host_name;  ///< as reported
    std::int64_t user = 0;  ///< its account's id
    std::string user_name;  ///< as chosen
    std::string version;    ///< version_name()
    std::string newest;     ///< newest offered one, "1.03"; empty: none is offered any more
};

/// One for each computer and version, by computer. Versions are those that the project has sent, so
/// no client can hide its own or invent one. Errors: DatabaseError. Cost: the jobs in progress.
std::vector<OldVersion> read_old_versions(Database& database);

inline constexpr std::size_t kMaxOldVersions = 100;  ///< entries of a list
/// [{host_id, host, user_id, user, version, newest}], at most kMaxOldVersions.
json::Value::List old_version_list(const std::vector<OldVersion>& old);

}  // namespace dedloc::server
