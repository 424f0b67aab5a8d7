// Durable memory of a backbone in four files of a folder: its votes, its last decision, its
// generation, and its newest state. Without its votes a restarted backbone must not vote.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/peer.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::tool {

/// A state as the file has it.
struct KeptState {
    StepIndex step;  ///< updates that the state has seen
    Digest digest;   ///< the digest that was written with it, not verified
    Buffer bytes;    ///< parameters ‖ m ‖ v
};

/// Reads and writes the four files.
class BackboneMemory final {
  public:
    /// Creates the folder. Errors: IoError.
    explicit BackboneMemory(std::filesystem::path folder);

    /// Loads the memory into `config`. An empty folder gives the memory of a voter that has never
    /// voted. If there are decisions but no votes, config.voter stays empty: the backbone does not
    /// vote, and the log says so. Errors: InputError (a file is damaged: the backbone must not
    /// vote).
    void recall(PeerConfig& config) const;
    /// The newest state that was kept; its digest is not verified. Nothing: there is none.
    std::optional<KeptState> state() const;

    // Each keep() returns when the data is durable. Errors: IoError.

    /// Replaces the votes.
    void keep(const VoterState& vote) const;
    /// Replaces the last decision.
    void keep(const Decision& decision) const;
    /// Replaces the generation. Removes a state after its step, which is void now.
    void keep(const SignedGeneration& generation) const;
    /// Replaces the state.
    void keep(StepIndex step, const Digest& digest, std::span<const std::byte> state) const;

  private:
    const std::filesystem::path folder_;
};

}  // namespace dedloc::tool
