// One checkpoint file, also from an untrusted source, in the format of
// peer/formats/checkpoint_head.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/checkpoint_head.hpp"
#include "peer/platform/durable_file.hpp"

namespace dedloc::backbone {

/// The head of a state of so many vectors. Cost: reads the state once.
formats::CheckpointHead head_of_state(StepIndex step, std::span<const std::byte> state,
                                      std::uint32_t vectors = 3);

/// An open file. It stays readable if it is removed meanwhile.
class CheckpointFile final {
  public:
    /// Reads and checks the head; the state's bytes are not read.
    /// Errors   InputError in one sentence: no checkpoint, another run's, not of the size that its
    ///          head says; IoError: cannot be opened or read
    CheckpointFile(const std::filesystem::path& path, const RunId& run);

    /// What the file claims to hold.
    const formats::CheckpointHead& head() const { return head_; }
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
    formats::CheckpointHead head_;
};

}  // namespace dedloc::backbone
