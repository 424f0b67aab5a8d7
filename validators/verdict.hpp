// Is this receipt true? A receipt is what a job sends home: which samples it says it brought into
// which steps, signed by the key it used in the swarm. The ledger is what the swarm agreed on.
// Pure: no files, no database, no clock.
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

/// The job that the receipt came home with.
struct Job {
    RunId run;
    std::string result_name;  ///< BOINC's name of the result
};

enum class Fault : std::uint8_t {
    kUnreadable,    ///< no receipt: cut short, too large, steps twice, not signed by its key
    kOtherRun,      ///< somebody's receipt for another run
    kOtherResult,   ///< another job's receipt
    kNotInLedger,   ///< the ledger has the step, but not this peer in it
    kOtherSamples,  ///< the ledger has another sample count
    kBeyondRun,     ///< a step that the run does not have
};

/// Why a receipt is refused, in a word for programs and a sentence for people.
struct Refusal {
    Fault fault = Fault::kUnreadable;
    std::string reason;
};

/// The parts of the question that need no ledger. The bytes are untrusted.
Result<formats::Receipt, Refusal> read_receipt(std::span<const std::byte> bytes, const Job& job);

/// One row of the ledger: this peer was in that step with so many samples.
struct LedgerLine {
    PeerKey peer;
    StepIndex step;  ///< counted as in receipts: the state that the contribution was computed on
    Samples samples;
    bool operator==(const LedgerLine&) const = default;
};

struct LedgerView {
    std::vector<LedgerLine> lines;  ///< of the receipt's peer; others are ignored; any order
    StepIndex recorded;             ///< rounds on states before this one are all in `lines`
    StepIndex last_step;            ///< the run ends when this state is reached
};

enum class Answer : std::uint8_t {
    kValid,   ///< every line is in the ledger. No lines at all is valid and earns nothing.
    kTooSoon  ///< a line is about a round that is not recorded yet: ask again later
};

/// Compares each line. A refusal names the first line at fault in the order of steps.
Result<Answer, Refusal> compare(const formats::Receipt& receipt, const LedgerView& ledger);

}  // namespace dedloc::validation
