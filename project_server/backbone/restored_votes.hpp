// The votes of a run's own backbone whose folder comes from a backup: since then it may have voted,
// so it votes only in generations that begin later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "peer/wire/types.hpp"

namespace dedloc::backbone {

/// Writes the file `voter`, a memory without votes that lets the backbone vote from `generation`
/// on, and asks in voters.json for a generation of at least that number: with the voters in that
/// file, else with those of `head`, where the folder's ledger ends. Returns the number of voters.
///
/// Requires  `generation` is higher than all that the project has signed for this run
/// After     both files are on the disk
/// Errors    IoError, InputError (a damaged voters.json)
std::size_t begin_votes_anew(const std::filesystem::path& folder, std::uint64_t generation,
                             const Head& head);

}  // namespace dedloc::backbone
