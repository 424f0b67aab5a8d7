// The network and its loss: sums that add up, interruption, the queue, frozen prototypes, batch
// norms' statistics, and that it learns.
#include "boinc_app/swav/swav.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "boinc_app/training/task.hpp"
#include "peer/base/error.hpp"
#include "tests/boinc_app/relative_error.hpp"
#include "tests/boinc_app/swav/tiny_swav.hpp"

namespace dedloc::swav {
namespace {

using test::PlayedCrops;

struct SwavFixture {
    explicit SwavFixture(formats::SwavSpec spec = test::tiny_task())
        : task(std::move(spec)), run(test::swav_run(task)), parameters(test::swav_start(run)) {
        training::set_compute_threads(1);
    }
    FloatVector gradient(const CropBatch& batch) {
        FloatVector sum(parameters.size());
        REQUIRE(model.add_gradient(batch, sum));
        return sum;
    }
    /// The prototypes' elements of a vector, which are the last.
    std::span<float> prototypes_of(std::span<float> vector) const {
        const std::uint64_t first = formats::tensor_offsets(run).back();
        return vector.subspan(first, run.tensors.back().count());
    }
    /// Gives the prototypes unit length, as the state's update does.
    void normalise_prototypes() {
        const std::span<float> all = prototypes_of(parameters);
        for (std::size_t row = 0; row < all.size(); row += task.projection) {
            const auto values = all.subspan(row, task.projection);
            const double length = test::norm(values);
            for (float& x : values) x = static_cast<float>(double{x} / length);
        }
    }

