// The model in reduced precision and with fused attention, as a GPU computes it, on the processor:
// gradients against those in fp32.
#include <c10/util/Exception.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/training/device_error.hpp"
#include "boinc_app/training/host_layers.hpp"
#include "boinc_app/training/loss_scale.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::training::albert {
namespace {

using test::TinyShape;

struct Measured {
    double loss = 0;
    FloatVector gradient;
};

struct PrecisionFixture {
    explicit PrecisionFixture(const TinyShape& shape = {}) : run(test::tiny_run(shape)) {
        set_compute_threads(1);
        // Larger than the initial parameters, so that attention has an effect.
        Random random{3};
        for (float& x : parameters) x += static_cast<float>(0.05 * random.near_normal());
    }
    AlignedFloats start() const {
        const FloatVector values = state::initial_parameters(run);
        return {values.begin(), values.end()};
    }
    MicroBatch batch() const {
        const Sampler sampler{run, shards};
        return sampler.draw(step_random(run.seed, PeerKey{}, StepIndex{0}), 0, 8);
    }
    Measured measure(const Computation& computation) const { return measure(computation, batch()); }
    Measured measure(const Computation& computation, const MicroBatch& batch) const {
        Albert model{run, parameters, computation};
        Measured measured{.loss = 0, .gradient = FloatVector(parameters.size())};
        measured.loss = model.add_gradient(batch, measured.gradient).value();
        return measured;
    }

