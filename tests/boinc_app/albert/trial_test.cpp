// The choice of a processor's precision, threads and micro-batches.
#include "boinc_app/albert/trial.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/training/footprint.hpp"
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
    const ProcessorWay exact = task.on_processor({.precision = Precision::kFp32}, layers);
    CHECK(exact.computation.precision == Precision::kFp32);
    CHECK(exact.computation.layers == nullptr);
    CHECK(exact.reason.empty());
    CHECK(exact.micro_batch == 0);
    const ProcessorWay rounded = task.on_processor({.precision = Precision::kBf16}, layers);
    CHECK(rounded.computation.precision == Precision::kBf16);
    CHECK(rounded.computation.layers == &layers);
    CHECK(rounded.micro_batch == 0);
    CHECK_THROWS_AS(task.on_processor({.precision = Precision::kFp16}, layers), InputError);
    const ProcessorWay measured = task.on_processor({.memory_bytes = 1ULL << 30}, layers);
    CHECK_THAT(measured.reason, Catch::StartsWith("2 layers take "));
    CHECK_THAT(measured.reason, Catch::Contains(" ms in bf16, ") &&
                                    Catch::Contains(" in fp32; about ") &&
                                    Catch::Contains(" samples/s in micro-batches of "));
    CHECK(measured.threads == 1);
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

TEST_CASE("a trial chooses micro-batches that memory and run allow", "[training]") {
    set_compute_threads(1);
    formats::RunFile run = test::tiny_run({.vocabulary = 200, .width = 64});
    run.target_batch = 1'000;
    const AlbertTask task{run, {test::skewed_shard(run, 1)}};
    const kernels::ThisThread workers;
    HostLayers layers{workers};
    const auto micro_batch = [&](std::uint64_t memory, double flops) {
        run.flops_per_sample = flops;  // the assumed size is 5e9 of them
        const ProcessorWay way = task.on_processor({.memory_bytes = memory}, layers);
        const std::uint64_t needed = way.micro_batch * activation_bytes(run, way.computation);
        CHECK((way.micro_batch == 1 || 4 * needed <= memory));
        return way.micro_batch;
    };
    CHECK(micro_batch(0, 5e9) == 1);
    CHECK(micro_batch(4 * 3 * activation_bytes(run), 5e9) <= 8);
    const std::uint64_t chosen = micro_batch(1ULL << 34, 5e9);
    CHECK(std::has_single_bit(chosen));
    CHECK(chosen <= 64);
    // The largest that is assumed is not exceeded, nor a quarter of the target batch.
    CHECK(micro_batch(1ULL << 34, 1e6) == 64);
    run.target_batch = 4;
    CHECK(micro_batch(1ULL << 34, 5e9) == 1);
    run.target_batch = 8;
    CHECK(micro_batch(1ULL << 34, 5e9) <= 2);
}

TEST_CASE("a trial takes the threads of cores, or all", "[training]") {
    const formats::RunFile run = test::tiny_run({.vocabulary = 200, .width = 64});
    const AlbertTask task{run, {test::skewed_shard(run, 1)}};
    const kernels::ThisThread workers;
    HostLayers layers{workers};
    const ProcessorOffer offer{.threads = 2, .cores = 1, .memory_bytes = 1ULL << 30};
    const ProcessorWay way = task.on_processor(offer, layers);
    CHECK((way.threads == 1 || way.threads == 2));
    CHECK_THAT(way.reason,
               Catch::Contains(" with 1 threads and ") && Catch::Contains(" with 2; about "));
    set_compute_threads(1);
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
        const ProcessorWay way = task.on_processor({.precision = wanted}, layers);
        CHECK(way.computation.precision == Precision::kFp32);
        CHECK(way.threads == 0);
    }
    CHECK_THROWS_WITH(task.on_processor({.precision = Precision::kBf16}, layers),
                      "--precision: this run's network computes only in fp32 on processors");
}

}  // namespace
}  // namespace dedloc::training::albert
