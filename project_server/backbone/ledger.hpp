// The ledger file of a run: append-only, every decision in the compact form of peer/ledger, and
// beside it times and digest reports that this backbone has seen. It is the authority; database
// rows are made from it.
//
// File: 8 bytes "DEDLOCLG", version (u32), 0 (u32), run id (32 bytes), then records.
// Record: payload size (u32), kind (u8), first 8 bytes of BLAKE2b(kind ‖ payload), payload. All
// little-endian.
//   kind 1, commit:       milliseconds since 1970 (i64), milliseconds the round took (u32), entry
//                         of the commit with its certificate
//   kind 2, settled:      step (u64), reported (u32), equal (u32), digest (32 bytes, or nothing)
//   kind 3, generation:   its entry
//   kind 4, certificate:  digest of the state (32) that the records before lead to, then for each
//                         vote of a majority of the voters: key (32), signature (64)
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
#include "peer/ledger/entry_codec.hpp"
#include "peer/platform/durable_file.hpp"

namespace dedloc::backbone {

/// Wall clock, in milliseconds.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

/// A decision, and when it reached this backbone.
struct LedgerCommit {
    WallTime committed_at;  ///< this backbone's clock
    std::chrono::milliseconds
        took{};         ///< time since the previous commit, or since the start of this backbone
    Decision decision;  ///< record and certificate
    bool operator==(const LedgerCommit&) const = default;
};
/// How many members have reported the digest of the state after a commit.
struct LedgerSettled {
    StepIndex step;              ///< step of the state reached: commit.step + 1
    std::uint32_t reported = 0;  ///< members that reported a digest of that state
    std::uint32_t equal = 0;     ///< how many of these reported this backbone's digest
    /// The state's digest, for the run's last state only: the next commit has the digest of the
    /// others.
    std::optional<Digest> digest;
    bool operator==(const LedgerSettled&) const = default;
};
/// The kinds of records in the file.
enum class LedgerKind : std::uint8_t {
    kCommit = 1,       ///< LedgerCommit
    kSettled = 2,      ///< LedgerSettled
    kGeneration = 3,   ///< SignedGeneration
    kCertificate = 4,  ///< StateCertificate
};
/// One record of the file. The certificate of the run's last state takes the place of the commit
/// that would have its digest.
using LedgerRecord = std::variant<LedgerCommit, LedgerSettled, SignedGeneration, StateCertificate>;

/// The run that a ledger belongs to.
struct LedgerOwner {
    RunId run;         ///< the run's id
    PeerKey backbone;  ///< the only voter of generation 0
};

/// Reads a ledger from its start, also while another thread or process appends to it.
class LedgerReader {
  public:
    /// Throws IoError when the file cannot be read or is not the ledger of this run.
    LedgerReader(const std::filesystem::path& path, const LedgerOwner& owner);

    /// The next complete record, or nothing if the rest of the file is not (yet) one; call it again
    /// later. Throws IoError when a complete record cannot follow the records before it.
    std::optional<LedgerRecord> next();

    /// The end of a record, and the decoder's state there.
    struct Place {
        std::uint64_t position = 0;  ///< byte offset in the file
        ledger::EntryCodec codec;    ///< has decoded everything before `position`
    };
    /// The end of the last record read.
    const Place& place() const { return place_; }
    /// Continues reading at `place`.
    void return_to(const Place& place) { place_ = place; }

  private:
    platform::DurableFile file_;
    Place place_;
};

/// Called with each record in order, and with the place after it.
using LedgerVisitor = std::function<void(const LedgerRecord&, const LedgerReader::Place&)>;

/// The only writer of a ledger.
class LedgerWriter {
  public:
    /// Opens or creates the ledger. A record that a crash left incomplete at the end is cut off,
    /// with one line in the log. Calls `visit` for the existing records, then for each appended
    /// one. Throws IoError when the file is another run's, of another version, or damaged before
    /// its end. Cost: reads the whole file.
    LedgerWriter(const std::filesystem::path& path, const LedgerOwner& owner,
                 LedgerVisitor visit = {});

    /// After: the record is on the disk. Throws IoError when it cannot be written (disk full, …),
    /// after which the writer must not be used, or when a commit or generation cannot follow
    /// head(). Then no part of the record is in the file.
    void append(const LedgerCommit& commit);
    void append(const LedgerSettled& settled);
    void append(const SignedGeneration& generation);
    /// Likewise for a certificate that is not of the state that head() leads to.
    void append(const StateCertificate& certificate);

    /// The head of the history at the ledger's end.
    const Head& head() const { return place_.codec.head(); }
    /// The last generation in the ledger; nothing: still generation 0.
    const std::optional<SignedGeneration>& generation() const { return generation_; }
    /// The newest decision of that generation.
    const std::optional<Decision>& last_decision() const { return last_decision_; }
    /// The step of the newest LedgerSettled after that generation's beginning.
    const std::optional<StepIndex>& last_settled() const { return last_settled_; }
    /// Whether the ledger has no records.
    bool is_empty() const { return is_empty_; }
    /// Whether it has a certificate of the state that head() leads to.
    bool has_certificate() const { return has_certificate_; }

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
    std::optional<StepIndex> last_settled_;
    bool is_empty_ = true;
    bool has_certificate_ = false;
};

}  // namespace dedloc::backbone
