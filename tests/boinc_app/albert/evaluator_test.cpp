// Figures on held-out text: known values, a slow count, and that they follow from the state alone.
#include "boinc_app/albert/evaluator.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/training/host_replica.hpp"
#include "boinc_app/training/local_trainer.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/figure_of.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::training::albert {
namespace {

using test::skewed_shard;
using test::tiny_run;

constexpr std::uint64_t kSamples = 200;

/// The only thing that is counted.
std::uint64_t masked_tokens(const Evaluation& evaluation) {
    REQUIRE(evaluation.counts.size() == 1);
    CHECK(evaluation.counts.front().name == "masked_tokens");
    return evaluation.counts.front().value;
}

/// A run with one held-out shard.
struct EvaluatorFixture {
    explicit EvaluatorFixture(const test::TinyShape& shape = {}) : run(tiny_run(shape)) {
        set_compute_threads(1);
    }
    AlignedFloats initial() const {
        const FloatVector values = state::initial_parameters(run);
        return {values.begin(), values.end()};
    }
    Evaluation evaluate(std::span<const float> parameters, std::size_t micro_batch = 16,
                        std::uint64_t samples = kSamples) const {
        const auto figures = Evaluator{run, held_out, samples, micro_batch}.evaluate(parameters);
        REQUIRE(figures);
        return *figures;
    }
    /// The elements of one tensor.
    std::span<float> tensor(AlignedFloats& parameters, const std::string& name) const {
        const auto offsets = formats::tensor_offsets(run);
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            if (run.tensors[i].name != name) continue;
            return std::span{parameters}.subspan(offsets[i], run.tensors[i].count());
        }
        FAIL("no tensor " << name);
        return {};
    }

    const formats::RunFile run;
    const std::vector<formats::Shard> held_out{skewed_shard(run, 2)};
};

