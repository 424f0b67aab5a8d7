// The kernel of crops (training/crop_kernel.hpp), launched into a stream. It is plain C++, so a
// test compiles it with bodies that run on the host.
#pragma once

#include "boinc_app/training/crop_kernel.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::training {

/// Implements CropKernel.
class Crops final : public CropKernel {
  public:
    /// `multiprocessors`: of the device, for the number of blocks. The stream must outlive it.
    Crops(kernels::cuda::StreamView stream, unsigned multiprocessors);

    std::size_t workspace_bytes(std::span<const KernelCrop> table) const override;
    // As CropKernel says.
    void make(const CropCall& call) override;

  private:
    std::size_t blocks_for(std::size_t crops) const;

    const kernels::cuda::StreamView stream_;
    const unsigned multiprocessors_;
};

}  // namespace dedloc::training
