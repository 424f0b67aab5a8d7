// One model in each of the forms that transformers writes, and the tokenizer of a run and its
// export.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>

#include "peer/base/error.hpp"
#include "project_server/corpus/corpus.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"
#include "project_server/runs/model_export.hpp"
#include "project_server/runs/model_import.hpp"
#include "project_server/tokenizer/model_tokenizer.hpp"
#include "tests/project_server/huggingface/torch_files.hpp"
#include "tests/project_server/runs/stored_run.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;
using huggingface::TorchTensor;
using Tensors = std::vector<TorchTensor>;

const fs::path kFlatFolder = fs::path{DEDLOC_FIXTURES} / "albert_flat";

Tensors flat_tensors() {
    const huggingface::SafetensorsFile file{kFlatFolder / "model.safetensors"};
    Tensors tensors;
    for (const auto& tensor : file.tensors()) {
        std::vector<float> values(tensor.count());
        file.read(tensor, values);
        tensors.push_back({tensor.name, tensor.shape, values});
    }
    return tensors;
}

std::string safetensors_of(const Tensors& tensors) {
    std::vector<huggingface::StoredTensor> stored;
    std::string data;
    for (const auto& tensor : tensors) {
        stored.push_back({.name = tensor.name, .type = "F32", .shape = tensor.shape});
        data += huggingface::storage_bytes(tensor);
    }
    return huggingface::write_safetensors_head(stored) + data;
}

const TorchTensor& find(const Tensors& tensors, const std::string& name) {
    return *std::ranges::find(tensors, name, &TorchTensor::name);
}

/// A folder with config.json and the files that a test writes.
struct FormFolder {
    FormFolder() { fs::copy_file(kFlatFolder / "config.json", path / "config.json"); }
    void write(const std::string& name, const std::string& text) const {
        platform::replace_file(path / name, text);
    }
    /// Writes an index of these files and their tensors.
    void write_index(const std::string& name,
                     const std::vector<std::pair<std::string, Tensors>>& shards) const {
        std::string map;
        for (const auto& [file, tensors] : shards) {
            for (const auto& tensor : tensors) {
                map += fmt::format("{}\"{}\":\"{}\"", map.empty() ? "" : ",", tensor.name, file);
            }
        }
        write(name, R"({"metadata":{"total_size":1},"weight_map":{)" + map + "}}");
    }
    void refuses(const std::string& reason) const {
        CHECK_THROWS_WITH(import_model(path), Catch::Contains(reason));
        CHECK_THROWS_AS(import_model(path), InputError);
    }

    TemporaryDirectory folder;
    fs::path path = folder.path();
};

/// Two halves of the tensors.
std::pair<Tensors, Tensors> halves() {
    Tensors tensors = flat_tensors();
    const auto middle = tensors.begin() + static_cast<std::ptrdiff_t>(tensors.size() / 2);
    return {{tensors.begin(), middle}, {middle, tensors.end()}};
}

bool are_same_states(const ImportedModel& a, const ImportedModel& b) {
    return a.state.size() == b.state.size() &&
           std::memcmp(a.state.data(), b.state.data(), a.state.size() * sizeof(float)) == 0;
}

TEST_CASE("a model is the same in every form that transformers writes", "[server]") {
    const FormFolder form;
    const auto [first, second] = halves();
    Tensors tensors = flat_tensors();
    SECTION("pytorch_model.bin") {
        form.write("pytorch_model.bin", torch_zip(tensors));
    }
    SECTION("the same of old versions") {
        form.write("pytorch_model.bin", torch_row(tensors));
    }
    SECTION("safetensors in shards") {
        form.write("model-00001-of-00002.safetensors", safetensors_of(first));
        form.write("model-00002-of-00002.safetensors", safetensors_of(second));
        form.write_index("model.safetensors.index.json",
                         {{"model-00001-of-00002.safetensors", first},
                          {"model-00002-of-00002.safetensors", second}});
    }
    SECTION("pytorch_model.bin in shards") {
        form.write("pytorch_model-00001-of-00002.bin", torch_zip(first));
        form.write("pytorch_model-00002-of-00002.bin", torch_row(second));
        form.write_index("pytorch_model.bin.index.json",
                         {{"pytorch_model-00001-of-00002.bin", first},
                          {"pytorch_model-00002-of-00002.bin", second}});
    }
    SECTION("tied tensors twice") {
        TorchTensor decoder = find(tensors, "albert.embeddings.word_embeddings.weight");
        decoder.name = "predictions.decoder.weight";
        tensors.push_back(decoder);
        form.write("model.safetensors", safetensors_of(tensors));
    }
    SECTION("tied tensors under their other names") {
        for (auto& tensor : tensors) {
            if (tensor.name == "albert.embeddings.word_embeddings.weight") {
                tensor.name = "predictions.decoder.weight";
            } else if (tensor.name == "predictions.bias") {
                tensor.name = "predictions.decoder.bias";
            }
        }
        form.write("model.safetensors", safetensors_of(tensors));
    }
    SECTION("several forms at once: the first one counts") {
        form.write("model.safetensors", safetensors_of(tensors));
        form.write("pytorch_model.bin", "nonsense");
    }
    const ImportedModel imported = import_model(form.path);
    CHECK(imported.initialised.empty());
    CHECK(are_same_states(imported, import_model(kFlatFolder)));
}

