// The two example modules compute what PyTorch in Python computes.
#include "boinc_app/module/script_module.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "boinc_app/module/script_task.hpp"
#include "boinc_app/training/host_replica.hpp"
#include "boinc_app/training/local_trainer.hpp"
#include "kernels/thread_workers.hpp"
#include "tests/boinc_app/module/fixtures.hpp"

namespace dedloc::training::module {
namespace {

/// A finished run file for a module's tensors.
formats::RunFile run_of(const test::BoundModule& bound) {
    formats::RunFile run = bound.run;
    run.name = "module";
    run.seed = 42;
    run.target_batch = 8;
    run.steps = 100;
    run.optimizer.learning_rate = 0.05;
    run.optimizer.warmup_steps = 2;
    return run;
}

std::unique_ptr<const SampleSource> rows_of(const std::string& shard) {
    return std::make_unique<TensorRows>(std::vector{test::shard_fixture(shard)});
}

/// The number of a pass's operators, and false for each.
struct Counted {
    IsInterrupted is_interrupted = [this] { return count++ == limit; };
    std::uint64_t count = 0;
    std::uint64_t limit = ~std::uint64_t{0};
};

TEST_CASE("a module's losses and gradients are those of Python", "[module]") {
    set_compute_threads(1);
    for (const std::string name : {"gpt", "convnet"}) {
        INFO(name);
        test::BoundModule bound{name + ".pt"};
        const auto inputs = test::inputs_of(test::shard_fixture(name + ".shard"));
        const std::vector<float> expected = test::floats_fixture(name + ".expected");
        const auto loss = bound.loaded.add_gradient(inputs, bound.sum, {});
        const auto losses = bound.loaded.losses(inputs, {});
        REQUIRE(losses);
        double loss_sum = 0;
        for (std::size_t i = 0; i < losses->size(); ++i) {
            CHECK(losses->at(i) == Approx(expected.at(i)).epsilon(1e-6));
            loss_sum += double{expected.at(i)};
        }
        CHECK(loss.value() == Approx(loss_sum).epsilon(1e-6));
        std::size_t at = losses->size();
        double worst = 0;
        for (std::size_t i = 0; i < bound.offsets.size(); ++i) {
            for (std::uint64_t j = 0; j < bound.run.tensors[i].count(); ++j, ++at) {
                const double given = bound.sum.at(bound.offsets[i] + j);
                worst = std::max(worst, std::abs(given - double{expected.at(at)}));
            }
        }
        CHECK(at == expected.size());
        CHECK(worst < 1e-5);
    }
}

TEST_CASE("the same pass gives the same bits, also after others", "[module]") {
    set_compute_threads(1);
    for (const std::string name : {"gpt", "convnet"}) {
        test::BoundModule first{name + ".pt"}, second{name + ".pt"};
        const auto inputs = test::inputs_of(test::shard_fixture(name + ".shard"));
        for (int pass = 0; pass < 4; ++pass) {
            std::vector<float> sum(first.sum.size());
            const auto loss = first.loaded.add_gradient(inputs, sum, {});
            second.sum.assign(sum.size(), 0.0f);
            CHECK(second.loaded.add_gradient(inputs, second.sum, {}) == loss);
            CHECK(second.sum == sum);
        }
    }
}

TEST_CASE("a pass ends at whichever operator it is interrupted, and adds nothing", "[module]") {
    set_compute_threads(1);
    test::BoundModule bound{"gpt.pt"};
    const auto inputs = test::inputs_of(test::shard_fixture("gpt.shard"));
    Counted all;
    REQUIRE(bound.loaded.add_gradient(inputs, bound.sum, all.is_interrupted));
    CHECK(all.count > 200);  // those of both passes
    const std::vector<float> before = bound.sum;
    for (std::uint64_t limit = 0; limit < all.count; limit += 7) {
        Counted some;
        some.limit = limit;
        CHECK_FALSE(bound.loaded.add_gradient(inputs, bound.sum, some.is_interrupted));
        CHECK(some.count == limit + 1);
    }
    CHECK(bound.sum == before);
    std::vector<float> again(before.size());
    REQUIRE(bound.loaded.add_gradient(inputs, again, {}));
    CHECK(again == before);
}

TEST_CASE("training a module lowers its loss, and twice gives the same state", "[module]") {
    set_compute_threads(1);
    for (const std::string name : {"gpt", "convnet"}) {
        const test::BoundModule bound{name + ".pt"};
        const formats::RunFile run = run_of(bound);
        const kernels::ThreadWorkers workers{1};
        std::vector<Digest> digests;
        for (int time = 0; time < 2; ++time) {
            const ScriptTask task{run, bound.file, rows_of(name + ".shard"), {}};
            HostReplica replica{run, task, workers};
            LocalTrainer trainer{run, workers, replica, 4};
            const Share share{.peer = {}, .samples = Samples{run.target_batch}};
            const auto first = trainer.step({&share, 1});
            for (int step = 0; step < 40; ++step) trainer.step({&share, 1});
            const auto last = trainer.step({&share, 1});
            CHECK(last->loss_sum < 0.95 * first->loss_sum);
            digests.push_back(replica.digest());
        }
        CHECK(digests[0] == digests[1]);
    }
}

TEST_CASE("a saved module has the parameters that it was bound to", "[module]") {
    test::BoundModule bound{"gpt.pt"};
    for (std::size_t i = 0; i < bound.offsets.size(); ++i) {
        for (std::uint64_t j = 0; j < bound.run.tensors[i].count(); ++j) {
            bound.parameters[bound.offsets[i] + j] += 0.01f * static_cast<float>(j % 3);
        }
    }
    const auto path = std::filesystem::temp_directory_path() / "dedloc_saved_module.pt";
    bound.loaded.save(path);
    std::ifstream file{path, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    std::filesystem::remove(path);
    const auto bytes = bytes_of(text);
    ScriptModule again{bytes, {}};
    CHECK(again.parameters() == bound.loaded.parameters());
    AlignedFloats parameters(bound.parameters.size());
    again.copy_parameters(bound.offsets, parameters);
    CHECK(parameters == bound.parameters);
}

TEST_CASE("a task wants the module's tensors in the run file and its inputs in the shards",
          "[module]") {
    const test::BoundModule bound{"gpt.pt"};
    formats::RunFile run = run_of(bound);
    const auto open = [&](const std::string& shard) {
        return ScriptTask{run, bound.file, rows_of(shard), {}};
    };
    CHECK_NOTHROW(open("gpt.shard"));
    CHECK_THROWS_WITH(open("convnet.shard"),
                      "the module's forward takes 1 tensors, but the samples have 2");
    run.tensors[1].shape = {60, 9};
    CHECK_THROWS_WITH(open("gpt.shard"),
                      "tensor 1 of the run file is 'words.weight' [60,9], but the module has "
                      "'words.weight' [60,8] there");
    run.tensors.pop_back();
    CHECK_THROWS_WITH(open("gpt.shard"), Catch::Matchers::Contains("but the module has 28"));
}

}  // namespace
}  // namespace dedloc::training::module
