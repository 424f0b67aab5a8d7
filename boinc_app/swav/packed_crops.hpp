// The pictures of a micro-batch in one piece of memory, of which a device makes the crops.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "boinc_app/swav/crop_loader.hpp"
#include "boinc_app/training/computation.hpp"
#include "boinc_app/training/crop_kernel.hpp"
#include "peer/formats/swav_spec.hpp"

namespace dedloc::swav {

/// The table of crops and the pictures' bytes, in page-locked memory where there is a GPU, so that
/// one copy brings all of it there.
class PackedCrops {
  public:
    /// Copies the pictures. `task` must outlive it. Requires pictures that fit, as many crops as
    /// the task says, none larger than training::kMaxKernelCrop (aborts). Thread: any; computes
    /// with torch's compute threads of the calling one.
    PackedCrops(const formats::SwavSpec& task, const LoadedPictures& loaded,
                const training::Computation& computation);

    /// What the model takes; valid while this lives.
    CropBatch batch(StepIndex step) const;

    /// Crops on the device, for each size of the task [count · pictures, 3, size, size] in
    /// channels_last and in the precision of products: crop 0 of all pictures, then crop 1 of all.
    /// Returns before the device has made them. Requires that the computation has a kernel
    /// (aborts). Errors: DeviceError, c10::Error.
    std::vector<at::Tensor> make(const training::Computation& computation) const;

  private:
    const formats::SwavSpec* task_;
    std::uint64_t pictures_;
    std::vector<training::KernelCrop> table_;
    std::vector<std::int64_t> begins_;  ///< for each size the index of its first value
    std::int64_t out_count_ = 0;
    at::Tensor bytes_;  ///< the table, then the pictures
};

}  // namespace dedloc::swav