    const formats::SwavSpec task;
    const formats::RunFile run;
    AlignedFloats parameters;
    Swav model{task, run.tensors, parameters};
};

TEST_CASE("the same crops give the same bits, also in another model", "[swav]") {
    SwavFixture first, second;
    const PlayedCrops crops{first.task, 6, 1};
    const FloatVector gradient = first.gradient(crops.batch());
    CHECK(first.gradient(crops.batch()) == gradient);
    CHECK(second.gradient(crops.batch()) == gradient);
    CHECK(test::norm(gradient) > 0.1);
}

TEST_CASE("gradients and losses of two micro-batches add up", "[swav]") {
    SwavFixture tiny;
    const PlayedCrops one{tiny.task, 6, 1};
    const PlayedCrops two{tiny.task, 8, 2};
    const FloatVector first = tiny.gradient(one.batch());
    const FloatVector second = tiny.gradient(two.batch());
    FloatVector both(first.size());
    const double loss_of_one = tiny.model.add_gradient(one.batch(), both).value();
    const double loss_of_two = tiny.model.add_gradient(two.batch(), both).value();
    for (std::size_t i = 0; i < both.size(); ++i) {
        if (both[i] != first[i] + second[i]) FAIL("element " << i);
    }
    // Each picture weighs the same: a sum is as large as its micro-batch.
    SwavFigures figures = tiny.model.figures(one.batch()).value();
    CHECK(figures.loss_sum == Approx(loss_of_one).epsilon(1e-6));
    figures.merge(tiny.model.figures(two.batch()).value());
    CHECK(figures.pictures == 14);
    CHECK(figures.loss() == Approx((loss_of_one + loss_of_two) / 14).epsilon(1e-6));
}

TEST_CASE("the gradient is the slope of the loss where assignments stay as they are", "[swav]") {
    // With a large epsilon assignments are all but even, so their change has no effect.
    formats::SwavSpec task = test::tiny_task();
    task.epsilon = 100;
    SwavFixture tiny{task};
    tiny.normalise_prototypes();
    const PlayedCrops crops{task, 6, 1};
    FloatVector gradient = tiny.gradient(crops.batch());
    // Moved prototypes would be normalised again.
    for (float& x : tiny.prototypes_of(gradient)) x = 0;
    const double steepness = test::norm(gradient);
    const AlignedFloats before = tiny.parameters;
    const auto loss_at = [&](double distance) {
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            tiny.parameters[i] =
                before[i] + static_cast<float>(distance * double{gradient[i]} / steepness);
        }
        return tiny.model.figures(crops.batch()).value().loss_sum;
    };
    const double step = 2e-3;
    CHECK((loss_at(step) - loss_at(-step)) / (2 * step) == Approx(steepness).epsilon(0.01));
}

TEST_CASE("an interrupted micro-batch leaves sum and queue as they were", "[swav]") {
    formats::SwavSpec task = test::tiny_task();
    task.queue = 24;
    SwavFixture tiny{task}, undisturbed{task};
    const PlayedCrops crops{task, 24, 1};
    const PlayedCrops dropped{task, 24, 2};
    FloatVector sum = tiny.gradient(crops.batch());
    undisturbed.gradient(crops.batch());
    const FloatVector before = sum;
    unsigned points = 0;
    FloatVector ignored(sum.size());
    REQUIRE(undisturbed.model.add_gradient(crops.batch(), ignored, [&] {
        ++points;
        return false;
    }));
    REQUIRE(tiny.model.add_gradient(crops.batch(), ignored));
    // Twice a convolution of each size of crops, and the head.
    CHECK(points == 2 * (2 * 6 + 1));
    for (unsigned last = 1; last <= points; ++last) {
        unsigned calls = 0;
        const auto is_interrupted = [&] { return ++calls == last; };
        CHECK_FALSE(tiny.model.add_gradient(dropped.batch(), sum, is_interrupted));
        CHECK(calls == last);
    }
    CHECK(sum == before);
    CHECK(tiny.gradient(crops.batch()) == undisturbed.gradient(crops.batch()));
    const auto at_once = [] { return true; };
    CHECK_FALSE(tiny.model.figures(crops.batch(), at_once));
}

TEST_CASE("the queue is used when it is full and its step has come", "[swav]") {
    formats::SwavSpec task = test::tiny_task();
    SwavFixture without{task};
    task.micro_batch = 6;
    task.queue = 10;
    task.queue_from_step = 3;
    SwavFixture with{task};
    const PlayedCrops crops{task, 6, 1};
    const FloatVector plain = without.gradient(crops.batch());
    CHECK(with.gradient(crops.batch(3)) == plain);  // empty
    CHECK(with.gradient(crops.batch(3)) == plain);  // 6 rows
    CHECK(with.gradient(crops.batch(2)) == plain);  // full, but too early
    CHECK(with.gradient(crops.batch(3)) != plain);
    const SwavFigures figures = with.model.figures(crops.batch(3)).value();
    CHECK(figures.loss_sum == without.model.figures(crops.batch(3)).value().loss_sum);
}

TEST_CASE("reduced precision of products changes loss and gradient little", "[swav]") {
    const SwavFixture tiny;
    const PlayedCrops crops{tiny.task, 12, 1};
    const auto measure = [&](training::Precision precision) {
        Swav model{tiny.task, tiny.run.tensors, tiny.parameters, {.precision = precision}};
        FloatVector gradient(tiny.parameters.size());
        const double loss = model.add_gradient(crops.batch(), gradient).value();
        return std::pair{loss, gradient};
    };
    const auto [loss, gradient] = measure(training::Precision::kFp32);
    const auto [loss_of_bf16, gradient_of_bf16] = measure(training::Precision::kBf16);
    const auto [loss_of_fp16, gradient_of_fp16] = measure(training::Precision::kFp16);
    CAPTURE(loss, loss_of_bf16, loss_of_fp16);
    CHECK(std::abs(loss_of_bf16 - loss) < 0.01 * loss);
    CHECK(std::abs(loss_of_fp16 - loss) < 0.002 * loss);
    CHECK(test::relative_error(gradient_of_bf16, gradient) < 0.25);
    CHECK(test::relative_error(gradient_of_fp16, gradient) < 0.06);
}

TEST_CASE("frozen prototypes have no gradient, and others keep theirs", "[swav]") {
    formats::SwavSpec task = test::tiny_task();
    task.frozen_steps = 2;
    SwavFixture tiny{task};
    const PlayedCrops crops{task, 6, 1};
    FloatVector frozen = tiny.gradient(crops.batch(1));
    FloatVector free = tiny.gradient(crops.batch(2));
    CHECK(test::norm(tiny.prototypes_of(frozen)) == 0);
    CHECK(test::norm(tiny.prototypes_of(free)) > 0);
    std::ranges::fill(tiny.prototypes_of(free), 0.0f);
    CHECK(frozen == free);
}

TEST_CASE("statistics of batch norms are those of one large batch", "[swav]") {
    SwavFixture tiny;
    constexpr std::uint64_t kSize = 16;
    constexpr std::uint64_t kPixels = 3 * kSize * kSize;
    formats::SwavSpec plain = tiny.task;
    plain.crops = {{.size = kSize, .count = 2}};
    const PlayedCrops pictures{plain, 12, 1};
    const std::span<const float> values = pictures.batch().sizes.front();
    const auto part = [&](std::uint64_t first, std::uint64_t count) {
        return PictureBatch{.pictures = count,
                            .size = kSize,
                            .values = values.subspan(first * kPixels, count * kPixels)};
    };
    const NormSums whole = tiny.model.norm_sums(part(0, 24)).value();
    NormSums parts;
    for (const auto& [first, count] : {std::pair{0, 10}, {10, 6}, {16, 8}}) {
        parts.merge(tiny.model
                        .norm_sums(part(static_cast<std::uint64_t>(first),
                                        static_cast<std::uint64_t>(count)))
                        .value());
    }
    const auto expected = whole.statistics();
    const auto merged = parts.statistics();
    REQUIRE(expected.size() == 7);  // six of the trunk and the head's
    REQUIRE(merged.size() == 7);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(merged[i].count == expected[i].count);
        for (std::size_t channel = 0; channel < expected[i].mean.size(); ++channel) {
            // Only the first batch norm's input does not depend on the batch.
            const double bound = i == 0 ? 1e-6 : 0.25;
            const double deviation = std::sqrt(expected[i].variance[channel]);
            CHECK(std::abs(merged[i].mean[channel] - expected[i].mean[channel]) <=
                  bound * deviation);
            CHECK(merged[i].variance[channel] ==
                  Approx(expected[i].variance[channel]).epsilon(i == 0 ? 1e-6 : 0.5));
        }
    }
    const FloatVector features = tiny.model.features(part(0, 24), expected).value();
    CHECK(features.size() == 24 * formats::feature_count(tiny.task.trunk));
    // With given statistics a picture's features do not depend on the others of its batch.
    const FloatVector few = tiny.model.features(part(0, 3), expected).value();
    const FloatVector same(features.begin(),
                           features.begin() + static_cast<std::ptrdiff_t>(few.size()));
    CHECK(test::relative_error(few, same) < 1e-6);
}

