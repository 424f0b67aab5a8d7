// Compares a receipt with the ledger. A receipt is a job's output file: it claims how many samples
// the peer contributed to which steps, and is signed with the peer's key. The ledger holds the
// swarm's decisions. Pure: no files, no database, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/result.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/receipt.hpp"

namespace dedloc::validation {

/// The job that uploaded the receipt.
struct Job {
    RunId run;                ///< the run that the job belongs to
    std::string result_name;  ///< BOINC's name of the result
};

/// Why a receipt is refused.
enum class Fault : std::uint8_t {
    kUnreadable,    ///< malformed, too large, a step listed twice, or not signed by its key
    kOtherRun,      ///< a receipt for another run
    kOtherResult,   ///< another job's receipt
    kNotInLedger,   ///< the ledger has the step, but without this peer
    kOtherSamples,  ///< the ledger has another number of samples
    kBeyondRun,     ///< the step is beyond the run's last one
};

/// Why a receipt is refused: a code for programs and a sentence for people.
struct Refusal {
    Fault fault = Fault::kUnreadable;  ///< the code
    std::string reason;                ///< the sentence, without a full stop
};

/// Decodes a receipt and checks everything that needs no ledger: signature, run and result. The
/// bytes are untrusted.
Result<formats::Receipt, Refusal> read_receipt(std::span<const std::byte> bytes, const Job& job);

/// One row of the ledger: this peer contributed so many samples to that step.
struct LedgerLine {
    PeerKey peer;     ///< the contributor
    StepIndex step;   ///< counted as in receipts: the state that the contribution was computed on
    Samples samples;  ///< a peer may have several rows for a step; they add up
    bool operator==(const LedgerLine&) const = default;
};

/// The part of the ledger that a receipt is compared with.
struct LedgerView {
    std::vector<LedgerLine> lines;  ///< any order; lines of other peers are ignored
    StepIndex recorded;             ///< `lines` is complete for rounds on states before this one
    StepIndex last_step;            ///< the run ends when this state is reached
    /// Rows for rounds on states before this one are summed and gone: nothing is compared there. It
    /// earns nothing anyway.
    StepIndex compacted{};
};

/// The verdict on a receipt that is not refused.
enum class Answer : std::uint8_t {
    kValid,   ///< the ledger has every line with samples; a receipt without lines earns nothing
    kTooSoon  ///< a line is about a round that is not recorded yet: compare again later
};

/// Compares each line. A refusal names the first wrong line in the order of steps.
Result<Answer, Refusal> compare(const formats::Receipt& receipt, const LedgerView& ledger);

}  // namespace dedloc::validation
