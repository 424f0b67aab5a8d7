// The ledger is verified first; tokenizer and config.json come next, because they are cheap and may
// be refused. The parameters are copied in one pass that also computes the digest: a checkpoint
// with other bytes is logged, and the next older one is taken. ProvenCheckpoints lists the disk
// before it extends the proof, so the ledger covers what was listed, and lists again if a running
// backbone has removed a file. README.md is written last, as it says what was exported; then the
// folder is renamed.
#include "project_server/runs/model_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/files.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger_proof.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/corpus/corpus.hpp"
#include "project_server/database/evaluations.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/huggingface/albert_config.hpp"
#include "project_server/huggingface/model_card.hpp"
#include "project_server/huggingface/norm_file.hpp"
#include "project_server/huggingface/swav_files.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/project/unfinished_folder.hpp"
#include "project_server/runs/checkpoints.hpp"
#include "project_server/runs/find_run.hpp"
#include "project_server/runs/model_parts.hpp"
#include "project_server/runs/module_run.hpp"
#include "project_server/views/runs.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;
using backbone::CheckpointFile;
using backbone::LedgerProof;
using backbone::Standing;
using formats::CheckpointHead;

/// How often the checkpoints are listed again because a running backbone has removed one.
constexpr int kMaxListings = 20;

const formats::SwavSpec* swav_of(const backbone::RunFiles& files) {
    return std::get_if<formats::SwavSpec>(&files.run.model);
}

bool is_module(const backbone::RunFiles& files) {
    return std::holds_alternative<formats::ModuleSpec>(files.run.model);
}

/// The file with the statistics of a state's batch norms.
fs::path norms_path(const backbone::RunFiles& files, const ExportOptions& options,
                    const Digest& state) {
    return (options.norms.empty() ? files.norms() : options.norms) /
           huggingface::norm_file_name(state);
}

/// These statistics; nothing for a network without batch norms.
std::optional<huggingface::NormFile> norms_of(const backbone::RunFiles& files,
                                              const ExportOptions& options,
                                              const CheckpointHead& head) {
    const auto* const swav = swav_of(files);
    if (swav == nullptr) return std::nullopt;
    const fs::path path = norms_path(files, options, head.digest);
    if (!fs::exists(path)) {
        throw InputError(fmt::format(
            "there are no statistics of batch norms for the state of step {}: dedloc-evaluate "
            "--norms {} computes them",
            head.step.value(), path.parent_path().string()));
    }
    auto norms = huggingface::read_norm_file(path, *swav);
    if (norms.run != files.id || norms.state != head.digest || norms.step != head.step) {
        throw InputError(fmt::format("{} has the statistics of another state", path.string()));
    }
    return norms;
}

/// Finds the checkpoints that may be exported, newest first, and opens one after the other.
class ProvenCheckpoints {
  public:
    ProvenCheckpoints(const backbone::RunFiles& files, LedgerProof& proof,
                      const ExportOptions& options)
        : files_(files), proof_(proof), options_(options) {}

    /// The newest one that has not been returned yet; null: there is none.
    std::unique_ptr<CheckpointFile> next() {
        for (int listing = 0; listing < kMaxListings; ++listing) {
            // In this order: what is on the disk now is proven by what the ledger has then.
            const auto entries = backbone::list_checkpoints(files_.checkpoints(), files_.id);
            proof_.extend();
            const auto entry = std::ranges::find_if(
                entries, [&](const auto& candidate) { return is_wanted(candidate.head); });
            if (entry == entries.end()) return nullptr;
            try {
                auto file = std::make_unique<CheckpointFile>(entry->path, files_.id);
                if (!is_wanted(file->head())) continue;
                refused_.push_back(file->head());
                return file;
            } catch (const IoError&) {
                if (fs::exists(entry->path)) throw;
            }
        }
        throw Error(fmt::format("the checkpoints of {} change faster than they can be opened",
                                files_.run.name));
    }

  private:
    bool is_wanted(const CheckpointHead& head) const {
        return (!options_.step || head.step == *options_.step) &&
               head.elements == formats::element_count(files_.run) &&
               std::ranges::find(refused_, head) == refused_.end() &&
               (swav_of(files_) == nullptr ||
                fs::exists(norms_path(files_, options_, head.digest))) &&
               proof_.judge(head) == Standing::kProven;
    }

