#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>

#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "project_server/runs/model_export.hpp"
#include "project_server/runs/model_import.hpp"
#include "tests/project_server/runs/stored_run.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;

const fs::path kFlat = fs::path{DEDLOC_FIXTURES} / "albert_flat";

/// A copy of a model folder that a test may damage.
struct ModelFolder {
    explicit ModelFolder(const fs::path& source) {
        for (const char* name : {"config.json", "model.safetensors"}) {
            fs::copy_file(source / name, path / name);
        }
    }
    /// Replaces a text of the same length in the head of the tensors' file.
    void rename(const std::string& from, const std::string& to) const {
        std::string all = platform::read_text(path / "model.safetensors");
        REQUIRE(from.size() == to.size());
        const std::size_t at = all.find('"' + from + '"');
        REQUIRE(at != std::string::npos);
        all.replace(at + 1, from.size(), to);
        platform::replace_file(path / "model.safetensors", all);
    }
    /// Writes the file again without these tensors.
    void remove(const std::vector<std::string>& names) const {
        const huggingface::SafetensorsFile file{path / "model.safetensors"};
        std::vector<huggingface::StoredTensor> kept;
        std::string data;
        for (const auto& tensor : file.header().tensors) {
            if (std::ranges::count(names, tensor.name) != 0) continue;
            FloatVector values(tensor.count());
            file.read(tensor, values);
            kept.push_back(tensor);
            data.append(reinterpret_cast<const char*>(values.data()), 4 * values.size());
        }
        platform::replace_file(path / "model.safetensors",
                               huggingface::write_safetensors_head(kept) + data);
    }
    void configure(const std::string& from, const std::string& to) const {
        std::string all = platform::read_text(path / "config.json");
        const std::size_t at = all.find(from);
        REQUIRE(at != std::string::npos);
        platform::replace_file(path / "config.json", all.replace(at, from.size(), to));
    }
    void refuses(const std::string& reason) const {
        CHECK_THROWS_WITH(import_model(path), Catch::Contains(reason));
    }

    TemporaryDirectory folder;
    fs::path path = folder.path();
};

TEST_CASE("a model of transformers is read with its bits", "[server]") {
    for (const char* shape : {"flat", "steep", "square"}) {
        const fs::path folder = fs::path{DEDLOC_FIXTURES} / (std::string{"albert_"} + shape);
        const ImportedModel imported = import_model(folder);
        formats::RunFile run;
        run.model = imported.model;
        run.tensors = formats::albert_tensors(formats::albert_of(run));
        const auto elements = static_cast<std::size_t>(formats::element_count(run));
        REQUIRE(imported.state.size() == 3 * elements);
        const huggingface::SafetensorsFile file{folder / "model.safetensors"};
        const auto ranges = backbone::parameter_ranges(run);
        for (std::size_t t = 0; t < ranges.size(); ++t) {
            FloatVector values(run.tensors[t].count());
            file.read(*file.find(run.tensors[t].name), values);
            CHECK(std::memcmp(values.data(), imported.state.data() + ranges[t].begin / 4,
                              values.size() * sizeof(float)) == 0);
        }
        const auto moments = std::span{imported.state}.subspan(elements);
        CHECK(std::ranges::all_of(moments, [](float x) { return x == 0; }));
    }
}

TEST_CASE("an export that is read again has the state's parameters, bit for bit", "[server]") {
    StoredRun stored;
    const TemporaryDirectory out;
    stored.step();
    const FloatVector expected{stored.state().parameters().begin(),
                               stored.state().parameters().end()};
    stored.save();
    stored.step();
    export_model({.project = stored.project(),
                  .run = "small",
                  .folder = out.path() / "model",
                  .step = {},
                  .checkpoint = {},
                  .progress = {}});
    const ImportedModel imported = import_model(out.path() / "model");
    CHECK(imported.model == formats::albert_of(stored.run()));
    REQUIRE(imported.state.size() == 3 * expected.size());
    CHECK(std::memcmp(imported.state.data(), expected.data(), expected.size() * 4) == 0);
    require_tokenizer(out.path() / "model", stored.folder() / "tokenizer.model");
    platform::replace_file(out.path() / "other", small_tokenizer() + "x");
    CHECK_THROWS_WITH(require_tokenizer(out.path() / "model", out.path() / "other"),
                      Catch::Contains("not the tokenizer that made the corpus"));
    CHECK_THROWS_WITH(require_tokenizer(out.path(), out.path() / "other"),
                      Catch::Contains("has no spiece.model"));
}

