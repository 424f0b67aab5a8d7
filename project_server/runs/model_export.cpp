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
#include <span>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/file_writer.hpp"
#include "peer/platform/files.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger_proof.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/corpus/corpus.hpp"
#include "project_server/database/evaluations.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/huggingface/albert_config.hpp"
#include "project_server/huggingface/model_card.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/project/unfinished_folder.hpp"
#include "project_server/runs/checkpoints.hpp"
#include "project_server/runs/find_run.hpp"
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

/// Writes the tensors' bytes into the model's file as the state's bytes come by.
class ModelWriter {
  public:
    ModelWriter(const fs::path& path, const formats::RunFile& run)
        : ranges_(backbone::parameter_ranges(run)), file_(path) {
        std::vector<huggingface::StoredTensor> tensors;
        for (const auto& tensor : run.tensors) {
            tensors.push_back({.name = tensor.name, .type = "F32", .shape = tensor.shape});
        }
        file_.write(bytes_of(huggingface::write_safetensors_head(std::move(tensors))));
    }

    /// Requires pieces in order and without gaps.
    void take(std::uint64_t offset, std::span<const std::byte> bytes) {
        const std::uint64_t end = offset + bytes.size();
        for (; next_ < ranges_.size() && ranges_[next_].begin < end; ++next_) {
            const backbone::ByteRange& range = ranges_[next_];
            const std::uint64_t from = std::max(range.begin, offset);
            file_.write(bytes.subspan(static_cast<std::size_t>(from - offset),
                                      static_cast<std::size_t>(std::min(range.end, end) - from)));
            if (range.end > end) break;
        }
    }
    void finish() { file_.finish(); }

  private:
    const std::vector<backbone::ByteRange> ranges_;
    platform::FileWriter file_;
    std::size_t next_ = 0;  ///< the range that is being written
};

/// Finds the checkpoints that may be exported, newest first, and opens one after the other.
class ProvenCheckpoints {
  public:
    ProvenCheckpoints(const backbone::RunFiles& files, LedgerProof& proof,
                      std::optional<StepIndex> step)
        : files_(files), proof_(proof), step_(step) {}

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
        return (!step_ || head.step == *step_) &&
               head.elements == formats::element_count(files_.run) &&
               std::ranges::find(refused_, head) == refused_.end() &&
               proof_.judge(head) == Standing::kProven;
    }

    const backbone::RunFiles& files_;
    LedgerProof& proof_;
    const std::optional<StepIndex> step_;
    std::vector<CheckpointHead> refused_;  ///< returned before
};

[[noreturn]] void refuse_without_checkpoint(const backbone::RunFiles& files,
                                            const ExportOptions& options) {
    if (options.step) {
        throw InputError(fmt::format(
            "the run {} has no checkpoint of step {} that its ledger proves: see dedloc run "
            "checkpoint list",
            files.run.name, options.step->value()));
    }
    throw InputError(
        fmt::format("the run {} has no checkpoint that its ledger proves yet", files.run.name));
}

/// Copies the checkpoint's parameters. False if its bytes have not the digest that it names; the
/// file is then not finished.
bool write_tensors(const fs::path& path, const backbone::RunFiles& files,
                   const CheckpointFile& checkpoint, const ExportOptions& options) {
    const double total = static_cast<double>(checkpoint.head().state_bytes());
    ModelWriter writer{path, files.run};
    const Digest digest = checkpoint.read_all([&](std::uint64_t offset, auto bytes) {
        writer.take(offset, bytes);
        if (options.progress) {
            options.progress("writing the model", static_cast<double>(offset) / total);
        }
    });
    if (digest != checkpoint.head().digest) return false;
    writer.finish();
    return true;
}

/// Writes model.safetensors from the checkpoint that the options name.
CheckpointHead write_given_model(const fs::path& path, const backbone::RunFiles& files,
                                 const ExportOptions& options) {
    const CheckpointFile checkpoint{options.checkpoint, files.id};
    const CheckpointHead head = checkpoint.head();
    const std::string name = options.checkpoint.string();
    if (head.elements != formats::element_count(files.run)) {
        throw InputError(fmt::format("{} is not a state of this run: it has {} elements, not {}",
                                     name, head.elements, formats::element_count(files.run)));
    }
    if (!write_tensors(path, files, checkpoint, options)) {
        throw InputError(
            fmt::format("{} is damaged: its bytes are not the state with the digest "
                        "that it names",
                        name));
    }
    return head;
}

/// Writes model.safetensors from a proven checkpoint. The head of the state that it holds.
CheckpointHead write_model(const fs::path& path, const backbone::RunFiles& files,
                           LedgerProof& proof, const ExportOptions& options) {
    ProvenCheckpoints checkpoints{files, proof, options.step};
    while (const auto checkpoint = checkpoints.next()) {
        const CheckpointHead head = checkpoint->head();
        if (write_tensors(path, files, *checkpoint, options)) return head;
        log_warning("the checkpoint of step {} is damaged: not exported", head.step.value());
    }
    refuse_without_checkpoint(files, options);
}

void write_tokenizer_files(const fs::path& folder, const backbone::RunFiles& files) {
    const Buffer bytes = platform::read_file(files.tokenizer(), backbone::kMaxTokenizerBytes);
    const auto model = huggingface::parse_sentencepiece(bytes);
    if (model.pieces.size() != formats::albert_of(files.run).vocabulary) {
        throw InputError(fmt::format("{} has {} pieces, and the run's model {}",
                                     files.tokenizer().string(), model.pieces.size(),
                                     formats::albert_of(files.run).vocabulary));
    }
    const std::string fault = corpus::tokenizer_fault(files.folder);
    if (!fault.empty()) throw InputError(fault + ": put it back from a backup");
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
    write_tokenizer_files(folder.path(), files);
    platform::replace_file(folder.path() / "config.json",
                           huggingface::write_albert_config(files.run));
    const auto model = folder.path() / "model.safetensors";
    const CheckpointHead head = options.checkpoint.empty()
                                    ? write_model(model, files, *proof, options)
                                    : write_given_model(model, files, options);
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
