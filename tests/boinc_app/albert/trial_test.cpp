// The choice of a processor's precision.
#include "boinc_app/albert/trial.hpp"

#include <catch2/catch.hpp>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/training/host_layers.hpp"
#include "boinc_app/training/host_replica.hpp"
#include "peer/base/error.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/relative_error.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::training::albert {
namespace {

TEST_CASE("a processor computes in the precision that is asked for, else in a measured one",
          "[training]") {
    set_compute_threads(1);
    const formats::RunFile run = test::tiny_run({.vocabulary = 200, .width = 64});
    const AlbertTask task{run, {test::skewed_shard(run, 1)}};
    const kernels::ThisThread workers;
    HostLayers layers{workers};
    const ProcessorWay exact = task.on_processor(Precision::kFp32, layers);
    CHECK(exact.computation.precision == Precision::kFp32);
    CHECK(exact.computation.layers == nullptr);
    CHECK(exact.reason.empty());
    const ProcessorWay rounded = task.on_processor(Precision::kBf16, layers);
    CHECK(rounded.computation.precision == Precision::kBf16);
    CHECK(rounded.computation.layers == &layers);
    CHECK_THROWS_AS(task.on_processor(Precision::kFp16, layers), InputError);
    const ProcessorWay measured = task.on_processor(std::nullopt, layers);
    CHECK_THAT(measured.reason, Catch::StartsWith("2 layers take "));
    CHECK_THAT(measured.reason, Catch::Contains(" ms in bf16, ") && Catch::EndsWith(" in fp32"));
    CHECK_FALSE(measured.computation.cuda);

    // Replicas that compute so: bf16 is near fp32 and not the same.
    const auto gradient = [&](const ProcessorWay& way) {
        HostReplica replica{run, task, workers, way.computation};
        replica.initialise(state::initial_parameters(run));
        REQUIRE(replica.add_gradient({.peer = {}, .step = StepIndex{0}, .count = 8}, {}));
        return replica.take_sum().values;
    };
    const double error = test::relative_error(gradient(rounded), gradient(exact));
    CHECK(error > 1e-5);
    CHECK(error < 3e-2);
    CHECK(gradient(rounded) == gradient(rounded));
}

class OtherTask final : public Task {
  public:
    std::unique_ptr<Model> make_model(std::span<const float>, const Computation&) const override {
        return nullptr;
    }
};

TEST_CASE("other networks have fp32 on processors", "[training]") {
    const kernels::ThisThread workers;
    HostLayers layers{workers};
    const OtherTask task;
    for (const auto wanted : {std::optional<Precision>{}, std::optional{Precision::kFp32}}) {
        CHECK(task.on_processor(wanted, layers).computation.precision == Precision::kFp32);
    }
    CHECK_THROWS_WITH(task.on_processor(Precision::kBf16, layers),
                      "--precision: this run's network computes only in fp32 on processors");
}

}  // namespace
}  // namespace dedloc::training::albert
