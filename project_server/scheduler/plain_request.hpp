// A request whose values the database refuses is served without them: its client must get its
// reply, and its jobs must not be lost for the name of a computer.
#pragma once

#include <cstddef>

#include "project_server/scheduler/request.hpp"

namespace dedloc::server {

/// How much of a request's texts is kept.
struct PlainLimits {
    std::size_t name = 0;      ///< bytes of each name that describes the computer
    std::size_t document = 0;  ///< bytes of each text of a reported result
};

/// The request with its texts in ASCII, other characters replaced, and cut to the limits. What
/// identifies account, computer and results is unchanged. Messages are refused, so the client keeps
/// them; preferences are left out, so it sends them again.
SchedulerRequest plain_request(SchedulerRequest request, const PlainLimits& limits);

}  // namespace dedloc::server
