// Checks whether a peer on this machine could take part in a project: tries everything that it
// needs once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dedloc::tool {

/// The result of one check.
struct Finding {
    std::string what;        ///< name of the check, one or two words
    bool works = false;      ///< the check has passed
    bool is_needed = true;   ///< a peer cannot take part if this check fails
    std::string sentence{};  ///< the result and, on failure, what to do
    bool operator==(const Finding&) const = default;
};

/// Parameters of check_up().
struct CheckupOptions {
    std::string url;             ///< the project's URL, as volunteers attach to it
    std::uint16_t port = 0;      ///< TCP port to listen on; 0: any
    std::string proxy{};         ///< see net::HttpRequest
    std::string certificates{};  ///< see net::HttpRequest
};

/// Checks gateway, clock, DHT seeds, port and bandwidth, in this order.
///
/// Errors    Error: the gateway does not answer, so nothing else can be checked.
///           InputError: not an http or https URL
/// Deadline  half a minute, plus three seconds for each seed, plus measure_gateway_link()
std::vector<Finding> check_up(const CheckupOptions& options);

}  // namespace dedloc::tool