    const backbone::RunFiles& files_;
    LedgerProof& proof_;
    const ExportOptions& options_;
    std::vector<CheckpointHead> refused_;  ///< returned before
};

[[noreturn]] void refuse_without_checkpoint(const backbone::RunFiles& files,
                                            const ExportOptions& options) {
    // Statistics of batch norms come with an evaluation.
    const char* const measured =
        swav_of(files) == nullptr ? "" : " and that dedloc-evaluate has measured";
    if (options.step) {
        throw InputError(fmt::format(
            "the run {} has no checkpoint of step {} that its ledger proves{}: see dedloc run "
            "checkpoint list",
            files.run.name, options.step->value(), measured));
    }
    throw InputError(fmt::format("the run {} has no checkpoint that its ledger proves{} yet",
                                 files.run.name, measured));
}

/// Copies the checkpoint's parameters into `folder`. False if its bytes have not the digest that it
/// names; the files are then not finished.
bool write_tensors(const fs::path& folder, const backbone::RunFiles& files,
                   const CheckpointFile& checkpoint, const ExportOptions& options) {
    const double total = static_cast<double>(checkpoint.head().state_bytes());
    ModelWriter writer{folder, files.run,
                       model_parts(files.run, norms_of(files, options, checkpoint.head()))};
    std::optional<ModuleExport> module;
    if (is_module(files)) module.emplace(files, checkpoint.head(), folder);
    const Digest digest = checkpoint.read_all([&](std::uint64_t offset, auto bytes) {
        writer.take(offset, bytes);
        if (module) module->take(offset, bytes);
        if (options.progress) {
            options.progress("writing the model", static_cast<double>(offset) / total);
        }
    });
    if (digest != checkpoint.head().digest) return false;
    writer.finish();
    if (module) module->finish();
    return true;
}

/// Writes the tensors of the checkpoint that the options name.
CheckpointHead write_given_model(const fs::path& folder, const backbone::RunFiles& files,
                                 const ExportOptions& options) {
    const CheckpointFile checkpoint{options.checkpoint, files.id};
    const CheckpointHead head = checkpoint.head();
    const std::string name = options.checkpoint.string();
    if (head.elements != formats::element_count(files.run)) {
        throw InputError(fmt::format("{} is not a state of this run: it has {} elements, not {}",
                                     name, head.elements, formats::element_count(files.run)));
    }
    if (!write_tensors(folder, files, checkpoint, options)) {
        throw InputError(
            fmt::format("{} is damaged: its bytes are not the state with the digest "
                        "that it names",
                        name));
    }
    return head;
}

/// Writes the tensors of a proven checkpoint. The head of the state that it holds.
CheckpointHead write_model(const fs::path& folder, const backbone::RunFiles& files,
                           LedgerProof& proof, const ExportOptions& options) {
    ProvenCheckpoints checkpoints{files, proof, options};
    while (const auto checkpoint = checkpoints.next()) {
        const CheckpointHead head = checkpoint->head();
        if (write_tensors(folder, files, *checkpoint, options)) return head;
        log_warning("the checkpoint of step {} is damaged: not exported", head.step.value());
    }
    refuse_without_checkpoint(files, options);
}

void require_pieces(const fs::path& file, std::size_t pieces, const backbone::RunFiles& files) {
    const std::uint64_t vocabulary = formats::vocabulary_of(files.run);
    if (pieces == vocabulary) return;
    throw InputError(
        fmt::format("{} has {} pieces, and the run's model {}", file.string(), pieces, vocabulary));
}

/// Writes the tokenizer of a corpus that has a tokenizer.json alone, as it was given.
void write_given_tokenizer(const fs::path& folder, const backbone::RunFiles& files) {
    const fs::path file = files.tokenizer_rules();
    const std::string json = platform::read_text(file, huggingface::kMaxTokenizerJsonBytes);
    const auto spec = huggingface::parse_tokenizer(file.string(), json);
    require_pieces(file, spec.pieces.size(), files);
    platform::replace_file(folder / "tokenizer.json", json);
    platform::replace_file(folder / "tokenizer_config.json",
                           huggingface::write_tokenizer_config(spec, files.run));
}

