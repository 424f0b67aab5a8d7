// The estimate of a micro-batch's activations, by which its size is chosen, compared with what
// libtorch allocates while it computes a gradient.
#include <algorithm>
#include <catch2/catch.hpp>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/training/footprint.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/counting_allocator.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::training::albert {
namespace {

using test::CountingAllocator;

/// The most bytes of tensors while the gradient of so many samples of full length is computed.
std::size_t largest_bytes(const formats::RunFile& run, std::size_t samples) {
    const std::vector<formats::Shard> shards{
        test::skewed_shard(run, 1, 2 * run.sequence_length / 5)};
    const Sampler sampler{run, shards};
    const FloatVector values = state::initial_parameters(run);
    AlignedFloats parameters(values.size());
    std::ranges::copy(values, parameters.begin());
    Albert model{run, parameters};
    FloatVector sum(values.size());
    const Random random = step_random(run.seed, PeerKey{}, StepIndex{0});
    const MicroBatch batch = sampler.draw(random, 0, samples);
    REQUIRE(batch.length == run.sequence_length);
    CountingAllocator::take_largest();
    REQUIRE(model.add_gradient(batch, sum));
    return CountingAllocator::take_largest();
}

TEST_CASE("a sample's activations take about as many bytes as estimated", "[training]") {
    const CountingAllocator allocator;
    set_compute_threads(1);
    const formats::RunFile tiny = test::tiny_run({.vocabulary = 1'000, .width = 128, .length = 64});
    const formats::RunFile many_words =
        test::tiny_run({.vocabulary = 30'000, .width = 128, .length = 128});
    formats::RunFile long_text = test::tiny_run({.vocabulary = 8'000,
                                                 .width = 256,
                                                 .layers = 6,
                                                 .length = 256,
                                                 .embedding = 128,
                                                 .heads = 4});
    const auto check = [](const formats::RunFile& run, std::size_t few) {
        const auto measured =
            static_cast<double>(largest_bytes(run, 2 * few) - largest_bytes(run, few)) /
            static_cast<double>(few);
        const auto estimated = static_cast<double>(activation_bytes(run));
        CAPTURE(formats::albert_of(run).hidden, run.sequence_length, measured, estimated);
        // malloc keeps more than the tensors that it holds.
        CHECK(estimated == Approx(1.25 * measured).epsilon(0.1));
    };
    check(tiny, 8);
    check(many_words, 32);
    check(long_text, 2);
    formats::albert_of(long_text).hidden_dropout = 0.1;
    formats::albert_of(long_text).attention_dropout = 0.1;
    check(long_text, 2);
}

}  // namespace
}  // namespace dedloc::training::albert
