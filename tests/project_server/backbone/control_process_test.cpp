// The control plane of a backbone's process: commands while members train, kill -9 at any moment,
// no database.
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <thread>

#include "peer/base/random.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/pause_file.hpp"
#include "project_server/control/client.hpp"
#include "tests/project_server/backbone/backbone_processes.hpp"

using namespace dedloc;
using namespace dedloc::backbone;
using control::Command;
using control::Outcome;
using control::RunState;
using Clock = std::chrono::steady_clock;

namespace {

/// Repeats a command until a backbone answers.
control::Reply ask(const World& world, Command command) {
    const auto until = Clock::now() + kTimeout;
    while (Clock::now() < until) {
        const auto answer = control::ask(world.run_folder(), {.command = command});
        if (answer.outcome == Outcome::kAnswered) return answer.reply;
        std::this_thread::sleep_for(20ms);
    }
    FAIL("no backbone answers");
    return {};
}

control::Snapshot picture(const World& world) {
    const auto reply = ask(world, Command::kSnapshot);
    REQUIRE(reply.snapshot);
    return *reply.snapshot;
}

template <class Condition>
bool await(const World& world, Condition condition) {
    const auto until = Clock::now() + kTimeout;
    while (Clock::now() < until) {
        if (condition(picture(world))) return true;
        std::this_thread::sleep_for(20ms);
    }
    return false;
}

bool await_step(const World& world, std::uint64_t step) {
    return await(world, [&](const control::Snapshot& now) { return now.progress.step >= step; });
}

std::optional<SignedPause> last_pause(const World& world) {
    return backbone::read_pause(world.run_folder() / "pause", formats::run_id(world.run()),
                                world.project().public_key());
}

}  // namespace

TEST_CASE("a run is paused and resumed while members train", "[server][integration]") {
    constexpr std::uint64_t kSteps = 40;
    World world{kSteps};
    world.start();
    Member one{world.run()};
    Member two{world.run()};
    REQUIRE(await_step(world, 3));
    auto began = Clock::now();
    CHECK(ask(world, Command::kPause).is_done);
    WARN("the pause was answered after " << seconds_since(began) << " s");
    CHECK(ask(world, Command::kPause).is_done);  // once more does no harm
    REQUIRE(await(world, [&, last = std::uint64_t{0},
                          since = Clock::now()](const control::Snapshot& now) mutable {
        if (now.progress.step != last) since = Clock::now();
        last = now.progress.step;
        return since + 3s < Clock::now();
    }));
    const auto paused = picture(world);
    CHECK(paused.state == RunState::kPaused);
    CHECK(paused.members.size() == 2);
    SECTION("which goes on") {}
    SECTION("which outlives the process") {
        world.stop(SIGKILL);
        world.start();
        CHECK(picture(world).state == RunState::kPaused);
        REQUIRE(await(world, [](const auto& now) { return now.members.size() == 2; }));
        std::this_thread::sleep_for(2s);
        CHECK(picture(world).progress.step == paused.progress.step);
    }
    SECTION("which is resumed while the backbone is away") {
        world.stop(SIGKILL);
        const auto next = backbone::next_pause(last_pause(world), false,
                                               formats::run_id(world.run()), world.project());
        backbone::write_pause(world.run_folder() / "pause", next.value());
        world.start();
    }
    began = Clock::now();
    CHECK(ask(world, Command::kResume).is_done);
    REQUIRE(await_step(world, paused.progress.step + 1));
    WARN("the first step after the pause came after " << seconds_since(began) << " s");
    REQUIRE(one.host.await_end());
    REQUIRE(two.host.await_end());
    CHECK(await(world, [](const auto& now) { return now.state == RunState::kFinished; }));
    CHECK_FALSE(ask(world, Command::kPause).is_done);
    CHECK(world.stop(SIGTERM) == 0);
    CHECK(world.committed_steps() == count_to(kSteps));
}

TEST_CASE("a pause is on the disk or was never answered, whenever the backbone is killed",
          "[server][integration]") {
    World world{1'000'000};
    Random random{7};
    bool is_paused = false;
    int answered = 0;
    for (int round = 0; round < 12; ++round) {
        world.start();
        CHECK((picture(world).state == RunState::kPaused) == is_paused);
        const bool wants = !is_paused;
        auto reply = std::async(std::launch::async, [&] {
            return control::ask(world.run_folder(),
                                {.command = wants ? Command::kPause : Command::kResume}, 1s);
        });
        std::this_thread::sleep_for(std::chrono::microseconds{random.below(8'000)});
        world.stop(SIGKILL);
        const auto answer = reply.get();
        const bool is_done = answer.outcome == Outcome::kAnswered && answer.reply.is_done;
        answered += is_done ? 1 : 0;
        // Without an answer both states are possible; the file has the right one.
        const bool now = backbone::is_paused(last_pause(world));
        if (is_done) CHECK(now == wants);
        is_paused = now;
    }
    WARN(answered << " of 12 commands were answered before the kill");
}

TEST_CASE("a subscriber follows a run through kills of its backbone", "[server][integration]") {
    constexpr std::uint64_t kSteps = 60;
    World world{kSteps};
    world.start();
    Member one{world.run()};
    Member two{world.run()};
    control::Subscriber subscriber{world.run_folder()};
    Random random{7};
    auto kill_at = Clock::now() + 2s;
    int kills = 0;
    std::uint64_t seen = 0;
    const auto until = Clock::now() + 3 * kTimeout;
    while (Clock::now() < until) {
        const auto change = subscriber.wait(50ms);
        if (change == control::Subscriber::Change::kEvent ||
            change == control::Subscriber::Change::kSnapshot) {
            // Every step is seen: in an event, or in the snapshot after a gap.
            for (const auto& step : subscriber.picture().recent) {
                if (step.step <= seen) continue;
                REQUIRE(step.step == seen + 1);
                seen = step.step;
            }
            if (subscriber.picture().state == RunState::kFinished) break;
        }
        if (kills == 4 || Clock::now() < kill_at) continue;
        world.stop(SIGKILL);
        world.start();
        ++kills;
        kill_at = Clock::now() + std::chrono::milliseconds{500 + random.below(3'000)};
    }
    INFO(world.log());
    CHECK(seen == kSteps);
    CHECK(subscriber.picture().state == RunState::kFinished);
    CHECK(world.stop(SIGTERM) == 0);
    CHECK(world.committed_steps() == count_to(kSteps));
}

TEST_CASE("a checkpoint is written when it is asked for", "[server][integration]") {
    World world{1'000'000};
    world.start(1'000'000);
    Member member{world.run()};
    REQUIRE(await_step(world, 2));
    const auto reply = ask(world, Command::kCheckpoint);
    REQUIRE(reply.is_done);
    REQUIRE(reply.step);
    const CheckpointStore store{world.run_folder() / "checkpoints", formats::run_id(world.run()),
                                9};
    REQUIRE_FALSE(store.list().empty());
    CHECK(store.list().front().head.step.value() == *reply.step);
    CHECK(*reply.step >= 1);
}
