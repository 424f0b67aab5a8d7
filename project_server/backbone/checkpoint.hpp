// Checkpoints of a run: whole states on disk, written atomically. The newest few are kept, and
// always the newest one that the ledger proves.
// Files checkpoints/step_<updates, 9 digits>.state, in the format of checkpoint_file.hpp.
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
#include "project_server/backbone/checkpoint_file.hpp"

namespace dedloc::backbone {

/// A checkpoint in memory.
struct Checkpoint {
    formats::CheckpointHead head;  ///< step and digest that the file claims
    std::filesystem::path path;    ///< the file
    Buffer state;                  ///< state_bytes() bytes; the reader must verify their digest
};

/// A checkpoint file, without its state.
struct CheckpointEntry {
    formats::CheckpointHead head;  ///< step and digest that the file claims
    std::filesystem::path path;    ///< the file
    std::uint64_t bytes = 0;       ///< size of the file
    double created_at = 0;         ///< seconds since 1970
    std::string source{};          ///< whose upload it is; empty: this backbone's own
};

/// The name of the file of a step's state in a folder of checkpoints.
std::string checkpoint_file_name(StepIndex step);
/// The note beside a checkpoint file that says whose upload it is.
std::filesystem::path source_note_of(const std::filesystem::path& checkpoint);
/// Longest such note.
inline constexpr std::size_t kMaxSourceBytes = 400;

/// The files in this folder with a valid head, newest first. Logs each that is not a checkpoint of
/// this run. Does not read the states. Another process may write and remove files meanwhile.
/// Errors: IoError.
std::vector<CheckpointEntry> list_checkpoints(const std::filesystem::path& folder,
                                              const RunId& run);

/// How a checkpoint relates to the ledger.
enum class Standing : std::uint8_t {
    kProven,    ///< the ledger has this state's digest at this step
    kLast,      ///< the last record leads to this step; the next record will have the digest
    kUnproven,  ///< not in the ledger's history: beyond its end, or another state
};
/// Judges a checkpoint by the ledger. Thread: any.
using CheckpointJudge = std::function<Standing(const formats::CheckpointHead&)>;

/// The checkpoints of one run in one folder.
class CheckpointStore {
  public:
    /// Creates the folder if it is absent. The store keeps the `keep` ≥ 1 newest files that the
    /// ledger leads to, and as many of the others, so that those cannot displace the former.
    /// Without a `judge` all count as proven. Throws IoError.
    CheckpointStore(std::filesystem::path folder, const RunId& run, std::size_t keep,
                    CheckpointJudge judge = {});

    /// After: the checkpoint is durable under its name and surplus ones are removed, but never the
    /// newest proven one, however many newer ones there are. Files that a killed process has not
    /// finished are removed too. On failure (disk full, …) throws IoError and leaves the older
    /// files untouched. Requires state.size() == head.state_bytes(); only one process saves.
    std::filesystem::path save(const formats::CheckpointHead& head,
                               std::span<const std::byte> state) const;

    /// Returns whether the bytes have the digest of the head; the store itself cannot compute it.
    using Verifier = std::function<bool(const Checkpoint&)>;
    /// The newest complete checkpoint of this run that has `elements` elements, that the ledger
    /// leads to and that passes `verify`. Logs each unusable file with the reason and leaves it in
    /// place.
    std::optional<Checkpoint> newest(std::uint64_t elements, const Verifier& verify) const;

    /// Removes the checkpoints of states after `step`, from which a new generation begins. Logs
    /// each file that cannot be removed.
    void remove_after(StepIndex step) const;

    /// All files with a valid head, newest first. Does not read the states.
    std::vector<CheckpointEntry> list() const;

  private:
    Standing standing_of(const formats::CheckpointHead& head) const;
    /// Removes what a process that was killed in save() has left.
    void drop_unfinished() const;
    void drop_surplus() const;

    const std::filesystem::path folder_;
    const RunId run_;
    const std::size_t keep_;
    const CheckpointJudge judge_;
};

}  // namespace dedloc::backbone
