// The replica of a GPU on a GPU that is simulated in host memory: its state, sums and updates are
// those of the replica on the processor, bit for bit.
#include "boinc_app/training/device_replica.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/training/device_error.hpp"
#include "boinc_app/training/host_replica.hpp"
#include "boinc_app/training/staged_copies.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/tiny_world.hpp"
#include "tests/boinc_app/training/host_accelerator.hpp"
#include "tests/copy_of.hpp"

namespace dedloc::training {
namespace {

using test::GpuRecord;
using test::HostAccelerator;

formats::RunFile run_with(formats::Optimizer optimizer) {
    // The state has more than two pieces of a staging buffer, and the last one is not full.
    formats::RunFile run = test::tiny_run({.vocabulary = 7'000, .width = 128});
    run.optimizer.name = optimizer;
    return run;
}

struct DeviceFixture {
    explicit DeviceFixture(formats::Optimizer optimizer = formats::Optimizer::kLamb)
        : DeviceFixture(run_with(optimizer)) {}
    explicit DeviceFixture(const formats::RunFile& the_run) : run(the_run) {
        set_compute_threads(1);
        host.initialise(state::initial_parameters(run));
        gpu.initialise(state::initial_parameters(run));
    }
    SampleRange batch(std::uint64_t first) const {
        return {.peer = {}, .step = StepIndex{0}, .first = first, .count = 4};
    }
    /// An average of this size, different for each step.
    FloatVector average(float size) const {
        Random random{host.step().value()};
        FloatVector values(host.element_count());
        for (float& x : values) x = size * static_cast<float>(random.uniform() - 0.5);
        return values;
    }
    UpdateScalars scalars() const {
        return state::update_scalars(state::optimizer_settings(run), host.step());
    }
    void check_equal() {
        CHECK(gpu.step() == host.step());
        CHECK(gpu.digest() == host.digest());
        const StateCopy copy = gpu.copy();
        const StateCopy expected = host.copy();
        CHECK(copy.bytes == expected.bytes);
        CHECK(copy.leaves == expected.leaves);
        const SharedState shared = gpu.share();
        CHECK(*copy_of(*shared.bytes) == copy.bytes);
        CHECK(shared.leaves == copy.leaves);
        CHECK(record.misuses == 0);
    }

    const formats::RunFile run;
    const std::vector<formats::Shard> shards{test::skewed_shard(run, 1)};
    const albert::AlbertTask task{run, shards};
    const kernels::ThreadWorkers workers{2};
    GpuRecord record;
    HostReplica host{run, task, workers};
    DeviceReplica gpu{run, task, workers, std::make_unique<HostAccelerator>(record), {}};
};

TEST_CASE("updates on a GPU have the bits of the processor, with every optimizer", "[training]") {
    using formats::Optimizer;
    DeviceFixture world{
        GENERATE(Optimizer::kLamb, Optimizer::kLambNvidia, Optimizer::kSgd, Optimizer::kSgdLarc)};
    REQUIRE(world.host.copy().bytes.size() > 2 * Accelerator::kStagingBytes);
    REQUIRE(world.host.copy().bytes.size() % Accelerator::kStagingBytes != 0);
    world.check_equal();
    for (const float size : {1e-4f, 10.0f, 1e-3f}) {  // the second one is clipped
        const FloatVector average = world.average(size);
        const auto report = world.gpu.apply(average, world.scalars());
        const auto expected = world.host.apply(average, world.scalars());
        CHECK(report.was_applied);
        CHECK(report.gradient_norm == expected.gradient_norm);
        CHECK(report.clip_factor == expected.clip_factor);
        world.check_equal();
    }
}

TEST_CASE("frozen tensors and rows of unit length have the processor's bits on a GPU",
          "[training]") {
    using formats::Optimizer;
    formats::RunFile run = run_with(
        GENERATE(Optimizer::kLamb, Optimizer::kLambNvidia, Optimizer::kSgd, Optimizer::kSgdLarc));
    run.tensors[0].has_unit_rows = true;
    run.tensors[0].frozen_steps = 2;
    run.tensors[3].frozen_steps = 1;
    DeviceFixture world{run};
    world.check_equal();
    std::vector<StateCopy> states{world.host.copy()};
    std::vector<Digest> digests{world.host.digest()};
    const auto advance = [&] {
        FloatVector average = world.average(1e-2f);
        // The gradient of a frozen tensor counts for nothing.
        if (world.host.step() < StepIndex{2}) average[1] = std::numeric_limits<float>::infinity();
        const auto report = world.gpu.apply(average, world.scalars());
        const auto expected = world.host.apply(average, world.scalars());
        CHECK(report.was_applied);
        CHECK(report.gradient_norm == expected.gradient_norm);
        world.check_equal();
    };
    for (int step = 0; step < 4; ++step) {
        if (step == 3) world.gpu.release();
        advance();
        states.push_back(world.host.copy());
        digests.push_back(world.host.digest());
    }
    CHECK(world.record.tables == 3);  // steps 0, 1, and 2 with all later ones
    for (const std::uint64_t from : {1u, 3u, 0u}) {
        REQUIRE(world.gpu.load(StepIndex{from}, states[from].bytes, digests[from]));
        REQUIRE(world.host.load(StepIndex{from}, states[from].bytes, digests[from]));
        advance();
        CHECK(world.gpu.digest() == digests[from + 1]);
    }
}

TEST_CASE("an average that is not finite changes only the step on a GPU too", "[training]") {
    DeviceFixture world;
    FloatVector average = world.average(1);
    average[17] = std::numeric_limits<float>::infinity();
    CHECK_FALSE(world.gpu.apply(average, world.scalars()).was_applied);
    CHECK_FALSE(world.host.apply(average, world.scalars()).was_applied);
    world.check_equal();
}

TEST_CASE("sums on a GPU start from zero, outlive an update and arrive whole", "[training]") {
    DeviceFixture world;
    const FloatVector zeros(world.host.element_count());
    CHECK(world.gpu.take_sum().values == zeros);
    for (int round = 0; round < 2; ++round) {
        for (const std::uint64_t first : {0u, 4u}) {
            CHECK(world.gpu.add_gradient(world.batch(first), {}) ==
                  world.host.add_gradient(world.batch(first), {}));
            const FloatVector average = world.average(1e-3f);
            world.gpu.apply(average, world.scalars());
            world.host.apply(average, world.scalars());
        }
        const GradientSum sum = world.gpu.take_sum();
        CHECK(sum.is_finite);
        CHECK(sum.values == world.host.take_sum().values);
    }
    world.gpu.add_gradient(world.batch(0), {});
    world.gpu.drop_sum();
    CHECK(world.gpu.take_sum().values == zeros);
    world.check_equal();
}

TEST_CASE("a state is loaded only if it is the promised one, on a GPU too", "[training]") {
    DeviceFixture world;
    world.host.apply(world.average(1e-3f), world.scalars());
    const StateCopy copy = world.host.copy();
    const Digest digest = world.host.digest();
    const Digest before = world.gpu.digest();
    CHECK_FALSE(world.gpu.load(StepIndex{2}, copy.bytes, digest));
    CHECK_FALSE(world.gpu.load(StepIndex{1}, std::span{copy.bytes}.first(64), digest));
    CHECK(world.gpu.digest() == before);
    REQUIRE(world.gpu.load(StepIndex{1}, copy.bytes, digest));
    world.check_equal();
}

TEST_CASE("a released GPU holds nothing, and goes on with the same state", "[training]") {
    DeviceFixture world;
    const std::size_t held = world.record.held;
    CHECK(held == 5 * sizeof(float) * world.host.element_count());
    world.gpu.add_gradient(world.batch(0), {});
    world.gpu.release();
    CHECK(world.record.held == 0);
    CHECK(world.record.trims == 1);
    world.gpu.release();
    world.check_equal();  // digest and copy need no memory of the device
    CHECK(world.record.held == 0);
    CHECK(world.gpu.add_gradient(world.batch(4), {}) ==
          world.host.add_gradient(world.batch(4), {}));
    CHECK(world.record.held == held);
    // The sum from before is dropped.
    CHECK(world.gpu.take_sum().values == world.host.take_sum().values);
    world.gpu.release();
    const FloatVector average = world.average(1e-3f);
    world.gpu.apply(average, world.scalars());
    world.host.apply(average, world.scalars());
    world.check_equal();
    CHECK(world.record.max_held == held);
}

TEST_CASE("a GPU whose memory was taken meanwhile is an error that loses no state", "[training]") {
    DeviceFixture world;
    world.gpu.release();
    world.record.capacity = sizeof(float) * world.host.element_count();
    try {
        world.gpu.add_gradient(world.batch(0), {});
        FAIL("the memory sufficed");
    } catch (const DeviceError& error) {
        CHECK(error.failure() == DeviceFailure::kOutOfMemory);
    }
    CHECK(world.record.held == 0);
    world.check_equal();
    world.record.capacity = ~std::size_t{0};
    CHECK(world.gpu.add_gradient(world.batch(0), {}) ==
          world.host.add_gradient(world.batch(0), {}));
    world.record.is_lost = true;
    CHECK_THROWS_AS(world.gpu.take_sum(), DeviceError);
}

TEST_CASE("a GPU without memory for the vectors is an error at the start", "[training]") {
    const DeviceFixture world;
    GpuRecord small;
    small.capacity = 1'000;
    CHECK_THROWS_AS(
        (DeviceReplica{
            world.run, world.task, world.workers, std::make_unique<HostAccelerator>(small), {}}),
        DeviceError);
    CHECK(small.held == 0);
    formats::RunFile wrong = world.run;
    wrong.tensors.pop_back();
    const albert::AlbertTask task{wrong, world.shards};
    CHECK_THROWS_AS(
        (DeviceReplica{wrong, task, world.workers, std::make_unique<HostAccelerator>(small), {}}),
        Error);
}

TEST_CASE("staged copies of any length arrive whole, and buffers are never used too early",
          "[training]") {
    constexpr std::size_t kPiece = Accelerator::kStagingBytes;
    GpuRecord record;
    HostAccelerator device{record};
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPiece - 1, kPiece, kPiece + 1,
                                   2 * kPiece, 5 * kPiece + 12'345}) {
        std::vector<std::byte> from(size);
        Random random{size};
        for (std::byte& x : from) x = static_cast<std::byte>(random.below(256));
        std::vector<std::byte> there(size);
        upload(device, from, there);
        CHECK(there == from);
        std::vector<std::byte> back;
        download(device, there, [&](std::size_t offset, std::span<const std::byte> piece) {
            CHECK(offset == back.size());
            back.insert(back.end(), piece.begin(), piece.end());
        });
        CHECK(back == from);
        CHECK(record.misuses == 0);
    }
    // The simulation counts what it must: a buffer that is filled while it is being copied.
    std::vector<std::byte> there(10);
    device.upload(0, there);
    device.staging(0);
    CHECK(record.misuses == 1);
}

}  // namespace
}  // namespace dedloc::training
