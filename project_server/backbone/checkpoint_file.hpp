// One checkpoint file, also from an untrusted source.
//
// File: 8 bytes "DEDLOCST", version (u32), number of vectors V (u32), run id (32), step (u64),
// number of elements N (u64), digest of the state (32), first 8 bytes of the BLAKE2b digest of the
// fields before; then parameters and moments (V N binary32). All little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/platform/durable_file.hpp"

namespace dedloc::backbone {

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

/// The head of a state of so many vectors. Cost: reads the state once.
CheckpointHead head_of_state(StepIndex step, std::span<const std::byte> state,
                             std::uint32_t vectors = 3);

/// The first bytes of the file of that state.
Buffer encode_checkpoint_head(const RunId& run, const CheckpointHead& head);

/// An open file. It stays readable if it is removed meanwhile.
class CheckpointFile final {
  public:
    /// Reads and checks the head; the state's bytes are not read.
    /// Errors   InputError in one sentence: no checkpoint, another run's, not of the size that its
    ///          head says; IoError: cannot be opened or read
    CheckpointFile(const std::filesystem::path& path, const RunId& run);

    /// What the file claims to hold.
    const CheckpointHead& head() const { return head_; }
    /// Size of the file.
    std::uint64_t bytes() const;

    /// Reads out.size() bytes of the state from `offset` on. Errors: IoError, also if the file has
    /// become shorter.
    void read(std::uint64_t offset, std::span<std::byte> out) const;

    /// Takes the next bytes of the state, at `offset`.
    using Visitor = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;
    /// Reads the whole state in order, in pieces of 2 MiB, and returns the digest that its bytes
    /// have. Errors: as read().           Memory  one piece and 32 bytes for each 256 KiB
    Digest read_all(const Visitor& visit = {}) const;

  private:
    const platform::DurableFile file_;
    CheckpointHead head_;
};

}  // namespace dedloc::backbone
