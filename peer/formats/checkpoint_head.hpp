// The head of a checkpoint file: a whole state on disk, written by a backbone or by a trainer that
// trains alone.
//
// File: 8 bytes "DEDLOCST", version (u32), number of vectors V (u32), run id (32), step (u64),
// number of elements N (u64), digest of the state (32), first 8 bytes of the BLAKE2b digest of the
// fields before; then parameters and moments (V N binary32). All little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc::formats {

/// Bytes before the state.
inline constexpr std::size_t kCheckpointHeadBytes = 8 + 4 + 4 + 32 + 8 + 8 + 32 + 8;

/// The state that a checkpoint holds.
struct CheckpointHead {
    StepIndex step;              ///< updates that the state has seen
    Digest digest;               ///< the state's digest, as ModelState computes it
    std::uint64_t elements = 0;  ///< length of each vector, N
    std::uint32_t vectors = 3;   ///< the parameters and the optimizer's moments
    /// Bytes of the state.
    std::uint64_t state_bytes() const { return sizeof(float) * vectors * elements; }
    bool operator==(const CheckpointHead&) const = default;
};

/// The first kCheckpointHeadBytes bytes of the file of that state.
Buffer encode_checkpoint_head(const RunId& run, const CheckpointHead& head);

/// Reads them. `name` names the file in errors.
/// Errors   InputError, "`name` is …" in one sentence: no checkpoint, incomplete, another version
///          or run, damaged
CheckpointHead decode_checkpoint_head(std::span<const std::byte> bytes, const RunId& run,
                                      const std::string& name);

}  // namespace dedloc::formats
