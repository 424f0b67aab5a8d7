// Time on a GPU, by events of the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/error.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::tests {

/// The number of devices that this process can use; 0 without a driver.
inline int device_count() {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    static_cast<void>(cudaGetLastError());
    return 0;
}

/// Measures the time between two points of a stream.
class Stopwatch {
  public:
    Stopwatch() {
        for (cudaEvent_t* const event : {&begin_, &end_}) {
            kernels::cuda::check_cuda(cudaEventCreateWithFlags(event, cudaEventBlockingSync),
                                      "cudaEventCreateWithFlags", "making an event");
        }
    }
    ~Stopwatch() {
        static_cast<void>(cudaEventDestroy(begin_));
        static_cast<void>(cudaEventDestroy(end_));
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

    void start(kernels::cuda::StreamView stream) const { record(begin_, stream); }
    void stop(kernels::cuda::StreamView stream) const { record(end_, stream); }

    /// Waits until the second point is reached. Requires  both were recorded
    float milliseconds() const {
        kernels::cuda::check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize",
                                  "waiting for an event");
        float milliseconds = 0;
        kernels::cuda::check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_),
                                  "cudaEventElapsedTime", "measuring time");
        return milliseconds;
    }

  private:
    static void record(cudaEvent_t event, kernels::cuda::StreamView stream) {
        kernels::cuda::check_cuda(cudaEventRecord(event, stream.raw()), "cudaEventRecord",
                                  "recording an event");
    }

    cudaEvent_t begin_ = nullptr;
    cudaEvent_t end_ = nullptr;
};

}  // namespace dedloc::tests
