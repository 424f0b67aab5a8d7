// Copies between host memory and a device through two page-locked buffers: while the device copies
// one, the host fills or reads the other.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "boinc_app/training/accelerator.hpp"

namespace dedloc::training {

/// Copies to the device. Returns when `from` has been read; the device may still be copying.
/// Requires equal extents (aborts). Errors: DeviceError.
void upload(Accelerator& device, std::span<const std::byte> from, std::span<std::byte> to);

/// Takes one piece of what is copied from a device, in order: the offset of its first byte, and the
/// bytes, which are valid during the call.
using TakePiece = std::function<void(std::size_t offset, std::span<const std::byte> bytes)>;

/// Copies from the device: calls `take` with pieces of Accelerator::kStagingBytes, and the last one
/// with the rest. Errors: DeviceError, and those of `take`.
void download(Accelerator& device, std::span<const std::byte> from, const TakePiece& take);

}  // namespace dedloc::training
