// What a backbone has to know of its earlier lives before it may vote, and the newest state that it
// has reached: four files in a folder.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/peer.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::tool {

/// A state as it lies on the disk.
struct KeptState {
    StepIndex step;
    Digest digest;
    Buffer bytes;  ///< parameters ‖ m ‖ v
};

class BackboneMemory final {
  public:
    /// Makes the folder. Errors: IoError.
    explicit BackboneMemory(std::filesystem::path folder);

    /// Gives a backbone what was kept, or in an empty folder the memory of a voter that has never
    /// voted. Where there are decisions but no votes it gets none and does not vote, which is in
    /// the log. Errors: InputError (a file is damaged: then the backbone may not vote).
    void recall(PeerConfig& config) const;
    /// The newest one that was kept, as it lies there: nobody has compared its digest.
    std::optional<KeptState> state() const;

    /// Each is on the disk when it returns. Errors: IoError.
    void keep(const VoterState& vote) const;
    void keep(const Decision& decision) const;
    /// Decisions and states after it are void.
    void keep(const SignedGeneration& generation) const;
    void keep(StepIndex step, const Digest& digest, std::span<const std::byte> state) const;

  private:
    const std::filesystem::path folder_;
};

}  // namespace dedloc::tool
