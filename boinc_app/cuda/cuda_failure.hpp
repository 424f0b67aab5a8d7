// What an error code of the CUDA runtime means for a trainer. No header of CUDA is needed: its
// error codes are part of its stable interface.
#pragma once

#include "boinc_app/training/device_error.hpp"

namespace dedloc::training {

/// The kind of failure of a cudaError_t other than success. Unknown ones count as a lost device:
/// only a new process can tell whether it can be used again.
constexpr DeviceFailure failure_of_cuda(int code) {
    switch (code) {
        case 2:  // cudaErrorMemoryAllocation
            return DeviceFailure::kOutOfMemory;
        case 35:   // cudaErrorInsufficientDriver
        case 803:  // cudaErrorSystemDriverMismatch
            return DeviceFailure::kDriverTooOld;
        case 3:    // cudaErrorInitializationError
        case 34:   // cudaErrorStubLibrary
        case 802:  // cudaErrorSystemNotReady
            return DeviceFailure::kNoDriver;
        case 46:   // cudaErrorDevicesUnavailable: another program has it for itself
        case 100:  // cudaErrorNoDevice
        case 101:  // cudaErrorInvalidDevice
        case 209:  // cudaErrorNoKernelImageForDevice
            return DeviceFailure::kNoDevice;
        default:
            return DeviceFailure::kLost;
    }
}

}  // namespace dedloc::training
