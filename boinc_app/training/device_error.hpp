// Errors of a device that computes gradients, and of its driver and libraries.
#pragma once

#include <cstdint>

#include "peer/base/error.hpp"

namespace dedloc::training {

/// What is wrong with a device.
enum class DeviceFailure : std::uint8_t {
    kNoDriver,      ///< no driver, or it does not start
    kDriverTooOld,  ///< the driver is older than the CUDA libraries need
    kNoLibraries,   ///< a CUDA library, or our own plug-in, is missing or of another version
    kNoDevice,      ///< no device has the wanted number, or it is too old
    kOutOfMemory,   ///< too little free memory; the device stays usable
    kLost,          ///< the device has failed: only a new process can use it again
};

/// A device cannot be used, or has failed. The message is one sentence.
class DeviceError final : public Error {
  public:
    DeviceError(DeviceFailure failure, const std::string& sentence)
        : Error(sentence), failure_(failure) {}
    DeviceFailure failure() const { return failure_; }

  private:
    DeviceFailure failure_;
};

}  // namespace dedloc::training
