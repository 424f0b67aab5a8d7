// Prints with stdio only and flushes before abort(): the logger may be what is broken, and BOINC
// keeps an app's stderr.
#include "peer/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace dedloc {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
    std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, message.c_str());
    std::fflush(stderr);
    std::abort();
}

}  // namespace dedloc
