// Voters on other machines, as the project reaches them while the run's own backbone is dead.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "project_server/backbone/pause_file.hpp"
#include "project_server/backbone/pending_revocations.hpp"
#include "project_server/backbone/remote_voters.hpp"
#include "tests/project_server/backbone/voter_processes.hpp"
#include "tests/ssh_server.hpp"

namespace dedloc::backbone {
namespace {

using control::Command;
using control::Outcome;
using Clock = std::chrono::steady_clock;

/// A run with three voters, two of them on other machines, and two members.
struct RemoteWorld {
    RemoteWorld() {
        world.start();
        second.start();
        third.start();
        WantedVoters wanted{.voters = {{.key = world.run().backbone_key}}};
        for (const Voter* const voter : {&second, &third}) {
            wanted.voters.push_back(
                {.key = voter->key.public_key(), .control = server.url(voter->folder)});
        }
        std::ranges::sort(wanted.voters, {}, &WantedVoter::key);
        write_voters(world.run_folder() / "voters.json", wanted);
        remote = remote_voters(world.run_folder());
    }
    /// Whether all three voters vote, and both members are linked to both remote ones.
    bool is_ready() const {
        return remote.size() == 2 && head_in(world, second.ledger()).generation == 1 &&
               head_in(world, third.ledger()).generation == 1 && both_have(one) && both_have(two);
    }
    bool both_have(const Member& member) const {
        return std::ranges::all_of(
            remote, [&](const auto& voter) { return has_member(voter, member.key.public_key()); });
    }
    bool none_has(const Member& member) const {
        return std::ranges::none_of(
            remote, [&](const auto& voter) { return has_member(voter, member.key.public_key()); });
    }
    void tell_both(const control::Request& request) const {
        for (const auto& voter : remote) {
            const auto answer = control::ask(voter, request);
            INFO(answer.reply.note);
            REQUIRE(answer.outcome == Outcome::kAnswered);
            CHECK(answer.reply.is_done);
        }
    }
    bool refuses(const control::Request& request) const {
        const auto answer = control::ask(remote.front(), request);
        return answer.outcome == Outcome::kAnswered && !answer.reply.is_done;
    }
    SignedPause order(std::uint64_t count) const {
        return sign_pause(formats::run_id(world.run()), count, world.project());
    }
    std::string logs() const {
        return world.log() + "\n--- second\n" + second.process.log() + "\n--- third\n" +
               third.process.log();
    }

    World world{1'000'000, {}, "http://127.0.0.1:9/"};
    const SshServer server;  ///< both machines have it
    Voter second{world, 2};
    Voter third{world, 3};
    Member one{world.run(), &world.project(), 1};
    Member two{world.run(), &world.project(), 2};
    std::vector<control::RemoteEnd> remote;
};

/// Waits until the subscriber has seen so many more steps.
bool sees_steps(control::Subscriber& subscriber, std::uint64_t count) {
    const auto first = subscriber.picture().progress.step;
    return await([&] {
        (void)subscriber.wait(50ms);
        return subscriber.is_live() && subscriber.picture().progress.step >= first + count;
    });
}

void check_pauses(const RemoteWorld& worlds, control::Subscriber& subscriber) {
    // Only the project pauses a run: no order, one of another key, and an unsuitable one.
    const RunId run = formats::run_id(worlds.world.run());
    CHECK(worlds.refuses({.command = Command::kPause}));
    CHECK(worlds.refuses(
        {.command = Command::kPause, .pause = sign_pause(run, 1, KeyPair::generate())}));
    CHECK(worlds.refuses({.command = Command::kResume, .pause = worlds.order(1)}));
    const auto began = Clock::now();
    worlds.tell_both({.command = Command::kPause, .pause = worlds.order(1)});
    WARN("both voters have paused the run " << seconds_since(began) << " s after the command");
    REQUIRE(await([&] {
        (void)subscriber.wait(50ms);
        return subscriber.picture().state == control::RunState::kPaused;
    }));
    worlds.tell_both({.command = Command::kResume, .pause = worlds.order(2)});
    CHECK(worlds.refuses({.command = Command::kPause, .pause = worlds.order(1)}));
    REQUIRE(sees_steps(subscriber, 2));
}

void check_revocation(RemoteWorld& worlds) {
    const auto began = Clock::now();
    worlds.tell_both({.command = Command::kRevoke, .revocation = {.hosts = {1}}});
    REQUIRE(await([&] { return worlds.none_has(worlds.one); }));
    WARN("both voters have closed the revoked link " << seconds_since(began)
                                                     << " s after the command");
    // dedloc leaves the revocation to the run's own backbone, too. A voter that is killed remembers
    // it by itself.
    write_pending(worlds.world.run_folder() / "pending_revocations", {.hosts = {1}});
    CHECK(worlds.second.process.stop(SIGKILL) < 0);
    worlds.second.start();
    worlds.world.start();
    REQUIRE(await([&] {
        return worlds.both_have(worlds.two) &&
               has_member(worlds.world.run_folder(), worlds.two.key.public_key());
    }));
    CHECK(worlds.none_has(worlds.one));
    CHECK_FALSE(has_member(worlds.world.run_folder(), worlds.one.key.public_key()));
    // The list that the run's own backbone has sent has it: so it can be withdrawn there.
    CHECK(
        await([&] { return is_empty(read_pending(worlds.third.folder / "pending_revocations")); }));
}

}  // namespace

TEST_CASE("voters on other machines obey the project while the run's own backbone is dead",
          "[server][integration]") {
    RemoteWorld worlds;
    const bool is_ready = await([&] { return worlds.is_ready(); });
    INFO(worlds.logs());
    REQUIRE(is_ready);
    const auto& run_folder = worlds.world.run_folder();
    control::Subscriber subscriber{places_of(run_folder)};
    REQUIRE(sees_steps(subscriber, 2));

    const auto began = Clock::now();
    CHECK(worlds.world.stop(SIGKILL) == -SIGKILL);
    REQUIRE(await([&] { return subscriber.wait(50ms) == control::Subscriber::Change::kSnapshot; }));
    WARN("another voter is followed " << seconds_since(began) << " s after the kill");
    REQUIRE(sees_steps(subscriber, 2));
    check_pauses(worlds, subscriber);
    CHECK(control::ask(worlds.remote[0], {.command = Command::kCheckpoint}, 20s).reply.step);
    check_revocation(worlds);

    // The run's own backbone is followed again, and has heard of the orders.
    CHECK(await([&] {
        (void)subscriber.wait(50ms);
        const auto answer = control::ask(run_folder, {.command = Command::kSnapshot});
        return answer.reply.snapshot && subscriber.is_live() &&
               answer.reply.snapshot->session == subscriber.picture().session;
    }));
    CHECK(await([&] {
        return read_pause(run_folder / "pause", formats::run_id(worlds.world.run()),
                          worlds.world.run().project_key) == worlds.order(2);
    }));
    CHECK(worlds.world.stop(SIGTERM) == 0);
    CHECK(worlds.second.process.stop(SIGTERM) == 0);
    CHECK(worlds.third.process.stop(SIGTERM) == 0);
}

}  // namespace dedloc::backbone