TEST_CASE("a model without heads is read, and its heads begin as in a new run", "[server]") {
    const FormFolder form;
    Tensors kept;
    for (TorchTensor tensor : flat_tensors()) {
        if (!tensor.name.starts_with("albert.")) continue;
        tensor.name = tensor.name.substr(7);  // as AlbertModel names them
        kept.push_back(tensor);
    }
    form.write("model.safetensors", safetensors_of(kept));
    const ImportedModel imported = import_model(form.path);
    CHECK(imported.initialised ==
          std::vector<std::string>{"predictions.bias", "predictions.LayerNorm.weight",
                                   "predictions.LayerNorm.bias", "predictions.dense.weight",
                                   "predictions.dense.bias", "sop_classifier.classifier.weight",
                                   "sop_classifier.classifier.bias"});
    // A part of a head is a damaged file.
    Tensors damaged = flat_tensors();
    std::erase_if(
        damaged, [](const TorchTensor& tensor) { return tensor.name == "predictions.dense.bias"; });
    form.write("model.safetensors", safetensors_of(damaged));
    form.refuses("lacks the tensor predictions.dense.bias");
    // One name with and without the prefix.
    Tensors twice = flat_tensors();
    twice.push_back(kept.front());
    form.write("model.safetensors", safetensors_of(twice));
    form.refuses("twice");
}

