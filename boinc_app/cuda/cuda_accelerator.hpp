// A GPU behind training::Accelerator, by the CUDA runtime that libtorch has loaded.
#pragma once

#include <memory>

#include "boinc_app/training/accelerator.hpp"

namespace dedloc::training {

/// Opens a device: its waiting threads sleep, and it has a stream of its own. Attaches the calling
/// thread. Errors: DeviceError (no such device, too old, no free memory).
std::unique_ptr<Accelerator> make_cuda_accelerator(unsigned device);

}  // namespace dedloc::training
