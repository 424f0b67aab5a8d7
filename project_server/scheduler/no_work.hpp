// Why a host gets no jobs, in sentences for the volunteer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/scheduler/seats.hpp"
#include "project_server/scheduler/version_choice.hpp"

namespace dedloc::server {

/// What is known when no job could be sent.
struct NoWork {
    const SchedulerRequest& request;            ///< what the client has asked for
    const VersionChoice& choice;                ///< the versions that the host can run
    JobCounts wanted;                           ///< jobs that seats were free for
    double memory = 0;                          ///< bytes that BOINC may use
    double disk = 0;                            ///< bytes that BOINC may use
    std::optional<std::int64_t> spent_quota{};  ///< jobs a day that have held a job back
};

/// Bytes of memory and of disk that BOINC may use on a host, by its preferences.
double usable_memory(const SchedulerRequest& request);
double usable_disk(const SchedulerRequest& request);

/// The sentences, the most specific first; at least one. Errors: DatabaseError.
std::vector<std::string> reasons_for_none(Database& database, const NoWork& none);

}  // namespace dedloc::server
