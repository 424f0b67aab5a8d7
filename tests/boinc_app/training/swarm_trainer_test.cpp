// The training thread: its answers, and that it computes only after a work command.
#include "boinc_app/training/swarm_trainer.hpp"

#include <time.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/training/host_replica.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/tiny_world.hpp"
#include "tests/copy_of.hpp"

namespace dedloc::training {
namespace {

/// Collects the trainer's events and returns them in order.
class Inbox {
  public:
    EventSink sink() {
        return [this](Event event) {
            const std::lock_guard lock(mutex_);
            events_.push_back(std::move(event));
            arrived_.notify_all();
        };
    }
    /// The next event.
    Event next_event() {
        std::unique_lock lock(mutex_);
        REQUIRE(
            arrived_.wait_for(lock, std::chrono::seconds{60}, [this] { return !events_.empty(); }));
        Event event = std::move(events_.front());
        events_.pop_front();
        if (const auto* progress = std::get_if<event::Progressed>(&event)) {
            last_samples_ = progress->samples.value();
        }
        return event;
    }
    /// The next event of this kind; earlier events are dropped.
    template <class Kind>
    Kind next() {
        for (;;) {
            const Event event = next_event();
            if (const auto* wanted = std::get_if<Kind>(&event)) return *wanted;
        }
    }
    /// The samples of the last event::Progressed that was taken.
    std::uint64_t last_samples() const { return last_samples_; }
    bool is_empty() {
        const std::lock_guard lock(mutex_);
        return events_.empty();
    }

  private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<Event> events_;
    std::uint64_t last_samples_ = 0;
};

constexpr std::uint64_t kSwarmMicroBatch = 4;

std::vector<formats::Shard> shards_of(const formats::RunFile& run) {
    std::vector<formats::Shard> shards{test::skewed_shard(run, 1)};
    // Each source has other documents.
    for (std::uint32_t source = 1; source < run.sources.size(); ++source) {
        shards.push_back(test::skewed_shard(run, 1 + source));
        shards.back().source = source;
    }
    return shards;
}

struct SwarmFixture {
    explicit SwarmFixture(formats::RunFile given = test::tiny_run()) : run(std::move(given)) {
        state.initialise(state::initial_parameters(run));
        const auto bytes = state.bytes();
        snapshot = std::make_shared<const Buffer>(bytes.begin(), bytes.end());
    }
    void load() {
        trainer.perform(action::Load{state.step(), state.digest(), snapshot});
        CHECK(inbox.next<event::StateReached>().digest == state.digest());
    }

    /// Scalars of the first update.
    UpdateScalars scalars() const {
        return state::update_scalars(state::optimizer_settings(run), StepIndex{0});
    }
    /// Works until there is a micro-batch, and freezes.
    Contribution contribute(StepIndex step) {
        trainer.perform(action::Work{step});
        inbox.next<event::Progressed>();
        trainer.perform(action::Freeze{step});
        return inbox.next<event::ContributionFrozen>().contribution;
    }

