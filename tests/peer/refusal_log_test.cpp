// Who is refused often does not fill the log.
#include <catch2/catch.hpp>
#include <chrono>

#include "peer/net/refusal_log.hpp"

using namespace std::chrono_literals;

namespace dedloc::net {
namespace {

TEST_CASE("the first refusals for a reason get a line, then one a minute with their number",
          "[net]") {
    RefusalLog log;
    const RefusalLog::Time start{1h};
    std::size_t lines = 0;
    for (int i = 0; i < 100'000; ++i) lines += log.count("noise", start + i * 1ms) ? 1 : 0;
    CHECK(lines == 8 + 1);
    CHECK_FALSE(log.count("noise", start + 100s));
    CHECK(log.count("noise", start + 121s) == 100'002);
    CHECK(log.count("another", start + 121s) == 1);
}

}  // namespace
}  // namespace dedloc::net
