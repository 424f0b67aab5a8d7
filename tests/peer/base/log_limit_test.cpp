// Events that other peers cause often do not fill the log.
#include <catch2/catch.hpp>
#include <chrono>

#include "peer/base/log_limit.hpp"

using namespace std::chrono_literals;

namespace dedloc {
namespace {

TEST_CASE("the first events of a reason are logged, then one a minute with its number", "[base]") {
    using Time = std::chrono::steady_clock::time_point;
    LogLimit<Time> limit;
    const Time start{1h};
    std::size_t lines = 0;
    for (int i = 0; i < 100'000; ++i) lines += limit.count("noise", start + i * 1ms) ? 1 : 0;
    CHECK(lines == 8 + 1);
    CHECK_FALSE(limit.count("noise", start + 100s));
    CHECK(limit.count("noise", start + 121s) == 100'002);
    CHECK(limit.count("another", start + 121s) == 1);
}

}  // namespace
}  // namespace dedloc
