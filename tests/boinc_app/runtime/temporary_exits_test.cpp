// The delays between the attempts of a job that cannot go on, and their count on disk.
#include "boinc_app/runtime/temporary_exits.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "peer/platform/files.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::runtime {
namespace {

using namespace std::chrono_literals;

/// Temporary exits after which BOINC's client fails a task.
constexpr unsigned kClientLimit = 100;

TEST_CASE("delays double from 5 minutes to 4 hours", "[boinc]") {
    const std::vector<std::chrono::seconds> expected{5min, 10min, 20min, 40min, 80min, 160min, 4h};
    for (unsigned attempts = 0; attempts < expected.size(); ++attempts) {
        CHECK(delay_after(attempts) == expected[attempts]);
    }
    CHECK(delay_after(1'000) == 4h);
    CHECK(delay_after(4'000'000'000) == 4h);
}

TEST_CASE("a job survives an outage of two weeks, and restarts within 4 hours of its end",
          "[boinc]") {
    const TemporaryDirectory folder;
    std::chrono::seconds outage{};
    for (unsigned attempt = 0; attempt < kClientLimit; ++attempt) {
        TemporaryExits exits{folder.path() / "temporary_exits"};  // each attempt is a new process
        const auto delay = exits.next_delay();
        CHECK(delay == delay_after(attempt));
        outage += delay;
    }
    CHECK(outage > std::chrono::hours{24 * 14});
}

TEST_CASE("training resets the delay", "[boinc]") {
    const TemporaryDirectory folder;
    const auto file = folder.path() / "temporary_exits";
    TemporaryExits exits{file};
    exits.reset();  // nothing to do
    CHECK(exits.next_delay() == 5min);
    CHECK(exits.next_delay() == 10min);
    exits.reset();
    CHECK_FALSE(std::filesystem::exists(file));
    CHECK(TemporaryExits{file}.next_delay() == 5min);
    CHECK(TemporaryExits{file}.next_delay() == 10min);
}

TEST_CASE("a damaged count is none", "[boinc]") {
    const TemporaryDirectory folder;
    const auto file = folder.path() / "temporary_exits";
    for (const char* const text : {"", "3", "x\n", "-1\n", "3\n3\n", "99999999999999999999\n",
                                   "1111111111111111111111111111111111111111111111\n"}) {
        platform::replace_file(file, text);
        CHECK(TemporaryExits{file}.next_delay() == 5min);
        CHECK(TemporaryExits{file}.next_delay() == 10min);
    }
    std::filesystem::remove(file);
    std::filesystem::create_directories(file / "in the way");
    CHECK(TemporaryExits{file}.next_delay() == 5min);
    CHECK(TemporaryExits{file}.next_delay() == 5min);
}

}  // namespace
}  // namespace dedloc::runtime
