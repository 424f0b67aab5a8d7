#include "peer/state/model_state.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "kernels/thread_workers.hpp"
#include "peer/base/random.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/state/initial_parameters.hpp"
#include "tests/peer/state/average_digest.hpp"

using namespace dedloc;
using namespace dedloc::state;

namespace {

constexpr std::size_t kCount = 70'000;  // several leaves per vector, several segments per norm

OptimizerSettings settings() {
    return {.learning_rate = 0.01, .warmup_steps = 3, .total_steps = 20};
}

std::vector<TensorRange> tensors() {
    return {{.offset = 0, .count = 69'000, .decays = true},
            {.offset = 69'000, .count = 1, .decays = false},
            {.offset = 69'001, .count = 999, .decays = false}};
}

FloatVector start() {
    const std::array inits{
        TensorInit{.count = 69'000, .kind = Initial::kNormal, .deviation = 0.02},
        TensorInit{.count = 1, .kind = Initial::kOne},
        TensorInit{.count = 999, .kind = Initial::kZero},
    };
    return initial_parameters(inits, 42);
}

FloatVector average_at(StepIndex step) {
    Random random = Random{7}.split(step.value());
    FloatVector average(kCount);
    for (float& x : average) x = static_cast<float>(random.uniform() - 0.5);
    return average;
}

void advance(ModelState& state, std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) {
        state.apply(average_at(state.step()), update_scalars(settings(), state.step()));
    }
}

}  // namespace

TEST_CASE("a restored state continues with the same digests", "[state]") {
    ModelState whole{tensors(), settings()};
    whole.initialise(start());
    advance(whole, 4);
    const Buffer snapshot{whole.bytes().begin(), whole.bytes().end()};
    const Digest digest = whole.digest();

    ModelState resumed{tensors(), settings()};
    const auto views = resumed.parameters();
    REQUIRE(resumed.restore(StepIndex{4}, snapshot, digest));
    CHECK(resumed.step() == StepIndex{4});
    CHECK(resumed.digest() == digest);
    for (int i = 0; i < 3; ++i) {
        advance(whole, 1);
        advance(resumed, 1);
        CHECK(whole.digest() == resumed.digest());
    }
    CHECK(views.data() == resumed.parameters().data());
    CHECK(views[5] == whole.parameters()[5]);
}

TEST_CASE("the number of threads changes no bit of a state", "[state]") {
    const kernels::ThreadWorkers workers{3};
    ModelState one{tensors(), settings()};
    ModelState several{tensors(), settings()};
    one.initialise(start());
    several.initialise(start());
    for (int i = 0; i < 4; ++i) {
        const FloatVector average = average_at(one.step());
        const UpdateScalars scalars = update_scalars(settings(), one.step());
        const UpdateReport expected = one.apply(average, scalars);
        const UpdateReport report = several.apply(average, scalars, workers);
        CHECK(report.gradient_norm == expected.gradient_norm);
        CHECK(several.digest(workers) == one.digest());
        CHECK(several.leaf_digests(workers) == one.leaf_digests());
        CHECK(average_digest(average, workers) == average_digest(average));
        CHECK(average_leaves(average, workers) == average_leaves(average));
    }
    ModelState restored{tensors(), settings()};
    CHECK(restored.restore(one.step(), one.bytes(), one.digest(), workers));
    CHECK_FALSE(restored.restore(one.step().next(), one.bytes(), one.digest(), workers));
    CHECK(restored.digest() == several.digest());
}

TEST_CASE("a state with another digest, step or size is refused and changes nothing", "[state]") {
    ModelState state{tensors(), settings()};
    state.initialise(start());
    advance(state, 2);
    const Digest before = state.digest();
    ModelState other{tensors(), settings()};
    other.initialise(start());
    advance(other, 3);
    Buffer bytes{other.bytes().begin(), other.bytes().end()};
    const Digest digest = other.digest();

    CHECK_FALSE(state.restore(StepIndex{2}, bytes, digest));
    CHECK_FALSE(state.restore(StepIndex{3}, std::span{bytes}.first(bytes.size() - 1), digest));
    CHECK_FALSE(state.restore(StepIndex{3}, {}, digest));
    bytes[123] ^= std::byte{1};
    CHECK_FALSE(state.restore(StepIndex{3}, bytes, digest));
    CHECK(state.step() == StepIndex{2});
    CHECK(state.digest() == before);
    bytes[123] ^= std::byte{1};
    CHECK(state.restore(StepIndex{3}, bytes, digest));
}

TEST_CASE("any flipped bit and any change of the step changes the digest", "[state]") {
    ModelState state{tensors(), settings()};
    state.initialise(start());
    advance(state, 1);
    Buffer bytes{state.bytes().begin(), state.bytes().end()};
    const Digest digest = state_digest(StepIndex{1}, bytes);
    CHECK(digest == state.digest());
    CHECK(digest != state_digest(StepIndex{2}, bytes));
    for (std::size_t vector = 0; vector < 3; ++vector) {
        for (const std::size_t element : {std::size_t{0}, std::size_t{69'000}, kCount - 1}) {
            for (unsigned bit = 0; bit < 32; ++bit) {
                std::byte& byte = bytes[(vector * kCount + element) * 4 + bit / 8];
                byte ^= std::byte{1} << (bit % 8);
                CHECK(state_digest(StepIndex{1}, bytes) != digest);
                byte ^= std::byte{1} << (bit % 8);
            }
        }
    }
    CHECK(state_digest(StepIndex{1}, state.leaf_digests(), state.byte_count()) == digest);
}

// The bits of the state and the initial parameters must not change between versions and machines.
TEST_CASE("initial parameters and five updates give the golden digests", "[state]") {
    ModelState state{tensors(), settings()};
    CHECK(state.digest().hex() ==
          "4ea08acb70da96d1c20b92e9ca5e1de7fe19b9ca210425cfe7082eb9918c6d19");
    state.initialise(start());
    CHECK(state.digest().hex() ==
          "a972fcd33f183d900faeeee4a5e11233fea0255ae48a6ccf92e5cfebbdb49c57");
    advance(state, 5);
    CHECK(state.digest().hex() ==
          "e3f43f93dd565479d259c2425f6a036ee37005da88d90a796604a27f62af501b");
}

TEST_CASE("a run's other optimizers give the golden digests too", "[state]") {
    using formats::Optimizer;
    struct Case {
        Optimizer optimizer;
        std::size_t vectors;
        const char* golden;
    };
    const std::array cases{
        Case{Optimizer::kLambNvidia, 3,
             "9d658f4c2064454d3d95be4d36a01d0b79100114d35d8357193540e12f4a3667"},
        Case{Optimizer::kSgd, 2,
             "4651c21a3d53548810a4b4ab5af0b3ea618c9e5e015e308b94bf0fd075aa4e7b"},
        Case{Optimizer::kSgdLarc, 2,
             "63e483acfb8fcdf744d91fa677af3c6521b01f04749c3f37faa231da81d47133"}};
    for (const Case& test : cases) {
        INFO(name_of(test.optimizer));
        OptimizerSettings chosen = settings();
        chosen.optimizer = test.optimizer;
        ModelState state{tensors(), chosen};
        state.initialise(start());
        for (int i = 0; i < 5; ++i) {
            state.apply(average_at(state.step()), update_scalars(chosen, state.step()));
        }
        CHECK(state.digest().hex() == test.golden);
        CHECK(state.byte_count() == test.vectors * kCount * sizeof(float));
        CHECK(state_vectors(test.optimizer) == test.vectors);
        ModelState restored{tensors(), chosen};
        CHECK(restored.restore(state.step(), state.bytes(), state.digest()));
    }
}

TEST_CASE("the padding stays zero, whatever an average holds there", "[state]") {
    const std::vector<TensorRange> ranges{
        {.offset = 0, .count = 300, .padding = 20, .decays = true},
        {.offset = 320, .count = 64, .padding = 0, .decays = true},
        {.offset = 384, .count = 1, .padding = 63, .decays = false}};
    constexpr std::size_t kLength = 448;
    const auto is_padding = [](std::size_t i) { return (i >= 300 && i < 320) || i > 384; };
    ModelState honest{ranges, settings()};
    ModelState deceived{ranges, settings()};
    REQUIRE(honest.element_count() == kLength);
    REQUIRE(honest.byte_count() == 12 * kLength);
    FloatVector parameters(kLength, 1.0f);  // also in the padding
    honest.initialise(parameters);
    deceived.initialise(parameters);
    for (int step = 0; step < 3; ++step) {
        FloatVector average(kLength);
        for (std::size_t i = 0; i < kLength; ++i) average[i] = is_padding(i) ? 0.0f : 0.001f;
        const auto scalars = update_scalars(settings(), honest.step());
        REQUIRE(honest.apply(average, scalars).was_applied);
        for (std::size_t i = 0; i < kLength; ++i) average[i] = is_padding(i) ? 0.002f : 0.001f;
        REQUIRE(deceived.apply(average, scalars).was_applied);
    }
    const std::span<const std::byte> bytes = deceived.bytes();
    for (std::size_t i = 0; i < 3 * kLength; ++i) {
        float x = 1;
        std::memcpy(&x, bytes.data() + i * sizeof(float), sizeof(float));
        CAPTURE(i);
        REQUIRE((x == 0) == is_padding(i % kLength));
    }
    // These averages are too short to be clipped, so the numbers in the padding change nothing.
    CHECK(deceived.digest() == honest.digest());
    FloatVector average(kLength);
    average[310] = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(deceived.apply(average, update_scalars(settings(), deceived.step())).was_applied);
}

TEST_CASE("the parameters of a state begin at a multiple of 64 bytes", "[state]") {
    std::vector<std::unique_ptr<ModelState>> states;
    for (std::uint64_t count = 1; count < 3'000'000; count = 3 * count + 1) {
        states.push_back(std::make_unique<ModelState>(
            std::vector<TensorRange>{{.offset = 0, .count = count}}, settings()));
        const auto address = reinterpret_cast<std::uintptr_t>(states.back()->parameters().data());
        CHECK(address % 64 == 0);
    }
}

TEST_CASE("initial values do not depend on the padding", "[state]") {
    const auto init = [](std::uint64_t padding) {
        const std::array inits{
            TensorInit{.count = 5, .padding = padding, .kind = Initial::kNormal, .deviation = 0.02},
            TensorInit{.count = 3, .padding = 2 * padding, .kind = Initial::kOne},
            TensorInit{.count = 4, .kind = Initial::kNormal, .deviation = 1},
        };
        return initial_parameters(inits, 42);
    };
    FloatVector expected = init(0);
    REQUIRE(expected.size() == 12);
    expected.insert(expected.begin() + 8, 14, 0.0f);
    expected.insert(expected.begin() + 5, 7, 0.0f);
    CHECK(init(7) == expected);
}

TEST_CASE("an average that is not finite only advances the step", "[state]") {
    ModelState state{tensors(), settings()};
    state.initialise(start());
    advance(state, 1);
    const Buffer before{state.bytes().begin(), state.bytes().end()};
    FloatVector average = average_at(StepIndex{1});
    average[69'500] = std::numeric_limits<float>::infinity();
    const auto report = state.apply(average, update_scalars(settings(), state.step()));
    CHECK_FALSE(report.was_applied);
    CHECK(state.step() == StepIndex{2});
    CHECK(std::ranges::equal(before, state.bytes()));
}

TEST_CASE("an update clips by the global norm and decays only marked tensors", "[state]") {
    ModelState state{tensors(), settings()};
    state.initialise(start());
    FloatVector zero(kCount);
    auto scalars = update_scalars(settings(), StepIndex{0});
    CHECK(state.apply(zero, scalars).clip_factor == 1.0f);
    CHECK(state.parameters()[69'000] == 1.0f);
    const float decayed = start()[0];
    CHECK(std::fabs(state.parameters()[0]) < std::fabs(decayed));
    FloatVector long_average(kCount, 1.0f);
    const auto report = state.apply(long_average, scalars);
    CHECK(report.was_applied);
    CHECK(report.gradient_norm == std::sqrt(double{kCount}));
    CHECK(report.clip_factor == static_cast<float>(1 / std::sqrt(double{kCount})));
}

TEST_CASE("every schedule warms up linearly, ends with the run and has its own shape between",
          "[state]") {
    using formats::Schedule;
    OptimizerSettings s{.learning_rate = 2, .warmup_steps = 4, .total_steps = 24};
    for (const Schedule schedule :
         {Schedule::kLinear, Schedule::kCosine, Schedule::kConstant, Schedule::kInverseSqrt}) {
        s.schedule = schedule;
        INFO(name_of(schedule));
        const auto at = [&](std::uint64_t step) { return learning_rate_at(s, StepIndex{step}); };
        CHECK(at(0) == Approx(0.5));
        CHECK(at(3) == Approx(2));
        for (std::uint64_t step = 4; step < 24; ++step) CHECK(at(step) <= at(step - 1));
        CHECK(at(23) > 0);
        CHECK(at(24) == 0);
        CHECK(at(1'000'000) == 0);
    }
    const auto middle = [&](Schedule schedule) {
        s.schedule = schedule;
        return learning_rate_at(s, StepIndex{9});  // a quarter of the way after the warm-up
    };
    CHECK(middle(Schedule::kLinear) == Approx(1.5));
    CHECK(middle(Schedule::kCosine) == Approx(1 + std::sqrt(0.5)));
    CHECK(middle(Schedule::kConstant) == 2);
    CHECK(middle(Schedule::kInverseSqrt) == Approx(2 * std::sqrt(4.0 / 10)));
    s.warmup_steps = 0;
    for (const Schedule schedule : {Schedule::kLinear, Schedule::kCosine, Schedule::kInverseSqrt}) {
        s.schedule = schedule;
        CHECK(learning_rate_at(s, StepIndex{0}) == 2);
    }
}

TEST_CASE("a schedule may start and end at other rates than 0, as DeDLOC's for SwAV", "[state]") {
    using formats::Schedule;
    OptimizerSettings s{.optimizer = formats::Optimizer::kSgdLarc,
                        .schedule = Schedule::kCosine,
                        .learning_rate = 2.4,
                        .warmup_steps = 500,
                        .start_learning_rate = 0.3,
                        .final_learning_rate = 0.0048,
                        .total_steps = 5'000};
    const auto at = [&](std::uint64_t step) { return learning_rate_at(s, StepIndex{step}); };
    CHECK(at(0) == Approx(0.3 + 2.1 / 500));
    CHECK(at(249) == Approx(0.3 + 2.1 / 2));
    CHECK(at(499) == Approx(2.4));
    CHECK(at(500) == Approx(2.4));
    CHECK(at(2'750) == Approx((2.4 + 0.0048) / 2));
    for (const std::uint64_t step : {501u, 1'000u, 3'000u, 4'999u}) {
        const double done = static_cast<double>(step - 500) / 4'500;
        CHECK(at(step) == Approx(0.0048 + (2.4 - 0.0048) * 0.5 * (1 + std::cos(M_PI * done))));
    }
    CHECK(at(4'999) > 0.0048);
    CHECK(at(4'999) == Approx(0.0048).epsilon(1e-4));
    CHECK(at(5'000) == 0);
    s.schedule = Schedule::kLinear;
    CHECK(at(2'750) == Approx((2.4 + 0.0048) / 2));
    CHECK(at(4'999) == Approx(0.0048 + (2.4 - 0.0048) / 4'500));
    CHECK(are_usable(update_scalars(s, StepIndex{17})));
    s.final_learning_rate = -1;
    CHECK_FALSE(are_usable(s));
    s.final_learning_rate = 0;
    s.start_learning_rate = NAN;
    CHECK_FALSE(are_usable(s));
}

TEST_CASE("the coordinator's scalars follow schedule and bias correction", "[state]") {
    const auto at = [](std::uint64_t step) {
        return learning_rate_at(settings(), StepIndex{step});
    };
    CHECK(at(0) == Approx(0.01 / 3));
    CHECK(at(2) == Approx(0.01));
    CHECK(at(3) == Approx(0.01));
    CHECK(at(19) == Approx(0.01 / 17));
    CHECK(at(20) == 0);
    CHECK(at(1'000'000) == 0);
    for (const std::uint64_t step : {0u, 11u, 99u, 999u, 100'000u}) {
        const auto scalars = update_scalars(settings(), StepIndex{step});
        const auto t = static_cast<double>(step + 1);
        CHECK(std::bit_cast<float>(scalars.first_correction) ==
              Approx(1 - std::pow(0.9, t)).epsilon(1e-6));
        CHECK(std::bit_cast<float>(scalars.second_correction) ==
              Approx(1 - std::pow(0.999, t)).epsilon(1e-6));
        CHECK(are_usable(scalars));
    }
}

TEST_CASE("invalid scalars and settings are recognised", "[state]") {
    const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
    CHECK(are_usable(UpdateScalars{}));
    for (const float bad : {-1.0f, NAN, INFINITY}) {
        CHECK_FALSE(are_usable(UpdateScalars{.learning_rate = bits(bad)}));
        CHECK_FALSE(are_usable(UpdateScalars{.first_correction = bits(bad)}));
        CHECK_FALSE(are_usable(UpdateScalars{.second_correction = bits(bad)}));
    }
    for (const float bad : {0.0f, 1.0000001f}) {
        CHECK_FALSE(are_usable(UpdateScalars{.first_correction = bits(bad)}));
        CHECK_FALSE(are_usable(UpdateScalars{.second_correction = bits(bad)}));
    }
    CHECK(are_usable(settings()));
    auto bad = settings();
    bad.beta1 = 1;
    CHECK_FALSE(are_usable(bad));
    bad = settings();
    bad.momentum = 1;
    CHECK_FALSE(are_usable(bad));
    bad = settings();
    bad.epsilon = 1e-60;
    CHECK_FALSE(are_usable(bad));
    bad = settings();
    bad.weight_decay = 1e300;
    CHECK_FALSE(are_usable(bad));
}
