// The model: its initial loss, its gradients against numeric slopes, and that it learns.
#include "boinc_app/albert/albert.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <utility>

#include "boinc_app/training/task.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/base/error.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/relative_error.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::training::albert {
namespace {

using test::skewed_shard;
using test::tiny_run;
using test::TinyShape;

struct AlbertFixture {
    explicit AlbertFixture(const TinyShape& shape = {}, std::size_t samples = 4)
        : micro_batch(samples),
          run(tiny_run(shape)),
          shards{skewed_shard(run, 1)},
          sampler(run, shards),
          model(run, parameters) {
        set_compute_threads(1);
    }
    MicroBatch batch(std::uint64_t index) const {
        return sampler.draw(step_random(run.seed, PeerKey{}, StepIndex{0}), index * micro_batch,
                            micro_batch);
    }
    FloatVector gradient(const MicroBatch& batch) {
        FloatVector gradient(parameters.size());
        REQUIRE(model.add_gradient(batch, gradient));
        return gradient;
    }
    AlignedFloats start() const {
        const FloatVector values = state::initial_parameters(run);
        return {values.begin(), values.end()};
    }

    const std::size_t micro_batch;
    formats::RunFile run;
    std::vector<formats::Shard> shards;
    Sampler sampler;
    AlignedFloats parameters = start();  ///< the model reads them in place
    Albert model;
};

TEST_CASE("the initial loss is that of guessing uniformly", "[training]") {
    AlbertFixture tiny{{.vocabulary = 1'000, .width = 128, .length = 64}, 32};
    const double loss = tiny.model.loss(tiny.batch(0)) / 32;
    CHECK(loss == Approx(std::log(1'000) + std::log(2)).margin(0.1));
}

/// The elements of one tensor of the run.
std::span<float> tensor_of(std::span<float> vector, const formats::RunFile& run,
                           const std::string& name) {
    const auto offsets = formats::tensor_offsets(run);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        const formats::TensorSpec& tensor = run.tensors[i];
        if (tensor.name == name) return vector.subspan(offsets[i], tensor.count());
    }
    FAIL("no tensor " << name);
    return {};
}

TEST_CASE("the activation is GELU by its tanh formula", "[training]") {
    AlbertFixture tiny;
    const MicroBatch batch = tiny.batch(0);
    // All other parameters are zero, so the input of the prediction head's activation is the bias
    // of its dense layer, the same for each token, and the loss has a closed form.
    const std::span<float> all{tiny.parameters};
    std::ranges::fill(all, 0.0f);
    const auto bias = tensor_of(all, tiny.run, "predictions.dense.bias");
    const auto gain = tensor_of(all, tiny.run, "predictions.LayerNorm.weight");
    const auto words = tensor_of(all, tiny.run, "albert.embeddings.word_embeddings.weight");
    const std::size_t width = bias.size();
    std::vector<double> hidden;
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < width; ++i) {
        // From -3 to 0, where both formulas of GELU differ most for their size.
        bias[i] = -3.0f + 3.0f * static_cast<float>(i) / static_cast<float>(width);
        const double x{bias[i]};
        const double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
        hidden.push_back(0.5 * x * (1 + std::tanh(inner)));
        mean += hidden.back() / static_cast<double>(width);
    }
    for (const double x : hidden) variance += (x - mean) * (x - mean) / static_cast<double>(width);
    // One word has an embedding. It makes small differences of one element large.
    constexpr std::size_t kWord = 7;
    constexpr float kGain = 300;
    double logit = 0;
    for (std::size_t i = 0; i < width; ++i) {
        gain[i] = i == 0 ? kGain : 0.0f;
        words[kWord * width + i] = i == 0 ? 1.0f : 0.0f;
        if (i == 0) logit = kGain * (hidden[i] - mean) / std::sqrt(variance + 1e-12);
    }
    const auto vocabulary = static_cast<double>(formats::albert_of(tiny.run).vocabulary);
    // log(e^logit + V - 1), from the larger of both.
    const double top = std::max(logit, 0.0);
    const double sum = top + std::log(std::exp(logit - top) + (vocabulary - 1) * std::exp(-top));
    double expected = static_cast<double>(batch.samples) * std::log(2.0);
    for (std::size_t i = 0; i < batch.masked_tokens.size(); ++i) {
        const bool is_word = batch.masked_tokens[i] == static_cast<std::int64_t>(kWord);
        expected += static_cast<double>(batch.masked_weights[i]) * (sum - (is_word ? logit : 0));
    }
    CAPTURE(logit);  // 404.15; by the error function it would be 403.77
    CHECK(tiny.model.loss(batch) == Approx(expected).epsilon(1e-4));
}

TEST_CASE("the gradient of every tensor is the slope of the loss", "[training]") {
    AlbertFixture tiny;
    // Larger than the initial parameters, so that attention has an effect.
    Random random{3};
    for (float& x : tiny.parameters) x += static_cast<float>(0.15 * random.near_normal());
    const MicroBatch batch = tiny.batch(0);
    FloatVector gradient = tiny.gradient(batch);
    std::size_t checked = 0;
    for (const formats::TensorSpec& tensor : tiny.run.tensors) {
        const auto slope = tensor_of(gradient, tiny.run, tensor.name);
        const auto values = tensor_of(tiny.parameters, tiny.run, tensor.name);
        const std::vector<float> before(values.begin(), values.end());
        const double steepness = test::norm(slope);
        // Along the gradient's direction the slope of the loss is the gradient's norm.
        const double step = 2e-2 / std::max(1.0, steepness);
        const auto loss_at = [&](double distance) {
            for (std::size_t i = 0; i < slope.size() && steepness > 0; ++i) {
                values[i] = before[i] + static_cast<float>(distance * slope[i] / steepness);
            }
            const double loss = tiny.model.loss(batch);
            std::ranges::copy(before, values.begin());
            return loss;
        };
        const double measured = (loss_at(step) - loss_at(-step)) / (2 * step);
        CAPTURE(tensor.name, measured, steepness);
        CHECK(measured == Approx(steepness).epsilon(0.02).margin(5e-3));
        checked += slope.size();
        std::ranges::fill(slope, 0.0f);
    }
    CHECK(checked == formats::parameter_count(tiny.run));
    // Nothing is between the tensors.
    CHECK(test::norm(gradient) == 0);
}

TEST_CASE("a gradient is added to the caller's sum in place, and parameters are read in place",
          "[training]") {
    AlbertFixture tiny;
    const MicroBatch batch = tiny.batch(0);
    const FloatVector gradient = tiny.gradient(batch);
    const AlignedFloats parameters = tiny.parameters;
    FloatVector sum(gradient.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = 1 + static_cast<float>(i % 7);
    FloatVector expected = sum;
    for (std::size_t i = 0; i < sum.size(); ++i) expected[i] += gradient[i];
    const double loss = tiny.model.loss(batch);
    CHECK(tiny.model.add_gradient(batch, sum) == loss);
    CHECK(sum == expected);
    CHECK(tiny.parameters == parameters);
    // The model has no copy: a change in the caller's memory is the next call's input.
    for (float& x : tiny.parameters) x *= 2;
    CHECK_FALSE(tiny.model.loss(batch) == loss);
    std::ranges::copy(parameters, tiny.parameters.begin());
    CHECK(tiny.gradient(batch) == gradient);
}

TEST_CASE("an interrupted micro-batch leaves the sum as it was, wherever it is interrupted",
          "[training]") {
    AlbertFixture tiny;
    const MicroBatch batch = tiny.batch(0);
    const FloatVector gradient = tiny.gradient(batch);
    int questions = 0;
    const IsInterrupted count = [&] {
        ++questions;
        return false;
    };
    FloatVector sum(gradient.size());
    REQUIRE(tiny.model.add_gradient(batch, sum, count));
    CHECK(sum == gradient);
    const int all = questions;
    // The forward and the backward pass each ask at the embeddings, and in each of two layers at
    // query, key, value, context, attention, the wide part and the output.
    CHECK(all == 2 * (1 + 2 * 7));
    for (int last = 1; last <= all; ++last) {
        questions = 0;
        const IsInterrupted stop = [&] { return ++questions == last; };
        FloatVector untouched(gradient.size(), 3.0f);
        CHECK_FALSE(tiny.model.add_gradient(batch, untouched, stop));
        CHECK(questions == last);
        CHECK(untouched == FloatVector(gradient.size(), 3.0f));
    }
    CHECK(tiny.gradient(batch) == gradient);
}

TEST_CASE("micro-batches of any size give the same sum of gradients, within rounding",
          "[training]") {
    AlbertFixture tiny;
    constexpr std::size_t kSamples = 24;
    const Random step = step_random(tiny.run.seed, PeerKey{}, StepIndex{0});
    const auto sum_by = [&](std::size_t micro_batch) {
        FloatVector sum(tiny.parameters.size());
        double loss = 0;
        for (std::size_t first = 0; first < kSamples; first += micro_batch) {
            loss += *tiny.model.add_gradient(tiny.sampler.draw(step, first, micro_batch), sum);
        }
        return std::pair{sum, loss};
    };
    const auto [whole, loss] = sum_by(kSamples);
    for (const std::size_t micro_batch : {1u, 3u, 8u}) {
        auto [sum, sum_of_losses] = sum_by(micro_batch);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] -= whole[i];
        CAPTURE(micro_batch, test::norm(sum) / test::norm(whole), sum_of_losses / loss - 1);
        // Measured: 2e-7 to 4e-7 of the norm. Padding and the order of additions differ.
        CHECK(test::norm(sum) < 2e-6 * test::norm(whole));
        CHECK(sum_of_losses == Approx(loss).epsilon(1e-6));
    }
}

TEST_CASE("the same micro-batch gives the same bits twice, also from another model object",
          "[training]") {
    AlbertFixture one;
    AlbertFixture other;
    const FloatVector first = one.gradient(one.batch(0));
    one.gradient(one.batch(1));
    CHECK(one.gradient(one.batch(0)) == first);
    CHECK(other.gradient(other.batch(0)) == first);
}

TEST_CASE("the gradient of a micro-batch is the sum of its samples' gradients", "[training]") {
    AlbertFixture tiny;
    const MicroBatch whole = tiny.batch(0);
    const FloatVector expected = tiny.gradient(whole);
    FloatVector sum(expected.size());
    double loss = 0;
    for (std::size_t row = 0; row < whole.samples; ++row) {
        MicroBatch one;
        one.samples = 1;
        one.length = whole.length;
        const auto begin = static_cast<std::ptrdiff_t>(row * whole.length);
        const auto end = begin + static_cast<std::ptrdiff_t>(whole.length);
        one.tokens.assign(whole.tokens.begin() + begin, whole.tokens.begin() + end);
        one.types.assign(whole.types.begin() + begin, whole.types.begin() + end);
        one.row_lengths = {whole.row_lengths[row]};
        one.is_swapped = {whole.is_swapped[row]};
        for (std::size_t i = 0; i < whole.masked_at.size(); ++i) {
            if (whole.masked_at[i] < begin || whole.masked_at[i] >= end) continue;
            one.masked_at.push_back(whole.masked_at[i] - begin);
            one.masked_tokens.push_back(whole.masked_tokens[i]);
            one.masked_weights.push_back(whole.masked_weights[i]);
        }
        loss += *tiny.model.add_gradient(one, sum);
    }
    CHECK(loss == Approx(tiny.model.loss(whole)).epsilon(1e-5));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] -= expected[i];
    CHECK(test::norm(sum) < 1e-5 * test::norm(expected));
}

TEST_CASE("padding does not change a row's loss", "[training]") {
    AlbertFixture tiny;
    MicroBatch batch = tiny.batch(0);
    const double loss = tiny.model.loss(batch);
    bool has_padding = false;
    for (std::size_t row = 0; row < batch.samples; ++row) {
        for (auto at = static_cast<std::size_t>(batch.row_lengths[row]); at < batch.length; ++at) {
            batch.tokens[row * batch.length + at] = 17;
            has_padding = true;
        }
    }
    REQUIRE(has_padding);
    CHECK(tiny.model.loss(batch) == Approx(loss).epsilon(1e-6));
}

TEST_CASE("the loss on unseen samples falls within thirty steps of one peer", "[training]") {
    AlbertFixture tiny{{}, 32};
    tiny.run.optimizer.learning_rate = 0.3;
    const state::OptimizerSettings settings = state::optimizer_settings(tiny.run);
    state::ModelState state{state::tensor_ranges(tiny.run), settings};
    state.initialise(state::initial_parameters(tiny.run));
    const MicroBatch unseen = tiny.batch(1'000);
    const double before = tiny.model.loss(unseen) / 32;
    for (std::uint64_t step = 0; step < 30; ++step) {
        FloatVector average = tiny.gradient(tiny.batch(step));
        for (float& x : average) x /= 32;
        state.apply(average, state::update_scalars(settings, StepIndex{step}));
        std::ranges::copy(state.parameters(), tiny.parameters.begin());
    }
    const double after = tiny.model.loss(unseen) / 32;
    CAPTURE(before, after);
    CHECK(after < before - 0.3);
}

TEST_CASE("a run file with other tensors than the model's is refused by name", "[training]") {
    const auto build = [](const formats::RunFile& run) {
        const AlignedFloats parameters(formats::element_count(run));
        const Albert model{run, parameters};
    };
    formats::RunFile run = tiny_run();
    run.tensors[4].shape = {31};
    CHECK_THROWS_WITH(build(run), Catch::Contains("albert.embeddings.LayerNorm.bias") &&
                                      Catch::Contains("[31]") && Catch::Contains("[32]"));
    run = tiny_run();
    std::swap(run.tensors[5], run.tensors[6]);
    CHECK_THROWS_AS(build(run), InputError);
    run.tensors.pop_back();
    CHECK_THROWS_WITH(build(run), Catch::Contains("lists 31 tensors"));
}

}  // namespace
}  // namespace dedloc::training::albert
