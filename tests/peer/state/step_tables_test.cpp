// Tensors that are frozen at first and tensors with rows of unit length, under every optimizer.
#include "peer/state/step_tables.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/thread_workers.hpp"
#include "peer/base/random.hpp"
#include "peer/state/model_state.hpp"

using namespace dedloc;
using namespace dedloc::state;
using formats::Optimizer;

namespace {

constexpr std::uint64_t kFrozenSteps = 3;
constexpr std::size_t kRows = 30;
constexpr std::size_t kRowLength = 128;
constexpr std::size_t kFirst = 512;  // prototypes begin here
constexpr std::size_t kEnd = kFirst + kRows * kRowLength;
constexpr std::size_t kLength = kEnd + 70'016;

/// A bias, prototypes, and a matrix of more than one segment. Some have padding.
std::vector<TensorRange> swav_tensors() {
    return {{.offset = 0, .count = 500, .padding = 12},
            {.offset = kFirst,
             .count = kRows * kRowLength,
             .decays = true,
             .row_length = kRowLength,
             .frozen_steps = kFrozenSteps},
            {.offset = kEnd, .count = 70'000, .padding = 16, .decays = true}};
}

/// The same without rows and frozen steps.
std::vector<TensorRange> plain_tensors() {
    auto ranges = swav_tensors();
    ranges[1].row_length = 0;
    ranges[1].frozen_steps = 0;
    return ranges;
}

OptimizerSettings settings_of(Optimizer optimizer) {
    return {.optimizer = optimizer,
            .learning_rate = 0.1,
            .warmup_steps = 2,
            .total_steps = 20,
            .weight_decay = 0.1,
            .clip_norm = 1};
}

FloatVector start_values() {
    Random random{11};
    FloatVector values(kLength);
    for (float& x : values) x = static_cast<float>(0.3 * random.near_normal());
    // One prototype is zero.
    std::fill_n(values.begin() + kFirst + 2 * kRowLength, kRowLength, 0.0f);
    return values;
}

FloatVector average_of(StepIndex step) {
    Random random = Random{12}.split(step.value());
    FloatVector average(kLength);
    for (const TensorRange& tensor : swav_tensors()) {
        for (std::uint64_t i = 0; i < tensor.count; ++i) {
            average[static_cast<std::size_t>(tensor.offset + i)] =
                static_cast<float>(0.01 * random.near_normal());
        }
    }
    return average;
}

void step_on(ModelState& state, Optimizer optimizer,
             const kernels::Workers& workers = kernels::ThisThread{}) {
    state.apply(average_of(state.step()), update_scalars(settings_of(optimizer), state.step()),
                workers);
}

/// The elements of the prototypes in every vector of a state.
std::vector<float> prototypes_in(const ModelState& state) {
    std::vector<float> all(state.byte_count() / sizeof(float));
    std::memcpy(all.data(), state.bytes().data(), state.byte_count());
    std::vector<float> result;
    for (std::size_t at = kFirst; at < all.size(); at += kLength) {
        result.insert(result.end(), all.begin() + static_cast<std::ptrdiff_t>(at),
                      all.begin() + static_cast<std::ptrdiff_t>(at + kRows * kRowLength));
    }
    return result;
}

bool have_unit_rows(const ModelState& state) {
    for (std::size_t row = 0; row < kRows; ++row) {
        double squares = 0;
        for (std::size_t i = 0; i < kRowLength; ++i) {
            const double x = state.parameters()[kFirst + row * kRowLength + i];
            squares += x * x;
        }
        // The row of zeros stays one until an update moves it.
        const bool is_zero = row == 2 && state.step() <= StepIndex{kFrozenSteps};
        if (!(is_zero ? squares == 0 : std::fabs(std::sqrt(squares) - 1) < 1e-7)) return false;
    }
    return true;
}

const std::array kEveryOptimizer{Optimizer::kLamb, Optimizer::kLambNvidia, Optimizer::kSgd,
                                 Optimizer::kSgdLarc};

}  // namespace

TEST_CASE("rows have length 1 at the start and after every update", "[state]") {
    for (const Optimizer optimizer : kEveryOptimizer) {
        INFO(name_of(optimizer));
        ModelState state{swav_tensors(), settings_of(optimizer)};
        state.initialise(start_values());
        CHECK(have_unit_rows(state));
        CHECK(state.parameters()[0] == start_values()[0]);
        CHECK(state.parameters()[kEnd] == start_values()[kEnd]);
        for (int i = 0; i < 6; ++i) {
            step_on(state, optimizer);
            CHECK(have_unit_rows(state));
        }
    }
}

TEST_CASE("a frozen tensor and its moments stay as they are, and then begin to move", "[state]") {
    for (const Optimizer optimizer : kEveryOptimizer) {
        INFO(name_of(optimizer));
        ModelState state{swav_tensors(), settings_of(optimizer)};
        state.initialise(start_values());
        const std::vector<float> before = prototypes_in(state);
        for (std::uint64_t step = 0; step < kFrozenSteps; ++step) {
            const float other = state.parameters()[kEnd];
            step_on(state, optimizer);
            CHECK(prototypes_in(state) == before);
            CHECK(state.parameters()[kEnd] != other);
        }
        step_on(state, optimizer);
        const std::vector<float> after = prototypes_in(state);
        std::size_t same = 0;
        for (std::size_t i = 0; i < after.size(); ++i) same += after[i] == before[i] ? 1u : 0u;
        CHECK(same < after.size() / 10);
    }
}

TEST_CASE("a thawed tensor is updated as if the other steps had not been", "[state]") {
    // SGD has no corrections, so only the step's learning rate matters.
    for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kSgdLarc}) {
        INFO(name_of(optimizer));
        OptimizerSettings chosen = settings_of(optimizer);
        chosen.clip_norm = 0;
        ModelState frozen{swav_tensors(), chosen};
        auto thawed_tensors = swav_tensors();
        thawed_tensors[1].frozen_steps = 0;
        ModelState thawed{thawed_tensors, chosen};
        frozen.initialise(start_values());
        thawed.initialise(start_values());
        for (std::uint64_t step = 0; step < kFrozenSteps; ++step) step_on(frozen, optimizer);
        const auto scalars = update_scalars(chosen, StepIndex{kFrozenSteps});
        frozen.apply(average_of(frozen.step()), scalars);
        thawed.apply(average_of(StepIndex{kFrozenSteps}), scalars);
        CHECK(prototypes_in(frozen) == prototypes_in(thawed));
    }
}

