// What a voter must not forget: the file `voter` in its folder, replaced as a whole at each vote. A
// voter without it may have promised anything, so it does not vote.
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

/// What this backbone votes with (PeerConfig::voter); nothing: it must not vote, which is in the
/// log with what to do about it. That of a folder which holds neither memory nor records is a first
/// one if it is the run's own backbone; that of a backbone which the project wants to appoint anew
/// (WantedVoters::min_generation) begins with the next generation. Both are on the disk then.
/// Throws IoError.
std::optional<VoterState> voter_memory(const RunFolder& run, const LedgerWriter& ledger);

}  // namespace dedloc::backbone
