// The replica on a real GPU against the one on the processor.
#include "tests/boinc_app/cuda/skip_without_gpu.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/device/gpu.hpp"
#include "boinc_app/training/device_error.hpp"
#include "boinc_app/training/device_replica.hpp"
#include "boinc_app/training/host_replica.hpp"
#include "boinc_app/training/micro_batches.hpp"
#include "boinc_app/training/swarm_trainer.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/relative_error.hpp"
#include "tests/boinc_app/tiny_world.hpp"

using namespace dedloc;
using namespace dedloc::training;

namespace {

constexpr std::size_t kSamples = 8;

struct World {
    explicit World(const test::TinyShape& shape = {},
                   formats::Optimizer optimizer = formats::Optimizer::kLamb)
        : run(test::tiny_run(shape)) {
        run.optimizer.name = optimizer;
        set_compute_threads(2);
    }
    SampleRange batch() const { return {.peer = {}, .step = StepIndex{0}, .count = kSamples}; }
    /// Larger than the initial parameters, so that attention has an effect.
    FloatVector parameters() const {
        FloatVector values = state::initial_parameters(run);
        Random random{3};
        for (float& x : values) x += static_cast<float>(0.05 * random.near_normal());
        return values;
    }

    formats::RunFile run;
    const std::vector<formats::Shard> shards{test::skewed_shard(run, 1)};
    const albert::AlbertTask task{run, shards};
    const kernels::ThreadWorkers workers{2};
};

std::unique_ptr<DeviceReplica> on_gpu(const World& world, std::optional<Computation> how = {},
                                      bool has_layers = false) {
    auto gpu = device::open_gpu(0);
    const Computation own = gpu->computation();
    if (how && has_layers) how->layers = own.layers;
    return std::make_unique<DeviceReplica>(world.run, world.task, world.workers, std::move(gpu),
                                           how.value_or(own));
}

constexpr test::TinyShape kMedium{
    .vocabulary = 4'000, .width = 768, .layers = 3, .length = 128, .embedding = 128, .heads = 12};

}  // namespace

TEST_CASE("updates on the GPU have the processor's bits, with every optimizer", "[gpu]") {
    using formats::Optimizer;
    World world{kMedium, GENERATE(Optimizer::kLamb, Optimizer::kLambNvidia, Optimizer::kSgd,
                                  Optimizer::kSgdLarc)};
    const bool has_prototypes = GENERATE(false, true);
    world.run.tensors[0].has_unit_rows = has_prototypes;
    world.run.tensors[0].frozen_steps = has_prototypes ? 2 : 0;
    const auto gpu = on_gpu(world);
    HostReplica host{world.run, world.task, world.workers};
    gpu->initialise(world.parameters());
    host.initialise(world.parameters());
    CHECK(gpu->digest() == host.digest());
    Random random{7};
    for (const float size : {1e-4f, 10.0f, 1e-30f, 1e-3f}) {
        FloatVector average(host.element_count());
        for (float& x : average) x = size * static_cast<float>(random.uniform() - 0.5);
        const auto scalars =
            state::update_scalars(state::optimizer_settings(world.run), host.step());
        const auto report = gpu->apply(average, scalars);
        const auto expected = host.apply(average, scalars);
        CHECK(report.gradient_norm == expected.gradient_norm);
        CHECK(report.clip_factor == expected.clip_factor);
        CHECK(gpu->digest() == host.digest());
    }
    CHECK(gpu->copy().bytes == host.copy().bytes);
    REQUIRE(gpu->load(host.step(), host.copy().bytes, host.digest()));
    gpu->release();
    CHECK(gpu->digest() == host.digest());
}

TEST_CASE("gradients on the GPU are the processor's within the rounding of their precision",
          "[gpu]") {
    struct Case {
        Precision precision;
        bool fuses_attention;
        double bound;
        bool has_layers = false;
    };
    // As on the processor (precision_test.cpp); fp32 differs in the order of additions.
    const auto [precision, fuses, bound, has_layers] = GENERATE(values<Case>({
        {Precision::kFp32, false, 1e-5},
        {Precision::kFp32, true, 1e-5},
        {Precision::kFp16, false, 4e-3},
        {Precision::kFp16, true, 4e-3},
        {Precision::kBf16, false, 3e-2},
        {Precision::kBf16, true, 3e-2},
        {Precision::kFp16, true, 4e-3, true},
        {Precision::kBf16, true, 3e-2, true},
    }));
    const World world{GENERATE(test::TinyShape{}, kMedium)};
    const auto gpu =
        on_gpu(world, Computation{.cuda = 0, .precision = precision, .fuses_attention = fuses},
               has_layers);
    HostReplica host{world.run, world.task, world.workers};
    gpu->initialise(world.parameters());
    host.initialise(world.parameters());
    const auto expected_loss = host.add_gradient(world.batch(), {}).value();
    const auto loss = gpu->add_gradient(world.batch(), {}).value();
    const FloatVector expected = host.take_sum().values;
    const GradientSum sum = gpu->take_sum();
    CAPTURE(static_cast<int>(precision), fuses, has_layers,
            test::relative_error(sum.values, expected));
    CHECK(sum.is_finite);
    CHECK(test::relative_error(sum.values, expected) < bound);
    CHECK(loss == Approx(expected_loss).epsilon(std::max(1e-5, bound / 10)));
}

TEST_CASE("dropout on the GPU drops the elements that it drops on the processor", "[gpu]") {
    World world;
    formats::albert_of(world.run).attention_dropout = 0.1;
    formats::albert_of(world.run).hidden_dropout = 0.1;
    const auto gpu = on_gpu(world, Computation{.cuda = 0, .precision = Precision::kFp32});
    HostReplica host{world.run, world.task, world.workers};
    gpu->initialise(world.parameters());
    host.initialise(world.parameters());
    CHECK(gpu->add_gradient(world.batch(), {}).value() ==
          Approx(host.add_gradient(world.batch(), {}).value()).epsilon(1e-5));
    CHECK(test::relative_error(gpu->take_sum().values, host.take_sum().values) < 1e-5);
}

TEST_CASE("an interrupted micro-batch on the GPU leaves the sum as it was", "[gpu]") {
    const World world;
    const auto gpu = on_gpu(world);
    gpu->initialise(world.parameters());
    REQUIRE(gpu->add_gradient(world.batch(), {}));
    const FloatVector once = gpu->take_sum().values;
    for (const int last : {1, 5, 20, 31}) {
        int questions = 0;
        REQUIRE(gpu->add_gradient(world.batch(), {}));
        CHECK_FALSE(gpu->add_gradient(world.batch(), [&] { return ++questions == last; }));
        CHECK(gpu->take_sum().values == once);
    }
}

TEST_CASE("a micro-batch that does not fit into the GPU is halved, and no sample is lost",
          "[gpu]") {
    const World world{{.vocabulary = 2'000, .width = 512, .layers = 12, .length = 128}};
    const auto gpu = on_gpu(world);
    gpu->initialise(world.parameters());
    constexpr std::uint64_t kCount = 512;
    const auto sum_of = [&](MicroBatches& batches) {
        for (std::uint64_t first = 0; first < kCount;) {
            first += batches.add(PeerKey{}, StepIndex{0}, first, kCount - first, {}).value().count;
        }
        return gpu->take_sum().values;
    };
    MicroBatches small{*gpu, 16, 1};
    const FloatVector expected = sum_of(small);
    CHECK(small.size() == 16);
    // Another user of the GPU leaves little of its memory.
    auto other = device::open_gpu(0);
    other->trim();
    constexpr std::uint64_t kLeft = 600'000'000;
    const std::uint64_t free = other->properties().free_memory_bytes;
    REQUIRE(free > kLeft);
    const auto taken = other->allocate(free - kLeft);
    gpu->attach();
    MicroBatches large{*gpu, kCount, 1};
    const FloatVector sum = sum_of(large);
    CAPTURE(large.size());
    CHECK(large.size() < kCount);
    CHECK(test::relative_error(sum, expected) < 3e-2);
}

TEST_CASE("a released GPU has its memory back, and training goes on with the same state", "[gpu]") {
    const World world{kMedium};
    const auto watcher = device::open_gpu(0);
    const auto gpu = on_gpu(world);
    gpu->initialise(world.parameters());
    const Digest digest = gpu->digest();
    REQUIRE(gpu->add_gradient(world.batch(), {}));
    const std::uint64_t held = watcher->properties().free_memory_bytes;
    gpu->release();
    const std::uint64_t released = watcher->properties().free_memory_bytes;
    const std::uint64_t vectors = 5 * sizeof(float) * gpu->element_count();
    CAPTURE(held, released, vectors);
    CHECK(released >= held + vectors * 9 / 10);
    REQUIRE(gpu->add_gradient(world.batch(), {}));
    CHECK(gpu->digest() == digest);
}

TEST_CASE("the training thread computes a contribution on the GPU", "[gpu]") {
    const World world;
    const auto gpu = on_gpu(world);
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<Event> events;
    std::string failure;
    SwarmTrainer trainer{world.run,
                         *gpu,
                         {.peer = {},
                          .threads = 1,
                          .micro_batch = 4,
                          .failed =
                              [&](const std::string& sentence) {
                                  const std::lock_guard lock(mutex);
                                  failure = sentence;
                                  arrived.notify_all();
                              }},
                         [&](Event event) {
                             const std::lock_guard lock(mutex);
                             events.push_back(std::move(event));
                             arrived.notify_all();
                         }};
    const auto next = [&]() {
        std::unique_lock lock(mutex);
        REQUIRE(arrived.wait_for(lock, std::chrono::seconds{60},
                                 [&] { return !events.empty() || !failure.empty(); }));
        REQUIRE(failure == "");
        Event event = std::move(events.front());
        events.pop_front();
        return event;
    };
    HostReplica host{world.run, world.task, world.workers};
    host.initialise(world.parameters());
    trainer.perform(action::Load{StepIndex{0}, host.digest(),
                                 std::make_shared<const Buffer>(host.copy().bytes)});
    CHECK(std::get<event::StateReached>(next()).digest == host.digest());
    trainer.perform(action::Work{StepIndex{0}});
    CHECK(std::get<event::Progressed>(next()).samples == Samples{4});
    trainer.perform(action::Pause{});
    trainer.perform(action::Work{StepIndex{0}});
    trainer.perform(action::Freeze{StepIndex{0}});
    for (;;) {
        const Event event = next();
        const auto* const frozen = std::get_if<event::ContributionFrozen>(&event);
        if (frozen == nullptr) continue;
        if (frozen->contribution.samples > Samples{0}) CHECK(frozen->contribution.is_finite);
        break;
    }
}
