// The command that a failed scenario prints: Catch runs that test case alone.
#include "tests/sim/scenario.hpp"

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

#include "peer/platform/process.hpp"

using namespace dedloc;

namespace {

/// Names of the test cases of this program that Catch runs with this argument, a line each.
std::string selected_by(const std::string& argument) {
    const std::string command =
        std::string{program_invocation_name} + " --list-test-names-only " + argument;
    return platform::run_to_end({"sh", "-c", command}).output;
}

std::string own_name() {
    return Catch::getResultCapture().getCurrentTestName();
}

}  // namespace

TEST_CASE("first, a name that Catch would split", "[sim]") {
    CHECK(selected_by(sim::test_argument(own_name())) == own_name() + "\n");
}

TEST_CASE("\"quoted\", [tagged] and ~not: \\ all of a shell's 'signs' $HOME `true`", "[sim]") {
    CHECK(selected_by(sim::test_argument(own_name())) == own_name() + "\n");
}

TEST_CASE("the command of a failed scenario names its seed, program and test case, in this order",
          "[sim]") {
    CHECK(sim::replay_command(17) ==
          "DEDLOC_SEED=17 build/release/tests/sim/scenario_test " + sim::test_argument(own_name()));
    CHECK(sim::test_argument(own_name()) ==
          "'the command of a failed scenario names its seed\\, program and test case\\, in this "
          "order'");
}
