// The file is an Ed25519 signature followed by a FlatBuffers payload. The signature covers a
// preamble and the payload as it is in the file. The payload is copied to an aligned buffer for the
// verifier; its list of lines is checked for length and alignment before it is read. The signature
// is verified last, with the key that the receipt names.
#include "peer/formats/receipt.hpp"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"
#include "receipt_generated.h"

namespace dedloc::formats {
namespace {

// The signature covers this text and the payload, so it is not valid for any other kind of record.
constexpr std::string_view kPreamble = "DeDLOC@home receipt 1\n";

template <class Tag>
fb::ReceiptDigest pack(const Bytes32<Tag>& value) {
    std::array<std::uint8_t, 32> bytes;
    std::memcpy(bytes.data(), value.bytes.data(), bytes.size());
    return fb::ReceiptDigest{flatbuffers::span<const std::uint8_t, 32>{bytes}};
}

template <class Value>
Value unpack(const fb::ReceiptDigest& packed) {
    Value value;
    std::memcpy(value.bytes.data(), packed.bytes()->data(), value.bytes.size());
    return value;
}

Buffer what_is_signed(std::span<const std::byte> payload) {
    ByteWriter out;
    out.append(bytes_of(kPreamble));
    out.append(payload);
    return std::move(out).finish();
}

bool is_within_bounds(const Receipt& receipt) {
    if (receipt.result_name.size() > wire::kMaxResultNameBytes) return false;
    if (receipt.lines.size() > kMaxReceiptLines) return false;
    for (std::size_t i = 0; i < receipt.lines.size(); ++i) {
        if (receipt.lines[i].samples.value() > wire::kMaxSamples) return false;
        if (i > 0 && receipt.lines[i].step <= receipt.lines[i - 1].step) return false;
    }
    return true;
}

}  // namespace

const char* describe(ReceiptError error) {
    switch (error) {
        case ReceiptError::kTooLarge:
            return "receipt too large";
        case ReceiptError::kMalformed:
            return "malformed receipt";
        case ReceiptError::kOutOfBounds:
            return "receipt field out of bounds";
        case ReceiptError::kBadSignature:
            return "bad signature on the receipt";
    }
    return "unknown";
}

Buffer encode_receipt(const Receipt& receipt, const KeyPair& key) {
    DEDLOC_CHECK(receipt.peer == key.public_key(), "the peer that the receipt names signs it");
    DEDLOC_CHECK(is_within_bounds(receipt), "every field of the receipt is within its bounds",
                 receipt.lines.size());
    flatbuffers::FlatBufferBuilder out(1'024);
    std::vector<fb::ReceiptLine> lines;
    lines.reserve(receipt.lines.size());
    for (const ReceiptLine& line : receipt.lines) {
        lines.emplace_back(line.step.value(), line.samples.value());
    }
    const auto name = out.CreateString(receipt.result_name);
    const auto packed_lines = out.CreateVectorOfStructs(lines);
    const auto run = pack(receipt.run);
    const auto peer = pack(receipt.peer);
    fb::FinishReceiptBuffer(out, fb::CreateReceipt(out, &run, name, &peer, packed_lines));
    const auto payload = std::as_bytes(std::span{out.GetBufferPointer(), out.GetSize()});
    ByteWriter file;
    file.append(key.sign(what_is_signed(payload)));
    file.append(payload);
    return std::move(file).finish();
}

Result<Receipt, ReceiptError> decode_unsigned_receipt(std::span<const std::byte> payload) {
    if (payload.size() > kMaxReceiptBytes) return Failure{ReceiptError::kTooLarge};
    // The verifier needs the alignment that the builder chose.
    std::vector<std::uint64_t> aligned((payload.size() + 7) / 8);
    if (!payload.empty()) std::memcpy(aligned.data(), payload.data(), payload.size());
    const auto* data = reinterpret_cast<const std::uint8_t*>(aligned.data());
    flatbuffers::Verifier verifier(data, payload.size(), /*max_depth=*/2, /*max_tables=*/2);
    if (!fb::VerifyReceiptBuffer(verifier)) return Failure{ReceiptError::kMalformed};
    const fb::Receipt& table = *fb::GetReceipt(data);
    Receipt receipt{.run = unpack<RunId>(*table.run()),
                    .result_name = table.result_name()->str(),
                    .peer = unpack<PeerKey>(*table.peer()),
                    .lines = {}};
    if (table.lines()->size() > kMaxReceiptLines) return Failure{ReceiptError::kOutOfBounds};
    // The verifier does not check the alignment of elements. The builder does not align empty
    // lists.
    const bool is_aligned =
        table.lines()->size() == 0 ||
        reinterpret_cast<std::uintptr_t>(table.lines()->Data()) % alignof(fb::ReceiptLine) == 0;
    if (!is_aligned) return Failure{ReceiptError::kMalformed};
    receipt.lines.reserve(table.lines()->size());
    for (const fb::ReceiptLine* line : *table.lines()) {
        receipt.lines.push_back({StepIndex{line->step()}, Samples{line->samples()}});
    }
    if (!is_within_bounds(receipt)) return Failure{ReceiptError::kOutOfBounds};
    return receipt;
}

Result<Receipt, ReceiptError> decode_receipt(std::span<const std::byte> bytes) {
    if (bytes.size() > kMaxReceiptBytes) return Failure{ReceiptError::kTooLarge};
    if (bytes.size() <= wire::kSignatureBytes) return Failure{ReceiptError::kMalformed};
    const auto payload = bytes.subspan(wire::kSignatureBytes);
    auto receipt = decode_unsigned_receipt(payload);
    if (!receipt) return receipt;
    Signature signature;
    std::copy_n(bytes.begin(), signature.size(), signature.begin());
    if (!verify(receipt->peer, what_is_signed(payload), signature)) {
        return Failure{ReceiptError::kBadSignature};
    }
    return receipt;
}

}  // namespace dedloc::formats