    formats::RunFile run;
    std::vector<formats::Shard> shards = shards_of(run);
    state::ModelState state{state::tensor_ranges(run), state::optimizer_settings(run)};
    SharedBytes snapshot;
    Inbox inbox;
    kernels::ThreadWorkers workers{2};
    albert::AlbertTask task{run, shards};
    HostReplica replica{run, task, workers};
    SwarmTrainer trainer{run,
                         replica,
                         {.peer = {}, .threads = 1, .micro_batch = kSwarmMicroBatch, .failed = {}},
                         inbox.sink()};
};

TEST_CASE("a frozen contribution is the sum of the first micro-batches in order", "[training]") {
    SwarmFixture world;
    world.load();
    for (int round = 0; round < 2; ++round) {  // the first round is cancelled
        world.trainer.perform(action::Work{StepIndex{0}});
        world.inbox.next<event::Progressed>();
        world.inbox.next<event::Progressed>();
        world.trainer.perform(action::Freeze{StepIndex{0}});
        const auto frozen = world.inbox.next<event::ContributionFrozen>().contribution;
        REQUIRE(frozen.samples.value() >= 2 * kSwarmMicroBatch);
        REQUIRE(frozen.samples.value() % kSwarmMicroBatch == 0);
        CHECK(frozen.is_finite);

        set_compute_threads(1);
        const auto model = world.task.make_model(world.state.parameters(), {});
        FloatVector sum(world.state.element_count());
        double loss = 0;
        for (std::uint64_t i = 0; i < frozen.samples.value(); i += kSwarmMicroBatch) {
            loss += *model->add_gradient({PeerKey{}, StepIndex{0}, i, kSwarmMicroBatch}, sum, {});
        }
        CHECK(*frozen.sum == sum);
        CHECK(frozen.loss_sum == loss);
    }
}

TEST_CASE("samples are drawn by the mixture of the state that they are computed on", "[training]") {
    formats::RunFile run = test::tiny_run();
    run.sources = {{"first", 1, ""}, {"second", 1, ""}};
    SwarmFixture world{run};
    world.load();
    const auto mixture = std::make_shared<const SignedMixture>(SignedMixture{
        .version = 1, .changes = {{.from = StepIndex{1}, .weights = {0, 1}}}, .signature = {}});
    world.trainer.perform(action::Mix{mixture});
    // The sum of the same samples, with these weights.
    const auto sum_of = [&](const Contribution& contribution, StepIndex step,
                            const formats::SharedWeights& weights) {
        set_compute_threads(1);
        const auto model = world.task.make_model(world.state.parameters(), {});
        FloatVector sum(world.state.element_count());
        for (std::uint64_t i = 0; i < contribution.samples.value(); i += kSwarmMicroBatch) {
            const SampleRange samples{.peer = {},
                                      .step = step,
                                      .first = i,
                                      .count = kSwarmMicroBatch,
                                      .weights = weights};
            REQUIRE(model->add_gradient(samples, sum, {}));
        }
        return sum;
    };
    const Contribution before = world.contribute(StepIndex{0});
    CHECK(*before.sum == sum_of(before, StepIndex{0}, nullptr));
    FloatVector average(world.state.element_count(), 0.01f);
    world.trainer.perform(
        action::Apply{StepIndex{0}, std::make_shared<const FloatVector>(average), world.scalars()});
    world.inbox.next<event::StateReached>();
    world.state.apply(average, world.scalars());
    const Contribution after = world.contribute(StepIndex{1});
    const auto weights =
        std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{0, 1});
    CHECK(*after.sum == sum_of(after, StepIndex{1}, weights));
    CHECK_FALSE(*after.sum == sum_of(after, StepIndex{1}, nullptr));
}

TEST_CASE("a job draws by a mixture with more sources, or with fewer, than it has", "[training]") {
    formats::RunFile run = test::tiny_run();
    run.sources = {{"first", 1, ""}, {"second", 1, ""}};
    const auto is_drawn_as = [&](std::vector<std::uint64_t> weights,
                                 const std::vector<std::uint64_t>& expected) {
        SwarmFixture world{run};
        world.load();
        world.trainer.perform(action::Mix{std::make_shared<const SignedMixture>(
            SignedMixture{.version = 1,
                          .changes = {{.from = StepIndex{0}, .weights = std::move(weights)}},
                          .signature = {}})});
        const Contribution made = world.contribute(StepIndex{0});
        const auto drawn = std::make_shared<const std::vector<std::uint64_t>>(expected);
        set_compute_threads(1);
        const auto model = world.task.make_model(world.state.parameters(), {});
        FloatVector sum(world.state.element_count());
        for (std::uint64_t i = 0; i < made.samples.value(); i += kSwarmMicroBatch) {
            REQUIRE(model->add_gradient({.peer = {},
                                         .step = StepIndex{0},
                                         .first = i,
                                         .count = kSwarmMicroBatch,
                                         .weights = drawn},
                                        sum, {}));
        }
        return *made.sum == sum;
    };
    CHECK(is_drawn_as({1, 2, 3}, {1, 2}));
    CHECK(is_drawn_as({0, 1, 3}, {0, 1}));
    CHECK(is_drawn_as({0, 0, 1}, {1, 1}));
    CHECK(is_drawn_as({1}, {1, 0}));
    CHECK_FALSE(is_drawn_as({1}, {1, 1}));
}

TEST_CASE("with overlap a contribution begins with samples of the state before", "[training]") {
    SwarmFixture world;
    world.load();
    const Contribution first = world.contribute(StepIndex{0});
    world.trainer.perform(action::Overlap{StepIndex{0}, Samples{1'000'000}});
    world.inbox.next<event::Progressed>();
    world.trainer.perform(action::Apply{StepIndex{0}, first.sum, world.scalars()});
    world.inbox.next<event::StateReached>();
    const std::uint64_t delayed = world.inbox.last_samples();
    REQUIRE(delayed >= kSwarmMicroBatch);
    const Contribution second = world.contribute(StepIndex{1});
    REQUIRE(second.samples.value() > delayed);

    set_compute_threads(1);
    const auto model = world.task.make_model(world.state.parameters(), {});
    FloatVector sum(world.state.element_count());
    const auto add = [&](std::uint64_t step, std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; i += kSwarmMicroBatch) {
            (void)model->add_gradient({PeerKey{}, StepIndex{step}, i, kSwarmMicroBatch}, sum, {});
        }
    };
    add(0, first.samples.value(), first.samples.value() + delayed);
    (void)world.state.apply(*first.sum, world.scalars());
    add(1, 0, second.samples.value() - delayed);
    CHECK(*second.sum == sum);
}

