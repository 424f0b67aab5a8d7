// The kernels for what lies between a layer's matrix products, those of a GPU run by the host with
// their threads in random order and the processor's for each instruction set, against libtorch's
// operations; and the model with them against the model without them.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/albert/fused_pass.hpp"
#include "boinc_app/cuda/layers.hpp"
#include "boinc_app/training/host_layers.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/cuda/host_launch.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/relative_error.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::training::albert {
namespace {

constexpr double kEpsilon = 1e-12;

using kernels::InstructionSet;

/// A GPU's layers on the host, as on a device of two multiprocessors; or the processor's.
class SomeLayers {
  public:
    /// Nothing: a GPU's.
    explicit SomeLayers(std::optional<InstructionSet> set = std::nullopt)
        : workers_(set.value_or(InstructionSet::kBaseline)), is_host_(set.has_value()) {}
    FusedLayers& operator*() { return *get(); }
    FusedLayers* get() {
        if (is_host_) return &host_;
        return &gpu_;
    }

  private:
    CUstream_st stream_{1};
    Layers gpu_{kernels::cuda::StreamView{&stream_}, 2};
    const kernels::ThisThread workers_;
    HostLayers host_{workers_};
    const bool is_host_;
};

/// A GPU's layers, and the processor's for each instruction set that this one has.
std::vector<std::optional<InstructionSet>> all_layers() {
    std::vector<std::optional<InstructionSet>> all{std::nullopt};
    for (const auto set :
         {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
        if (set <= kernels::widest_instruction_set()) all.emplace_back(set);
    }
    return all;
}

at::Tensor random(at::IntArrayRef shape, double size, at::ScalarType type = at::kFloat) {
    static at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(5);
    return (at::randn(shape, generator, at::kFloat) * size).to(type).set_requires_grad(true);
}

/// Largest difference, relative to the largest value.
double error_of(const at::Tensor& measured, const at::Tensor& expected) {
    const at::Tensor exact = expected.detach().to(at::kDouble);
    const at::Tensor difference = (measured.detach().to(at::kDouble) - exact).abs();
    return (difference.max() / exact.abs().max().clamp_min(1e-30)).item<double>();
}

/// One rounding of a short value.
double unit(at::ScalarType type) {
    return type == at::kBFloat16 ? 0x1p-8 : 0x1p-11;
}

TEST_CASE("adding, normalising and their gradients are libtorch's within a rounding",
          "[training]") {
    SomeLayers layers{GENERATE(from_range(all_layers()))};
    const at::ScalarType type = GENERATE(at::kBFloat16, at::kHalf);
    // One to four packs, one to 256 threads a row; and rows that fill no block.
    const std::int64_t columns = GENERATE(8, 16, 64, 128, 192, 256, 512, 768, 1024, 4096);
    const std::int64_t rows = GENERATE(1, 3, 37, 150);
    if (columns > 1000 && rows > 40) return;
    CAPTURE(columns, rows, type);
    const at::Tensor product = random({rows, columns}, 1, type);
    const at::Tensor residual = random({rows, columns}, 2);
    const NormVectors vectors{random({columns}, 1), random({columns}, 1), random({columns}, 1)};
    const auto [out, short_out] = add_norm(*layers, product, residual, vectors, kEpsilon);
    const at::Tensor expected = at::layer_norm(product.to(at::kFloat) + vectors.bias + residual,
                                               {columns}, vectors.gain, vectors.shift, kEpsilon);
    CHECK(error_of(out, expected) < 1e-5);
    CHECK(short_out.equal(out.to(type)));
    // Gradients from one output, from the other, and from both.
    const at::Tensor by_out = random({rows, columns}, 1).detach();
    const at::Tensor by_short = random({rows, columns}, 1, type).detach();
    const int which = GENERATE(1, 2, 3);
    at::Tensor loss = at::zeros({});
    at::Tensor exact = at::zeros({});
    if ((which & 1) != 0) {
        loss = loss + (out * by_out).sum();
        exact = exact + (expected * by_out).sum();
    }
    if ((which & 2) != 0) {
        loss = loss + (short_out.to(at::kFloat) * by_short.to(at::kFloat)).sum();
        exact = exact + (expected * by_short.to(at::kFloat)).sum();
    }
    const torch::autograd::variable_list inputs{product, residual, vectors.bias, vectors.gain,
                                                vectors.shift};
    const auto measured = torch::autograd::grad({loss}, inputs);
    const auto wanted = torch::autograd::grad({exact}, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        CAPTURE(i, which);
        CHECK(measured[i].scalar_type() == inputs[i].scalar_type());
        // Both have rounded the gradient of the product.
        CHECK(error_of(measured[i], wanted[i]) < (i == 0 ? 2 * unit(type) : 2e-5));
    }
}

TEST_CASE("GELU with a bias and its gradient are libtorch's within a rounding", "[training]") {
    SomeLayers layers{GENERATE(from_range(all_layers()))};
    const at::ScalarType type = GENERATE(at::kBFloat16, at::kHalf);
    const std::int64_t columns = GENERATE(8, 24, 512, 3072, 4096);
    const std::int64_t rows = GENERATE(1, 2, 5, 67);
    CAPTURE(columns, rows, type);
    const at::Tensor product = random({rows, columns}, 3, type);
    const at::Tensor bias = random({columns}, 1);
    const at::Tensor out = bias_gelu(*layers, product, bias);
    const at::Tensor expected = at::gelu(product.to(at::kFloat) + bias, "tanh");
    CHECK(error_of(out, expected) < unit(type));
    const at::Tensor by_out = random({rows, columns}, 1, type).detach();
    const auto measured = torch::autograd::grad({out}, {product, bias}, {by_out});
    const auto wanted = torch::autograd::grad({expected}, {product, bias}, {by_out.to(at::kFloat)});
    CHECK(error_of(measured[0], wanted[0]) < unit(type));
    CHECK(error_of(measured[1], wanted[1]) < 1e-5);
}

TEST_CASE("GELU is exact where its approximation saturates", "[training]") {
    SomeLayers layers{GENERATE(from_range(all_layers()))};
    const at::Tensor product =
        at::tensor({-1e30F, -30.0F, -0.0F, 0.0F, 1e-20F, 30.0F, 1e4F, 60'000.0F})
            .to(at::kBFloat16)
            .reshape({1, 8});
    const at::Tensor out = bias_gelu(*layers, product, at::zeros({8}));
    CHECK(out.equal(at::gelu(product.to(at::kFloat), "tanh").to(at::kBFloat16)));
}

TEST_CASE("three products and their gradients are those of three linear maps", "[training]") {
    SomeLayers layers{GENERATE(from_range(all_layers()))};
    const at::ScalarType type = GENERATE(at::kBFloat16, at::kHalf);
    const at::Tensor x = random({3, 7, 64}, 1, type);
    const std::array biases{random({32}, 1), random({32}, 1), random({32}, 1)};
    const auto weight = [&] {
        return random({32, 64}, 0.2, type).detach().to(at::kFloat).set_requires_grad(true);
    };
    const std::array weights{weight(), weight(), weight()};
    const auto products =
        three_products(*layers, x,
                       {ShortWeight{weights[0], type}, ShortWeight{weights[1], type},
                        ShortWeight{weights[2], type}},
                       biases);
    at::Tensor loss = at::zeros({});
    at::Tensor exact = at::zeros({});
    for (std::size_t i = 0; i < 3; ++i) {
        const at::Tensor expected = at::linear(x.to(at::kFloat), weights[i], biases[i]);
        CHECK(error_of(products[i], expected) < 3 * unit(type));
        const at::Tensor by = random({3, 7, 32}, 1, type).detach().to(at::kFloat);
        loss = loss + (products[i].to(at::kFloat) * by).sum();
        exact = exact + (expected * by).sum();
    }
    torch::autograd::variable_list inputs{x};
    inputs.insert(inputs.end(), weights.begin(), weights.end());
    inputs.insert(inputs.end(), biases.begin(), biases.end());
    const auto measured = torch::autograd::grad({loss}, inputs);
    const auto wanted = torch::autograd::grad({exact}, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        CAPTURE(i);
        CHECK(error_of(measured[i], wanted[i]) < (i == 0 ? 4 * unit(type) : 1e-5));
    }
}

/// A model and eight samples.
struct Fixture {
    explicit Fixture(const test::TinyShape& shape, std::uint64_t ffn = 0)
        : run(test::tiny_run(shape)) {
        if (ffn != 0) {
            formats::albert_of(run).ffn = ffn;
            run.tensors = formats::albert_tensors(formats::albert_of(run));
        }
        set_compute_threads(1);
        const FloatVector start = state::initial_parameters(run);
        parameters.assign(start.begin(), start.end());
        // Larger than the initial parameters, so that attention has an effect.
        Random noise{3};
        for (float& x : parameters) x += static_cast<float>(0.05 * noise.near_normal());
    }
    FloatVector gradient(const Computation& computation, double* loss = nullptr,
                         const IsInterrupted& is_interrupted = {},
                         StepIndex step = StepIndex{0}) const {
        Albert model{run, parameters, computation};
        const Sampler sampler{run, shards};
        FloatVector sum(parameters.size());
        const auto batch = sampler.draw(step_random(run.seed, PeerKey{}, step), 0, 8);
        const auto value = model.add_gradient(batch, sum, is_interrupted);
        if (loss != nullptr) *loss = value.value_or(std::numeric_limits<double>::quiet_NaN());
        return sum;
    }

    formats::RunFile run;
    const std::vector<formats::Shard> shards{test::skewed_shard(run, 1)};
    AlignedFloats parameters;
};

TEST_CASE("the model by the kernels has the gradient of fp32 as nearly as without them",
          "[training]") {
    SomeLayers layers{GENERATE(from_range(all_layers()))};
    const bool is_deep = GENERATE(false, true);
    const Fixture tiny{
        is_deep ? test::TinyShape{.vocabulary = 200, .width = 64, .layers = 24, .length = 32}
                : test::TinyShape{}};
    const Precision precision = GENERATE(Precision::kBf16, Precision::kFp16);
    const Computation without{.precision = precision, .fuses_attention = GENERATE(true, false)};
    Computation with = without;
    with.layers = layers.get();
    // Roundings of one micro-batch differ by a third from those of another.
    double squares = 0;
    double squares_without = 0;
    for (std::uint64_t step = 0; step < 4; ++step) {
        double exact_loss = 0;
        double loss = 0;
        const FloatVector exact = tiny.gradient({}, &exact_loss, {}, StepIndex{step});
        const FloatVector measured = tiny.gradient(with, &loss, {}, StepIndex{step});
        const FloatVector plain = tiny.gradient(without, nullptr, {}, StepIndex{step});
        squares += std::pow(test::relative_error(measured, exact), 2);
        squares_without += std::pow(test::relative_error(plain, exact), 2);
        CHECK(loss == Approx(exact_loss).epsilon(2e-3));
    }
    const double error = std::sqrt(squares / 4);
    const double error_without = std::sqrt(squares_without / 4);
    CAPTURE(is_deep, static_cast<int>(precision), error, error_without);
    CHECK(error < 1.25 * error_without);
    CHECK(error > 1e-5);  // it has been short
}

TEST_CASE("the model by the kernels can be interrupted, and hidden dropout does without them",
          "[training]") {
    SomeLayers layers{GENERATE(from_range(all_layers()))};
    Fixture tiny{test::TinyShape{}};
    const Computation with{
        .precision = Precision::kBf16, .fuses_attention = true, .layers = layers.get()};
    int questions = 0;
    tiny.gradient(with, nullptr, [&] { return ++questions < 0; });
    CHECK(questions > 20);
    for (const int last : {1, 5, questions / 2, questions - 1}) {
        int asked = 0;
        double loss = 0;
        const FloatVector sum = tiny.gradient(with, &loss, [&] { return ++asked == last; });
        CAPTURE(last);
        CHECK(std::isnan(loss));
        CHECK(sum == FloatVector(sum.size()));
    }
    formats::albert_of(tiny.run).hidden_dropout = 0.1;
    CHECK(tiny.gradient(with) ==
          tiny.gradient({.precision = Precision::kBf16, .fuses_attention = true}));
}

TEST_CASE("a model with other widths does without the kernels", "[training]") {
    SomeLayers layers;
    CHECK(layers.get()->has_kernels(1'024, 4'096));
    CHECK(layers.get()->has_kernels(2'048, 8'200));
    CHECK_FALSE(layers.get()->has_kernels(1'032, 4'096));
    CHECK_FALSE(layers.get()->has_kernels(1'024, 4'100));
    const Fixture tiny{test::TinyShape{}, 60};
    const Computation without{.precision = Precision::kBf16, .fuses_attention = true};
    Computation with = without;
    with.layers = layers.get();
    CHECK(tiny.gradient(with) == tiny.gradient(without));
}

}  // namespace
}  // namespace dedloc::training::albert
