// The model against a plain SwAV on PyTorch in binary64: loss and the gradient of every tensor, on
// fixtures that fixtures/make_swav_fixtures.py wrote.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "boinc_app/swav/swav.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/formats/swav_layout.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "tests/boinc_app/relative_error.hpp"

namespace dedloc::swav {
namespace {

namespace fs = std::filesystem;
using huggingface::SafetensorsFile;
using huggingface::StoredTensor;

/// Relative to the loss.
constexpr double kSwavLossBound = 1e-6;
/// Relative to the norm of the tensor's gradient.
constexpr double kSwavGradientBound = 1e-5;
/// Relative to the norm of the whole gradient, for tensors whose own gradient is zero but for
/// rounding (a bias before a batch norm).
constexpr double kSwavRoundingBound = 1e-7;

const std::vector<std::string> kTasks{"basic", "bottleneck", "queue"};

struct SwavParityFixture {
    explicit SwavParityFixture(const std::string& name)
        : file(fs::path{DEDLOC_FIXTURES} / ("swav_" + name + ".safetensors")) {
        task.trunk = {.has_bottlenecks = whole("bottlenecks") == 1,
                      .blocks = list("blocks"),
                      .width = whole("width"),
                      .has_small_stem = whole("small_stem") == 1};
        task.hidden = whole("hidden");
        task.projection = whole("projection");
        task.prototypes = whole("prototypes");
        task.crops.clear();
        const auto counts = list("counts");
        for (const std::uint64_t size : list("sizes")) {
            task.crops.push_back({.size = size, .count = counts[task.crops.size()]});
        }
        task.temperature = number("temperature");
        task.epsilon = number("epsilon");
        task.iterations = whole("iterations");
        task.queue = whole("queue");
        task.micro_batch = whole("pictures");
        run.tensors = formats::swav_tensors(task);
    }
    const std::string& text(const std::string& name) const {
        return file.header().metadata.at(name);
    }
    double number(const std::string& name) const { return std::stod(text(name)); }
    std::uint64_t whole(const std::string& name) const { return std::stoull(text(name)); }
    std::vector<std::uint64_t> list(const std::string& name) const {
        std::istringstream words{text(name)};
        std::vector<std::uint64_t> values;
        for (std::uint64_t value = 0; words >> value;) values.push_back(value);
        return values;
    }
    FloatVector floats(const std::string& name) const {
        const StoredTensor* const tensor = file.find(name);
        if (tensor == nullptr) FAIL("no tensor " << name);
        FloatVector values(static_cast<std::size_t>(tensor->count()));
        file.read(*tensor, values);
        return values;
    }

    const SafetensorsFile file;
    formats::SwavSpec task;
    formats::RunFile run;
};

struct MeasuredSwav {
    double loss = 0;
    FloatVector gradient;
};

/// Loss and gradient of the last micro-batch.
MeasuredSwav measure_swav(const SwavParityFixture& fixture) {
    training::set_compute_threads(1);
    AlignedFloats parameters(formats::element_count(fixture.run));
    const auto offsets = formats::tensor_offsets(fixture.run);
    for (std::size_t t = 0; t < offsets.size(); ++t) {
        const FloatVector values = fixture.floats("weight." + fixture.run.tensors[t].name);
        REQUIRE(values.size() == fixture.run.tensors[t].count());
        std::ranges::copy(values, parameters.begin() + static_cast<std::ptrdiff_t>(offsets[t]));
    }
    Swav model{fixture.task, fixture.run.tensors, parameters};
    MeasuredSwav measured;
    for (std::uint64_t batch = 0; batch < fixture.whole("batches"); ++batch) {
        std::vector<FloatVector> sizes;
        for (std::size_t size = 0; size < fixture.task.crops.size(); ++size) {
            sizes.push_back(fixture.floats(fmt::format("crops.{}.{}", batch, size)));
        }
        measured.gradient.assign(parameters.size(), 0.0f);
        measured.loss = model
                            .add_gradient({.pictures = fixture.task.micro_batch,
                                           .step = batch,
                                           .sizes = {sizes.begin(), sizes.end()}},
                                          measured.gradient)
                            .value();
    }
    return measured;
}

TEST_CASE("loss and gradients are those of SwAV on PyTorch", "[swav]") {
    const std::string name = GENERATE(from_range(kTasks));
    const SwavParityFixture fixture{name};
    const MeasuredSwav measured = measure_swav(fixture);
    const double loss = fixture.number("loss");
    CAPTURE(name, measured.loss, loss, std::abs(measured.loss - loss) / loss);
    CHECK(std::abs(measured.loss - loss) <= kSwavLossBound * loss);
    test::check_gradients(
        fixture.run, measured.gradient,
        {.own = kSwavGradientBound,
         .rounding = kSwavRoundingBound,
         .negligible = 1e-6 * test::norm(measured.gradient)},
        [&](const std::string& tensor) { return fixture.floats("gradient." + tensor); });
}

TEST_CASE("the fixtures tell SwAV from models with one mistake", "[swav]") {
    std::map<std::string, bool> noticed;
    for (const std::string& name : kTasks) {
        const SwavParityFixture fixture{name};
        const double loss = fixture.number("loss");
        for (const auto& [mistake, text] : fixture.file.header().metadata) {
            if (!mistake.starts_with("wrong: ")) continue;
            std::size_t read = 0;
            const double wrong_loss = std::stod(text, &read);
            const double gradient_error = std::stod(text.substr(read));
            noticed[mistake] |= std::abs(wrong_loss - loss) > 10 * kSwavLossBound * loss ||
                                gradient_error > 10 * kSwavGradientBound;
        }
    }
    CHECK(noticed.size() == 18);
    for (const auto& [mistake, is_noticed] : noticed) {
        CAPTURE(mistake);
        // It only keeps exp() within its range.
        CHECK(is_noticed == (mistake != "wrong: maximum of the batch not subtracted"));
    }
}

}  // namespace
}  // namespace dedloc::swav
