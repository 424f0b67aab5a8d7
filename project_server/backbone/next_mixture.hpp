// What the run's own backbone signs when the project changes the mixture of sources, or adds one.
// project_server/run_sources.hpp reads and writes the signed list.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "peer/formats/run_file.hpp"
#include "peer/wire/mixture.hpp"

namespace dedloc::backbone {

/// Steps between the state of a run and the first one that a change can concern: by then every peer
/// has heard of it.
inline constexpr std::uint64_t kMixtureLead = 3;

/// What `dedloc run mix` asks for.
struct MixtureOrder {
    std::vector<std::uint64_t> weights;  ///< one for each source of the run, with the added ones
    std::optional<std::uint64_t> from;   ///< first step; absent: as soon as it can be
    bool operator==(const MixtureOrder&) const = default;
};

/// The signed list after `last` (null: none), whose void changes are not in `in_force`, with one
/// change more. Changes from the same step on or from later ones are withdrawn. `step`: updates
/// that the run's state has seen.
/// Errors  InputError: no sources, other sources, a step that is past or too near or after the
///         run's end, too many changes
SignedMixture next_mixture(const SharedMixture& last, const SharedMixture& in_force,
                           const MixtureOrder& order, StepIndex step, const formats::RunFile& run,
                           const KeyPair& project);

/// The signed list after `last` with one added source more, whose file has this digest; the changes
/// stay as they are. Nothing if the list has it already. `folder`: the run's, with the files of all
/// added sources and their shards, which are looked at before the list names them.
/// Errors  InputError: one of these files is absent or another one; the source does not fit the run
///         (formats::add_source)
std::optional<SignedMixture> next_addition(const SharedMixture& last, const SharedMixture& in_force,
                                           const Digest& source,
                                           const std::filesystem::path& folder,
                                           const formats::RunFile& run, const KeyPair& project);

}  // namespace dedloc::backbone
