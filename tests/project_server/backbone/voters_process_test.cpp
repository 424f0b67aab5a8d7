// Several voters of a run as processes, each in its own folder: appointed, killed, restarted.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger_proof.hpp"
#include "tests/project_server/backbone/voter_processes.hpp"

namespace dedloc::backbone {
TEST_CASE("a voter on another machine gets a given first state from the members",
          "[server][integration]") {
    const FloatVector given(3 * kElements, 0.0F);
    const auto bytes = std::as_bytes(std::span{given});
    const formats::CheckpointHead start = head_of_state(StepIndex{0}, bytes);
    World world{1'000'000, start.digest};
    const CheckpointStore store{world.run_folder() / "checkpoints", formats::run_id(world.run()),
                                3};
    store.save(start, bytes);
    world.start();
    Voter second{world, 2};
    second.start();
    want(world, {world.run().backbone_key, second.key.public_key()});
    Member member{world.run()};
    const bool votes = await([&] {
        const Head head = head_in(world, second.ledger());
        return head.generation == 1 && head.step.value() >= 10;
    });
    INFO(world.log() + "\n--- second\n" + second.process.log());
    REQUIRE(votes);
    CHECK_THAT(second.process.log(), Catch::Contains("the state comes from the members"));
    CHECK(second.process.stop(SIGTERM) == 0);
    CHECK(world.stop(SIGTERM) == 0);
    const LedgerProof proof{second.ledger(), world.run()};
    const auto checkpoints =
        list_checkpoints(second.folder / "checkpoints", formats::run_id(world.run()));
    REQUIRE_FALSE(checkpoints.empty());
    CHECK(proof.judge(checkpoints.back().head) == Standing::kProven);
}

TEST_CASE("a revocation reaches voters on other machines, whichever of them restarts",
          "[server][integration]") {
    World world{1'000'000, {}, "http://127.0.0.1:9/"};
    world.start();
    Voter second{world, 2};
    second.start();
    want(world, {world.run().backbone_key, second.key.public_key()});
    Member one{world.run(), &world.project(), 1};
    Member two{world.run(), &world.project(), 2};
    const auto has = has_member;
    const auto has_both = [&](const std::filesystem::path& voter) {
        return has(voter, one.key.public_key()) && has(voter, two.key.public_key());
    };
    INFO(world.log() + "\n--- second\n" + second.process.log());
    REQUIRE(await([&] {
        return head_in(world, second.ledger()).generation == 1 && has_both(second.folder) &&
               has_both(world.run_folder());
    }));
    const auto began = std::chrono::steady_clock::now();
    const auto answer = control::ask(
        world.run_folder(), {.command = control::Command::kRevoke, .revocation = {.hosts = {1}}});
    REQUIRE(answer.reply.is_done);
    REQUIRE(await([&] { return !has(second.folder, one.key.public_key()); }));
    WARN("the other voter's link is closed after "
         << std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()
         << " s");
    SECTION("the other voter") {
        CHECK(second.process.stop(SIGKILL) < 0);
        second.start();
    }
    SECTION("the run's backbone") {
        CHECK(world.stop(SIGKILL) < 0);
        world.start();
    }
    // Both voters have had the time to hear from the revoked one, which dials again and again.
    const auto is_settled = [&, since = StepIndex{0}]() mutable {
        const Head head = head_in(world, second.ledger());
        if (since == StepIndex{0}) since = head.step;
        return head.step.value() >= since.value() + 20 &&
               has(world.run_folder(), two.key.public_key()) &&
               has(second.folder, two.key.public_key());
    };
    REQUIRE(await(is_settled));
    CHECK_FALSE(has(second.folder, one.key.public_key()));
    CHECK_FALSE(has(world.run_folder(), one.key.public_key()));
}

TEST_CASE("three voters tolerate the loss of any one, which catches up when it is back",
          "[server][integration]") {
    World world{1'000'000};
    world.start();
    Member member{world.run()};
    REQUIRE(member.host.await_updates(10));
    Voter second{world, 2};
    Voter third{world, 3};
    second.start();
    third.start();
    const PeerKey own = world.run().backbone_key;
    want(world, {own, second.key.public_key(), third.key.public_key()});
    const auto logs = [&] {
        return world.log() + "\n--- second\n" + second.process.log() + "\n--- third\n" +
               third.process.log();
    };
    const auto ledger = world.run_folder() / "ledger";
    // A backbone that is killed before the others have the new generation leaves them in the old
    // one, in which it is the only voter: they would wait for its return.
    const bool began = await([&] {
        return std::ranges::all_of(
            std::array{ledger, second.ledger(), third.ledger()},
            [&](const auto& file) { return head_in(world, file).generation == 1; });
    });
    INFO(logs());
    REQUIRE(began);
    CHECK(head_in(world, ledger).voters.size() == 3);
    CHECK_FALSE(std::filesystem::exists(second.file));

    // The run's own backbone is killed, and the run continues.
    CHECK(world.stop(SIGKILL) == -SIGKILL);
    const auto goes_on = [&](const std::filesystem::path& file) {
        const StepIndex now = head_in(world, file).step;
        return await([&] { return head_in(world, file).step.value() >= now.value() + 5; });
    };
    // A voter that has just started is back once its ledger grows.
    const auto catches_up = [&](const std::filesystem::path& file,
                                const std::filesystem::path& other) {
        const auto before = head_in(world, file).step.value();
        return await([&] {  // the other file is read first: the run goes on meanwhile
            const auto there = head_in(world, other).step.value();
            const auto here = head_in(world, file).step.value();
            return here > before && here + 3 >= there;
        });
    };
    const bool went_on = goes_on(second.ledger());
    INFO(logs());
    REQUIRE(went_on);
    world.start();
    const bool is_back = catches_up(ledger, third.ledger());
    INFO(logs());
    REQUIRE(is_back);
    // Another voter is killed; the one that was away must vote again.
    CHECK(second.process.stop(SIGKILL) == -SIGKILL);
    const bool went_on_again = goes_on(ledger);
    INFO(logs());
    REQUIRE(went_on_again);
    second.start();
    const bool caught_up = catches_up(second.ledger(), ledger);
    INFO(logs());
    CHECK(caught_up);
    CHECK(world.stop(SIGTERM) == 0);
    CHECK(second.process.stop(SIGTERM) == 0);
    CHECK(third.process.stop(SIGTERM) == 0);
    // No ledger has a gap, every record is proven, and common prefixes are equal.
    for (const auto& file : {ledger, second.ledger(), third.ledger()}) {
        const auto steps = world.steps_in(file);
        CHECK(steps == count_to(steps.size()));
    }
}

}  // namespace dedloc::backbone
