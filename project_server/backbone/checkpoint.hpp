// Checkpoints of a run: whole states on disk, each written at once or not at all. The newest few
// are kept, and of those that the ledger proves always the newest one.
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

/// What the ledger says of a checkpoint.
enum class Standing : std::uint8_t {
    kProven,    ///< it names this state at this step
    kLast,      ///< its last record leads to this step; only the next one will name the state
    kUnproven,  ///< of a history that it does not have: beyond its end, or another state
};
/// Thread: any.
using CheckpointJudge = std::function<Standing(const CheckpointHead&)>;

/// The checkpoints of one run in one folder.
class CheckpointStore {
  public:
    /// Makes the folder when it is absent. The `keep` ≥ 1 newest files stay of those that the
    /// ledger leads to, and as many of the others, so that these never push those out. Without a
    /// `judge` all count as proven. Throws IoError.
    CheckpointStore(std::filesystem::path folder, const RunId& run, std::size_t keep,
                    CheckpointJudge judge = {});

    /// After: the checkpoint is durable under its name and surplus ones are gone, but never the
    /// newest one that is proven, however many have followed it. On
    /// failure (disk full, …) IoError, and what was there before is untouched. Requires
    /// state.size() == 12 × head.elements.
    std::filesystem::path save(const CheckpointHead& head, std::span<const std::byte> state) const;

    /// Says whether the bytes have the digest of the head; the store itself cannot know.
    using Verifier = std::function<bool(const Checkpoint&)>;
    /// The newest one that is whole, of this run, has `elements` elements, passes `verify` and is
    /// one that the ledger leads to. Each unusable file is named in the log with the reason and
    /// left where it is.
    std::optional<Checkpoint> newest(std::uint64_t elements, const Verifier& verify) const;

    /// Removes those of states after `step`: the history has begun anew there. A file that cannot
    /// be removed is named in the log.
    void remove_after(StepIndex step) const;

    /// All files with a good head, newest first. Does not read the states.
    std::vector<CheckpointEntry> list() const;

  private:
    Standing standing_of(const CheckpointHead& head) const;
    void drop_surplus() const;

    const std::filesystem::path folder_;
    const RunId run_;
    const std::size_t keep_;
    const CheckpointJudge judge_;
};

}  // namespace dedloc::backbone