TEST_CASE("other tensors do not depend on a frozen one or on rows of unit length", "[state]") {
    for (const Optimizer optimizer : kEveryOptimizer) {
        INFO(name_of(optimizer));
        OptimizerSettings chosen = settings_of(optimizer);
        chosen.clip_norm = 0;  // the norm of a whole gradient is not theirs alone
        ModelState state{swav_tensors(), chosen};
        ModelState plain{plain_tensors(), chosen};
        state.initialise(start_values());
        plain.initialise(start_values());
        for (int i = 0; i < 6; ++i) {
            const auto scalars = update_scalars(chosen, state.step());
            state.apply(average_of(state.step()), scalars);
            plain.apply(average_of(plain.step()), scalars);
        }
        const auto same_at = [&](std::size_t first, std::size_t count) {
            return std::memcmp(&state.parameters()[first], &plain.parameters()[first],
                               count * sizeof(float)) == 0;
        };
        CHECK(same_at(0, kFirst));
        CHECK(same_at(kEnd, kLength - kEnd));
        CHECK_FALSE(same_at(kFirst, kEnd - kFirst));
    }
}

TEST_CASE("the gradient of a frozen tensor counts neither for the norm nor as not finite",
          "[state]") {
    ModelState state{swav_tensors(), settings_of(Optimizer::kSgdLarc)};
    ModelState other{swav_tensors(), settings_of(Optimizer::kSgdLarc)};
    state.initialise(start_values());
    other.initialise(start_values());
    for (std::uint64_t step = 0; step < kFrozenSteps; ++step) {
        FloatVector average = average_of(StepIndex{step});
        const auto scalars = update_scalars(settings_of(Optimizer::kSgdLarc), StepIndex{step});
        std::fill_n(average.begin() + kFirst, kEnd - kFirst, 0.0f);
        const UpdateReport expected = other.apply(average, scalars);
        const float poison = step == 0 ? std::numeric_limits<float>::quiet_NaN() : 1e30f;
        std::fill_n(average.begin() + kFirst, kEnd - kFirst, poison);
        const UpdateReport report = state.apply(average, scalars);
        CHECK(report.was_applied);
        CHECK(report.gradient_norm == expected.gradient_norm);
        CHECK(report.clip_factor == expected.clip_factor);
        CHECK(report.clip_factor < 1);
        CHECK(state.digest() == other.digest());
    }
    FloatVector average = average_of(state.step());
    average[kFirst] = std::numeric_limits<float>::infinity();
    const Buffer before{state.bytes().begin(), state.bytes().end()};
    const auto scalars = update_scalars(settings_of(Optimizer::kSgdLarc), state.step());
    CHECK_FALSE(state.apply(average, scalars).was_applied);
    CHECK(std::ranges::equal(before, state.bytes()));
}

TEST_CASE("a restored state follows its own step, forwards and backwards", "[state]") {
    for (const Optimizer optimizer : kEveryOptimizer) {
        INFO(name_of(optimizer));
        ModelState whole{swav_tensors(), settings_of(optimizer)};
        ModelState joined{swav_tensors(), settings_of(optimizer)};
        whole.initialise(start_values());
        std::vector<Buffer> states;
        std::vector<Digest> digests;
        for (std::uint64_t step = 0; step < 7; ++step) {
            states.emplace_back(whole.bytes().begin(), whole.bytes().end());
            digests.push_back(whole.digest());
            step_on(whole, optimizer);
        }
        digests.push_back(whole.digest());
        for (const std::uint64_t from : {5u, 1u, 4u, 2u, 3u, 0u}) {
            REQUIRE(joined.restore(StepIndex{from}, states[from], digests[from]));
            CHECK(joined.digest() == digests[from]);
            for (std::uint64_t step = from; step < 7; ++step) {
                step_on(joined, optimizer);
                CHECK(joined.digest() == digests[step + 1]);
            }
        }
    }
}

