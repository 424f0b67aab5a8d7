// What a backbone has to know of its earlier lives before it may vote: three files in a folder. Its
// state is not kept: the members have it.
#pragma once

#include <filesystem>
#include <optional>

#include "peer/peer.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::tool {

class BackboneMemory final {
  public:
    /// Makes the folder. Errors: IoError.
    explicit BackboneMemory(std::filesystem::path folder);

    /// Gives a backbone what was kept, or in an empty folder the memory of a voter that has never
    /// voted. Where there are decisions but no votes it gets none and does not vote, which is in
    /// the log. Errors: InputError (a file is damaged: then the backbone may not vote).
    void recall(PeerConfig& config) const;

    /// Each is on the disk when it returns. Errors: IoError.
    void keep(const VoterState& vote) const;
    void keep(const Decision& decision) const;
    /// The decisions before it are void.
    void keep(const SignedGeneration& generation) const;

  private:
    const std::filesystem::path folder_;
};

}  // namespace dedloc::tool
