// Compares every optimizer with figures of torch_optimizer, torch and apex' formulas, in binary64
// (optimizer_figures.py says how they are made). The comparison must be so sharp that the usual
// mistakes exceed its bound many times over.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "peer/state/model_state.hpp"
#include "peer/state/update_scalars.hpp"

using namespace dedloc;
using namespace dedloc::state;
using formats::Optimizer;

namespace {

constexpr std::size_t kSteps = 20;
constexpr std::size_t kFigureElements = 21;
using Row = std::vector<double>;

std::vector<TensorRange> tensors() {
    return {{.offset = 0, .count = 12, .decays = true},
            {.offset = 12, .count = 4, .decays = false},
            {.offset = 16, .count = 5, .decays = false}};
}

/// The same; the first one as prototypes, of which PROTOTYPES and FROZEN_STEPS speak.
std::vector<TensorRange> with_prototypes() {
    std::vector<TensorRange> ranges = tensors();
    ranges[0].row_length = 3;
    ranges[0].frozen_steps = 6;
    return ranges;
}

/// The rows below this name.
std::vector<Row> rows_of(const std::string& name, std::size_t count) {
    std::ifstream file{DEDLOC_OPTIMIZER_FIGURES};
    REQUIRE(file.good());
    for (std::string line; line != name;) REQUIRE(std::getline(file, line));
    std::vector<Row> rows(count, Row(kFigureElements));
    for (Row& row : rows) {
        for (double& x : row) REQUIRE(file >> x);
    }
    return rows;
}

FloatVector narrow(const Row& row) {
    FloatVector values;
    for (const double x : row) values.push_back(static_cast<float>(x));
    return values;
}

OptimizerSettings settings(Optimizer optimizer) {
    return {.optimizer = optimizer,
            .schedule = formats::Schedule::kConstant,
            .learning_rate = 0.01,
            .total_steps = kSteps,
            .epsilon = optimizer == Optimizer::kSgdLarc ? 1e-8 : 1e-6,
            .trust = 0.1,
            .weight_decay = 0.1,
            .clip_norm = optimizer == Optimizer::kLambNvidia ? 1.0 : 0.0};
}

/// What the comparison may do to a step's scalars before they are applied.
using Change = void (*)(UpdateScalars&);

/// A step rounds a parameter once, by at most 2⁻²⁴ of it; the roundings of its small change count
/// less. So errors stay below this in parts of the tensor's largest parameter. Measured: at most
/// 2.9 × 10⁻⁷.
constexpr double kBound = kSteps * 0x1p-24;

/// The largest error of any parameter after any step, in parts of the tensor's largest parameter.
double worst_error(
    const OptimizerSettings& chosen, const char* figures, Change change = [](UpdateScalars&) {},
    const std::vector<TensorRange>& ranges = tensors()) {
    ModelState state{ranges, chosen};
    state.initialise(narrow(rows_of("start", 1)[0]));
    const std::vector<Row> gradients = rows_of("gradients", kSteps);
    const std::vector<Row> expected = rows_of(figures, kSteps);
    double worst = 0;
    for (std::size_t step = 0; step < kSteps; ++step) {
        UpdateScalars scalars = update_scalars(chosen, StepIndex{step});
        change(scalars);
        REQUIRE(state.apply(narrow(gradients[step]), scalars).was_applied);
        for (const TensorRange& tensor : tensors()) {
            double largest = 0;
            double error = 0;
            for (std::size_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
                largest = std::max(largest, std::fabs(expected[step][i]));
                error =
                    std::max(error, std::fabs(double{state.parameters()[i]} - expected[step][i]));
            }
            worst = std::max(worst, error / largest);
        }
    }
    return worst;
}

}  // namespace

TEST_CASE("every optimizer agrees with the program that it follows", "[state]") {
    for (std::size_t i = 0; i < formats::kOptimizerNames.size(); ++i) {
        const double worst =
            worst_error(settings(static_cast<Optimizer>(i)), formats::kOptimizerNames[i]);
        INFO(formats::kOptimizerNames[i] << ": error " << worst << ", bound " << kBound);
        CHECK(worst <= kBound);
    }
}

