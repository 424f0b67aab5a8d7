#include "project_server/daemon.hpp"

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <catch2/catch.hpp>
#include <vector>

#include "peer/base/error.hpp"

using namespace dedloc;

namespace {

/// The exit status of a daemon that is called with these arguments.
int run(const server::LoopDaemon& daemon, std::vector<std::string> words) {
    words.insert(words.begin(), daemon.name);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return server::run_loop_daemon(static_cast<int>(arguments.size()), arguments.data(), daemon);
}

struct Counted {
    int connections = 0;
    int looks = 0;
    int failures = 0;  ///< number of passes that fail, from the first on
    int last = 0;      ///< the pass in which the daemon is told to stop; 0: none

    server::LoopDaemon daemon() {
        return {.name = "counted",
                .purpose = "Counts.",
                .once = "Count once",
                .connect = [this](auto&, auto&) {
                    ++connections;
                    return [this] {
                        if (++looks == last) kill(getpid(), SIGTERM);
                        if (looks <= failures) throw IoError("The database is away.");
                    };
                }};
    }
};

}  // namespace

TEST_CASE("a daemon repeats passes until it is told to stop, with new connections after a failure",
          "[daemon]") {
    Counted counted{.failures = 2, .last = 5};
    CHECK(run(counted.daemon(), {"--project", "p", "--interval", "0.05"}) == 0);
    CHECK(counted.looks == 5);
    CHECK(counted.connections == 3);
}

TEST_CASE("a daemon with --once reports whether its pass succeeded", "[daemon]") {
    Counted good;
    CHECK(run(good.daemon(), {"--project", "p", "--once"}) == 0);
    CHECK(good.looks == 1);
    Counted bad{.failures = 1};
    CHECK(run(bad.daemon(), {"--project", "p", "--once"}) == 1);
    CHECK(bad.looks == 1);
}

TEST_CASE("a daemon without a readable project, or with wrong arguments, exits", "[daemon]") {
    int connections = 0;
    int seats = 0;
    const server::LoopDaemon daemon{
        .name = "d",
        .purpose = "D.",
        .once = "Once",
        .add_options = [&](CLI::App& app) { app.add_option("--seats", seats, "Seats"); },
        .connect = [&](auto& project, auto&) -> server::LoopDaemon::Look {
            ++connections;
            throw InputError(project.string() + " is no project.");
        }};
    CHECK(run(daemon, {"--project", "p", "--seats", "3"}) == 2);
    CHECK(connections == 1);
    CHECK(seats == 3);
    CHECK(run(daemon, {"--project", "p", "--interval", "0"}) == 2);
    CHECK(run(daemon, {}) == 2);
    CHECK(connections == 1);
}
