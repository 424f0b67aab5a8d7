// The replica on the processor does what ModelState and the model do, with the same bits.
#include "boinc_app/training/replica.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/training/host_replica.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/tiny_world.hpp"
#include "tests/copy_of.hpp"

namespace dedloc::training {
namespace {

struct ReplicaFixture {
    ReplicaFixture() {
        set_compute_threads(1);
        replica.attach();
        replica.initialise(state::initial_parameters(run));
        state.initialise(state::initial_parameters(run));
    }
    SampleRange batch(std::uint64_t first) const {
        return {.peer = {}, .step = StepIndex{0}, .first = first, .count = 4};
    }
    UpdateScalars scalars() const {
        return state::update_scalars(state::optimizer_settings(run), state.step());
    }

    const formats::RunFile run = test::tiny_run();
    const std::vector<formats::Shard> shards{test::skewed_shard(run, 1)};
    const albert::AlbertTask task{run, shards};
    const kernels::ThreadWorkers workers{2};
    HostReplica replica{run, task, workers};
    state::ModelState state{state::tensor_ranges(run), state::optimizer_settings(run)};
};

TEST_CASE("a replica sums gradients and updates its state as its model and ModelState do",
          "[training]") {
    ReplicaFixture tiny;
    const auto model = tiny.task.make_model(tiny.state.parameters(), {});
    FloatVector sum(tiny.state.element_count());
    for (const std::uint64_t first : {0u, 4u}) {
        const auto loss = tiny.replica.add_gradient(tiny.batch(first), {});
        CHECK(loss == model->add_gradient(tiny.batch(first), sum, {}));
    }
    const GradientSum taken = tiny.replica.take_sum();
    CHECK(taken.values == sum);
    CHECK(taken.is_finite);
    CHECK(tiny.replica.take_sum().values == FloatVector(sum.size()));
    const auto report = tiny.replica.apply(sum, tiny.scalars());
    const auto expected = tiny.state.apply(sum, tiny.scalars());
    CHECK(report.gradient_norm == expected.gradient_norm);
    CHECK(tiny.replica.step() == StepIndex{1});
    CHECK(tiny.replica.digest() == tiny.state.digest());
    const StateCopy copy = tiny.replica.copy();
    CHECK(std::ranges::equal(copy.bytes, tiny.state.bytes()));
    CHECK(copy.leaves == tiny.state.leaf_digests());
    const SharedState shared = tiny.replica.share();
    CHECK(shared.leaves == copy.leaves);
    tiny.replica.apply(sum, tiny.scalars());
    CHECK(*copy_of(*shared.bytes) == copy.bytes);
}

TEST_CASE("a sum outlives an update, and ends when it is dropped or the memory is released",
          "[training]") {
    ReplicaFixture tiny;
    const FloatVector zeros(tiny.state.element_count());
    const auto sum_after = [&](auto&& act) {
        REQUIRE(tiny.replica.add_gradient(tiny.batch(0), {}));
        act();
        return tiny.replica.take_sum().values;
    };
    const FloatVector average(zeros.size(), 1e-3f);
    CHECK(sum_after([&] { tiny.replica.apply(average, tiny.scalars()); }) != zeros);
    CHECK(sum_after([&] { tiny.replica.drop_sum(); }) == zeros);
    const Digest digest = tiny.replica.digest();
    CHECK(sum_after([&] { tiny.replica.release(); }) == zeros);
    CHECK(tiny.replica.digest() == digest);
    REQUIRE(tiny.replica.add_gradient(tiny.batch(0), {}));
}

TEST_CASE("a sum that is not finite says so, and a wrong state is refused", "[training]") {
    ReplicaFixture tiny;
    FloatVector parameters = state::initial_parameters(tiny.run);
    parameters[3] = std::numeric_limits<float>::quiet_NaN();
    tiny.replica.initialise(parameters);
    REQUIRE(tiny.replica.add_gradient(tiny.batch(0), {}));
    CHECK_FALSE(tiny.replica.take_sum().is_finite);
    CHECK_FALSE(tiny.replica.load(StepIndex{1}, tiny.state.bytes(), tiny.state.digest()));
    CHECK_FALSE(tiny.replica.load(StepIndex{0}, tiny.state.bytes().first(8), tiny.state.digest()));
    REQUIRE(tiny.replica.load(StepIndex{0}, tiny.state.bytes(), tiny.state.digest()));
    CHECK(tiny.replica.digest() == tiny.state.digest());
}

}  // namespace
}  // namespace dedloc::training