    formats::RunFile run;
    const std::vector<formats::Shard> shards{test::skewed_shard(run, 1)};
    AlignedFloats parameters = start();
};

/// The norm of the difference, relative to the norm of `expected`.
double error_of(const Measured& measured, const Measured& expected) {
    double sum = 0;
    double norm = 0;
    for (std::size_t i = 0; i < expected.gradient.size(); ++i) {
        sum += std::pow(double{measured.gradient[i]} - double{expected.gradient[i]}, 2);
        norm += std::pow(double{expected.gradient[i]}, 2);
    }
    return std::sqrt(sum / norm);
}

/// A micro-batch of one row, which has no padding.
MicroBatch first_row(const MicroBatch& batch) {
    MicroBatch row;
    row.samples = 1;
    row.length = static_cast<std::size_t>(batch.row_lengths[0]);
    const auto end = static_cast<std::ptrdiff_t>(row.length);
    row.tokens.assign(batch.tokens.begin(), batch.tokens.begin() + end);
    row.types.assign(batch.types.begin(), batch.types.begin() + end);
    row.row_lengths = {batch.row_lengths[0]};
    row.is_swapped = {batch.is_swapped[0]};
    row.dropout_keys = {batch.dropout_keys[0]};
    for (std::size_t i = 0; i < batch.masked_at.size(); ++i) {
        if (batch.masked_at[i] >= end) continue;
        row.masked_at.push_back(batch.masked_at[i]);
        row.masked_tokens.push_back(batch.masked_tokens[i]);
        row.masked_weights.push_back(batch.masked_weights[i]);
    }
    return row;
}

const TinyShape kDeep{.vocabulary = 200, .width = 64, .layers = 24, .length = 32};

TEST_CASE("bf16 gives the gradient of fp32 within its own rounding", "[training]") {
    const bool is_deep = GENERATE(false, true);
    const PrecisionFixture tiny{is_deep ? kDeep : TinyShape{}};
    const Measured exact = tiny.measure({});
    const Measured measured = tiny.measure({.precision = Precision::kBf16});
    CAPTURE(is_deep, error_of(measured, exact), measured.loss / exact.loss - 1);
    // bf16 has 8 bits: one rounding errs by up to 2e-3. Measured: 6e-3; with 24 layers 1.2e-2.
    CHECK(error_of(measured, exact) < 3e-2);
    CHECK(error_of(measured, exact) > 1e-4);  // it has been bf16
    CHECK(measured.loss == Approx(exact.loss).epsilon(2e-3));
}

TEST_CASE(
    "bf16 by the processor's kernels errs no more than by autocast, with any number of layers",
    "[training]") {
    const std::uint64_t layers = GENERATE(1, 2, 6, 12, 24);
    const PrecisionFixture tiny{
        {.vocabulary = 200, .width = 64, .layers = layers, .length = 32, .heads = 2}};
    const kernels::ThisThread workers;
    HostLayers kernels{workers};
    const Computation by_kernels{.precision = Precision::kBf16, .layers = &kernels};
    const Measured exact = tiny.measure({});
    const Measured measured = tiny.measure(by_kernels);
    const double by_autocast = error_of(tiny.measure({.precision = Precision::kBf16}), exact);
    CAPTURE(layers, error_of(measured, exact), by_autocast);
    CHECK(error_of(measured, exact) < 1.25 * by_autocast);
    CHECK(error_of(measured, exact) > 1e-4);
    CHECK(measured.loss == Approx(exact.loss).epsilon(2e-3));
    CHECK(tiny.measure(by_kernels).gradient == measured.gradient);
    // The batch has no padding; attention is fused.
    const MicroBatch row = first_row(tiny.batch());
    const Measured exact_row = tiny.measure({}, row);
    CHECK(error_of(tiny.measure(by_kernels, row), exact_row) < 3e-2);
    Computation fused = by_kernels;
    fused.fuses_attention = true;
    CHECK(error_of(tiny.measure(fused), exact) < 3e-2);
}

TEST_CASE("in bf16 a micro-batch is interrupted between products, and leaves the sum as it was",
          "[training]") {
    const PrecisionFixture tiny;
    const kernels::ThisThread workers;
    HostLayers kernels{workers};
    Albert model{tiny.run, tiny.parameters, {.precision = Precision::kBf16, .layers = &kernels}};
    const MicroBatch batch = tiny.batch();
    const FloatVector zeros(tiny.parameters.size());
    FloatVector gradient = zeros;
    int questions = 0;
    const IsInterrupted count = [&] { return ++questions < 0; };
    REQUIRE(model.add_gradient(batch, gradient, count));
    const int all = questions;
    // The forward and the backward pass each ask at the embeddings, the last layer's output,
    // and in each of two layers query, key, value, context, and three products.
    CHECK(all == 2 * (2 + 2 * 7));
    for (int last = 1; last <= all; ++last) {
        questions = 0;
        const IsInterrupted stop = [&] { return ++questions == last; };
        FloatVector untouched(zeros.size(), 3.0f);
        CHECK_FALSE(model.add_gradient(batch, untouched, stop));
        CHECK(questions == last);
        CHECK(untouched == FloatVector(zeros.size(), 3.0f));
    }
    // The next micro-batch has the bits that it would have had.
    FloatVector again = zeros;
    REQUIRE(model.add_gradient(batch, again));
    CHECK(again == gradient);
}

TEST_CASE("fp16 gives the gradient of fp32 within its own rounding, after the scale has fallen",
          "[training]") {
    const bool is_deep = GENERATE(false, true);
    const PrecisionFixture tiny{is_deep ? kDeep : TinyShape{}};
    const Measured exact = tiny.measure({});
    Albert model{tiny.run, tiny.parameters, {.precision = Precision::kFp16}};
    CHECK(model.loss_scale() == LossScale::kFirst);
    Measured measured{.loss = 0, .gradient = FloatVector(tiny.parameters.size())};
    measured.loss = model.add_gradient(tiny.batch(), measured.gradient).value();
    CAPTURE(is_deep, error_of(measured, exact), model.loss_scale());
    // fp16 has 11 bits: one rounding errs by up to 2.5e-4. Measured: 7e-4; with 24 layers 1e-3.
    CHECK(error_of(measured, exact) < 4e-3);
    CHECK(error_of(measured, exact) > 1e-5);
    // The first scales overflow: 65,536 is more than the largest fp16.
    CHECK(model.loss_scale() < LossScale::kFirst);
}

TEST_CASE("in fp16 a model that is not finite gives a sum that is not finite", "[training]") {
    PrecisionFixture tiny;
    tiny.parameters[5] = std::numeric_limits<float>::infinity();
    Albert model{tiny.run, tiny.parameters, {.precision = Precision::kFp16}};
    FloatVector sum(tiny.parameters.size());
    REQUIRE(model.add_gradient(tiny.batch(), sum));
    CHECK(model.loss_scale() == 1);
    CHECK(std::ranges::any_of(sum, [](float x) { return !std::isfinite(x); }));
}

TEST_CASE("fused attention gives the same gradient within rounding, with padding and without",
          "[training]") {
    const PrecisionFixture tiny;
    const MicroBatch padded = tiny.batch();
    REQUIRE(std::ranges::any_of(padded.row_lengths, [&](std::int64_t length) {
        return static_cast<std::size_t>(length) < padded.length;
    }));
    for (const MicroBatch& batch : {padded, first_row(padded)}) {
        const Measured expected = tiny.measure({}, batch);
        const Measured fused = tiny.measure({.fuses_attention = true}, batch);
        CAPTURE(batch.samples, error_of(fused, expected), fused.loss - expected.loss);
        CHECK(error_of(fused, expected) < 2e-6);  // measured: 2e-7
        CHECK(fused.loss == Approx(expected.loss).epsilon(1e-6));
        const Measured half =
            tiny.measure({.precision = Precision::kBf16, .fuses_attention = true}, batch);
        CAPTURE(error_of(half, expected));
        CHECK(error_of(half, expected) < 3e-2);
    }
}

TEST_CASE("dropout of attention is drawn from public seeds although attention is to be fused",
          "[training]") {
    PrecisionFixture tiny;
    formats::albert_of(tiny.run).attention_dropout = 0.1;
    const Measured expected = tiny.measure({});
    const Measured fused = tiny.measure({.fuses_attention = true});
    CHECK(fused.gradient == expected.gradient);
    formats::albert_of(tiny.run).attention_dropout = 0;
    CHECK(tiny.measure({}).gradient != expected.gradient);
}

TEST_CASE("precision is the model's alone: another model of the same thread stays exact",
          "[training]") {
    const PrecisionFixture tiny;
    const Measured exact = tiny.measure({});
    tiny.measure({.precision = Precision::kBf16});
    CHECK(tiny.measure({}).gradient == exact.gradient);
}

TEST_CASE("an error of the device leaves the sum as it was and has its own type", "[training]") {
    const PrecisionFixture tiny;
    Albert model{tiny.run, tiny.parameters};
    FloatVector sum(tiny.parameters.size(), 2.0f);
    const auto failure_of = [&](const auto& error) {
        for (const int when : {1, 20}) {  // in the forward pass and in the backward pass
            int calls = 0;
            const IsInterrupted fail = [&] {
                if (++calls == when) throw error;
                return false;
            };
            try {
                model.add_gradient(tiny.batch(), sum, fail);
            } catch (const DeviceError& device) {
                CHECK(sum == FloatVector(sum.size(), 2.0f));
                if (when == 20) return device;
            }
        }
        throw std::runtime_error{"no DeviceError"};
    };
    const c10::SourceLocation here{__func__, __FILE__, __LINE__};
    const DeviceError full = failure_of(c10::OutOfMemoryError(here, "CUDA out of memory.\nTried"));
    CHECK(full.failure() == DeviceFailure::kOutOfMemory);
    const DeviceError no_products = failure_of(c10::Error(
        here, "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"));
    CHECK(no_products.failure() == DeviceFailure::kOutOfMemory);
    const DeviceError no_attention = failure_of(c10::Error(
        here, "cuDNN Frontend error: [cudnn_frontend] Error: No valid execution plans built."));
    CHECK(no_attention.failure() == DeviceFailure::kOutOfMemory);
    const DeviceError no_module =
        failure_of(c10::AcceleratorError(here, 2, "CUDA error: out of memory\nCompile with"));
    CHECK(no_module.failure() == DeviceFailure::kOutOfMemory);
    CHECK_THROWS_AS(failure_of(c10::Error(here, "Expected a matrix")), c10::Error);
    const DeviceError lost = failure_of(
        c10::AcceleratorError(here, 719, "CUDA error: unspecified launch failure\nSearch for"));
    CHECK(lost.failure() == DeviceFailure::kLost);
    CHECK(std::string{lost.what()} == "the GPU has failed: CUDA error: unspecified launch failure");
}

}  // namespace
}  // namespace dedloc::training::albert