void write_tokenizer_files(const fs::path& folder, const backbone::RunFiles& files) {
    const std::string fault = corpus::tokenizer_fault(files.folder);
    if (!fault.empty()) throw InputError(fault + ": put it back from a backup");
    if (corpus::has_whole_tokenizer(files.folder)) return write_given_tokenizer(folder, files);
    const Buffer bytes = platform::read_file(files.tokenizer(), backbone::kMaxTokenizerBytes);
    const auto model = huggingface::parse_sentencepiece(bytes);
    require_pieces(files.tokenizer(), model.pieces.size(), files);
    const auto& special = files.run.special_tokens;
    const huggingface::TokenizerSpec spec =
        fs::exists(files.tokenizer_rules())
            ? huggingface::parse_tokenizer(files.tokenizer_rules().string(),
                                           platform::read_text(files.tokenizer_rules()))
            : huggingface::sentencepiece_spec(model, special);
    platform::replace_file(folder / "spiece.model", bytes);
    platform::replace_file(folder / "tokenizer.json", huggingface::write_tokenizer(spec, special));
    platform::replace_file(folder / "tokenizer_config.json",
                           huggingface::write_tokenizer_config(spec, files.run));
}

/// config.json and the script beside a SwAV's tensors.
void write_swav_files(const fs::path& folder, const backbone::RunFiles& files,
                      const huggingface::NormFile& norms) {
    platform::replace_file(folder / "config.json",
                           huggingface::write_swav_config(files.run, norms));
    const fs::path script = folder / "evaluate_knn.py";
    platform::replace_file(script, std::string_view{huggingface::knn_script()});
    fs::permissions(script, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add);
}

/// The run's ledger, verified; null if it has none yet.
std::unique_ptr<LedgerProof> proof_for(const backbone::RunFiles& files,
                                       const ExportOptions& options) {
    if (!options.checkpoint.empty() && !fs::exists(files.ledger())) return nullptr;
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
        if (!options.progress) return;
        options.progress("verifying the ledger",
                         static_cast<double>(done) / static_cast<double>(total));
    };
    return std::unique_ptr<LedgerProof>{new LedgerProof(read_proof(files, progress))};
}

/// What the ledger, if there is one, says of the state.
huggingface::Provenance provenance_of(const CheckpointHead& head, const LedgerProof* proof) {
    huggingface::Provenance provenance{.step = head.step, .state = head.digest};
    if (proof == nullptr || proof->judge(head) != Standing::kProven) return provenance;
    const auto sum = proof->contributions(head.step);
    provenance.proof = {{.samples = sum.samples, .contributors = sum.peers, .record = sum.record}};
    return provenance;
}

/// The project's own measurement of this state, if its database answers.
std::optional<huggingface::Measurement> measured(const CheckpointHead& head,
                                                 const ExportOptions& options) {
    try {
        server::Database database{server::load_project_config(options.project).database};
        const auto run = server::read_run(database, options.run);
        for (const auto& row : server::read_evaluations(database, run.id)) {
            if (row.step != head.step.value() || row.digest != head.digest.hex()) continue;
            return huggingface::Measurement{.loss = row.loss,
                                            .loss_error = row.loss_error,
                                            .figures = row.figures,
                                            .samples = row.samples};
        }
    } catch (const Error&) {
        // The model is exported without figures.
    }
    return std::nullopt;
}

}  // namespace

ExportedModel export_model(const ExportOptions& options) {
    const backbone::RunFiles files = find_run(options.project, options.run);
    project::UnfinishedFolder folder{options.folder};
    const auto proof = proof_for(files, options);
    if (formats::holds_text(files.run)) write_tokenizer_files(folder.path(), files);
    if (std::holds_alternative<formats::AlbertSpec>(files.run.model)) {
        platform::replace_file(folder.path() / "config.json",
                               huggingface::write_albert_config(files.run));
    }
    const CheckpointHead head = options.checkpoint.empty()
                                    ? write_model(folder.path(), files, *proof, options)
                                    : write_given_model(folder.path(), files, options);
    if (const auto norms = norms_of(files, options, head)) {
        write_swav_files(folder.path(), files, *norms);
    }
    const auto provenance = provenance_of(head, proof.get());
    platform::replace_file(
        folder.path() / "README.md",
        huggingface::write_model_card(files.run, provenance, measured(head, options)));
    folder.finish();
    return {.step = head.step,
            .state = head.digest,
            .parameters = formats::parameter_count(files.run),
            .samples = provenance.proof ? provenance.proof->samples.value() : 0,
            .is_proven = provenance.proof.has_value()};
}

}  // namespace dedloc::runs