TEST_CASE("prototypes have unit rows and are frozen at first, as in SwAV's program", "[state]") {
    const auto error_with = [](const std::vector<TensorRange>& ranges) {
        return worst_error(
            settings(Optimizer::kSgdLarc), "prototypes", [](UpdateScalars&) {}, ranges);
    };
    const double worst = error_with(with_prototypes());
    // A step rounds a prototype twice: by the update and by the division.
    INFO("error " << worst << ", bound " << 2 * kBound);
    CHECK(worst <= 2 * kBound);
    for (const std::uint64_t steps : {0u, 5u, 7u}) {
        auto wrong = with_prototypes();
        wrong[0].frozen_steps = steps;
        INFO("frozen for " << steps << " steps");
        CHECK(error_with(wrong) > 10 * kBound);
    }
    for (const std::uint64_t length : {0u, 4u, 12u}) {
        auto wrong = with_prototypes();
        wrong[0].row_length = length;
        INFO("rows of " << length);
        CHECK(error_with(wrong) > 10 * kBound);
    }
}

TEST_CASE("a wrong setting or formula of an optimizer is far outside the bound", "[state]") {
    const auto is_caught = [](const OptimizerSettings& wrong, const char* figures) {
        return worst_error(wrong, figures) > 10 * kBound;
    };
    struct Mistake {
        Optimizer optimizer;
        double OptimizerSettings::*setting;
        double value;
    };
    for (const Mistake& mistake :
         {Mistake{Optimizer::kLamb, &OptimizerSettings::epsilon, 1e-8},
          Mistake{Optimizer::kLamb, &OptimizerSettings::beta1, 0.91},
          Mistake{Optimizer::kLamb, &OptimizerSettings::beta2, 0.998},
          Mistake{Optimizer::kLamb, &OptimizerSettings::weight_decay, 0},
          Mistake{Optimizer::kLamb, &OptimizerSettings::norm_limit, 0.9},
          Mistake{Optimizer::kLamb, &OptimizerSettings::clip_norm, 1},
          Mistake{Optimizer::kLambNvidia, &OptimizerSettings::epsilon, 1e-8},
          Mistake{Optimizer::kLambNvidia, &OptimizerSettings::weight_decay, 0},
          Mistake{Optimizer::kLambNvidia, &OptimizerSettings::clip_norm, 0},
          Mistake{Optimizer::kSgd, &OptimizerSettings::momentum, 0.91},
          Mistake{Optimizer::kSgd, &OptimizerSettings::weight_decay, 0},
          Mistake{Optimizer::kSgdLarc, &OptimizerSettings::trust, 0.002},
          Mistake{Optimizer::kSgdLarc, &OptimizerSettings::momentum, 0.91},
          Mistake{Optimizer::kSgdLarc, &OptimizerSettings::epsilon, 1e-3}}) {
        OptimizerSettings wrong = settings(mistake.optimizer);
        wrong.*mistake.setting = mistake.value;
        INFO(name_of(mistake.optimizer) << " with " << mistake.value);
        CHECK(is_caught(wrong, name_of(mistake.optimizer)));
    }
    CHECK(is_caught(settings(Optimizer::kLamb), "lamb_nvidia"));
    CHECK(is_caught(settings(Optimizer::kLambNvidia), "lamb"));
    CHECK(is_caught(settings(Optimizer::kSgdLarc), "sgd"));
    CHECK(is_caught(settings(Optimizer::kSgd), "sgd_larc"));
}

TEST_CASE("a missing bias correction of LAMB is far outside the bound", "[state]") {
    for (const Optimizer optimizer : {Optimizer::kLamb, Optimizer::kLambNvidia}) {
        for (const Change change :
             {Change{[](UpdateScalars& s) { s.first_correction = UpdateScalars::kOne; }},
              Change{[](UpdateScalars& s) { s.second_correction = UpdateScalars::kOne; }}}) {
            INFO(name_of(optimizer));
            CHECK(worst_error(settings(optimizer), name_of(optimizer), change) > 10 * kBound);
        }
    }
}
