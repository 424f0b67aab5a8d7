// The ledger file of a run: append-only, every decision in the compact form of peer/ledger and
// beside it what this backbone saw. It is the authority; database rows are made from it.
//
// File: 8 bytes "DEDLOCLG", version (u32), 0 (u32), run id (32 bytes), then records.
// Record: payload size (u32), kind (u8), first 8 bytes of BLAKE2b(kind ‖ payload), payload. All
// little-endian.
//   kind 1, commit:       milliseconds since 1970 (i64), milliseconds the round took (u32), entry
//                         of the commit, and of its certificate if it is one to keep
//   kind 2, settled:      step (u64), reported (u32), equal (u32), digest (32 bytes, or nothing)
//   kind 3, generation:   its entry
//   kind 4, certificate:  entry of the certificate of the commit before, when the writer was closed
// The entries alone, in order, are a ledger as peer/ledger reads it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <variant>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/events.hpp"
#include "peer/ledger/codec.hpp"
#include "project_server/backbone/durable_file.hpp"

namespace dedloc::backbone {

using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

struct LedgerCommit {
    WallTime committed_at;
    std::chrono::milliseconds
        took{};  ///< since the commit before it, or since the start of this backbone
    CommitRecord record;
    /// To a writer always given; in the file where a reader needs it (ledger::is_kept).
    std::optional<Certificate> certificate;
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
using LedgerRecord = std::variant<LedgerCommit, LedgerSettled, SignedGeneration, Certificate>;

/// Whose ledger: the first view is the backbone alone.
struct LedgerOwner {
    RunId run;
    PeerKey backbone;
};

/// Reads a ledger from its start, also while another thread or process appends to it.
class LedgerReader {
  public:
    /// Throws IoError when the file cannot be read or is not the ledger of this run.
    LedgerReader(const std::filesystem::path& path, const LedgerOwner& owner);

    /// The next whole record, or nothing when the rest of the file is not (yet) one. May be asked
    /// again later. Throws IoError when a record that is whole cannot come after those before it.
    std::optional<LedgerRecord> next();

    /// After the last whole record read; what is known then.
    struct Place {
        std::uint64_t position = 0;
        ledger::Codec codec;
    };
    const Place& place() const { return place_; }
    /// Asks for the records from there on again.
    void return_to(const Place& place) { place_ = place; }

  private:
    DurableFile file_;
    Place place_;
};

/// The only writer of a ledger.
class LedgerWriter {
  public:
    /// Opens or makes the ledger. A record that a crash left unfinished at the end is cut off, with
    /// one line in the log. Throws IoError when the file is another run's, or damaged before its
    /// end. Cost: reads the whole file.
    /// `last`: what this backbone decided last, as it has written down elsewhere. A crash may have
    /// come before the ledger had it, or the proof of it: then the writer goes on from there.
    LedgerWriter(const std::filesystem::path& path, const LedgerOwner& owner,
                 const std::optional<Decision>& last = {});

    /// After: the record is on the disk. Throws IoError (disk full, …): then nothing of it is in
    /// the file, and the writer is of no further use. A commit extends head() and has its
    /// certificate (DEDLOC_CHECK).
    void append(const LedgerCommit& commit);
    void append(const LedgerSettled& settled);
    void append(const SignedGeneration& generation);
    /// Nothing will follow for now: the newest commit gets its certificate, unless it has it.
    /// Idempotent.
    void seal();

    const Head& head() const { return codec_.head(); }
    /// The last one begun.
    const std::optional<SignedGeneration>& generation() const { return generation_; }
    /// The newest of that generation.
    const std::optional<CommitRecord>& last_record() const { return last_record_; }

  private:
    bool read(const std::filesystem::path& path, const LedgerOwner& owner);
    void resume(const Decision& last, const LedgerOwner& owner, bool is_proven);

    DurableFile file_;
    ledger::Codec codec_;
    std::optional<SignedGeneration> generation_;
    std::optional<CommitRecord> last_record_;
    std::optional<Certificate> unwritten_;  ///< of the newest commit
};

}  // namespace dedloc::backbone
