// Name, corpus and model are checked before the first file is made. The run file is complete before
// the folder is filled, because the first checkpoint names the run's id, which depends on that
// file; the folder is filled under another name and then renamed. The row in the database comes
// last, because dedloc-work acts on it; if it cannot be inserted, the folder is removed.
#include "project_server/runs/create.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/formats/job_shards.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/clock.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/platform/mapped_file.hpp"
#include "peer/platform/ports.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/corpus/corpus.hpp"
#include "project_server/corpus/sample_cost.hpp"
#include "project_server/corpus/tensor_corpus.hpp"
#include "project_server/corpus/tokenizer.hpp"
#include "project_server/database/database.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/project/project.hpp"
#include "project_server/project/unfinished_folder.hpp"
#include "project_server/runs/masked_lines.hpp"
#include "project_server/runs/model_import.hpp"
#include "project_server/runs/model_presets.hpp"
#include "project_server/runs/module_run.hpp"
#include "project_server/settings.hpp"
#include "project_server/signed_revocations.hpp"
#include "project_server/ticket_key.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;

/// How often a run is evaluated while it trains, unless its options say otherwise.
constexpr std::uint64_t kUsualEvaluations = 50;
/// The description of a corpus of tensors.
constexpr const char* kTensorSummary = "tensors.json";

void check_run_name(const std::string& name) {
    if (name.size() > 40 || !is_made_of_letters(name, "-_")) {
        throw InputError("a run's name has 1 to 40 letters, digits, - and _");
    }
}

formats::OptimizerSpec make_optimizer(const RunOptions& options, const ModelPreset& preset) {
    const formats::Optimizer name = options.optimizer.value_or(preset.optimizer);
    formats::OptimizerSpec optimizer = formats::usual_settings(name);
    const bool is_presets =
        name == preset.optimizer || (formats::is_lamb(name) && formats::is_lamb(preset.optimizer));
    if (is_presets) optimizer.learning_rate = preset.learning_rate;
    optimizer.schedule = options.schedule.value_or(optimizer.schedule);
    optimizer.warmup_steps =
        options.warmup_steps.value_or(std::max<std::uint64_t>(1, options.steps / 10));
    optimizer.learning_rate = options.learning_rate.value_or(optimizer.learning_rate);
    optimizer.start_learning_rate = options.start_learning_rate.value_or(0);
    const formats::OptimizerSpec usual = formats::usual_settings(optimizer.name);
    const double usual_final =
        formats::has_final_rate(optimizer.schedule)
            ? usual.final_learning_rate * (optimizer.learning_rate / usual.learning_rate)
            : 0;
    optimizer.final_learning_rate = options.final_learning_rate.value_or(usual_final);
    optimizer.weight_decay = options.weight_decay.value_or(optimizer.weight_decay);
    optimizer.clip_norm = options.clip_norm.value_or(optimizer.clip_norm);
    return optimizer;
}

/// The number of shards of a job so that no job has more than `limit` bytes of them, at least 1;
/// 0 for all.
std::uint64_t shards_within(std::uint64_t limit,
                            const std::vector<formats::ShardReference>& shards) {
    std::uint64_t largest = 1;
    for (const auto& shard : shards) largest = std::max(largest, shard.bytes);
    const std::uint64_t count = std::max<std::uint64_t>(1, limit / largest);
    return count < shards.size() ? count : 0;
}

/// A corpus of any kind. Of tensors only the shards are used.
struct Data : corpus::Corpus {
    bool holds_tensors = false;
    bool holds_text() const { return !pictures && !holds_tensors; }
    /// For sentences.
    const char* kind() const { return pictures ? "pictures" : holds_tensors ? "tensors" : "text"; }
};

Data read_data(const fs::path& folder) {
    if (!fs::exists(folder / kTensorSummary)) return {corpus::read_corpus(folder)};
    Data data;
    data.shards = corpus::read_tensor_corpus(folder).shards;
    data.holds_tensors = true;
    return data;
}

