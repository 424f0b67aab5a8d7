// The receipt: a peer's signed list of what it has contributed, and the output file of every job.
// The validator compares it with the backbone's ledger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/result.hpp"
#include "peer/base/units.hpp"

namespace dedloc::formats {

/// BOINC's variety of the message (trickle-up) by which a job asks for its credit now. Its text
/// says nothing that counts: credit comes from the ledger.
inline constexpr const char* kCreditMessage = "dedloc_credit";

/// Lines of a receipt.
inline constexpr std::size_t kMaxReceiptLines = std::size_t{1} << 20;
/// Size of a receipt file: kMaxReceiptLines lines of 16 bytes, names, keys and signature.
inline constexpr std::size_t kMaxReceiptBytes = kMaxReceiptLines * 16 + 4'096;

/// What the peer has contributed to one round.
struct ReceiptLine {
    StepIndex step;   ///< CommitRecord::step, the state that the contribution was computed on
    Samples samples;  ///< its samples in that record
    bool operator==(const ReceiptLine&) const = default;
};

/// All contributions of one job.
struct Receipt {
    RunId run;                       ///< the run that the job belongs to
    std::string result_name;         ///< BOINC's name of the job
    PeerKey peer;                    ///< the peer that claims the lines and signs the receipt
    std::vector<ReceiptLine> lines;  ///< ascending by step
    bool operator==(const Receipt&) const = default;
};

/// Why a receipt is refused.
enum class ReceiptError : std::uint8_t {
    kTooLarge,      ///< more than kMaxReceiptBytes
    kMalformed,     ///< too short, or refused by FlatBuffers' verifier
    kOutOfBounds,   ///< too many lines or samples, steps that do not ascend, or a long name
    kBadSignature,  ///< not signed by the peer that it names
};
/// A few words for the log.
const char* describe(ReceiptError error);

/// The signed file. Requires receipt.peer == key.public_key() and fields that decode_receipt()
/// accepts (DEDLOC_CHECK).
Buffer encode_receipt(const Receipt& receipt, const KeyPair& key);

/// The receipt in a file. Untrusted input.
Result<Receipt, ReceiptError> decode_receipt(std::span<const std::byte> bytes);

/// decode_receipt() for the bytes after the signature, which is not checked: for tests and fuzzing.
Result<Receipt, ReceiptError> decode_unsigned_receipt(std::span<const std::byte> payload);

}  // namespace dedloc::formats