TEST_CASE("an untrained model guesses", "[training]") {
    const EvaluatorFixture world{{.vocabulary = 1'000, .width = 128, .length = 64}};
    const AlignedFloats parameters = world.initial();
    const Evaluation figures = world.evaluate(parameters);
    CHECK(figures.samples == kSamples);
    CHECK(masked_tokens(figures) > 2 * kSamples);
    CHECK(figure_of(figures, "masked_loss").value == Approx(std::log(1'000)).margin(0.1));
    CHECK(figure_of(figures, "order_loss").value == Approx(std::log(2)).margin(0.05));
    CHECK(figures.loss.value ==
          Approx(figure_of(figures, "masked_loss").value + figure_of(figures, "order_loss").value)
              .epsilon(1e-12));
    CHECK(figure_of(figures, "masked_accuracy").value < 0.05);
    CHECK(figure_of(figures, "order_accuracy").value ==
          Approx(0.5).margin(4 * figure_of(figures, "order_accuracy").error));
    CHECK(figure_of(figures, "order_accuracy").error ==
          Approx(0.5 / std::sqrt(kSamples)).epsilon(0.2));
}

TEST_CASE("all-zero parameters predict every token alike, and biases decide what is right",
          "[training]") {
    const EvaluatorFixture world;
    AlignedFloats parameters(formats::element_count(world.run), 0.0f);
    constexpr std::size_t kWord = 6;
    const float bias = std::log(3.0f);
    world.tensor(parameters, "predictions.bias")[kWord] = bias;
    world.tensor(parameters, "sop_classifier.classifier.bias")[1] = bias;
    const Evaluation figures = world.evaluate(parameters);

    // The probabilities: 3 of V + 2 for the word, 1 for the others; 3 of 4 for a swapped order.
    const double sum = static_cast<double>(formats::albert_of(world.run).vocabulary) + 2;
    double masked_loss = 0, order_loss = 0;
    std::uint64_t masked = 0, hits = 0, order_hits = 0;
    const Sampler sampler{world.run, world.held_out};
    const Random random = evaluation_random(world.run.seed);
    for (std::uint64_t index = 0; index < kSamples; ++index) {
        const MicroBatch sample = sampler.draw(random, index, 1);
        double loss = 0;
        for (const std::int64_t token : sample.masked_tokens) {
            const bool is_word = token == static_cast<std::int64_t>(kWord);
            loss += std::log(sum) - (is_word ? std::log(3.0) : 0.0);
            hits += is_word ? 1 : 0;
        }
        masked += sample.masked_tokens.size();
        masked_loss += loss / static_cast<double>(sample.masked_tokens.size());
        order_hits += static_cast<std::uint64_t>(sample.is_swapped[0]);
        order_loss += std::log(4.0) - (sample.is_swapped[0] == 1 ? std::log(3.0) : 0.0);
    }
    REQUIRE(hits > 10);
    CHECK(masked_tokens(figures) == masked);
    CHECK(figure_of(figures, "masked_accuracy").value ==
          static_cast<double>(hits) / static_cast<double>(masked));
    CHECK(figure_of(figures, "order_accuracy").value == static_cast<double>(order_hits) / kSamples);
    CHECK(figure_of(figures, "masked_loss").value == Approx(masked_loss / kSamples).epsilon(1e-6));
    CHECK(figure_of(figures, "order_loss").value == Approx(order_loss / kSamples).epsilon(1e-6));
}

TEST_CASE("losses are the terms of the training loss, and hits are the highest logits",
          "[training]") {
    const EvaluatorFixture world;
    const AlignedFloats parameters = world.initial();
    Albert model{world.run, parameters};
    const Sampler sampler{world.run, world.held_out};
    const Random random = evaluation_random(world.run.seed);
    const MicroBatch batch = sampler.draw(random, 0, 12);
    const auto figures = model.figures(batch);
    REQUIRE(figures);
    REQUIRE(figures->size() == 12);
    double sum = 0;
    for (const SampleFigures& sample : *figures) sum += sample.masked_loss + sample.order_loss;
    CHECK(sum == Approx(model.loss(batch)).epsilon(1e-5));

    // A slow count for a few masked tokens of one sample: no other label has a lower loss.
    MicroBatch single = sampler.draw(random, 3, 1);
    const auto count = model.figures(single)->front();
    REQUIRE(count.masked == single.masked_tokens.size());
    std::uint64_t hits = 0;
    const auto labels = single.masked_tokens;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        std::int64_t best = 0;
        double lowest = INFINITY;
        for (std::int64_t token = 0; token < 60; ++token) {
            single.masked_tokens = labels;
            single.masked_tokens[i] = token;
            const double loss = model.loss(single);
            if (loss < lowest) best = token;
            lowest = std::min(lowest, loss);
        }
        hits += best == labels[i] ? 1 : 0;
    }
    CHECK(count.masked_hits == hits);
}

TEST_CASE("a model that has learnt the frequencies of words is better on text that it has not seen",
          "[training]") {
    const EvaluatorFixture world;
    const std::vector<formats::Shard> shards{skewed_shard(world.run, 1)};
    const kernels::ThisThread workers;
    const AlbertTask task{world.run, shards};
    HostReplica replica{world.run, task, workers};
    LocalTrainer trainer{world.run, workers, replica, 12};
    const std::vector<Share> share{{PeerKey{}, Samples{12}}};
    const auto parameters = [&] {
        const Buffer bytes = replica.copy().bytes;
        AlignedFloats values(replica.element_count());
        std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
        return values;
    };
    const Evaluation before = world.evaluate(parameters());
    while (replica.step() < StepIndex{60}) REQUIRE(trainer.step(share));
    const Evaluation after = world.evaluate(parameters());
    CHECK(figure_of(after, "masked_loss").value <
          figure_of(before, "masked_loss").value - 5 * figure_of(before, "masked_loss").error);
    CHECK(figure_of(after, "masked_accuracy").value >
          figure_of(before, "masked_accuracy").value +
              2 * figure_of(after, "masked_accuracy").error);
    CHECK(before.samples == after.samples);
    CHECK(masked_tokens(before) == masked_tokens(after));
}

TEST_CASE("figures are equal bit for bit, and for every micro-batch within rounding",
          "[training]") {
    const EvaluatorFixture world;
    const AlignedFloats parameters = world.initial();
    const Evaluation once = world.evaluate(parameters, 16);
    CHECK(world.evaluate(parameters, 16) == once);
    const AlignedFloats copy = parameters;
    CHECK(world.evaluate(copy, 16) == once);
    for (const std::size_t micro_batch : {1, 7, 64, 1'000}) {
        CAPTURE(micro_batch);
        const Evaluation other = world.evaluate(parameters, micro_batch);
        CHECK(other.loss.value == Approx(once.loss.value).epsilon(1e-6));
        CHECK(other.loss.error == Approx(once.loss.error).epsilon(1e-4));
        CHECK(masked_tokens(other) == masked_tokens(once));
        CHECK(other.samples == once.samples);
    }
    // Rates of dropout change nothing.
    formats::RunFile dropping = world.run;
    formats::albert_of(dropping).hidden_dropout = formats::albert_of(dropping).classifier_dropout =
        0.5;
    CHECK(Evaluator{dropping, world.held_out, kSamples, 16}.evaluate(parameters) == once);
}

TEST_CASE("the standard error says how far other samples lead", "[training]") {
    const EvaluatorFixture world;
    const AlignedFloats parameters = world.initial();
    const Evaluation few = world.evaluate(parameters, 16, 100);
    const Evaluation many = world.evaluate(parameters, 16, 1'600);
    CHECK(many.loss.error == Approx(few.loss.error / 4).epsilon(0.3));
    CHECK(std::abs(many.loss.value - few.loss.value) < 4 * few.loss.error);
    CHECK(world.evaluate(parameters, 16, 1).loss.error == 0);
    std::vector<SampleFigures> figures(4);
    for (std::size_t i = 0; i < 4; ++i) {
        figures[i] = {.masked_loss = static_cast<double>(i),
                      .order_loss = 1,
                      .masked = i + 1,
                      .masked_hits = i,
                      .is_order_hit = i > 0};
    }
    const Evaluation all = summarise(figures);
    CHECK(figure_of(all, "masked_loss").value == 1.5);
    CHECK(figure_of(all, "masked_loss").error == Approx(std::sqrt(5.0 / 3 / 4)));
    CHECK(figure_of(all, "order_loss").error == 0);
    CHECK(figure_of(all, "masked_accuracy").value == 0.6);
    CHECK(figure_of(all, "order_accuracy").value == 0.75);
    CHECK(figure_of(all, "order_accuracy").error == Approx(std::sqrt(0.75 * 0.25 / 3)));
    CHECK(masked_tokens(all) == 10);
}

TEST_CASE("figures are those of the task, in its order, and only finite ones are handed on",
          "[training]") {
    std::vector<SampleFigures> samples(4);
    for (SampleFigures& sample : samples) {
        sample = {.masked_loss = 6, .order_loss = 0.5, .masked = 4, .masked_hits = 1};
    }
    samples[0].is_order_hit = true;
    Evaluation evaluation = summarise(samples);
    std::vector<std::string> names;
    for (const Figure& figure : evaluation.figures) names.push_back(figure.name);
    std::vector<std::string> kinds;
    for (const auto& kind : formats::figures_of("albert")) kinds.emplace_back(kind.name);
    CHECK(names == kinds);
    CHECK(figures_line(evaluation, "albert") ==
          "held-out loss 6.5000 ± 0.0000; loss of masked tokens 6.0000, loss of sentence orders "
          "0.5000, masked tokens right 25.00 %, sentence orders right 25.00 %");
    CHECK(figures_line(evaluation, "module") == "held-out loss 6.5000 ± 0.0000");
    evaluation.figures[0].estimate.value = INFINITY;
    evaluation.figures[1].estimate.error = NAN;
    const auto measured = measured_figures(evaluation);
    REQUIRE(measured.size() == 3);
    CHECK(measured[0] == formats::MeasuredFigure{.name = "order_loss", .value = 0.5});
    CHECK(measured[1] ==
          formats::MeasuredFigure{.name = "masked_accuracy", .value = 0.25, .error = 0.0});
}

TEST_CASE("an evaluation ends between two matrix products when it is interrupted", "[training]") {
    const EvaluatorFixture world;
    const AlignedFloats parameters = world.initial();
    const Evaluator evaluator{world.run, world.held_out, kSamples, 16};
    int questions = 0;
    CHECK_FALSE(evaluator.evaluate(parameters, [&] { return ++questions > 40; }));
    CHECK(questions == 41);
    CHECK(evaluator.evaluate(parameters, [] { return false; }) == world.evaluate(parameters));
}

}  // namespace
}  // namespace dedloc::training::albert