/// Throws InputError unless the tokenizer is the one of the corpus.
void check_tokenizer(const fs::path& folder, const Data& corpus) {
    if (const auto fault = corpus::tokenizer_fault(folder); !fault.empty()) throw InputError(fault);
    if (corpus.rules && corpus.rules->is_whole) {
        const auto json = folder / "tokenizer.json";
        const auto spec = huggingface::parse_tokenizer(json.string(), platform::read_text(json));
        if (spec.pieces.size() == corpus.vocabulary) return;
        throw InputError(fmt::format("{} has {} pieces and is not the tokenizer of this corpus",
                                     json.string(), spec.pieces.size()));
    }
    const auto model = folder / "tokenizer.model";
    const corpus::Tokenizer tokenizer{platform::read_text(model), model.string()};
    // A corpus with rules has its special tokens in tokenizer.json.
    if (tokenizer.vocabulary() != corpus.vocabulary ||
        (!corpus.rules && tokenizer.special_tokens() != corpus.special_tokens)) {
        throw InputError(fmt::format("{} has {} pieces and is not the tokenizer of this corpus",
                                     model.string(), tokenizer.vocabulary()));
    }
}

/// Throws InputError unless the files of the corpus are those of its description.
void check_corpus(const fs::path& folder, const Data& corpus) {
    if (corpus.holds_text()) check_tokenizer(folder, corpus);
    for (const auto& shard : corpus.shards) {
        const auto path = folder / shard.name;
        const platform::MappedFile file{path};
        if (file.bytes().size() != shard.bytes || blake2b(file.bytes()) != shard.digest) {
            throw InputError(fmt::format("the shard {} is cut off or altered", path.string()));
        }
    }
}

/// The port of the run's DHT seed. In a project with fixed ports each run has two of its own: this
/// one, and the next one for its members.
std::uint16_t peer_port(const fs::path& project, const server::Settings& settings) {
    if (settings.peer_port == 0) return platform::free_port(settings.peer_listen);
    std::set<std::uint16_t> taken;
    for (const auto& entry : fs::directory_iterator(server::state_folder(project) / "runs")) {
        if (!fs::exists(entry.path() / "run.json")) continue;
        for (const Endpoint& seed : backbone::read_run_files(entry.path()).run.dht_seeds) {
            taken.insert(seed.port);
        }
    }
    for (std::uint32_t port = settings.peer_port; port < 65'535; port += 2) {
        if (!taken.contains(static_cast<std::uint16_t>(port))) {
            return static_cast<std::uint16_t>(port);
        }
    }
    throw InputError(fmt::format("no port from {} on is left for the run", settings.peer_port));
}

/// The public keys that a run file names.
struct PublicKeys {
    PeerKey project;
    PeerKey ticket;
    PeerKey backbone;
};

/// The network of the run, with the vocabulary and the length of samples that follow from the
/// corpus. Errors: InputError: the corpus is not what the model trains on.
void choose_model(const RunOptions& options, const ModelPreset& preset, const Data& corpus,
                  const std::optional<ImportedModel>& imported, formats::RunFile& run) {
    run.model = imported ? formats::ModelSpec{imported->model} : preset.model;
    const bool is_swav = std::holds_alternative<formats::SwavSpec>(run.model);
    if (corpus.holds_tensors || is_swav != corpus.pictures.has_value()) {
        throw InputError(fmt::format("{} holds {}, and the model {} trains on {}",
                                     options.corpus.string(), corpus.kind(), options.model,
                                     is_swav ? "pictures" : "text"));
    }
    if (is_swav) {
        if (options.dropout.empty()) return;
        throw InputError("--dropout is for text: SwAV has no dropout");
    }
    formats::AlbertSpec& model = formats::albert_of(run);
    if (!imported) model.vocabulary = corpus.vocabulary;
    run.sequence_length = std::min(preset.sequence_length, model.positions);
    if (options.dropout.size() == 3) {
        model.hidden_dropout = options.dropout[0];
        model.attention_dropout = options.dropout[1];
        model.classifier_dropout = options.dropout[2];
    }
}