TEST_CASE("with overlap a sum stops at its limit and goes on with the next state", "[training]") {
    SwarmFixture world;
    world.load();
    const Contribution first = world.contribute(StepIndex{0});
    world.trainer.perform(action::Overlap{StepIndex{0}, Samples{1}});
    CHECK(world.inbox.next<event::Progressed>().samples == Samples{kSwarmMicroBatch});
    world.trainer.perform(action::TakeSnapshot{});
    world.inbox.next<event::SnapshotTaken>();
    world.trainer.perform(action::TakeSnapshot{});
    world.inbox.next<event::SnapshotTaken>();
    CHECK(world.inbox.is_empty());
    world.trainer.perform(action::Apply{StepIndex{0}, first.sum, world.scalars()});
    world.inbox.next<event::StateReached>();
    world.trainer.perform(action::Work{StepIndex{1}});
    CHECK(world.inbox.next<event::Progressed>().samples == Samples{2 * kSwarmMicroBatch});
}

TEST_CASE("a paused trainer computes nothing until it gets the next work command", "[training]") {
    SwarmFixture world;
    world.load();
    world.trainer.perform(action::Work{StepIndex{0}});
    world.inbox.next<event::Progressed>();
    world.trainer.perform(action::Pause{});
    // Answers come in order: after the snapshot no event from before the pause can follow.
    world.trainer.perform(action::TakeSnapshot{});
    world.inbox.next<event::SnapshotTaken>();
    world.trainer.perform(action::TakeSnapshot{});
    world.inbox.next<event::SnapshotTaken>();
    CHECK(world.inbox.is_empty());
    world.trainer.perform(action::Freeze{StepIndex{0}});
    CHECK(world.inbox.next<event::ContributionFrozen>().contribution.samples == Samples{0});
}

TEST_CASE("a pause ends a micro-batch of many seconds at once", "[training]") {
    // Hundreds of layers on few samples take long and need little memory.
    const formats::RunFile run = test::tiny_run({.width = 256, .layers = 300, .length = 64});
    const std::vector<formats::Shard> shards{test::skewed_shard(run, 1)};
    state::ModelState state{state::tensor_ranges(run), state::optimizer_settings(run)};
    state.initialise(state::initial_parameters(run));
    const auto bytes = std::make_shared<const Buffer>(state.bytes().begin(), state.bytes().end());
    Inbox inbox;
    const kernels::ThisThread workers;
    const albert::AlbertTask task{run, shards};
    HostReplica replica{run, task, workers};
    SwarmTrainer trainer{
        run, replica, {.peer = {}, .threads = 1, .micro_batch = 4, .failed = {}}, inbox.sink()};
    trainer.perform(action::Load{state.step(), state.digest(), bytes});
    inbox.next<event::StateReached>();
    for (int i = 0; i < 5; ++i) {
        trainer.perform(action::Work{StepIndex{0}});
        // The delay decides where the micro-batch is interrupted, not whether the test passes.
        const auto begin = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - begin < i * std::chrono::milliseconds{40}) {
            std::this_thread::yield();
        }
        trainer.perform(action::Pause{});
        trainer.perform(action::TakeSnapshot{});
        // Without event::Progressed before it.
        CHECK(std::holds_alternative<event::SnapshotTaken>(inbox.next_event()));
    }
    trainer.perform(action::Work{StepIndex{0}});  // and the destructor
}

