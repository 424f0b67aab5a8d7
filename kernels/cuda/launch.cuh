// Bodies as kernels: the only place with barriers and launches (compiled by another compiler than
// nvcc, they run on the host: see host_launch.hpp). A .cu file includes this and
// instantiates `launch` for the bodies of its concept; all else of a launcher is plain C++, so that
// a device's compiler, which reads a file once for every architecture, reads little.
#pragma once

#if !defined(__CUDACC__)
#include "kernels/cuda/host_launch.hpp"
#else

#include <cuda_runtime.h>

#include "kernels/cuda/body.hpp"

namespace dedloc::kernels::cuda {

/// At least three blocks on a multiprocessor, so at most 85 registers a thread: each thread has
/// 128 bytes on their way, so 96 KiB for a multiprocessor, where the fastest memory wants some 30.
template <class Body>
__global__ void __launch_bounds__(kThreads, 3) run_body(const Body body) {
    __shared__ typename Body::Shared shared;
    typename Body::Local local;
    body.begin(blockIdx.x, threadIdx.x, shared, local);
#pragma unroll 1
    for (unsigned phase = 1; phase < Body::kPhases; ++phase) {
        __syncthreads();
        body.resume(phase, blockIdx.x, threadIdx.x, shared, local);
    }
}

template <class Body>
int launch(const Body& body, CUstream_st* stream) {
    run_body<<<static_cast<unsigned>(body.blocks()), kThreads, 0, stream>>>(body);
    return cudaGetLastError();
}

}  // namespace dedloc::kernels::cuda

#endif
