#include "project_server/backbone/state_keeper.hpp"

#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/thread_workers.hpp"
#include "tests/copy_of.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

namespace {

constexpr std::size_t kVectorElements = 6;

std::unique_ptr<state::ModelState> fresh_state() {
    auto model = std::make_unique<state::ModelState>(
        std::vector<state::TensorRange>{{.offset = 0, .count = 4, .decays = true},
                                        {.offset = 4, .count = 2, .decays = false}},
        state::OptimizerSettings{.total_steps = 100});
    model->initialise(FloatVector{1, -2, 3, -4, 5, -6});
    return model;
}

UpdateScalars scalars_at(std::uint64_t step) {
    return state::update_scalars(state::OptimizerSettings{.total_steps = 100}, StepIndex{step});
}

SharedFloats average_of(std::uint64_t step) {
    return std::make_shared<const FloatVector>(kVectorElements,
                                               0.25F * static_cast<float>(step + 1));
}

/// The state after `steps` updates, computed without a keeper.
std::unique_ptr<state::ModelState> expected_state(std::uint64_t steps) {
    auto model = fresh_state();
    for (std::uint64_t step = 0; step < steps; ++step) {
        model->apply(*average_of(step), scalars_at(step));
    }
    return model;
}

/// The keeper's events in order; waits for the next one.
class Inbox {
  public:
    void put(Event event) {
        {
            const std::lock_guard lock{mutex_};
            events_.push_back(std::move(event));
        }
        changed_.notify_all();
    }
    template <class T>
    T take() {
        std::unique_lock lock{mutex_};
        REQUIRE(
            changed_.wait_for(lock, std::chrono::seconds{20}, [this] { return !events_.empty(); }));
        const Event event = std::move(events_.front());
        events_.pop_front();
        REQUIRE(std::holds_alternative<T>(event));
        return std::get<T>(event);
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Event> events_;
};

struct KeeperWorld {
    TemporaryDirectory folder;
    CheckpointStore store{folder.path() / "checkpoints", RunId{}, 2};
    kernels::ThreadWorkers workers{2};
    Inbox inbox;
    std::promise<std::string> failure;

