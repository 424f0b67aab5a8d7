// Could a peer take part in a project from here? Each thing that it needs is tried, once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dedloc::tool {

struct Finding {
    std::string what;  ///< one or two words: what was tried
    bool works = false;
    bool is_needed = true;   ///< nobody can take part without it
    std::string sentence{};  ///< what came of it and, if it does not work, what to do
    bool operator==(const Finding&) const = default;
};

struct CheckupOptions {
    std::string url;             ///< of the project, as volunteers attach to it
    std::uint16_t port = 0;      ///< to listen on; 0: any
    std::string proxy{};         ///< as net::HttpRequest has it
    std::string certificates{};  ///< likewise
};

/// Gateway, clock, DHT seeds, the port and the bandwidth, in this order.
///
/// Errors    Error, one sentence: the gateway does not answer, so nothing else is known.
///           InputError: no http or https URL
/// Deadline  half a minute, three seconds for each seed, and what measure_gateway_link says
std::vector<Finding> check_up(const CheckupOptions& options);

}  // namespace dedloc::tool