/// The module as the network of the run. Errors: InputError.
void choose_module(const RunOptions& options, formats::RunFile& run) {
    if (!options.dropout.empty()) throw InputError("--dropout is for ALBERT, not for a module");
    const auto shards = formats::training_shards(run);
    if (shards.empty()) throw InputError("the corpus has no shard to train on");
    const DescribedModule described =
        describe_module({.module = options.module,
                         .shard = options.corpus / shards.front().name,
                         .sequence_length = options.sequence_length,
                         .picture_side = options.picture_side});
    run.model = described.model;
    run.sequence_length = described.sequence_length;
    run.tensors = described.tensors;
}

formats::RunFile make_run_file(const RunOptions& options, const Data& corpus,
                               const std::optional<ImportedModel>& imported,
                               const server::Settings& settings, const PublicKeys& keys) {
    const bool is_module = !options.module.empty();
    const auto preset = is_module ? module_preset() : model_preset(options.model);
    formats::RunFile run;
    run.name = options.name;
    run.seed = options.seed;
    run.sources = corpus.sources;
    run.shards = corpus.shards;
    if (is_module) {
        choose_module(options, run);
    } else {
        choose_model(options, preset, corpus, imported, run);
    }
    if (imported) run.initial_state = imported->head.digest;
    run.target_batch = options.target_batch.value_or(preset.target_batch);
    run.steps = options.steps;
    run.optimizer = make_optimizer(options, preset);
    run.flops_per_sample = formats::flops_per_sample(run);
    run.project_key = keys.project;
    run.ticket_key = keys.ticket;
    run.backbone_key = keys.backbone;
    run.gateway = settings.url + "dedloc/";
    run.dht_seeds = {{.host = settings.host(), .port = peer_port(options.project, settings)}};
    run.shards_per_job = shards_within(options.job_bytes, formats::training_shards(run));
    run.special_tokens = corpus.special_tokens;
    run.codec = options.codec;
    run.overlaps = options.overlaps;
    run.tensors = formats::tensors_of(run);
    return run;
}

void fill_folder(const fs::path& folder, const RunOptions& options, const Data& corpus,
                 const std::string& json, const RunId& run,
                 const std::optional<ImportedModel>& imported, const KeyPair& backbone,
                 const project::Begins& begins) {
    platform::replace_file(folder / "run.json", json);
    platform::write_key(folder / "backbone.key", backbone);
    fs::create_directory(folder / "shards");
    fs::create_directory(folder / "held_out");
    fs::create_directory(folder / "checkpoints");
    const bool has_model = corpus.holds_text() && !(corpus.rules && corpus.rules->is_whole);
    if (has_model) fs::copy_file(options.corpus / "tokenizer.model", folder / "tokenizer.model");
    if (!options.module.empty()) fs::copy_file(options.module, folder / formats::kModuleFile);
    if (corpus.rules) fs::copy_file(options.corpus / "tokenizer.json", folder / "tokenizer.json");
    const char* const summary = corpus.holds_tensors ? kTensorSummary : "corpus.json";
    fs::copy_file(options.corpus / summary, folder / summary);
    if (!options.masked_sentences.empty()) {
        set_masked_lines(folder, formats::parse_run_file(json), options.masked_sentences);
    }
    std::size_t copied = 0;
    for (const auto& shard : corpus.shards) {
        begins(fmt::format("copying shard {} of {}", ++copied, corpus.shards.size()));
        const fs::path to = folder / (shard.is_held_out ? "held_out" : "shards");
        fs::copy_file(options.corpus / shard.name, to / shard.name);
        if (!corpus.pictures) continue;
        // Jobs get shards only, by their names.
        const std::string labels = corpus::labels_name(shard);
        fs::copy_file(options.corpus / labels, to / labels);
    }
    if (!imported) return;
    begins("writing the first state");
    const backbone::CheckpointStore store{folder / "checkpoints", run, 1};
    store.save(imported->head, std::as_bytes(std::span{imported->state}));
}

