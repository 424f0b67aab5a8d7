// The option by which a tester asks for a fault.
#include "boinc_app/runtime/planned_fault.hpp"

#include <catch2/catch.hpp>

#include "peer/base/error.hpp"

namespace dedloc::runtime {
namespace {

TEST_CASE("a fault is named, with the contributions before it", "[boinc]") {
    CHECK(parse_fault("exit").kind == PlannedFault::Kind::kExit);
    CHECK(parse_fault("exit").commits == 1);
    CHECK(parse_fault("crash@3").kind == PlannedFault::Kind::kCrash);
    CHECK(parse_fault("crash@3").commits == 3);
    CHECK(parse_fault("hang@1000000").commits == 1'000'000);
}

TEST_CASE("an unknown fault is one sentence", "[boinc]") {
    for (const char* const text :
         {"", "exits", "@", "@3", "exit@", "exit@0", "exit@-1", "exit@ 1", "exit@1x",
          "crash@1000001", "crash@99999999999999999999", "Crash"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_fault(text), InputError);
    }
}

}  // namespace
}  // namespace dedloc::runtime
