// The calendar time as text.
#pragma once

#include <cstdint>
#include <string>

namespace dedloc {

/// A date and time of UTC, as "2026-11-29 18:05:00".
inline constexpr const char* kDateAndTime = "%Y-%m-%d %H:%M:%S";
/// The date of e-mail and feeds (RFC 5322) without its zone, as "Sun, 29 Nov 2026 18:05:00".
inline constexpr const char* kMailDate = "%a, %d %b %Y %H:%M:%S";

/// A time in seconds since 1970 in a form of strftime(), in UTC and in English.
std::string utc_text(std::int64_t seconds, const char* form = kDateAndTime);

}  // namespace dedloc
