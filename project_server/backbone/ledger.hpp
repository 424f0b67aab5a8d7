// The ledger of a run: one append-only file that holds every commit exactly as its coordinator
// signed it, and beside each what this backbone saw when the round was over. It is the authority;
// database rows are made from it.
//
// File: 8 bytes "DEDLOCLG", version (u32), 0 (u32), run id (32 bytes), then records.
// Record: payload size (u32), kind (u8), first 8 bytes of BLAKE2b(kind ‖ payload), payload. All
// little-endian.
//   kind 1, commit:  milliseconds since 1970 (i64), milliseconds the round took (u32), signed frame
//   kind 2, settled: step (u64), digest (32 bytes), reported (u32), equal (u32)
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <variant>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/events.hpp"
#include "project_server/backbone/durable_file.hpp"

namespace dedloc::backbone {

using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

struct LedgerCommit {
    WallTime committed_at;
    std::chrono::milliseconds
        took{};  ///< since the commit before it, or since the start of this backbone
    Buffer signed_frame;
    bool operator==(const LedgerCommit&) const = default;
};
struct LedgerSettled {
    StepIndex step;  ///< of the state reached: commit.step + 1
    Digest digest;
    std::uint32_t reported = 0;
    std::uint32_t equal = 0;
    bool operator==(const LedgerSettled&) const = default;
};
using LedgerRecord = std::variant<LedgerCommit, LedgerSettled>;

/// Reads a ledger from its start, also while another thread or process appends to it.
class LedgerReader {
  public:
    /// Throws IoError when the file cannot be read or is not the ledger of `run`.
    LedgerReader(const std::filesystem::path& path, const RunId& run);

    /// The next whole record, or nothing when the rest of the file is not (yet) one. May be asked
    /// again later.
    std::optional<LedgerRecord> next();
    /// The end of the last whole record read.
    std::uint64_t position() const { return position_; }
    /// Asks for the records from `position` on, a value that position() returned earlier.
    void rewind(std::uint64_t position) { position_ = position; }

  private:
    DurableFile file_;
    std::uint64_t position_;
};

/// The only writer of a ledger.
class LedgerWriter {
  public:
    /// Opens or makes the ledger. A record that a crash left unfinished at the end is cut off, with
    /// one line in the log. Throws IoError when the file is another run's, or damaged before its
    /// end.
    LedgerWriter(const std::filesystem::path& path, const RunId& run);

    /// After: the record is on the disk. Throws IoError (disk full, …): then nothing of it is in
    /// the file.
    void append(const LedgerCommit& commit);
    void append(const LedgerSettled& settled);

  private:
    DurableFile file_;
};

}  // namespace dedloc::backbone