TEST_CASE("an index cannot name what is not its folder's", "[server]") {
    const FormFolder form;
    const auto [first, second] = halves();
    const char* const kIndex = "model.safetensors.index.json";
    const auto refuses = [&](const std::string& json, const std::string& reason) {
        form.write(kIndex, json);
        CAPTURE(json);
        form.refuses(reason);
    };
    for (const char* file : {"../../etc/passwd", "/etc/passwd", "..", ".", "", "a/b", "a\\u0000"}) {
        refuses(fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", file), "no file of this folder");
    }
    refuses(R"({"weight_map":{"a":"gone.safetensors"}})", "gone.safetensors, which is absent");
    refuses(R"({"weight_map":{"a":1}})", "names of files");
    refuses(R"({"weight_map":[]})", "must be an object");
    refuses(R"({"weight_map":{}})", "is empty");
    refuses(R"({})", "weight_map");
    refuses("nonsense", "is not JSON");
    form.write("one.safetensors", safetensors_of(first));
    refuses(R"({"weight_map":{"absent":"one.safetensors"}})", "lacks the tensor absent");
    form.write("two.safetensors", safetensors_of(first));
    form.write_index(kIndex, {{"one.safetensors", first}, {"two.safetensors", {first[0]}}});
    form.refuses("twice");
    form.write("two.safetensors", "cut");
    form.refuses("two.safetensors is not a safetensors file");
    fs::remove(form.path / "two.safetensors");
    form.write_index(kIndex, {{"one.safetensors", first}});
    form.refuses("lacks the tensor");
}

TEST_CASE("forms that are not read are refused with what to do", "[server]") {
    const FormFolder form;
    form.refuses("it has no model.safetensors or pytorch_model.bin, nor an index");
    form.write("model.fp16.safetensors", "");
    form.refuses("has the file model.fp16.safetensors, but no model.safetensors");
    form.write("tf_model.h5", "");
    form.refuses("has only tf_model.h5, which is TensorFlow's: load it with transformers");
}

TEST_CASE("an export says what the run's tokenizer does, and a new run asks for the same",
          "[server]") {
    StoredRun stored;
    const TemporaryDirectory out;
    stored.step();
    stored.save();
    stored.step();
    const fs::path tokenizer = stored.folder() / "tokenizer.model";
    const auto own = tokenizer::read_model_tokenizer(tokenizer, tokenizer::AlbertRules{});
    platform::replace_file(stored.folder() / "tokenizer.json",
                           huggingface::write_tokenizer(*own.spec, own.special));
    const fs::path model = out.path() / "model";
    export_model({.project = stored.project(),
                  .run = "small",
                  .folder = model,
                  .step = {},
                  .checkpoint = {},
                  .progress = {}});
    const std::string config = platform::read_text(model / "tokenizer_config.json");
    CHECK_THAT(config, Catch::Contains(R"("do_lower_case":true)") &&
                           Catch::Contains(R"("keep_accents":false)"));
    CHECK(platform::read_text(model / "tokenizer.json") ==
          platform::read_text(stored.folder() / "tokenizer.json"));
    CHECK(tokenizer::read_model_tokenizer(model).spec == own.spec);
    require_tokenizer(model, tokenizer);
    // The run's folder keeps corpus.json, which says which tokenizer.json made the corpus.
    corpus::Corpus corpus;
    corpus.vocabulary = formats::albert_of(stored.run()).vocabulary;
    corpus.special_tokens = stored.run().special_tokens;
    corpus.shards = {{.name = "shard", .digest = {}, .bytes = 1}};
    corpus.rules = corpus::TextRules{};
    corpus::write_corpus(stored.folder(), corpus);
    CHECK_THROWS_WITH(export_model({.project = stored.project(),
                                    .run = "small",
                                    .folder = out.path() / "other",
                                    .step = {},
                                    .checkpoint = {},
                                    .progress = {}}),
                      Catch::Contains("tokenizer.json is altered"));
    // A corpus that SentencePiece alone has made is another one, and so is one of other rules.
    fs::copy_file(tokenizer, out.path() / "tokenizer.model");
    CHECK_THROWS_WITH(require_tokenizer(model, out.path() / "tokenizer.model"),
                      Catch::Contains("tokenised with SentencePiece alone") &&
                          Catch::Contains("wants a tokenizer.json (lower case, accents removed"));
    const auto cased = tokenizer::read_model_tokenizer(tokenizer.parent_path() / "tokenizer.model");
    CHECK(cased.spec == own.spec);
    const auto other = tokenizer::read_model_tokenizer(
        out.path() / "tokenizer.model",
        tokenizer::AlbertRules{.lower_case = false, .keep_accents = true});
    platform::replace_file(out.path() / "tokenizer.json",
                           huggingface::write_tokenizer(*other.spec, other.special));
    CHECK_THROWS_WITH(require_tokenizer(model, out.path() / "tokenizer.model"),
                      Catch::Contains("capitals kept, accents kept"));
}

TEST_CASE("an export has the tokenizer.json that made the corpus, byte for byte", "[server]") {
    StoredRun stored;
    const TemporaryDirectory out;
    stored.step();
    stored.save();
    stored.step();
    const fs::path absent = stored.folder() / "tokenizer.model";
    const auto own = tokenizer::read_model_tokenizer(absent, tokenizer::AlbertRules{});
    const std::string json = huggingface::write_tokenizer(*own.spec, own.special) + "\n\n";
    fs::remove(absent);
    platform::replace_file(stored.folder() / "tokenizer.json", json);
    corpus::Corpus corpus;
    corpus.vocabulary = formats::albert_of(stored.run()).vocabulary;
    corpus.special_tokens = stored.run().special_tokens;
    corpus.shards = {{.name = "shard", .digest = {}, .bytes = 1}};
    corpus.rules = corpus::TextRules{.lower_case = true,
                                     .strips_accents = true,
                                     .tokenizer = blake2b(bytes_of(json)),
                                     .is_whole = true};
    corpus::write_corpus(stored.folder(), corpus);
    const fs::path model = out.path() / "model";
    export_model({.project = stored.project(),
                  .run = "small",
                  .folder = model,
                  .step = {},
                  .checkpoint = {},
                  .progress = {}});
    CHECK(platform::read_text(model / "tokenizer.json") == json);
    CHECK_FALSE(fs::exists(model / "spiece.model"));
    CHECK_THAT(platform::read_text(model / "tokenizer_config.json"),
               Catch::Contains(R"("tokenizer_class":"PreTrainedTokenizerFast")") &&
                   Catch::Contains(R"("mask_token":"[MASK]")"));
    CHECK(tokenizer::read_model_tokenizer(model).json == json);
    // A run that starts from it has the same corpus.
    require_tokenizer(model, absent);
    auto cased = *own.spec;
    cased.normaliser.clear();
    platform::replace_file(stored.folder() / "tokenizer.json",
                           huggingface::write_tokenizer(cased, own.special));
    CHECK_THROWS_WITH(require_tokenizer(model, absent), Catch::Contains("was tokenised with"));
}

}  // namespace
}  // namespace dedloc::runs