/// The model to start from, if the options name one.
std::optional<ImportedModel> import_for(const RunOptions& options, const Data& corpus) {
    if (options.from.empty()) return std::nullopt;
    if (!corpus.holds_text() || !options.module.empty()) {
        throw InputError("--from starts from an ALBERT, which trains on text");
    }
    require_tokenizer(options.from, options.corpus / "tokenizer.model");
    ImportedModel imported = import_model(
        options.from,
        {.optimizer = options.optimizer.value_or(formats::Optimizer::kLamb), .seed = options.seed});
    if (imported.model.vocabulary != corpus.vocabulary) {
        throw InputError(fmt::format("{} has a vocabulary of {} pieces, and the corpus {}",
                                     options.from.string(), imported.model.vocabulary,
                                     corpus.vocabulary));
    }
    return imported;
}

void insert_run(server::Database& database, const formats::RunFile& run, const std::string& json,
                double min_flops, const RunOptions& options) {
    database.execute(
        "insert into dedloc_run (name, run_id, state, spec, target_batch, steps, "
        "flops_per_sample, least_flops_per_sample, credit_per_sample, credit_per_gigabyte_reduced, "
        "created, evaluate_every, evaluate_samples, aggregators, architecture) values (?, ?, "
        "'running', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        {run.name, formats::run_id(run).hex(), json, run.target_batch, run.steps,
         run.flops_per_sample, min_flops, formats::credit_per_sample(run),
         options.credit_per_gigabyte, server::unix_now(),
         options.evaluate_every.value_or(std::max<std::uint64_t>(1, run.steps / kUsualEvaluations)),
         options.evaluate_samples, options.aggregators, formats::architecture_of(run)});
}

}  // namespace

CreatedRun create_run(const RunOptions& given, const project::Begins& begins) {
    check_run_name(given.name);
    const auto project = project::existing_project(given.project);
    const auto state = server::state_folder(project);
    const Data corpus = read_data(given.corpus);
    RunOptions options = given;
    if (options.model.empty()) options.model = corpus.pictures ? "swav-tiny" : "tiny";
    check_corpus(options.corpus, corpus);
    project::ProjectDatabase access{project};
    if (access.database().query_one("select id from dedloc_run where name = ?", {options.name})) {
        throw InputError(fmt::format("the project has a run {} already", options.name));
    }
    begins("reading the model");
    const auto imported = import_for(options, corpus);
    const auto backbone = KeyPair::generate();
    const auto signer = platform::read_key(state / "keys/project.key");
    const auto run = make_run_file(options, corpus, imported, server::read_settings(project),
                                   {.project = signer.public_key(),
                                    .ticket = server::read_ticket_key(state).public_key(),
                                    .backbone = backbone.public_key()});
    const auto json = formats::write_run_file(run);
    const auto target = state / "runs" / options.name;
    project::UnfinishedFolder folder{target};
    fill_folder(folder.path(), options, corpus, json, formats::run_id(run), imported, backbone,
                begins);
    // The gateway hands out this list until the run's backbone has signed one.
    server::write_signed_revocations(
        folder.path(),
        formats::sign(server::recent_revocations(access.database(), platform::utc_now()), signer));
    begins("measuring the samples");
    // Only ALBERT's samples differ in size.
    const double min_flops = std::holds_alternative<formats::AlbertSpec>(run.model)
                                 ? corpus::min_sample_flops(folder.path() / "shards", run)
                                 : run.flops_per_sample;
    begins("writing all to the disk");
    folder.finish();
    try {
        insert_run(access.database(), run, json, min_flops, options);
    } catch (...) {
        fs::remove_all(target);
        throw;
    }
    return {.run = run,
            .initialised = imported ? imported->initialised : std::vector<std::string>{}};
}

}  // namespace dedloc::runs
