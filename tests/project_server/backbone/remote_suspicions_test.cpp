#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "peer/platform/key_file.hpp"
#include "project_server/backbone/remote_suspicions.hpp"
#include "project_server/backbone/remote_voters.hpp"
#include "project_server/backbone/voters_file.hpp"
#include "tests/project_server/control/backbone_end.hpp"
#include "tests/project_server/control/samples.hpp"
#include "tests/project_server/control/two_ports.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;
using namespace std::chrono_literals;

TEST_CASE("suspicions of voters on other machines are collected, also of one that comes later",
          "[server][net]") {
    const TemporaryDirectory project;
    const auto run = project.path() / "runs/first";
    std::filesystem::create_directories(run);
    std::filesystem::create_directories(project.path() / "keys");
    const KeyPair own = KeyPair::generate();
    const KeyPair voter = KeyPair::generate();
    platform::write_key(control_key_file(run), own);
    const control::RemoteAccess access{.listen = {"127.0.0.1", control::free_pair_of_ports()},
                                       .own = voter,
                                       .client = own.public_key()};

    std::mutex mutex;
    std::vector<control::Suspicion> seen;
    RemoteSuspicions collected{run, [&](const control::Suspicion& suspicion) {
                                   const std::lock_guard lock{mutex};
                                   seen.push_back(suspicion);
                               }};
    collected.poll();  // no voters.json
    write_voters(run / "voters.json",
                 {.voters = {{.key = voter.public_key(), .control = access.listen.text()}}});
    collected.poll();  // the voter does not work yet
    const TemporaryDirectory elsewhere;
    control::BackboneEnd end{elsewhere.path(), 5, access};
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