TEST_CASE("threads and vector units change no bit of frozen tensors and unit rows", "[state]") {
    for (const Optimizer optimizer : kEveryOptimizer) {
        INFO(name_of(optimizer));
        ModelState one{swav_tensors(), settings_of(optimizer)};
        ModelState several{swav_tensors(), settings_of(optimizer)};
        one.initialise(start_values());
        several.initialise(start_values());
        const kernels::ThreadWorkers workers{3, kernels::InstructionSet::kBaseline};
        for (int i = 0; i < 5; ++i) {
            step_on(one, optimizer);
            step_on(several, optimizer, workers);
            CHECK(several.digest() == one.digest());
        }
    }
}

// The bits must not change between versions and machines.
TEST_CASE("six updates with prototypes give the golden digests", "[state]") {
    const std::array<const char*, 4> golden{
        "b85a42cead571c8b125ce32b7098f41bb04c83758d115fefd210db86a58b5b0a",
        "cd4c99532e9d6082802e490c96d40af7af2b9d9f3fa25509a4ad30975a38d340",
        "5daae5a657a986c5c1fbbccfbd911319794607034f58ed534d264afbfa790f4d",
        "01c9574d2b76e16c3d44e84f5fc4845603ed44d033a794af89958237d75a1e37"};
    for (std::size_t i = 0; i < golden.size(); ++i) {
        INFO(name_of(kEveryOptimizer[i]));
        ModelState state{swav_tensors(), settings_of(kEveryOptimizer[i])};
        state.initialise(start_values());
        for (int step = 0; step < 6; ++step) step_on(state, kEveryOptimizer[i]);
        CHECK(state.digest().hex() == golden[i]);
    }
}

TEST_CASE("the padding stays zero beside rows of unit length and frozen tensors", "[state]") {
    const std::vector<TensorRange> ranges{
        {.offset = 0, .count = 6, .padding = 58, .row_length = 3, .frozen_steps = 1},
        {.offset = 64, .count = 6, .padding = 58, .row_length = 2}};
    ModelState state{ranges, settings_of(Optimizer::kSgd)};
    state.initialise(FloatVector(128, 1.0f));
    for (int step = 0; step < 3; ++step) {
        state.apply(FloatVector(128, 0.5f),
                    update_scalars(settings_of(Optimizer::kSgd), state.step()));
        for (std::size_t i = 0; i < 128; ++i) {
            CHECK((state.parameters()[i] == 0) == (i % 64 >= 6));
        }
    }
}

TEST_CASE("tables change where a tensor thaws, and only there", "[state]") {
    auto ranges = swav_tensors();
    ranges[2].frozen_steps = 5;
    StepTables tables{ranges, Optimizer::kSgd};
    const auto counts = [&] {
        return std::array{tables.current().tensors.tensors().size(),
                          tables.current().unit_rows.tensors().size(),
                          tables.current().frozen.size()};
    };
    CHECK(counts() == std::array<std::size_t, 3>{1, 0, 2});
    CHECK(tables.current().frozen[0] ==
          kernels::ElementRange{.first = kFirst, .count = kEnd - kFirst});
    CHECK(tables.current().frozen[1] ==
          kernels::ElementRange{.first = kEnd, .count = kLength - kEnd});
    CHECK_FALSE(tables.move_to(StepIndex{2}));
    CHECK(tables.move_to(StepIndex{3}));
    CHECK(counts() == std::array<std::size_t, 3>{2, kRows, 1});
    CHECK_FALSE(tables.move_to(StepIndex{4}));
    CHECK_FALSE(tables.move_to(StepIndex{3}));
    CHECK(tables.move_to(StepIndex{5}));
    CHECK(counts() == std::array<std::size_t, 3>{3, kRows, 0});
    CHECK_FALSE(tables.move_to(StepIndex{1'000'000'000'000}));
    CHECK(tables.move_to(StepIndex{4}));
    CHECK(counts() == std::array<std::size_t, 3>{2, kRows, 1});
    CHECK(tables.move_to(StepIndex{0}));
    StepTables plain{plain_tensors(), Optimizer::kSgd};
    CHECK_FALSE(plain.move_to(StepIndex{7}));
    CHECK_FALSE(plain.move_to(StepIndex{0}));
}

TEST_CASE("a state whose tensors are all frozen only counts its steps", "[state]") {
    auto ranges = swav_tensors();
    for (TensorRange& tensor : ranges) tensor.frozen_steps = 2;
    for (const Optimizer optimizer : kEveryOptimizer) {
        ModelState state{ranges, settings_of(optimizer)};
        state.initialise(start_values());
        const Buffer before{state.bytes().begin(), state.bytes().end()};
        step_on(state, optimizer);
        step_on(state, optimizer);
        CHECK(std::ranges::equal(before, state.bytes()));
        CHECK(state.step() == StepIndex{2});
        step_on(state, optimizer);
        CHECK_FALSE(std::ranges::equal(before, state.bytes()));
    }
}
