// fmt formats a time in C's locale unless it is told otherwise, so names of days are English. The
// form becomes a format string of fmt, which throws if strftime() would not know it.
#include "peer/base/utc_text.hpp"

#include <fmt/chrono.h>

namespace dedloc {

std::string utc_text(std::int64_t seconds, const char* form) {
    return fmt::format(fmt::runtime(fmt::format("{{:{}}}", form)),
                       fmt::gmtime(std::time_t{seconds}));
}

}  // namespace dedloc
