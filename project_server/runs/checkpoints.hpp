// Judges the checkpoints of a run, and files from any other source, by the run's ledger.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "project_server/backbone/ledger_proof.hpp"
#include "project_server/backbone/run_files.hpp"

namespace dedloc::runs {

/// Opens the ledger of the run and verifies all of it.
/// Errors   InputError: there is no ledger yet, or it cannot be trusted; IoError
backbone::LedgerProof read_proof(const backbone::RunFiles& files,
                                 const backbone::LedgerProof::Progress& progress = {});

/// One checkpoint of the run's folder.
struct CheckpointLine {
    backbone::CheckpointEntry file;  ///< step, digest and size as the file says
    backbone::Standing standing{};   ///< what the ledger says of its digest
};
/// The checkpoints in the run's folder, newest first. Does not read the states.
std::vector<CheckpointLine> checkpoints_of(const backbone::RunFiles& files,
                                           const backbone::LedgerProof& proof);

/// The result of verify_checkpoint().
struct Verdict {
    bool is_proven = false;   ///< the file holds a state that the ledger proves, byte for byte
    bool is_pending = false;  ///< the next decision will prove it or not
    std::string sentence;     ///< the verdict, without the file's name
};
/// Checks a file from any source: that it is a checkpoint of the run's size, that the ledger proves
/// the digest that it names, and that its bytes have this digest. Cost: reads the file once.
/// Errors: IoError: the file cannot be read.
Verdict verify_checkpoint(const backbone::RunFiles& files, const backbone::LedgerProof& proof,
                          const std::filesystem::path& file,
                          const backbone::CheckpointFile::Visitor& visit = {});

}  // namespace dedloc::runs
