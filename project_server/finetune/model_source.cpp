// Whatever the source, a model becomes a run file with the model's sizes, the flat vector of its
// parameters and a function that tokenises. Heads of pre-training are read, since the vector has a
// place for them, and not used.
#include "project_server/finetune/model_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/checkpoint_file.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/runs/model_import.hpp"
#include "project_server/runs/run_tokenizer.hpp"
#include "project_server/tokenizer/model_tokenizer.hpp"
#include "project_server/tokenizer/pipeline.hpp"

namespace dedloc::finetune {
namespace {

namespace fs = std::filesystem;

void use_tokenizer(SourceModel& model, const huggingface::TokenizerSpec& spec) {
    const std::uint64_t vocabulary = formats::albert_of(model.base.run).vocabulary;
    if (spec.pieces.size() > vocabulary) {
        throw InputError(fmt::format("{}: the tokenizer has {} pieces, and the model {}",
                                     model.name, spec.pieces.size(), vocabulary));
    }
    const auto pipeline = std::make_shared<const tokenizer::Pipeline>(spec);
    model.encode = [pipeline](std::string_view text) { return pipeline->encode(text); };
}

SourceModel load_folder(const fs::path& folder) {
    SourceModel model{.name = folder.string()};
    auto imported = runs::import_model(folder);
    formats::RunFile& run = model.base.run;
    run.name = "model";
    run.model = imported.model;
    run.tensors = formats::albert_tensors(imported.model);
    // Heads of pre-training are not used, so only a missing pooler matters.
    std::erase_if(imported.initialised,
                  [](const std::string& name) { return !name.starts_with("albert."); });
    model.notice = runs::notice_of(folder, imported.initialised);
    imported.state.resize(static_cast<std::size_t>(formats::element_count(run)));
    model.base.parameters = std::move(imported.state);
    const auto found = tokenizer::read_model_tokenizer(folder);
    if (!found.spec) {
        throw InputError(fmt::format("{} has no tokenizer of its own", folder.string()));
    }
    run.special_tokens = found.special;
    use_tokenizer(model, *found.spec);
    if (fs::is_regular_file(folder / "README.md")) model.card = folder / "README.md";
    return model;
}

fs::path newest_checkpoint(const backbone::RunFiles& files) {
    const auto entries = backbone::list_checkpoints(files.checkpoints(), files.id);
    const auto newest =
        std::ranges::max_element(entries, {}, [](const auto& entry) { return entry.head.step; });
    if (newest == entries.end()) {
        throw InputError(fmt::format("the run {} has no checkpoint yet", files.run.name));
    }
    return newest->path;
}

/// The parameters in a checkpoint; the optimizer's moments behind them are only digested.
std::vector<float> parameters_in(const backbone::CheckpointFile& file, const fs::path& path,
                                 const formats::RunFile& run) {
    const std::uint64_t elements = formats::element_count(run);
    if (file.head().elements != elements) {
        throw InputError(fmt::format("{} is not a state of this run: it has {} elements, not {}",
                                     path.string(), file.head().elements, elements));
    }
    std::vector<float> parameters(static_cast<std::size_t>(elements));
    const auto target = std::as_writable_bytes(std::span{parameters});
    const Digest digest = file.read_all([&](std::uint64_t offset, auto bytes) {
        if (offset >= target.size()) return;
        const auto begin = static_cast<std::size_t>(offset);
        const std::size_t count = std::min(bytes.size(), target.size() - begin);
        std::copy_n(bytes.begin(), count, target.begin() + static_cast<std::ptrdiff_t>(begin));
    });
    if (digest != file.head().digest) {
        throw InputError(
            fmt::format("{} is damaged: its bytes are not the state with the digest that it names",
                        path.string()));
    }
    return parameters;
}

SourceModel load_state(const backbone::RunFiles& files, const fs::path& checkpoint) {
    if (!std::holds_alternative<formats::AlbertSpec>(files.run.model)) {
        throw InputError(fmt::format("run {} trains no ALBERT, which is what can be fine-tuned",
                                     files.run.name));
    }
    const backbone::CheckpointFile file{checkpoint, files.id};
    SourceModel model{.name =
                          fmt::format("run {}, step {}", files.run.name, file.head().step.value())};
    model.base.run = files.run;
    model.base.parameters = parameters_in(file, checkpoint, files.run);
    use_tokenizer(model, runs::run_tokenizer(files.folder, files.run.special_tokens));
    return model;
}

SourceModel load_any(const fs::path& path) {
    if (fs::is_directory(path)) {
        if (fs::is_regular_file(path / "config.json")) return load_folder(path);
        if (!fs::is_regular_file(path / "run.json")) {
            throw InputError(fmt::format(
                "{} is no model: it has neither config.json, as a Hugging Face folder has, nor "
                "run.json, as a run's folder has",
                path.string()));
        }
        const auto files = backbone::read_run_files(path);
        return load_state(files, newest_checkpoint(files));
    }
    if (!fs::is_regular_file(path)) {
        throw InputError(fmt::format("there is no {}", path.string()));
    }
    const fs::path run = fs::absolute(path).parent_path().parent_path();
    if (!fs::is_regular_file(run / "run.json")) {
        throw InputError(fmt::format("{} is no checkpoint in a run's folder: {} has no run.json",
                                     path.string(), run.string()));
    }
    return load_state(backbone::read_run_files(run), path);
}

}  // namespace

SourceModel load_model(const fs::path& path, std::uint64_t max_tokens) {
    SourceModel model = load_any(path);
    const std::uint64_t positions = formats::albert_of(model.base.run).positions;
    if (positions < max_tokens) {
        throw InputError(fmt::format("{} has {} positions: --max-tokens must not be above that",
                                     model.name, positions));
    }
    model.base.run.sequence_length = max_tokens;
    return model;
}

SourceModel untrained_like(const SourceModel& model, std::uint64_t seed) {
    SourceModel untrained = model;
    untrained.name = "untrained";
    untrained.notice.clear();
    untrained.card.clear();
    untrained.base.run.initial_state.reset();
    untrained.base.run.seed = seed;
    untrained.base.parameters = state::initial_parameters(untrained.base.run);
    return untrained;
}

}  // namespace dedloc::finetune
