// Heads for labels against Hugging Face's AlbertForTokenClassification and
// AlbertForSequenceClassification: logits, loss and the gradient of every tensor, on fixtures that
// fixtures/make_fine_tuned_fixtures.py wrote, and on any other such folders that are there.
#include "boinc_app/albert/fine_tuned.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>

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

/// Relative to the loss. Measured: at most 1.3e-7.
constexpr double kLabelLossBound = 1e-6;
/// Relative to the norm of the whole gradient. Measured: at most 2.2e-7.
constexpr double kLabelGradientBound = 5e-6;

/// A folder with a model and what Hugging Face computes with it.
struct LabelFixture {
    explicit LabelFixture(const fs::path& path)
        : folder(path),
          weights(folder / "model.safetensors"),
          reference(folder / "reference.safetensors") {
        run.model = huggingface::read_albert_config("config.json",
                                                    platform::read_text(folder / "config.json"));
        run.tensors = formats::albert_tensors(formats::albert_of(run));
        const auto rows = integers("in.input_ids");
        run.sequence_length = rows.size() / row_count();
    }

    std::size_t row_count() const {
        return static_cast<std::size_t>(reference.find("in.input_ids")->shape[0]);
    }
    bool has_texts() const { return reference.find("label.labels")->shape.size() == 1; }
    std::size_t labels() const {
        return static_cast<std::size_t>(weights.find("classifier.bias")->count());
    }

    std::vector<std::int64_t> integers(const std::string& name) const {
        const auto* const tensor = reference.find(name);
        REQUIRE(tensor != nullptr);
        REQUIRE(tensor->type == "I64");
        std::vector<std::int64_t> values(static_cast<std::size_t>(tensor->count()));
        std::ifstream file{folder / "reference.safetensors", std::ios::binary};
        std::uint64_t header = 0;
        file.read(reinterpret_cast<char*>(&header), sizeof(header));
        file.seekg(static_cast<std::streamoff>(sizeof(header) + header + tensor->begin));
        file.read(reinterpret_cast<char*>(values.data()),
                  static_cast<std::streamsize>(values.size() * sizeof(values[0])));
        REQUIRE(file.good());
        return values;
    }
    static FloatVector floats(const SafetensorsFile& file, const std::string& name) {
        const auto* const tensor = file.find(name);
        if (tensor == nullptr) return {};
        FloatVector values(static_cast<std::size_t>(tensor->count()));
        file.read(*tensor, values);
        return values;
    }

    /// Parameters of the run, then the head; tensors of other tasks are 0.
    AlignedFloats parameters() const {
        AlignedFloats all(FineTuned::element_count(run, labels()));
        const auto offsets = formats::tensor_offsets(run);
        for (std::size_t t = 0; t < offsets.size(); ++t) {
            std::ranges::copy(floats(weights, run.tensors[t].name),
                              all.begin() + static_cast<std::ptrdiff_t>(offsets[t]));
        }
        auto at = all.begin() + static_cast<std::ptrdiff_t>(formats::element_count(run));
        for (const char* const name : {"classifier.weight", "classifier.bias"}) {
            at = std::ranges::copy(floats(weights, name), at).out;
        }
        CHECK(at == all.end());
        return all;
    }

    LabelledBatch batch() const {
        LabelledBatch batch;
        auto& inputs = batch.inputs;
        inputs.samples = row_count();
        inputs.tokens = integers("in.input_ids");
        inputs.length = inputs.tokens.size() / inputs.samples;
        inputs.types = reference.find("in.token_type_ids") != nullptr
                           ? integers("in.token_type_ids")
                           : std::vector<std::int64_t>(inputs.tokens.size());
        const auto mask = integers("in.attention_mask");
        for (std::size_t row = 0; row < inputs.samples; ++row) {
            const auto first = mask.begin() + static_cast<std::ptrdiff_t>(row * inputs.length);
            inputs.row_lengths.push_back(
                std::count(first, first + static_cast<std::ptrdiff_t>(inputs.length), 1));
        }
        inputs.dropout_keys.resize(inputs.samples);
        const auto given = integers("label.labels");
        for (std::size_t i = 0; i < given.size(); ++i) {
            if (given[i] < 0) continue;
            batch.places.push_back(static_cast<std::int64_t>(i));
            batch.labels.push_back(given[i]);
        }
        return batch;
    }

    const fs::path folder;
    const SafetensorsFile weights;
    const SafetensorsFile reference;
    formats::RunFile run;
};

