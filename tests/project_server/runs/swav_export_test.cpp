// Exports of a run that trains SwAV: its state's tensors and the statistics of its batch norms.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "peer/base/error.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/huggingface/model_card.hpp"
#include "project_server/huggingface/norm_file.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "project_server/huggingface/swav_files.hpp"
#include "project_server/runs/model_export.hpp"
#include "tests/project_server/runs/stored_run.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;
using huggingface::NormFile;
using huggingface::SafetensorsFile;

formats::SwavSpec exported_task() {
    formats::SwavSpec task;
    task.trunk = {.has_bottlenecks = false, .blocks = {1, 1}, .width = 8, .has_small_stem = true};
    task.hidden = 16;
    task.projection = 8;
    task.prototypes = 12;
    task.crops = {{.size = 16, .count = 2}, {.size = 10, .count = 2}};
    task.micro_batch = 20;
    return task;
}

/// Statistics for the present state, written where dedloc-evaluate writes them.
NormFile measure(const StoredRun& stored, const fs::path& folder) {
    NormFile norms{.run = formats::run_id(stored.run()),
                   .step = stored.state().step(),
                   .state = stored.state().digest(),
                   .pictures = 60,
                   .batch = 20,
                   .list = blake2b(bytes_of("list")),
                   .norms = {}};
    Random random{stored.state().step().value()};
    for (const auto& layer : huggingface::norm_layers(exported_task())) {
        auto& channels = norms.norms.emplace_back();
        for (std::uint64_t i = 0; i < layer.channels; ++i) {
            channels.mean.push_back(static_cast<float>(random.near_normal()));
            channels.variance.push_back(static_cast<float>(random.uniform()));
        }
    }
    huggingface::write_norm_file(folder / huggingface::norm_file_name(norms.state), exported_task(),
                                 norms);
    return norms;
}

ExportOptions exporting(const StoredRun& stored, const fs::path& folder) {
    return {.project = stored.project(),
            .run = "small",
            .folder = folder,
            .step = {},
            .checkpoint = {},
            .norms = {},
            .progress = {}};
}

std::string refusal_of(const ExportOptions& options) {
    try {
        (void)export_model(options);
    } catch (const InputError& error) {
        return error.what();
    }
    return "exported";
}

FloatVector values_in(const SafetensorsFile& file, const std::string& name) {
    const auto* const tensor = file.find(name);
    REQUIRE(tensor != nullptr);
    FloatVector values(tensor->count());
    file.read(*tensor, values);
    return values;
}

TEST_CASE("an export of a SwAV has its tensors and batch norms' statistics", "[server]") {
    StoredRun stored{exported_task()};
    const TemporaryDirectory out;
    stored.step();
    stored.save();
    const NormFile norms = measure(stored, stored.folder() / "norms");
    const FloatVector expected{stored.state().parameters().begin(),
                               stored.state().parameters().end()};
    stored.step();
    stored.save();  // the newest state that the ledger proves, not measured yet
    stored.step();
    const fs::path folder = out.path() / "model";
    const ExportedModel model = export_model(exporting(stored, folder));
    CHECK(model.step == StepIndex{1});
    CHECK(model.state == norms.state);
    CHECK(model.is_proven);
    std::vector<std::string> names;
    for (const auto& item : fs::directory_iterator{folder}) {
        names.push_back(item.path().filename().string());
    }
    std::ranges::sort(names);
    CHECK(names == std::vector<std::string>{"README.md", "config.json", "evaluate_knn.py",
                                            "head.safetensors", "model.safetensors"});
    const SafetensorsFile trunk{folder / "model.safetensors"};
    const SafetensorsFile head{folder / "head.safetensors"};
    const auto ranges = backbone::parameter_ranges(stored.run());
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const formats::TensorSpec& tensor = stored.run().tensors[i];
        const bool is_head =
            tensor.name.starts_with("projection_head") || tensor.name.starts_with("prototypes");
        const FloatVector values = values_in(is_head ? head : trunk, tensor.name);
        CHECK(std::memcmp(values.data(), expected.data() + ranges[i].begin / sizeof(float),
                          values.size() * sizeof(float)) == 0);
        CHECK((is_head ? trunk : head).find(tensor.name) == nullptr);
    }
    const auto layers = huggingface::norm_layers(exported_task());
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const SafetensorsFile& file = i + 1 == layers.size() ? head : trunk;
        CHECK(values_in(file, layers[i].name + ".running_mean") == norms.norms[i].mean);
        CHECK(values_in(file, layers[i].name + ".running_var") == norms.norms[i].variance);
        const auto* const batches = file.find(layers[i].name + ".num_batches_tracked");
        REQUIRE(batches != nullptr);
        CHECK(batches->type == "I64");
        CHECK(batches->shape.empty());
    }
    CHECK(trunk.tensors().size() + head.tensors().size() == ranges.size() + 3 * layers.size());
    CHECK(platform::read_text(folder / "evaluate_knn.py") == huggingface::knn_script());
    CHECK((fs::status(folder / "evaluate_knn.py").permissions() & fs::perms::owner_exec) !=
          fs::perms::none);
    const std::string config = platform::read_text(folder / "config.json");
    CHECK_THAT(config, Catch::Contains(R"("block": "basic")") &&
                           Catch::Contains(R"("shorter_side": 16)") &&
                           Catch::Contains(R"("pictures": 60)") &&
                           Catch::Contains(norms.state.hex()) && !Catch::Contains("torchvision"));
    const std::string card = platform::read_text(folder / "README.md");
    CHECK_THAT(card, Catch::Contains("A residual network with 16 features") &&
                         Catch::Contains("12 prototypes") && Catch::Contains("| steps | 1 of") &&
                         Catch::Contains("## Verify it") && !Catch::Contains("sequence length") &&
                         !Catch::Contains("tokenizer"));
}

TEST_CASE("a SwAV is not exported without statistics of its batch norms", "[server]") {
    StoredRun stored{exported_task()};
    const TemporaryDirectory out;
    stored.step();
    const fs::path file = out.path() / "own.state";
    fs::copy_file(stored.save(), file);
    measure(stored, out.path() / "elsewhere");
    const NormFile present = measure(stored, out.path() / "others");
    stored.step();
    const auto options = exporting(stored, out.path() / "model");
    CHECK(refusal_of(options) ==
          "the run small has no checkpoint that its ledger proves and that dedloc-evaluate has "
          "measured yet");
    auto given = options;
    given.checkpoint = file;
    CHECK_THAT(refusal_of(given), Catch::StartsWith("there are no statistics of batch norms for "
                                                    "the state of step 1: dedloc-evaluate "));
    given.norms = out.path() / "others";
    fs::remove(given.norms / huggingface::norm_file_name(present.state));
    const NormFile later = measure(stored, given.norms);
    fs::rename(given.norms / huggingface::norm_file_name(later.state),
               given.norms / huggingface::norm_file_name(present.state));
    CHECK_THAT(refusal_of(given), Catch::Contains("has the statistics of another state"));
    CHECK_FALSE(fs::exists(options.folder));
    given.norms = out.path() / "elsewhere";
    CHECK(export_model(given).step == StepIndex{1});
}

TEST_CASE("the card of a trunk that torchvision knows says how it loads", "[server]") {
    formats::RunFile run = StoredRun{exported_task()}.run();
    run.model = formats::SwavSpec{};
    const std::string card = huggingface::write_model_card(run, {}, {});
    CHECK_THAT(card, Catch::Contains("resnet50 with 2048 features") &&
                         Catch::Contains("model = torchvision.models.resnet50()"));
}

}  // namespace
}  // namespace dedloc::runs