TEST_CASE("features with a batch's own statistics are those of training", "[swav]") {
    SwavFixture tiny;
    const PlayedCrops pictures{tiny.task, 12, 1};
    const PictureBatch batch{.pictures = 24, .size = 16, .values = pictures.batch().sizes.front()};
    const auto statistics = tiny.model.norm_sums(batch).value().statistics();
    const FloatVector features = tiny.model.features(batch, statistics).value();
    // The head's batch norm sees weight · features + bias: compare its mean.
    const auto offsets = formats::tensor_offsets(tiny.run);
    const std::size_t first_of_head = 3 * 6;
    const std::uint64_t width = formats::feature_count(tiny.task.trunk);
    REQUIRE(tiny.run.tensors[first_of_head].name == "projection_head.0.weight");
    for (std::size_t output = 0; output < tiny.task.hidden; ++output) {
        double mean = double{tiny.parameters[offsets[first_of_head + 1] + output]};
        for (std::size_t i = 0; i < features.size(); ++i) {
            mean += double{features[i]} / 24 *
                    double{tiny.parameters[offsets[first_of_head] + output * width + i % width]};
        }
        CHECK(mean == Approx(statistics.back().mean[output]).margin(1e-5));
    }
}

TEST_CASE("the loss falls well below that of a collapsed network", "[swav]") {
    SwavFixture tiny;
    tiny.normalise_prototypes();
    const PlayedCrops held_out{tiny.task, 48, 1'000};
    const SwavFigures before = tiny.model.figures(held_out.batch()).value();
    FloatVector momentum(tiny.parameters.size());
    for (std::uint64_t step = 0; step < 60; ++step) {
        const PlayedCrops crops{tiny.task, tiny.task.micro_batch, step};
        const FloatVector sum = tiny.gradient(crops.batch(step));
        for (std::size_t i = 0; i < sum.size(); ++i) {
            momentum[i] = 0.9f * momentum[i] + sum[i] / static_cast<float>(tiny.task.micro_batch);
            tiny.parameters[i] -= 0.05f * momentum[i];
        }
        tiny.normalise_prototypes();
    }
    const SwavFigures after = tiny.model.figures(held_out.batch()).value();
    CAPTURE(before.gain(), after.gain(), after.share(after.assignment_entropy()),
            after.share(after.prediction_entropy()), after.used_prototypes(), after.deviation());
    CHECK(after.gain() > before.gain() + 0.2);
    CHECK(after.gain() > 0.2);
    CHECK(after.share(after.assignment_entropy()) > 0.9);
    CHECK(after.share(after.prediction_entropy()) > 0.8);
    CHECK(after.used_prototypes() >= 8);
    CHECK(after.deviation() > 0.5 / std::sqrt(static_cast<double>(tiny.task.projection)));
}

TEST_CASE("figures say when a network has collapsed", "[swav]") {
    SwavFixture tiny;
    // All projections are the bias of the last layer.
    for (std::size_t i = 0; i < tiny.run.tensors.size(); ++i) {
        const formats::TensorSpec& tensor = tiny.run.tensors[i];
        if (tensor.name != "projection_head.3.weight") continue;
        const std::uint64_t first = formats::tensor_offsets(tiny.run)[i];
        const std::span<float> all{tiny.parameters};
        std::ranges::fill(all.subspan(first, tensor.count()), 0.0f);
    }
    const PlayedCrops crops{tiny.task, 12, 1};
    const SwavFigures figures = tiny.model.figures(crops.batch()).value();
    CHECK(figures.deviation() < 1e-6);
    CHECK(figures.gain() <= 1e-6);
    CHECK(figures.used_prototypes() <= 2);
    CHECK(figures.share(figures.prediction_entropy()) < 0.99);
}

TEST_CASE("a model refuses tensors of another task", "[swav]") {
    formats::SwavSpec task = test::tiny_task();
    const AlignedFloats none;
    CHECK_THROWS_WITH(Swav(task, {}, none), "the run file lists 0 tensors, but the model has 25");
    std::vector<formats::TensorSpec> tensors = formats::swav_tensors(task);
    tensors[1].shape = {9};
    CHECK_THROWS_WITH(Swav(task, tensors, none),
                      "tensor 1 of the run file is 'bn1.weight' [9], but the model has "
                      "'bn1.weight' [8] there");
    task.temperature = 0;
    CHECK_THROWS_AS(Swav(task, tensors, none), InputError);
}

}  // namespace
}  // namespace dedloc::swav
