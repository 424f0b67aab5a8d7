// The model against Hugging Face's AlbertForPreTraining: loss and the gradient of every tensor, on
// fixtures that fixtures/make_albert_fixtures.py wrote.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/training/host_layers.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/platform/files.hpp"
#include "project_server/huggingface/albert_config.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "tests/boinc_app/relative_error.hpp"

namespace dedloc::training::albert {
namespace {

namespace fs = std::filesystem;
using huggingface::SafetensorsFile;
using huggingface::StoredTensor;

/// Relative to the loss. Measured: at most 4.2e-8.
constexpr double kLossBound = 5e-7;
/// Relative to the norm of the tensor's gradient. Measured: at most 9.3e-7.
constexpr double kGradientBound = 5e-6;
/// Relative to the norm of the whole gradient, for tensors whose own gradient is zero but for
/// rounding (the key's bias).
constexpr double kRoundingBound = 1e-7;

const std::vector<std::string> kShapes{"flat", "steep", "square"};

struct Fixture {
    explicit Fixture(const std::string& shape)
        : Fixture(fs::path{DEDLOC_FIXTURES} / ("albert_" + shape)) {}
    explicit Fixture(const fs::path& of)
        : folder(of), weights(folder / "model.safetensors"), parity(folder / "parity.safetensors") {
        run.model = huggingface::read_albert_config("config.json",
                                                    platform::read_text(folder / "config.json"));
        run.tensors = formats::albert_tensors(formats::albert_of(run));
    }
    double number(const std::string& name) const {
        return std::stod(parity.header().metadata.at(name));
    }
    std::vector<std::int64_t> integers(const std::string& name) const {
        const StoredTensor* const tensor = parity.find(name);
        REQUIRE(tensor != nullptr);
        REQUIRE(tensor->type == "I64");
        std::vector<std::int64_t> values(static_cast<std::size_t>(tensor->count()));
        std::ifstream file{folder / "parity.safetensors", std::ios::binary};
        std::uint64_t header_bytes = 0;
        file.read(reinterpret_cast<char*>(&header_bytes), sizeof(header_bytes));
        file.seekg(
            static_cast<std::streamoff>(sizeof(header_bytes) + header_bytes + tensor->begin));
        file.read(reinterpret_cast<char*>(values.data()),
                  static_cast<std::streamsize>(values.size() * sizeof(values[0])));
        REQUIRE(file.good());
        return values;
    }
    FloatVector floats(const SafetensorsFile& file, const std::string& name) const {
        const StoredTensor* const tensor = file.find(name);
        if (tensor == nullptr) FAIL("no tensor " << name);
        FloatVector values(static_cast<std::size_t>(tensor->count()));
        file.read(*tensor, values);
        return values;
    }

    const fs::path folder;
    const SafetensorsFile weights;
    const SafetensorsFile parity;
    formats::RunFile run;
};

MicroBatch batch_of(const Fixture& fixture) {
    MicroBatch batch;
    batch.tokens = fixture.integers("tokens");
    batch.types = fixture.integers("types");
    batch.row_lengths = fixture.integers("lengths");
    batch.masked_at = fixture.integers("masked_at");
    batch.masked_tokens = fixture.integers("masked_tokens");
    batch.is_swapped = fixture.integers("swapped");
    batch.samples = batch.row_lengths.size();
    batch.length = batch.tokens.size() / batch.samples;
    std::map<std::size_t, int> masked;  // tokens by row
    const auto row_of = [&](std::int64_t at) {
        return static_cast<std::size_t>(at) / batch.length;
    };
    for (const std::int64_t at : batch.masked_at) ++masked[row_of(at)];
    for (const std::int64_t at : batch.masked_at) {
        batch.masked_weights.push_back(1.0f / static_cast<float>(masked[row_of(at)]));
    }
    return batch;
}

struct Measured {
    double loss = 0;
    FloatVector gradient;
};

/// A vector of the run from tensors in a file whose names begin with `prefix`.
AlignedFloats vector_of(const Fixture& fixture, const SafetensorsFile& file,
                        const std::string& prefix) {
    AlignedFloats vector(formats::element_count(fixture.run));
    const auto offsets = formats::tensor_offsets(fixture.run);
    for (std::size_t t = 0; t < offsets.size(); ++t) {
        const FloatVector values = fixture.floats(file, prefix + fixture.run.tensors[t].name);
        std::ranges::copy(values, vector.begin() + static_cast<std::ptrdiff_t>(offsets[t]));
    }
    return vector;
}

Measured measure(const Fixture& fixture, const Computation& computation = {}) {
    set_compute_threads(1);
    const AlignedFloats parameters = vector_of(fixture, fixture.weights, "");
    Albert model{fixture.run, parameters, computation};
    Measured measured{.loss = 0, .gradient = FloatVector(parameters.size())};
    measured.loss = model.add_gradient(batch_of(fixture), measured.gradient).value();
    return measured;
}

TEST_CASE("loss and gradients are those of Hugging Face's model", "[training]") {
    const std::string shape = GENERATE(from_range(kShapes));
    const Fixture fixture{shape};
    const Measured measured = measure(fixture);
    const double loss = fixture.number("loss");
    CAPTURE(shape, measured.loss, loss, std::abs(measured.loss - loss) / loss);
    CHECK(std::abs(measured.loss - loss) <= kLossBound * loss);
    test::check_gradients(fixture.run, measured.gradient,
                          {.own = kGradientBound, .rounding = kRoundingBound, .negligible = 1e-6},
                          [&](const std::string& name) {
                              return fixture.floats(fixture.parity, "gradient." + name);
                          });
}

// tests/boinc_app/gradient_errors.py parses the output.
TEST_CASE("the error of a gradient against binary64 is printed", "[.gradient_error]") {
    const char* const folder = std::getenv("DEDLOC_GRADIENT");
    if (folder == nullptr) FAIL("DEDLOC_GRADIENT names the folder of a model and its gradient");
    const Fixture fixture{fs::path{folder}};
    const AlignedFloats exact = vector_of(fixture, fixture.parity, "gradient.");
    const FloatVector expected{exact.begin(), exact.end()};
    const kernels::ThisThread workers;
    HostLayers layers{workers};
    const auto print = [&](const char* kind, const Computation& computation) {
        const FloatVector measured = measure(fixture, computation).gradient;
        std::printf("ours, %s: %.3e\n", kind, test::relative_error(measured, expected));
    };
    print("fp32", {});
    print("bf16 by autocast", {.precision = Precision::kBf16});
    print("bf16 by kernels", {.precision = Precision::kBf16, .layers = &layers});
    print("bf16 and attention by kernels",
          {.precision = Precision::kBf16, .fuses_attention = true, .layers = &layers});
}

TEST_CASE("the fixtures tell the model from models with one mistake", "[training]") {
    std::map<std::string, bool> noticed;
    for (const std::string& shape : kShapes) {
        const Fixture fixture{shape};
        const double loss = fixture.number("loss");
        for (const auto& [name, text] : fixture.parity.header().metadata) {
            if (!name.starts_with("wrong: ")) continue;
            std::size_t read = 0;
            const double wrong_loss = std::stod(text, &read);
            const double gradient_error = std::stod(text.substr(read));
            noticed[name] |= std::abs(wrong_loss - loss) > 10 * kLossBound * loss ||
                             gradient_error > 10 * kGradientBound;
        }
    }
    CHECK(noticed.size() == 5);
    for (const auto& [name, is_noticed] : noticed) {
        CAPTURE(name);
        CHECK(is_noticed);
    }
}

}  // namespace
}  // namespace dedloc::training::albert
