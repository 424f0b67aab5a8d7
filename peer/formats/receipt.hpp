// The receipt: a peer's own list of what it contributed, signed; the output file of every job. The
// validator compares it with the backbone's ledger and grants credit.
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

inline constexpr std::size_t kMaxReceiptLines = std::size_t{1} << 20;
/// Largest receipt file: kMaxReceiptLines of 16 bytes, names, keys, signature.
inline constexpr std::size_t kMaxReceiptBytes = kMaxReceiptLines * 16 + 4'096;

struct ReceiptLine {
    StepIndex step;  ///< of the commit: the state that the contribution was computed on
    Samples samples;
    bool operator==(const ReceiptLine&) const = default;
};

struct Receipt {
    RunId run;
    std::string result_name;  ///< BOINC's name of the job that this is the output of
    PeerKey peer;
    std::vector<ReceiptLine> lines;  ///< ascending by step
    bool operator==(const Receipt&) const = default;
};

enum class ReceiptError : std::uint8_t {
    kTooLarge,      ///< over kMaxReceiptBytes
    kMalformed,     ///< no signature, or not a Receipt by FlatBuffers' verifier
    kOutOfBounds,   ///< too many lines, steps that do not ascend, too many samples, a long name
    kBadSignature,  ///< not signed by the peer it names
};
const char* describe(ReceiptError error);

/// Requires receipt.peer == key.public_key() and what decode_receipt demands of a receipt (aborts).
Buffer encode_receipt(const Receipt& receipt, const KeyPair& key);

/// Untrusted input.
Result<Receipt, ReceiptError> decode_receipt(std::span<const std::byte> bytes);

/// decode_receipt() of what follows the signature, whoever signed it: for tests and fuzzing.
Result<Receipt, ReceiptError> decode_unsigned_receipt(std::span<const std::byte> payload);

}  // namespace dedloc::formats
