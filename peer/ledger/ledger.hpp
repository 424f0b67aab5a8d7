// All decisions of a run, from its genesis: the record of who contributed what. Whoever knows the
// run, the project's key and the backbone's can check a ledger from anybody:
//
//   every record chains to the one before by digest, and carries the signatures of a majority of
//   its generation's voters, whom the project has signed (generation 0: the backbone alone).
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
#include "peer/ledger/codec.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::ledger {

/// Whose ledger it is: what its proofs are checked against.
struct Trust {
    RunId run;
    PeerKey project;   ///< signs generations
    PeerKey backbone;  ///< the only voter of generation 0
    bool operator==(const Trust&) const = default;
};

enum class LedgerError : std::uint8_t {
    kForeign,       ///< no ledger, or that of another run, project or backbone
    kMalformed,     ///< some entry cannot come after those before it
    kNotCertified,  ///< a record whose votes are too few or false
    kNotSigned,     ///< a generation that the project has not signed
};
const char* describe(LedgerError error);

class Ledger {
  public:
    explicit Ledger(const Trust& trust);

    /// Takes a decision in. False, and nothing changes, when the certificate does not prove that
    /// the record comes next.        Cost  one signature check a vote
    [[nodiscard]] bool append(const Decision& decision);
    /// All records from its step on are void. False, and nothing changes, unless it is a higher
    /// generation, signed by the project.       Cost  reads the whole ledger
    [[nodiscard]] bool begin(const SignedGeneration& generation);

    const Head& head() const { return codec_.head(); }
    /// Of all valid records, so Σ over peers of samples_of.
    Samples samples() const { return samples_; }
    Samples samples_of(const PeerKey& peer) const;
    /// One peer's own lines of the valid records, those without samples left out; ascending.
    /// Cost  reads the whole ledger
    std::vector<formats::ReceiptLine> receipt_lines(const PeerKey& peer) const;
    /// The valid records in order.      Cost  reads the whole ledger
    void for_each(const std::function<void(const CommitRecord&)>& visit) const;
    /// DEDLOC_CHECKs that samples are conserved: totals = Σ lines of the records that are kept.
    void check_invariants() const;

    /// The whole as a file.
    Buffer encode() const;
    /// Any bytes; every proof is checked.
    static Result<Ledger, LedgerError> decode(std::span<const std::byte> bytes, const Trust& trust);

  private:
    void add(std::span<const std::byte> entry);
    std::optional<LedgerError> read(ByteReader& bytes);
    void recount();
    void count(const CommitRecord& record);
    bool is_void(const CommitRecord& record) const;

    Trust trust_;
    Codec codec_;  ///< at the end of entries_
    Buffer entries_;
    std::vector<GenerationRecord> generations_;
    std::map<PeerKey, Samples> totals_;
    Samples samples_;
};

}  // namespace dedloc::ledger
