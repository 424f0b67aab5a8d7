// The file `mixture` in a run's folder: the project's last list of changes of the mixture, as
// encode_mixture() writes it.
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

/// Null if there is no such file: the mixture was never changed. Errors: IoError, InputError
/// (damaged, not signed by the project for this run, other sources).
SharedMixture read_mixture(const std::filesystem::path& file, const formats::RunFile& run);
/// Replaces the file, atomically and durably. Errors: IoError.
void write_mixture(const std::filesystem::path& file, const SignedMixture& mixture);

/// What `dedloc run mix` asks for.
struct MixtureOrder {
    std::vector<std::uint64_t> weights;  ///< one for each source of the run
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

}  // namespace dedloc::backbone
