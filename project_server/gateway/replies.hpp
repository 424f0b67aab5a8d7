// The gateway's replies: JSON that must not be cached.
#pragma once

#include <string>
#include <string_view>

namespace httplib {
struct Response;
}  // namespace httplib

namespace dedloc::gateway {

// The HTTP status codes that the gateway uses.
inline constexpr int kOk = 200;
inline constexpr int kBadRequest = 400;   ///< the request cannot be read
inline constexpr int kForbidden = 403;    ///< the job gets no ticket
inline constexpr int kNotFound = 404;     ///< no such path
inline constexpr int kTooLong = 413;      ///< the body
inline constexpr int kUnavailable = 503;  ///< no seat, no database or no thread is free now

/// Sets status, headers and body of the response.
void reply(httplib::Response& response, int status, const std::string& json);
/// Replies with {"error": sentence}: not now, or not to this request.
void refuse(httplib::Response& response, int status, std::string_view sentence);
/// Replies that the peer gets no ticket for good: only this ends a volunteer's job.
void refuse_ticket(httplib::Response& response, int status, std::string_view sentence);

/// Replies that no seat is free for the job: its peer asks again when others may have ended.
void refuse_seat(httplib::Response& response, std::string_view sentence);

}  // namespace dedloc::gateway
