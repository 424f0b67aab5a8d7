// The gateway's answers: JSON that nobody keeps.
#pragma once

#include <string>
#include <string_view>

namespace httplib {
struct Response;
}  // namespace httplib

namespace dedloc::gateway {

inline constexpr int kOk = 200;
inline constexpr int kBadRequest = 400;
inline constexpr int kForbidden = 403;
inline constexpr int kNotFound = 404;
inline constexpr int kTooLong = 413;
inline constexpr int kUnavailable = 503;

void reply(httplib::Response& response, int status, const std::string& json);
/// {"error": sentence}
void refuse(httplib::Response& response, int status, std::string_view sentence);

}  // namespace dedloc::gateway