    KeeperOptions options(std::uint64_t every) {
        return {.checkpoint_every = every,
                .last_step = StepIndex{100},
                .events = [this](Event event) { inbox.put(std::move(event)); },
                .on_checkpoint = [] {},
                .on_failure = [this](const std::string& why) { failure.set_value(why); }};
    }
    std::vector<std::uint64_t> checkpointed_steps() const {
        std::vector<std::uint64_t> steps;
        for (const auto& entry : store.list()) steps.push_back(entry.head.step.value());
        return steps;
    }
};

}  // namespace

TEST_CASE("a keeper applies each update with the same bits as a plain ModelState", "[server]") {
    KeeperWorld world;
    StateKeeper keeper{fresh_state(), world.store, world.workers, world.options(1'000)};
    CHECK(world.inbox.take<event::StateReached>().digest == fresh_state()->digest());
    for (std::uint64_t step = 0; step < 5; ++step) {
        keeper.perform(action::Apply{StepIndex{step}, average_of(step), scalars_at(step)});
        const auto reached = world.inbox.take<event::StateReached>();
        CHECK(reached.step == StepIndex{step + 1});
        CHECK(reached.digest == expected_state(step + 1)->digest());
    }
    keeper.perform(action::TakeSnapshot{});
    const auto snapshot = world.inbox.take<event::SnapshotTaken>();
    CHECK(snapshot.step == StepIndex{5});
    CHECK(std::ranges::equal(*copy_of(*snapshot.bytes), expected_state(5)->bytes()));
}

TEST_CASE("a snapshot stays the state of its step while the keeper goes on", "[server]") {
    KeeperWorld world;
    std::optional<StateKeeper> keeper{std::in_place, fresh_state(), world.store, world.workers,
                                      world.options(1'000)};
    world.inbox.take<event::StateReached>();
    std::vector<event::SnapshotTaken> snapshots;
    for (std::uint64_t step = 0; step < 3; ++step) {
        keeper->perform(action::TakeSnapshot{});
        snapshots.push_back(world.inbox.take<event::SnapshotTaken>());
        keeper->perform(action::Apply{StepIndex{step}, average_of(step), scalars_at(step)});
        world.inbox.take<event::StateReached>();
    }
    SECTION("also when another state is loaded") {
        const auto other = expected_state(7);
        keeper->perform(action::Load{
            StepIndex{7}, other->digest(),
            std::make_shared<const Buffer>(other->bytes().begin(), other->bytes().end())});
        world.inbox.take<event::StateReached>();
    }
    SECTION("also when the keeper is gone") {
        keeper.reset();
    }
    for (std::uint64_t step = 0; step < 3; ++step) {
        const event::SnapshotTaken& snapshot = snapshots[step];
        CHECK(std::ranges::equal(*copy_of(*snapshot.bytes), expected_state(step)->bytes()));
        CHECK(state::state_digest(snapshot.step, *copy_of(*snapshot.bytes)) == snapshot.digest);
    }
}

TEST_CASE("a keeper contributes no samples", "[server]") {
    KeeperWorld world;
    StateKeeper keeper{fresh_state(), world.store, world.workers, world.options(1'000)};
    world.inbox.take<event::StateReached>();
    keeper.perform(action::Work{StepIndex{0}});
    keeper.perform(action::Freeze{StepIndex{0}});
    const auto frozen = world.inbox.take<event::ContributionFrozen>();
    CHECK(frozen.step == StepIndex{0});
    CHECK(frozen.contribution.samples == Samples{0});
    CHECK(frozen.contribution.sum == nullptr);
}

TEST_CASE("a keeper takes a member's state with the promised digest and no other", "[server]") {
    KeeperWorld world;
    StateKeeper keeper{fresh_state(), world.store, world.workers, world.options(1'000)};
    world.inbox.take<event::StateReached>();
    const auto newer = expected_state(7);
    const auto bytes = std::make_shared<const Buffer>(newer->bytes().begin(), newer->bytes().end());
    keeper.perform(action::Load{StepIndex{7}, Digest{}, bytes});
    CHECK(world.inbox.take<event::StateRefused>().step == StepIndex{7});
    keeper.perform(action::Load{StepIndex{7}, newer->digest(), bytes});
    CHECK(world.inbox.take<event::StateReached>().digest == newer->digest());
}

TEST_CASE(
    "checkpoints are written at the interval and at the stop, and the next keeper starts from them",
    "[server]") {
    KeeperWorld world;
    {
        StateKeeper keeper{fresh_state(), world.store, world.workers, world.options(2)};
        for (std::uint64_t step = 0; step < 5; ++step) {
            keeper.perform(action::Apply{StepIndex{step}, average_of(step), scalars_at(step)});
        }
        keeper.stop();
    }
    CHECK(world.checkpointed_steps() == std::vector<std::uint64_t>{5, 4});
    auto restored = fresh_state();
    const auto found = world.store.newest(kVectorElements, [&](const Checkpoint& checkpoint) {
        return restored->restore(checkpoint.head.step, checkpoint.state, checkpoint.head.digest);
    });
    REQUIRE(found);
    CHECK(restored->digest() == expected_state(5)->digest());
    const StateKeeper again{std::move(restored), world.store, world.workers, world.options(2)};
    for (std::uint64_t step = 0; step <= 5; ++step) world.inbox.take<event::StateReached>();
    CHECK(world.inbox.take<event::StateReached>().step == StepIndex{5});
}

TEST_CASE("a keeper that cannot write a checkpoint reports the reason and stops", "[server]") {
    KeeperWorld world;
    std::filesystem::create_symlink(
        "/dev/full", world.folder.path() / "checkpoints" / "step_000000001.state.tmp");
    StateKeeper keeper{fresh_state(), world.store, world.workers, world.options(1)};
    keeper.perform(action::Apply{StepIndex{0}, average_of(0), scalars_at(0)});
    auto failed = world.failure.get_future();
    REQUIRE(failed.wait_for(std::chrono::seconds{20}) == std::future_status::ready);
    CHECK_THAT(failed.get(), Catch::Contains("No space left on device"));
    keeper.perform(action::Apply{StepIndex{1}, average_of(1), scalars_at(1)});
    keeper.stop();
    CHECK(world.checkpointed_steps().empty());
}

TEST_CASE("a keeper without a state reports the first one that is loaded", "[server]") {
    KeeperWorld world;
    {
        auto options = world.options(1);
        options.holds_state = false;
        StateKeeper idle{fresh_state(), world.store, world.workers, std::move(options)};
    }
    CHECK(world.checkpointed_steps().empty());
    auto options = world.options(1);
    options.holds_state = false;
    StateKeeper keeper{fresh_state(), world.store, world.workers, std::move(options)};
    const auto start = fresh_state();
    const auto bytes = std::make_shared<const Buffer>(start->bytes().begin(), start->bytes().end());
    keeper.perform(action::Load{StepIndex{0}, start->digest(), bytes});
    CHECK(world.inbox.take<event::StateReached>().digest == start->digest());
    keeper.stop();
    CHECK(world.checkpointed_steps() == std::vector<std::uint64_t>{0});
}
