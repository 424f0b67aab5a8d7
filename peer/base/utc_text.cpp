#include "peer/base/utc_text.hpp"

#include <fmt/chrono.h>

namespace dedloc {

std::string utc_text(std::int64_t seconds, const char* form) {
    return fmt::format(fmt::runtime(fmt::format("{{:{}}}", form)),
                       fmt::gmtime(std::time_t{seconds}));
}

}  // namespace dedloc
