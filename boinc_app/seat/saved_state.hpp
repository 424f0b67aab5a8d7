// The file in which a trainer saves its model state, so that a job that is started again need not
// fetch what it still has. The file names the decision that led to the state, with the voters'
// signatures: the peer begins at that head, and CatchUp then fetches the averages of the steps
// since, or a whole state where that is all that peers still have.
//
// File: 8 bytes "DEDLOCOS", version (u32), bytes of the generation (u32, 0: generation 0), bytes
// of the decision (u32), both records as peer/wire/history.hpp encodes them, BLAKE2b digest (32)
// of all bytes before it; then a checkpoint: head (peer/formats/checkpoint_head.hpp) and vectors.
// All little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/stable_bytes.hpp"
#include "peer/formats/checkpoint_head.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::seat {

/// The position of a state in the run's history.
struct StatePlace {
    std::optional<SignedGeneration> generation{};  ///< the decision's; nothing: generation 0
    Decision decision;                             ///< leads to the state
    /// The number of the generation.
    std::uint64_t number() const { return decision.record.generation; }
    /// Updates that the state has seen.
    StepIndex step() const { return decision.record.step.next(); }
};

/// A trainer's state that is to be saved. It stays as it is while the trainer goes on.
struct StateToSave {
    formats::CheckpointHead head;  ///< step and digest of the bytes
    SharedStableBytes bytes;       ///< parameters and moments
};

/// A trainer's state, in host memory.
struct CopiedState {
    formats::CheckpointHead head;  ///< step and digest of the bytes
    SharedBytes bytes;             ///< parameters and moments
};

/// What a file holds.
struct SavedState {
    StatePlace place;   ///< proven by the votes of a majority of the generation's voters
    CopiedState state;  ///< the bytes have the digest of their head; no voter has signed that one
};

/// Replaces the file as platform::replace_file does, in pieces of 2 MiB; meanwhile there are two of
/// them. After a crash at any moment `path` holds the former contents or all new ones. Requires
/// place.step() == state.head.step.
/// Errors  IoError (disk full, …): the former contents remain
void write_state_file(const std::filesystem::path& path, const RunId& run, const StatePlace& place,
                      const StateToSave& state);

/// Writes the state of such a file to `unfinished`, in the project's format of checkpoints
/// (peer/formats/checkpoint_head.hpp), then moves it to `checkpoint`. Both are on one filesystem.
/// Memory: 2 MiB.
/// Returns  the state's step          Errors  InputError: no saved state; IoError
StepIndex export_checkpoint(const std::filesystem::path& path, const RunId& run,
                            const std::filesystem::path& unfinished,
                            const std::filesystem::path& checkpoint);

/// Reads and checks a file, whatever is in it. Memory: one state.
/// Errors  InputError, "`path` is …" in one sentence: cut, damaged, of another run or model, or its
///         place is not what the run's voters have signed; IoError: disk
SavedState read_state_file(const std::filesystem::path& path, const formats::RunFile& run);

}  // namespace dedloc::seat
