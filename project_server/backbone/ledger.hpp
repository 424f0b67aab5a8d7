// The ledger file of a run: append-only, every decision in the compact form of peer/ledger and
// beside it what this backbone saw. It is the authority; database rows are made from it.
//
// File: 8 bytes "DEDLOCLG", version (u32), 0 (u32), run id (32 bytes), then records.
// Record: payload size (u32), kind (u8), first 8 bytes of BLAKE2b(kind ‖ payload), payload. All
// little-endian.
//   kind 1, commit:       milliseconds since 1970 (i64), milliseconds the round took (u32), entry
//                         of the commit with its certificate
//   kind 2, settled:      step (u64), reported (u32), equal (u32), digest (32 bytes, or nothing)
//   kind 3, generation:   its entry
// The entries alone, in order, are a ledger as peer/ledger reads it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/ledger/codec.hpp"
#include "peer/platform/durable_file.hpp"

namespace dedloc::backbone {

using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

struct LedgerCommit {
    WallTime committed_at;
    std::chrono::milliseconds
        took{};  ///< since the commit before it, or since the start of this backbone
    Decision decision;
    bool operator==(const LedgerCommit&) const = default;
};
struct LedgerSettled {
    StepIndex step;  ///< of the state reached: commit.step + 1
    std::uint32_t reported = 0;
    std::uint32_t equal = 0;
    /// Of that state. Left out where the next commit says it.
    std::optional<Digest> digest;
    bool operator==(const LedgerSettled&) const = default;
};
enum class LedgerKind : std::uint8_t { kCommit = 1, kSettled = 2, kGeneration = 3 };
using LedgerRecord = std::variant<LedgerCommit, LedgerSettled, SignedGeneration>;

/// Whose ledger.
struct LedgerOwner {
    RunId run;
    PeerKey backbone;  ///< the only voter of generation 0
};

/// Reads a ledger from its start, also while another thread or process appends to it.
class LedgerReader {
  public:
    /// Throws IoError when the file cannot be read or is not the ledger of this run.
    LedgerReader(const std::filesystem::path& path, const LedgerOwner& owner);

    /// The next whole record, or nothing when the rest of the file is not (yet) one. May be asked
    /// again later. Throws IoError when a record that is whole cannot come after those before it.
    std::optional<LedgerRecord> next();

    /// Behind a record, with what is known then.
    struct Place {
        std::uint64_t position = 0;
        ledger::Codec codec;
    };
    const Place& place() const { return place_; }
    /// Goes on reading there.
    void return_to(const Place& place) { place_ = place; }

  private:
    platform::DurableFile file_;
    Place place_;
};

/// Told of each record in order, with the place behind it.
using LedgerVisitor = std::function<void(const LedgerRecord&, const LedgerReader::Place&)>;

/// The only writer of a ledger.
class LedgerWriter {
  public:
    /// Opens or makes the ledger. A record that a crash left unfinished at the end is cut off, with
    /// one line in the log. `visit` is told of the records that are there, then of each one that is
    /// appended. Throws IoError when the file is another run's, of another version, or damaged
    /// before its end. Cost: reads the whole file.
    LedgerWriter(const std::filesystem::path& path, const LedgerOwner& owner,
                 LedgerVisitor visit = {});

    /// After: the record is on the disk. Throws IoError, and nothing of the record is in the file,
    /// when it cannot be written (disk full, …), after which the writer is of no further use, or
    /// when a commit or generation cannot come after head().
    void append(const LedgerCommit& commit);
    void append(const LedgerSettled& settled);
    void append(const SignedGeneration& generation);

    const Head& head() const { return place_.codec.head(); }
    /// The last one begun.
    const std::optional<SignedGeneration>& generation() const { return generation_; }
    /// The newest of that generation.
    const std::optional<Decision>& last_decision() const { return last_decision_; }
    bool is_empty() const { return is_empty_; }

  private:
    void read(const std::filesystem::path& path, const LedgerOwner& owner);
    void write(LedgerKind kind, std::span<const std::byte> payload, const LedgerRecord& record);
    void take(const LedgerRecord& record);
    [[noreturn]] void refuse(const std::string& what) const;

    const LedgerVisitor visit_;
    platform::DurableFile file_;
    LedgerReader::Place place_;  ///< the end of the file
    std::optional<SignedGeneration> generation_;
    std::optional<Decision> last_decision_;
    bool is_empty_ = true;
};

}  // namespace dedloc::backbone
