// Writes a run's model as a folder that other programs load: Hugging Face's from_pretrained(),
// torchvision, or torch.jit.load().
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc::runs {

/// Arguments of export_model().
struct ExportOptions {
    std::filesystem::path project;  ///< the project's folder
    std::string run;                ///< name of the run
    std::filesystem::path folder;   ///< output folder: must not exist yet, or be empty
    std::optional<StepIndex> step;  ///< absent: the newest state that the ledger proves
    /// A checkpoint of the run from any source, which need not be proven; empty: one of the run's
    /// folder that the ledger proves.
    std::filesystem::path checkpoint;
    /// SwAV: a folder with the statistics of batch norms, as dedloc-evaluate --norms writes them;
    /// empty: that in the run's folder.
    std::filesystem::path norms{};
    /// Called from time to time with what is being done and the share of it, from 0 to 1.
    std::function<void(const char* what, double share)> progress;
};

/// What has been exported.
struct ExportedModel {
    StepIndex step;                ///< updates that the state has seen
    Digest state;                  ///< the state's digest
    std::uint64_t parameters = 0;  ///< number of parameters
    std::uint64_t samples = 0;     ///< samples of these updates; 0 if it is not proven
    bool is_proven = true;         ///< the run's ledger has its digest
};

/// Writes model.safetensors and README.md, of text also tokenizer.json, tokenizer_config.json and
/// spiece.model, of an ALBERT config.json, of a SwAV config.json, head.safetensors and
/// evaluate_knn.py, of a module itself with the state's parameters (kExportedModule), from a
/// checkpoint that the run's ledger proves, or from the one that the options name; README.md then
/// says whether it is proven. A SwAV's checkpoint must have been measured: that gives the
/// statistics of its batch norms. Only reads the run's files, so a running backbone is not
/// disturbed; README.md has the figures of the state if the database answers and has them.
///
/// Crash   the folder appears when it is complete and on the disk
/// Errors  InputError (no such run, folder exists, no proven checkpoint, of this step, a damaged
///         one, a ledger or tokenizer that cannot be used; as describe_module()), IoError (disk
///         full, …)
/// Memory  a few MB      Cost  reads the ledger and its signatures, and one checkpoint; a module:
///         starting libtorch
ExportedModel export_model(const ExportOptions& options);

}  // namespace dedloc::runs