/// Compares the gradient of one tensor, which is the mean over labels there.
void check_gradient(const LabelFixture& fixture, const std::string& name,
                    std::span<const float> sum, double labels, double whole) {
    const FloatVector expected = LabelFixture::floats(fixture.reference, "grad." + name);
    double squares = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const double wanted = expected.empty() ? 0 : double{expected[i]};
        squares += std::pow(double{sum[i]} / labels - wanted, 2);
    }
    CAPTURE(name, std::sqrt(squares) / whole);
    CHECK(std::sqrt(squares) <= kLabelGradientBound * whole);
}

void check_folder(const fs::path& folder) {
    CAPTURE(folder);
    set_compute_threads(1);
    const LabelFixture fixture{folder};
    const AlignedFloats parameters = fixture.parameters();
    FineTuned model{fixture.run, parameters,
                    fixture.has_texts() ? Labelled::kTexts : Labelled::kTokens, fixture.labels()};
    const LabelledBatch batch = fixture.batch();
    const auto labels = static_cast<double>(batch.labels.size());

    FloatVector sum(parameters.size());
    const double loss = model.add_gradient(batch, sum).value() / labels;
    const double wanted = double{LabelFixture::floats(fixture.reference, "out.loss").at(0)};
    CAPTURE(loss, wanted, std::abs(loss - wanted) / wanted);
    CHECK(std::abs(loss - wanted) <= kLabelLossBound * wanted);

    const double whole = test::norm(sum) / labels;
    const auto offsets = formats::tensor_offsets(fixture.run);
    for (std::size_t t = 0; t < offsets.size(); ++t) {
        const auto& tensor = fixture.run.tensors[t];
        std::size_t count = 1;
        for (const auto extent : tensor.shape) count *= static_cast<std::size_t>(extent);
        check_gradient(fixture, tensor.name,
                       std::span{sum}.subspan(static_cast<std::size_t>(offsets[t]), count), labels,
                       whole);
    }
    const auto head =
        std::span{sum}.subspan(static_cast<std::size_t>(formats::element_count(fixture.run)));
    const std::size_t weights = head.size() - fixture.labels();
    check_gradient(fixture, "classifier.weight", head.first(weights), labels, whole);
    check_gradient(fixture, "classifier.bias", head.subspan(weights), labels, whole);

    const auto found = model.predict(batch).value();
    CHECK(std::abs(found.loss / labels - wanted) <= kLabelLossBound * wanted);
    const FloatVector all = LabelFixture::floats(fixture.reference, "out.logits");
    std::size_t at = 0;
    for (const std::int64_t place : batch.places) {
        const auto first = all.begin() + place * static_cast<std::ptrdiff_t>(fixture.labels());
        const auto last = first + static_cast<std::ptrdiff_t>(fixture.labels());
        CHECK(found.labels[at++] == std::max_element(first, last) - first);
    }
}

}  // namespace

TEST_CASE("heads for labels compute as Hugging Face's models", "[training]") {
    check_folder(fs::path{DEDLOC_FIXTURES} / "albert_names");
    check_folder(fs::path{DEDLOC_FIXTURES} / "albert_classes");
    // Folders that are not in the repository; DEDLOC_LABEL_MODELS names another folder of them.
    const char* const named = std::getenv("DEDLOC_LABEL_MODELS");
    const fs::path others = named != nullptr ? named : DEDLOC_LABEL_MODELS;
    for (const char* const name : {"tiny-albert-ner", "tiny-albert-classifier"}) {
        if (fs::exists(others / name)) check_folder(others / name);
    }
}

TEST_CASE("fine-tuning is interrupted and leaves the sum as it was", "[training]") {
    const LabelFixture fixture{fs::path{DEDLOC_FIXTURES} / "albert_names"};
    const AlignedFloats parameters = fixture.parameters();
    FineTuned model{fixture.run, parameters, Labelled::kTokens, fixture.labels()};
    const LabelledBatch batch = fixture.batch();
    FloatVector sum(parameters.size(), 1.0f);
    int calls = 0;
    const auto is_whole = [&](int limit) {
        calls = 0;
        return model.add_gradient(batch, sum, [&] { return ++calls > limit; }).has_value();
    };
    for (const int limit : {0, 1, 5, 20, 30}) CHECK_FALSE(is_whole(limit));
    CHECK(sum == FloatVector(parameters.size(), 1.0f));
    CHECK(is_whole(1'000'000));
    CHECK(sum != FloatVector(parameters.size(), 1.0f));
    CHECK_FALSE(model.predict(batch, [] { return true; }));
}

}  // namespace dedloc::training::albert