/// Processor time of this process.
std::chrono::nanoseconds processor_time() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

TEST_CASE("a trainer that may compute a fifth of the time rests in the other", "[training]") {
    SwarmFixture world;
    world.load();
    world.trainer.limit(0.2);
    world.trainer.perform(action::Work{StepIndex{0}});
    world.inbox.next<event::Progressed>();
    const auto begin = std::chrono::steady_clock::now();
    const auto processor_begin = processor_time();
    while (std::chrono::steady_clock::now() - begin < std::chrono::seconds{3}) {
        world.inbox.next<event::Progressed>();
    }
    const auto time = std::chrono::steady_clock::now() - begin;
    // One turn of work may lie at each end.
    CHECK(processor_time() - processor_begin < time / 5 + std::chrono::milliseconds{250});
}

TEST_CASE("a trainer at rest answers a freeze and a pause at once", "[training]") {
    SwarmFixture world;
    world.load();
    world.trainer.limit(0.0001);  // a rest takes 1,000 s, longer than the inbox waits
    CHECK(world.contribute(StepIndex{0}).samples.value() > 0);
    world.trainer.perform(action::Work{StepIndex{0}});
    world.inbox.next<event::Progressed>();
    world.trainer.perform(action::Pause{});
    world.load();
    world.trainer.limit(1);
    CHECK(world.contribute(StepIndex{0}).samples.value() > 0);
}

TEST_CASE("a trainer with another state than the requested one contributes nothing", "[training]") {
    SwarmFixture world;
    world.trainer.perform(action::Work{StepIndex{0}});
    world.trainer.perform(action::Freeze{StepIndex{0}});
    CHECK(world.inbox.next<event::ContributionFrozen>().contribution.samples == Samples{0});
    world.load();
    world.trainer.perform(action::Work{StepIndex{7}});
    world.trainer.perform(action::Freeze{StepIndex{7}});
    const auto frozen = world.inbox.next<event::ContributionFrozen>();
    CHECK(frozen.contribution.samples == Samples{0});
    CHECK(frozen.contribution.sum == nullptr);
}

TEST_CASE("a state with another digest than promised is refused and the old one kept",
          "[training]") {
    SwarmFixture world;
    world.load();
    world.trainer.perform(action::Load{StepIndex{3}, Digest{}, world.snapshot});
    CHECK(world.inbox.next<event::StateRefused>().step == StepIndex{3});
    world.trainer.perform(action::TakeSnapshot{});
    CHECK(world.inbox.next<event::SnapshotTaken>().digest == world.state.digest());
}

TEST_CASE("a snapshot stays the state of its step after an update", "[training]") {
    SwarmFixture world;
    world.load();
    world.trainer.perform(action::TakeSnapshot{});
    const auto snapshot = world.inbox.next<event::SnapshotTaken>();
    const auto average = std::make_shared<const FloatVector>(world.state.element_count(), 0.001f);
    world.trainer.perform(action::Apply{StepIndex{0}, average, world.scalars()});
    CHECK(world.inbox.next<event::StateReached>().digest != snapshot.digest);
    CHECK(state::state_digest(snapshot.step, *copy_of(*snapshot.bytes)) == snapshot.digest);
}

TEST_CASE("an update gives the same bits as ModelState", "[training]") {
    SwarmFixture world;
    world.load();
    const auto average = std::make_shared<const FloatVector>(world.state.element_count(), 0.001f);
    const auto scalars = state::update_scalars(state::optimizer_settings(world.run), StepIndex{0});
    world.trainer.perform(action::Apply{StepIndex{0}, average, scalars});
    world.state.apply(*average, scalars);
    const auto reached = world.inbox.next<event::StateReached>();
    CHECK(reached.step == StepIndex{1});
    CHECK(reached.digest == world.state.digest());
}

}  // namespace
}  // namespace dedloc::training
