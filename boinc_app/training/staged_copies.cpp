#include "boinc_app/training/staged_copies.hpp"

#include <algorithm>
#include <cstring>

#include "peer/base/check.hpp"

namespace dedloc::training {
namespace {

constexpr std::size_t kPiece = Accelerator::kStagingBytes;

/// The part of `bytes` that is copied at once, from `offset`.
template <class Bytes>
Bytes piece(Bytes bytes, std::size_t offset) {
    return bytes.subspan(offset, std::min(kPiece, bytes.size() - offset));
}

std::size_t buffer_of(std::size_t offset) {
    return offset / kPiece % Accelerator::kStagingBuffers;
}

}  // namespace

void upload(Accelerator& device, std::span<const std::byte> from, std::span<std::byte> to) {
    DEDLOC_CHECK(from.size() == to.size(), "a copy has another length than its source", from.size(),
                 to.size());
    for (std::size_t offset = 0; offset < from.size(); offset += kPiece) {
        const auto source = piece(from, offset);
        const std::size_t which = buffer_of(offset);
        device.wait(which);
        std::memcpy(device.staging(which).data(), source.data(), source.size());
        device.upload(which, piece(to, offset));
    }
}

void download(Accelerator& device, std::span<const std::byte> from, const TakePiece& take) {
    const auto begin = [&](std::size_t offset) {
        if (offset < from.size()) device.download(piece(from, offset), buffer_of(offset));
    };
    begin(0);
    for (std::size_t offset = 0; offset < from.size(); offset += kPiece) {
        begin(offset + kPiece);
        const std::size_t which = buffer_of(offset);
        device.wait(which);
        take(offset, device.staging(which).first(piece(from, offset).size()));
    }
}

}  // namespace dedloc::training
