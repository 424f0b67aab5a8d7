// Checkpoints of a run: whole states on disk, each written at once or not at all, the newest few
// kept.
//
// File checkpoints/step_<updates, 9 digits>.state: 8 bytes "DEDLOCST", version (u32), 0 (u32), run
// id (32), step (u64), number of elements N (u64), digest of the state (32), first 8 bytes of
// BLAKE2b of all that; then parameters ‖ m ‖ v (3 N binary32). All little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc::backbone {

struct CheckpointHead {
    StepIndex step;  ///< updates the state has seen
    Digest digest;   ///< of the state, as ModelState gives it
    std::uint64_t elements = 0;
    bool operator==(const CheckpointHead&) const = default;
};

struct Checkpoint {
    CheckpointHead head;
    std::filesystem::path path;
    Buffer state;  ///< 12 × elements bytes; their digest is for the reader to verify
};

struct CheckpointEntry {
    CheckpointHead head;
    std::filesystem::path path;
    std::uint64_t bytes = 0;
    double created_at = 0;  ///< seconds since 1970
};

/// The checkpoints of one run in one folder.
class CheckpointStore {
  public:
    /// Makes the folder when it is absent. `keep` ≥ 1 newest files stay. Throws IoError.
    CheckpointStore(std::filesystem::path folder, const RunId& run, std::size_t keep);

    /// After: the checkpoint is durable under its name and the oldest surplus ones are gone. On
    /// failure (disk full, …) IoError, and what was there before is untouched. Requires
    /// state.size() == 12 × head.elements.
    std::filesystem::path save(const CheckpointHead& head, std::span<const std::byte> state) const;

    /// Says whether the bytes have the digest of the head; the store itself cannot know.
    using Verifier = std::function<bool(const Checkpoint&)>;
    /// The newest one that is whole, of this run, has `elements` elements and passes `verify`. Each
    /// unusable file is named in the log with the reason and left where it is.
    std::optional<Checkpoint> newest(std::uint64_t elements, const Verifier& verify) const;

    /// Removes those of states after `step`: the history has begun anew there. A file that cannot
    /// be removed is named in the log.
    void remove_after(StepIndex step) const;

    /// All files with a good head, newest first. Does not read the states.
    std::vector<CheckpointEntry> list() const;

  private:
    void drop_surplus() const;

    const std::filesystem::path folder_;
    const RunId run_;
    const std::size_t keep_;
};

}  // namespace dedloc::backbone
