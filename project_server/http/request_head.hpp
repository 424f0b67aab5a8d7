// Judges requests by their heads. httplib reads a body into memory before it looks for the handler
// of the path, and decompresses it, so 2 KB of zeros become gigabytes; it also parses any number of
// ranges, and sends each of them.
#pragma once

#include <cstddef>
#include <optional>

namespace httplib {
struct Request;
}  // namespace httplib

namespace dedloc::server {

/// Largest body in bytes of a request that is neither an upload nor for the scheduler.
inline constexpr std::size_t kMaxBody = 64 << 10;
/// Largest body in bytes of a scheduler request.
inline constexpr std::size_t kMaxSchedulerRequest = 8 << 20;

/// The answer to a request that is not served.
struct HeadRefusal {
    int status = 0;                  ///< an HTTP status code
    const char* sentence = nullptr;  ///< static, with a full stop
};

/// Judges a request in httplib's pre-routing handler, which runs before it reads the body. Refuses
/// a body that has an encoding, no length, or more than `largest` bytes, and more than one range.
/// Requires that the server closes the connection after each request, because the body of a refused
/// one stays unread.
std::optional<HeadRefusal> refusal_of(const httplib::Request& request, std::size_t largest);

}  // namespace dedloc::server
