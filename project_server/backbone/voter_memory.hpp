// A voter's memory of its promises and votes: the file `voter` in its folder, replaced atomically
// at each vote. A voter that has lost the file does not know what it has promised, so it must not
// vote.
#pragma once

#include <filesystem>
#include <optional>

#include "peer/peer.hpp"
#include "peer/wire/types.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/run_folder.hpp"

namespace dedloc::backbone {

/// After: the memory is on the disk. Throws IoError.
void write_voter_memory(const std::filesystem::path& file, const VoterState& memory);

/// Reads this backbone's memory (PeerConfig::voter). Nothing: the backbone must not vote; the log
/// says why and what to do. The run's own backbone gets a new memory in two cases: its folder holds
/// neither memory nor records, so the run begins; or voters.json appoints it for a later generation
/// (WantedVoters::min_generation), in which it then votes. A new memory is on the disk when this
/// returns. Throws IoError.
std::optional<VoterState> voter_memory(const RunFolder& run, const LedgerWriter& ledger);

}  // namespace dedloc::backbone
