#include "project_server/project/supervisor.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/platform/process.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::project {
namespace {

using namespace std::chrono_literals;
using Clock = Supervisor::Clock;

bool is_alive(pid_t process) {
    return kill(process, 0) == 0;
}

pid_t read_pid(const std::filesystem::path& file) {
    pid_t process = 0;
    std::ifstream(file) >> process;
    return process;
}

/// Advances the supervisor until `condition` holds; false if it does not within ten seconds.
template <class Condition>
bool advance_until(Supervisor& supervisor, Condition condition) {
    const auto deadline = Clock::now() + 10s;
    while (Clock::now() < deadline) {
        supervisor.advance(Clock::now());
        if (condition()) return true;
        std::this_thread::sleep_for(5ms);
    }
    return false;
}

TEST_CASE("a supervisor restarts a daemon that was killed", "[server][integration]") {
    const TemporaryDirectory folder;
    Supervisor supervisor({.logs = folder.path(), .pids = folder.path()});
    supervisor.start({.name = "sleeper", .command = {"sleep", "600"}});
    const pid_t first = read_pid(folder.path() / "sleeper.pid");
    REQUIRE(is_alive(first));
    kill(first, SIGKILL);
    REQUIRE(advance_until(supervisor, [&] { return !supervisor.is_running("sleeper"); }));
    REQUIRE(advance_until(supervisor, [&] { return supervisor.is_running("sleeper"); }));
    const pid_t second = read_pid(folder.path() / "sleeper.pid");
    CHECK(second != first);
    supervisor.stop_all();
    CHECK_FALSE(is_alive(second));
    CHECK_FALSE(std::filesystem::exists(folder.path() / "sleeper.pid"));
}

TEST_CASE("a supervisor kills processes that a daemon left behind", "[server][integration]") {
    const TemporaryDirectory folder;
    const auto orphan_file = (folder.path() / "orphan").string();
    pid_t orphan = 0;
    {
        Supervisor supervisor({.logs = folder.path(), .pids = folder.path()});
        supervisor.start({.name = "parent",
                          .command = {"setsid", "sh", "-c",
                                      "setsid sleep 600 & echo $! > '" + orphan_file + "'; wait"}});
        REQUIRE(advance_until(supervisor, [&] { return (orphan = read_pid(orphan_file)) > 0; }));
        REQUIRE(is_alive(orphan));
    }
    CHECK_FALSE(is_alive(orphan));
}

TEST_CASE("a daemon that ignores the stop signal is killed after its timeout",
          "[server][integration]") {
    const TemporaryDirectory folder;
    Supervisor supervisor({.logs = folder.path(), .pids = folder.path()});
    const auto ready = folder.path() / "ready";
    supervisor.start(
        {.name = "stubborn",
         .command = {"sh", "-c",
                     "trap '' TERM; : > '" + ready.string() + "'; while :; do sleep 600; done"},
         .timeout = 200ms});
    REQUIRE(advance_until(supervisor, [&] { return std::filesystem::exists(ready); }));
    const pid_t stubborn = read_pid(folder.path() / "stubborn.pid");
    supervisor.stop("stubborn");
    CHECK_FALSE(is_alive(stubborn));
    CHECK_FALSE(supervisor.knows("stubborn"));
}

TEST_CASE("a daemon that is done after exit status 0 is not restarted", "[server][integration]") {
    const TemporaryDirectory folder;
    Supervisor supervisor({.logs = folder.path(), .pids = folder.path()});
    supervisor.start({.name = "task", .command = {"true"}, .is_done_by_exit_0 = true});
    REQUIRE(advance_until(supervisor, [&] { return !supervisor.is_running("task"); }));
    supervisor.advance(Clock::now() + 1h);
    CHECK_FALSE(supervisor.is_running("task"));
}

TEST_CASE("children get a signal when their parent is killed", "[server][integration]") {
    const TemporaryDirectory folder;
    const auto file = folder.path() / "sleeper.pid";
    const pid_t parent = fork();
    if (parent == 0) {
        Supervisor supervisor({.logs = folder.path(), .pids = folder.path()});
        // mariadbd behaves so while it starts.
        supervisor.start({.name = "deaf",
                          .command = {"sh", "-c", "trap '' TERM; while :; do sleep 1; done"},
                          .death_signal = SIGKILL});
        supervisor.start({.name = "sleeper", .command = {"sleep", "600"}});
        pause();
        _exit(0);
    }
    const auto deadline = Clock::now() + 10s;
    while (read_pid(file) == 0 && Clock::now() < deadline) std::this_thread::sleep_for(5ms);
    const pid_t sleeper = read_pid(file);
    const pid_t deaf = read_pid(folder.path() / "deaf.pid");
    REQUIRE(sleeper > 0);
    kill(parent, SIGKILL);
    REQUIRE(platform::run_to_end({"true"}).status == 0);
    while ((is_alive(sleeper) || is_alive(deaf)) && Clock::now() < deadline) {
        platform::poll_child(parent);
        // Our children now if this process is a subreaper, else init's.
        platform::poll_child(sleeper);
        platform::poll_child(deaf);
        std::this_thread::sleep_for(5ms);
    }
    CHECK_FALSE(is_alive(sleeper));
    CHECK_FALSE(is_alive(deaf));
}

TEST_CASE("other processes see which daemons are to run, and how often they were restarted",
          "[server][integration]") {
    const TemporaryDirectory folder;
    std::ofstream{folder.path() / "old.restarts"} << 7;  // left by a supervisor that was killed
    std::ofstream{folder.path() / "old.pid"} << 1;
    {
        Supervisor supervisor({.logs = folder.path(), .pids = folder.path()});
        CHECK(daemon_states(folder.path()).empty());
        supervisor.start({.name = "sleeper", .command = {"sleep", "600"}});
        supervisor.start({.name = "task", .command = {"true"}, .is_done_by_exit_0 = true});
        REQUIRE(advance_until(supervisor, [&] { return !supervisor.is_running("task"); }));
        auto states = daemon_states(folder.path());
        REQUIRE(states.size() == 1);
        CHECK(states.front().name == "sleeper");
        CHECK(states.front().since > 0);
        CHECK(states.front().restarts == 0);
        // It has ended, and is not reaped yet.
        kill(states.front().process, SIGKILL);
        const auto deadline = Clock::now() + 10s;
        do {
            states = daemon_states(folder.path());
        } while (states.front().process != 0 && Clock::now() < deadline);
        CHECK(states.front().process == 0);
        REQUIRE(advance_until(supervisor, [&] { return !supervisor.is_running("sleeper"); }));
        REQUIRE(advance_until(supervisor, [&] { return supervisor.is_running("sleeper"); }));
        CHECK(daemon_states(folder.path()).front().restarts == 1);
    }
    CHECK(daemon_states(folder.path()).empty());
}

}  // namespace
}  // namespace dedloc::project
