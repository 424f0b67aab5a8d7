#include "boinc_app/module/module_evaluator.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "boinc_app/module/script_task.hpp"
#include "boinc_app/training/evaluation.hpp"
#include "tests/boinc_app/module/fixtures.hpp"

namespace dedloc::training::module {
namespace {

std::unique_ptr<const SampleSource> fixture_rows(const std::string& shard) {
    return std::make_unique<TensorRows>(std::vector{test::shard_fixture(shard)});
}

/// The run of a module: without a model of its own, bounds_of() has nothing to say.
formats::RunFile module_run(const test::BoundModule& bound) {
    formats::RunFile run = bound.run;
    run.seed = 5;
    run.model = formats::ModuleSpec{.name = "net.pt",
                                    .digest = {},
                                    .bytes = 1,
                                    .vocabulary = 0,
                                    .inputs = {},
                                    .flops = 1,
                                    .sample_bytes = 10'000'000};
    return run;
}

TEST_CASE("the held-out loss is the mean of the samples' losses, whatever the micro-batch",
          "[module]") {
    set_compute_threads(1);
    test::BoundModule bound{"convnet.pt"};
    const formats::RunFile run = module_run(bound);
    const auto rows = fixture_rows("convnet.shard");
    const auto losses =
        bound.loaded.losses(rows->draw(evaluation_random(run.seed), 0, 10), {}).value();
    const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / 10;
    double squares = 0;
    for (const float loss : losses) squares += (loss - mean) * (loss - mean);
    for (const std::uint64_t micro_batch : {1, 3, 10, 64}) {
        ModuleEvaluator evaluator{run, bound.file, fixture_rows("convnet.shard"), 10, micro_batch};
        const auto figures = evaluator.evaluate(bound.parameters, {});
        REQUIRE(figures);
        CHECK(figures->samples == 10);
        CHECK(figures->figures.empty());
        CHECK(figures->loss.value == Approx(mean).epsilon(1e-6));
        CHECK(figures->loss.error == Approx(std::sqrt(squares / 9 / 10)).epsilon(1e-5));
    }
}

TEST_CASE("an evaluation follows the parameters, and ends when it is interrupted", "[module]") {
    set_compute_threads(1);
    test::BoundModule bound{"gpt.pt"};
    const formats::RunFile run = module_run(bound);
    ModuleEvaluator evaluator{run, bound.file, fixture_rows("gpt.shard"), 4, 4};
    const double before = evaluator.evaluate(bound.parameters, {})->loss.value;
    for (float& x : bound.parameters) x *= 1.5f;
    CHECK(evaluator.evaluate(bound.parameters, {})->loss.value != before);
    CHECK_FALSE(evaluator.evaluate(bound.parameters, [] { return true; }));
    CHECK_THROWS_WITH((ModuleEvaluator{run, bound.file, fixture_rows("convnet.shard"), 4, 4}),
                      "the module's forward takes 1 tensors, but the samples have 2");
}

}  // namespace
}  // namespace dedloc::training::module
