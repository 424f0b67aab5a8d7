#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "project_server/backbone/remote_suspicions.hpp"
#include "project_server/backbone/voters_file.hpp"
#include "tests/project_server/control/backbone_end.hpp"
#include "tests/project_server/control/samples.hpp"
#include "tests/ssh_server.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;
using namespace std::chrono_literals;

TEST_CASE("suspicions of voters on other machines are collected, also of one that comes later",
          "[server][net]") {
    const TemporaryDirectory project;
    const auto run = project.path() / "runs/first";
    std::filesystem::create_directories(run);
    const SshServer server;
    const TemporaryDirectory elsewhere;

    std::mutex mutex;
    std::vector<control::Suspicion> seen;
    RemoteSuspicions collected{run, [&](const control::Suspicion& suspicion) {
                                   const std::lock_guard lock{mutex};
                                   seen.push_back(suspicion);
                               }};
    collected.poll();  // no voters.json
    write_voters(run / "voters.json", {.voters = {{.key = KeyPair::generate().public_key(),
                                                   .control = server.url(elsewhere.path())}}});
    collected.poll();  // the voter does not work yet
    control::BackboneEnd end{elsewhere.path()};
    const control::Suspicion suspicion{
        .key = control::key(7), .what = "does not send", .step = 3, .text = "7 does not send"};
    // What happens before the connection is made is not collected.
    const auto until = std::chrono::steady_clock::now() + 20s;
    const auto has_seen = [&] {
        const std::lock_guard lock{mutex};
        return !seen.empty();
    };
    while (!has_seen() && std::chrono::steady_clock::now() < until) {
        end.happen(suspicion);
        std::this_thread::sleep_for(100ms);
    }
    REQUIRE(has_seen());
    const std::lock_guard lock{mutex};
    CHECK(seen.front() == suspicion);
}
