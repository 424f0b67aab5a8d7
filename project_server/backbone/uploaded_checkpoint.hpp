// Judges a checkpoint that a volunteer's computer has uploaded, and takes a good one into the run's
// folder. Nothing in the file is trusted: a state counts only if the run's ledger, and so a quorum
// of its voters, names its digest at its step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "peer/formats/run_file.hpp"
#include "project_server/backbone/ledger_proof.hpp"

namespace dedloc::backbone {

/// What becomes of an uploaded file.
enum class UploadVerdict : std::uint8_t {
    kAccepted,  ///< a state that the ledger proves, newer than those of the project
    kForged,    ///< not what it claims to be: evidence against the account
    kStale,     ///< the project holds that state or a newer one, or it is of a void history
    kPartial,   ///< cut: shorter than a state of the run
    kUnasked,   ///< its job was not asked for a state
    kPending,   ///< the ledger names the digests of its step only with a later decision
};
/// "accepted", "forged", "stale", "partial", "unasked" or "pending".
const char* name_of(UploadVerdict verdict);

/// A verdict with its reason.
struct JudgedUpload {
    UploadVerdict verdict = UploadVerdict::kUnasked;  ///< what becomes of the file
    std::string reason;                               ///< one clause, without the file's name
    std::optional<formats::CheckpointHead> head;      ///< what the file claims, if it can be read
};

/// What the project knows of an upload before it reads the file.
struct UploadQuestion {
    bool was_asked = false;           ///< the project has asked this job for a state
    std::optional<StepIndex> newest;  ///< the newest state that it holds and the ledger proves
};

/// The newest checkpoint in `folder` whose digest the ledger proves. Errors: IoError.
std::optional<StepIndex> newest_proven(const std::filesystem::path& folder, const RunId& run,
                                       const LedgerProof& proof);

/// Judges the file at `path`, whatever is in it.
/// Errors   IoError: it cannot be read
/// Memory   a piece of 2 MiB and 32 bytes for each 256 KiB of the run's state, whatever the file
///          claims
/// Cost     reads the vectors only if the ledger proves the digest that the head names, and the
///          state is news
JudgedUpload judge_upload(const std::filesystem::path& path, const formats::RunFile& run,
                          const LedgerProof& proof, const UploadQuestion& question);

/// Moves an accepted file into `folder`, the run's checkpoints, durably, and notes beside it where
/// it comes from: CheckpointEntry::source. Errors: IoError.
std::filesystem::path take_upload(const std::filesystem::path& path,
                                  const std::filesystem::path& folder,
                                  const formats::CheckpointHead& head, const std::string& source);

}  // namespace dedloc::backbone
