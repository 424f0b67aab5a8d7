#include "project_server/cli/model_import.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/platform/files.hpp"
#include "peer/state/run_state.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/backbone/checkpoint_file.hpp"
#include "project_server/cli/run_files.hpp"
#include "project_server/huggingface/albert_config.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/tokenizer/model_tokenizer.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;
using huggingface::SafetensorsFile;

/// Tensors that are the same as others, or constants of old versions.
constexpr std::array<std::string_view, 3> kIgnored{
    "predictions.decoder.weight", "predictions.decoder.bias", "albert.embeddings.position_ids"};

/// Modules that serve sentence order alone: models for masked words lack them.
constexpr std::array<std::string_view, 2> kOptional{"albert.pooler.", "sop_classifier."};

bool is_optional(std::string_view tensor) {
    return std::ranges::any_of(kOptional,
                               [&](std::string_view module) { return tensor.starts_with(module); });
}

std::string and_more(std::size_t count) {
    return count > 1 ? fmt::format(" and {} more", count - 1) : std::string{};
}

/// Returns the names of the optional tensors that the file lacks.
std::vector<std::string> require_same_tensors(const fs::path& path, const SafetensorsFile& file,
                                              const std::vector<formats::TensorSpec>& wanted) {
    std::vector<std::string> missing;
    std::vector<std::string> optional;
    for (const auto& tensor : wanted) {
        const auto* const found = file.find(tensor.name);
        if (found == nullptr) {
            (is_optional(tensor.name) ? optional : missing).push_back(tensor.name);
        } else if (found->shape != tensor.shape) {
            throw InputError(
                fmt::format("{}: the tensor {} has the shape [{}], and by config.json "
                            "[{}]",
                            path.string(), tensor.name, fmt::join(found->shape, ","),
                            fmt::join(tensor.shape, ",")));
        }
    }
    if (!missing.empty()) {
        throw InputError(fmt::format("{} lacks the tensor {}{}", path.string(), missing.front(),
                                     and_more(missing.size())));
    }
    std::vector<std::string> unexpected;
    for (const auto& tensor : file.header().tensors) {
        const bool is_known =
            std::ranges::find(wanted, tensor.name, &formats::TensorSpec::name) != wanted.end() ||
            std::ranges::find(kIgnored, tensor.name) != kIgnored.end();
        if (!is_known) unexpected.push_back(tensor.name);
    }
    if (!unexpected.empty()) {
        throw InputError(fmt::format("{} has the tensor {}{}, which AlbertForPreTraining has not",
                                     path.string(), unexpected.front(),
                                     and_more(unexpected.size())));
    }
    return optional;
}

/// The first values of these tensors in a new run; all other tensors are zero.
FloatVector first_values(formats::RunFile run, const std::vector<std::string>& names) {
    for (auto& tensor : run.tensors) {
        const bool is_read = std::ranges::find(names, tensor.name) == names.end();
        if (is_read) tensor.initial = formats::Initial::kZero;
    }
    return state::initial_parameters(run);
}

/// The tokenizer.json beside a corpus's tokenizer.
std::optional<huggingface::TokenizerSpec> rules_beside(const fs::path& tokenizer) {
    const fs::path file = tokenizer.parent_path() / "tokenizer.json";
    if (!fs::exists(file)) return std::nullopt;
    return huggingface::parse_tokenizer(file.string(), platform::read_text(file));
}

/// What a tokenizer does, for a sentence.
std::string described(const std::optional<huggingface::TokenizerSpec>& spec) {
    if (!spec) return "SentencePiece alone";
    return fmt::format("a tokenizer.json ({}, accents {}, {} steps before SentencePiece's pieces)",
                       has_step<huggingface::Lowercase>(*spec) ? "lower case" : "capitals kept",
                       has_step<huggingface::StripAccents>(*spec) ? "removed" : "kept",
                       spec->normaliser.size());
}

}  // namespace

ImportedModel import_model(const fs::path& folder, const ImportOptions& options) {
    const fs::path config = folder / "config.json";
    const fs::path path = folder / "model.safetensors";
    for (const fs::path& file : {config, path}) {
        if (!fs::is_regular_file(file)) {
            throw InputError(fmt::format("{} is not a Hugging Face model: it has no {}",
                                         folder.string(), file.filename().string()));
        }
    }
    ImportedModel imported;
    imported.model = huggingface::read_albert_config(config.string(), platform::read_text(config));
    const SafetensorsFile file{path};
    formats::RunFile run;
    run.model = imported.model;
    run.seed = options.seed;
    run.tensors = formats::albert_tensors(run.model);
    const std::uint32_t vectors = formats::state_vectors(options.optimizer);
    if (formats::element_count(run) > wire::kMaxElements) {
        throw InputError(fmt::format(
            "{} has {} parameters, and a run at most {}, with the padding between tensors",
            path.string(), formats::parameter_count(run), wire::kMaxElements));
    }
    // So the file is as large as the model, less the modules for sentence order.
    imported.initialised = require_same_tensors(path, file, run.tensors);
    if (!imported.initialised.empty()) imported.state = first_values(run, imported.initialised);
    imported.state.resize(vectors * static_cast<std::size_t>(formats::element_count(run)));
    const auto ranges = parameter_ranges(run);
    for (std::size_t t = 0; t < ranges.size(); ++t) {
        const auto* const stored = file.find(run.tensors[t].name);
        if (stored == nullptr) continue;
        const auto begin = static_cast<std::size_t>(ranges[t].begin / sizeof(float));
        const auto end = static_cast<std::size_t>(ranges[t].end / sizeof(float));
        file.read(*stored, std::span{imported.state}.subspan(begin, end - begin));
    }
    imported.head =
        backbone::head_of_state(StepIndex{0}, std::as_bytes(std::span{imported.state}), vectors);
    return imported;
}

std::string notice_of(const fs::path& folder, const std::vector<std::string>& initialised) {
    if (initialised.empty()) return {};
    return fmt::format("{} lacks {}: they begin with the values that they have in a new run",
                       folder.string(), fmt::join(initialised, ", "));
}

void require_tokenizer(const fs::path& folder, const fs::path& tokenizer) {
    const fs::path file = folder / "spiece.model";
    if (!fs::is_regular_file(file)) {
        throw InputError(
            fmt::format("{} has no spiece.model, so it is not known which token ids "
                        "the model was trained on",
                        folder.string()));
    }
    if (platform::read_file(file, kMaxTokenizerBytes) !=
        platform::read_file(tokenizer, kMaxTokenizerBytes)) {
        throw InputError(
            fmt::format("{} is not the tokenizer that made the corpus: build the "
                        "corpus with it, so that token ids mean the same",
                        file.string()));
    }
    const auto wanted = tokenizer::read_model_tokenizer(folder).spec;
    const auto used = rules_beside(tokenizer);
    if (wanted == used) return;
    throw InputError(
        fmt::format("the corpus was tokenised with {}, and the model of {} wants {}: build the "
                    "corpus with --tokenizer {}, so that token ids mean the same",
                    described(used), folder.string(), described(wanted), folder.string()));
}

}  // namespace dedloc::cli
