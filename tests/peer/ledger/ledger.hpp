// A ledger in memory, by which tests verify what the codec and a backbone have written: all
// decisions of a run from its genesis. It needs only the run, the project's key and the backbone's
// key:
//
//   every record chains to the one before by digest and carries the signatures of a majority of
//   its generation's voters; the project has signed their list (generation 0: the backbone alone).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/result.hpp"
#include "peer/formats/receipt.hpp"
#include "peer/ledger/entry_codec.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::ledger {

/// The run and the keys that a ledger's proofs are checked against.
struct Trust {
    RunId run;         ///< the run that the ledger is of
    PeerKey project;   ///< signs generations
    PeerKey backbone;  ///< the only voter of generation 0
    bool operator==(const Trust&) const = default;
};

/// Why a file is refused.
enum class LedgerError : std::uint8_t {
    kForeign,       ///< no ledger, or that of another run, project or backbone
    kMalformed,     ///< an entry cannot come after the entries before it
    kNotCertified,  ///< a record's votes are too few or not valid
    kNotSigned,     ///< the project has not signed a generation
};
/// The error as a clause for a log line.
const char* describe(LedgerError error);

/// The ledger in memory. A record is valid unless a later generation has made it void.
class Ledger {
  public:
    /// An empty ledger of that run.
    explicit Ledger(const Trust& trust);

    /// Appends a decision. False, and nothing changes, if the certificate does not prove that the
    /// record comes next.        Cost  one signature check a vote
    [[nodiscard]] bool append(const Decision& decision);
    /// Begins a generation: all records from its step on become void. False, and nothing changes,
    /// unless it is a higher generation, signed by the project.       Cost  reads the whole ledger
    [[nodiscard]] bool begin(const SignedGeneration& generation);

    /// The head after the last entry.
    const Head& head() const { return codec_.head(); }
    /// Samples of all valid records; the sum of samples_of() over all peers.
    Samples samples() const { return samples_; }
    /// Samples of one peer in all valid records.
    Samples samples_of(const PeerKey& peer) const;
    /// One peer's lines in the valid records, ascending by step, without lines of 0 samples.
    /// Cost  reads the whole ledger
    std::vector<formats::ReceiptLine> receipt_lines(const PeerKey& peer) const;
    /// Visits the valid records in order.      Cost  reads the whole ledger
    void for_each(const std::function<void(const CommitRecord&)>& visit) const;
    /// DEDLOC_CHECKs that samples are conserved: the totals equal Σ lines of the valid records.
    void check_invariants() const;

    /// The whole ledger as a file.
    Buffer encode() const;
    /// Reads a file. Any bytes are safe; every proof is checked.
    static Result<Ledger, LedgerError> decode(std::span<const std::byte> bytes, const Trust& trust);

  private:
    void add(std::span<const std::byte> entry);
    std::optional<LedgerError> read(ByteReader& bytes);
    void recount();
    void count(const CommitRecord& record);
    bool is_void(const CommitRecord& record) const;

    Trust trust_;
    EntryCodec codec_;  ///< state after the last of entries_
    Buffer entries_;
    std::vector<GenerationRecord> generations_;
    std::map<PeerKey, Samples> totals_;
    Samples samples_;
};

}  // namespace dedloc::ledger