TEST_CASE("what a model for masked words lacks begins with a new run's values", "[server]") {
    const ModelFolder model{kFlat};
    const ImportedModel whole = import_model(model.path);
    CHECK(whole.initialised.empty());
    const std::vector<std::string> lacking{"albert.pooler.weight", "albert.pooler.bias",
                                           "sop_classifier.classifier.weight",
                                           "sop_classifier.classifier.bias"};
    model.remove(lacking);
    const ImportedModel imported = import_model(model.path, {.seed = 7});
    CHECK(imported.initialised == lacking);
    CHECK(notice_of("hf", imported.initialised) ==
          "hf lacks albert.pooler.weight, albert.pooler.bias, sop_classifier.classifier.weight, "
          "sop_classifier.classifier.bias: they begin with the values that they have in a new run");
    CHECK(notice_of("hf", whole.initialised).empty());
    CHECK(imported.model == whole.model);
    REQUIRE(imported.state.size() == whole.state.size());
    formats::RunFile run;
    run.seed = 7;
    run.model = imported.model;
    run.tensors = formats::albert_tensors(formats::albert_of(run));
    const FloatVector first = state::initial_parameters(run);
    const auto ranges = backbone::parameter_ranges(run);
    for (std::size_t t = 0; t < ranges.size(); ++t) {
        INFO(run.tensors[t].name);
        const bool is_lacking = std::ranges::count(lacking, run.tensors[t].name) != 0;
        const FloatVector& expected = is_lacking ? first : whole.state;
        CHECK(std::memcmp(imported.state.data() + ranges[t].begin / 4,
                          expected.data() + ranges[t].begin / 4,
                          ranges[t].end - ranges[t].begin) == 0);
    }
    CHECK(import_model(model.path, {.seed = 8}).head.digest != imported.head.digest);
}

TEST_CASE("a model that is not the one that a run trains is refused in one sentence", "[server]") {
    const ModelFolder model{kFlat};
    CHECK(import_model(model.path).model.vocabulary == 100);
    SECTION("a tensor under another name") {
        model.rename("predictions.bias", "predictions.tail");
        model.refuses("lacks the tensor predictions.bias");
    }
    SECTION("a tensor more") {
        std::string all = platform::read_text(model.path / "model.safetensors");
        std::uint64_t length = 0;
        std::memcpy(&length, all.data(), sizeof(length));
        const std::string more = R"("more":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)";
        all.insert(9, more);
        length += more.size();
        std::memcpy(all.data(), &length, sizeof(length));
        platform::replace_file(model.path / "model.safetensors", all);
        model.refuses("has the tensor more, which AlbertForPreTraining has not");
    }
    SECTION("tensors of another shape") {
        model.configure("\"hidden_size\": 16", "\"hidden_size\": 32");
        model.refuses("has the shape [16,8], and by config.json [32,8]");
    }
    SECTION("another type") {
        model.rename("F32", "I32");
        model.refuses("has the type I32, not F32, F16 or BF16");
    }
    SECTION("a value that is not a number") {
        const std::uint32_t nan = 0x7fc00000;
        std::fstream file{model.path / "model.safetensors",
                          std::ios::binary | std::ios::in | std::ios::out};
        file.seekp(-4, std::ios::end);
        file.write(reinterpret_cast<const char*>(&nan), sizeof(nan));
        file.close();
        model.refuses("a value that is not finite");
    }
    SECTION("cut") {
        const auto size = fs::file_size(model.path / "model.safetensors");
        fs::resize_file(model.path / "model.safetensors", size - 1);
        model.refuses("bytes together, but");
    }
    SECTION("a wrong field") {
        model.configure("gelu_new", "relu_new");
        model.refuses("hidden_act = 'gelu_new', not 'relu_new'");
    }
    SECTION("more than a run may have") {
        // 5,000,000 x 1,024 parameters: 2³² are 4,194,304 x 1,024.
        model.configure("\"embedding_size\": 8", "\"embedding_size\": 1024");
        model.configure("\"vocab_size\": 100", "\"vocab_size\": 5000000");
        model.refuses("and a run at most 4294967296, with the padding");
    }
    SECTION("no model") {
        fs::remove(model.path / "config.json");
        model.refuses("it has no config.json");
    }
}

}  // namespace
}  // namespace dedloc::runs
