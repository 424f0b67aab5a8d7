#include "project_server/http/request_head.hpp"

#include <httplib.h>

#include <string>

#include "peer/base/text.hpp"

namespace dedloc::server {
namespace {

constexpr const char* kLength = "Content-Length";

/// The bytes that the body will have; nothing if the head does not say so in one number.
std::optional<std::size_t> length_of(const httplib::Request& request) {
    if (request.get_header_value_count(kLength) != 1) return std::nullopt;
    return parse_number<std::size_t>(request.get_header_value(kLength));
}

}  // namespace

std::optional<HeadRefusal> refusal_of(const httplib::Request& request, std::size_t largest) {
    if (request.ranges.size() > 1) return HeadRefusal{416, "A request may ask for one range only."};
    if (request.has_header("Content-Encoding")) {
        return HeadRefusal{415, "The body of a request must not be compressed."};
    }
    const bool has_body =
        request.method != "GET" && request.method != "HEAD" && request.method != "OPTIONS";
    if (!has_body) return std::nullopt;
    const auto length = length_of(request);
    if (!length || request.has_header("Transfer-Encoding")) {
        return HeadRefusal{411, "A request must say how long its body is."};
    }
    if (*length > largest) return HeadRefusal{413, "The body of the request is too long."};
    return std::nullopt;
}

}  // namespace dedloc::server
