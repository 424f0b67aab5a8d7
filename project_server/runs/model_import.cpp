// config.json says which tensors there must be. Names and shapes of all stored tensors are compared
// with that before memory for the state is taken, so a small file cannot ask for much. The state
// begins with the first values of the tensors that may be absent, and zeros elsewhere; then each
// stored tensor is read to its range. stored_name() decides which one of two tied tensors is read.
// The digest is computed over the whole state at the end.
#include "project_server/runs/model_import.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/platform/files.hpp"
#include "peer/state/run_state.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/backbone/checkpoint_file.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/huggingface/albert_config.hpp"
#include "project_server/huggingface/model_weights.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/tokenizer/model_tokenizer.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;
using huggingface::ModelWeights;

/// Constants of old versions.
constexpr std::array<std::string_view, 2> kIgnored{"albert.embeddings.position_ids",
                                                   "albert.embeddings.token_type_ids"};

/// Tensors that are the same as others: either of a pair may be in the file, or both.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kTied{
    {{"albert.embeddings.word_embeddings.weight", "predictions.decoder.weight"},
     {"predictions.bias", "predictions.decoder.bias"}}};

/// Modules that a model of another task lacks: those for sentence order, and, only as a whole, the
/// head for masked words.
constexpr std::array<std::string_view, 2> kOptional{"albert.pooler.", "sop_classifier."};
constexpr std::string_view kHead = "predictions.";

bool is_optional(std::string_view tensor, bool has_head) {
    return (!has_head && tensor.starts_with(kHead)) ||
           std::ranges::any_of(kOptional,
                               [&](std::string_view module) { return tensor.starts_with(module); });
}

std::string and_more(std::size_t count) {
    return count > 1 ? fmt::format(" and {} more", count - 1) : std::string{};
}

/// The name under which the weights have this tensor; empty: they lack it.
std::string stored_name(const ModelWeights& weights, std::string_view tensor) {
    if (weights.find(tensor) != nullptr) return std::string{tensor};
    for (const auto& [first, second] : kTied) {
        if (tensor == first && weights.find(second) != nullptr) return std::string{second};
    }
    return {};
}

bool is_known(std::string_view name, const std::vector<formats::TensorSpec>& wanted) {
    return std::ranges::find(wanted, name, &formats::TensorSpec::name) != wanted.end() ||
           std::ranges::find(kIgnored, name) != kIgnored.end() ||
           std::ranges::any_of(kTied, [&](const auto& pair) { return pair.second == name; });
}

/// Returns the names of the optional tensors that the weights lack.
std::vector<std::string> require_same_tensors(const ModelWeights& weights,
                                              const std::vector<formats::TensorSpec>& wanted) {
    const auto names = weights.names();
    const bool has_head =
        std::ranges::any_of(names, [](const std::string& name) { return name.starts_with(kHead); });
    std::vector<std::string> missing;
    std::vector<std::string> optional;
    for (const auto& tensor : wanted) {
        const auto* const found = weights.find(stored_name(weights, tensor.name));
        if (found == nullptr) {
            (is_optional(tensor.name, has_head) ? optional : missing).push_back(tensor.name);
        } else if (found->shape != tensor.shape) {
            throw InputError(
                fmt::format("{}: the tensor {} has the shape [{}], and by config.json "
                            "[{}]",
                            weights.name(), tensor.name, fmt::join(found->shape, ","),
                            fmt::join(tensor.shape, ",")));
        }
    }
    if (!missing.empty()) {
        throw InputError(fmt::format("{} lacks the tensor {}{}", weights.name(), missing.front(),
                                     and_more(missing.size())));
    }
    std::vector<std::string> unexpected;
    for (const std::string& name : names) {
        if (!is_known(name, wanted)) unexpected.push_back(name);
    }
    if (!unexpected.empty()) {
        throw InputError(fmt::format("{} has the tensor {}{}, which AlbertForPreTraining has not",
                                     weights.name(), unexpected.front(),
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
    if (!fs::is_regular_file(config)) {
        throw InputError(
            fmt::format("{} is not a Hugging Face model: it has no config.json", folder.string()));
    }
    ImportedModel imported;
    imported.model = huggingface::read_albert_config(config.string(), platform::read_text(config));
    const ModelWeights weights{folder};
    formats::RunFile run;
    run.model = imported.model;
    run.seed = options.seed;
    run.tensors = formats::albert_tensors(formats::albert_of(run));
    const std::uint32_t vectors = formats::state_vectors(options.optimizer);
    if (formats::element_count(run) > wire::kMaxElements) {
        throw InputError(fmt::format(
            "{} has {} parameters, and a run at most {}, with the padding between tensors",
            weights.name(), formats::parameter_count(run), wire::kMaxElements));
    }
    // So the files are as large as the model, less the modules that may be absent.
    imported.initialised = require_same_tensors(weights, run.tensors);
    if (!imported.initialised.empty()) imported.state = first_values(run, imported.initialised);
    imported.state.resize(vectors * static_cast<std::size_t>(formats::element_count(run)));
    const auto ranges = backbone::parameter_ranges(run);
    for (std::size_t t = 0; t < ranges.size(); ++t) {
        const std::string stored = stored_name(weights, run.tensors[t].name);
        if (stored.empty()) continue;
        const auto begin = static_cast<std::size_t>(ranges[t].begin / sizeof(float));
        const auto end = static_cast<std::size_t>(ranges[t].end / sizeof(float));
        weights.read(stored, std::span{imported.state}.subspan(begin, end - begin));
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
    const bool is_whole = !fs::exists(tokenizer);  // the corpus has a tokenizer.json alone
    if (!is_whole && !fs::is_regular_file(file)) {
        throw InputError(
            fmt::format("{} has no spiece.model, so it is not known which token ids "
                        "the model was trained on",
                        folder.string()));
    }
    if (!is_whole && platform::read_file(file, backbone::kMaxTokenizerBytes) !=
                         platform::read_file(tokenizer, backbone::kMaxTokenizerBytes)) {
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

}  // namespace dedloc::runs
