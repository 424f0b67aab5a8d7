// Launches of the kernels that a trainer's model calls.
#pragma once

#include <fmt/format.h>

#include "boinc_app/cuda/cuda_failure.hpp"
#include "kernels/cuda/enqueue.hpp"

namespace dedloc::training {

/// Enqueues a body's blocks. `what` names the operation. Errors: DeviceError.
template <class Body>
void enqueue_for_trainer(const Body& body, kernels::cuda::StreamView stream, const char* what) {
    try {
        kernels::cuda::enqueue(body, stream, what);
    } catch (const kernels::cuda::CudaError& error) {
        throw DeviceError{failure_of_cuda(error.code()),
                          fmt::format("the GPU cannot be used: {}", error.what())};
    }
}

}  // namespace dedloc::training
