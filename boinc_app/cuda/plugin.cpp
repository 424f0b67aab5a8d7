// The functions that the program finds in the plug-in by name (boinc_app/device/gpu.cpp).
#include "boinc_app/cuda/cuda_accelerator.hpp"

extern "C" {

/// kAcceleratorVersion of the plug-in.
__attribute__((visibility("default"))) std::uint32_t dedloc_accelerator_version() {
    return dedloc::training::kAcceleratorVersion;
}

/// Returns an Accelerator for the device, which the caller owns. Errors: DeviceError.
__attribute__((visibility("default"))) dedloc::training::Accelerator* dedloc_open_accelerator(
    unsigned device) {
    return dedloc::training::make_cuda_accelerator(device).release();
}
}
