// Turns bodies into kernels: the only place with barriers and launches (with another compiler than
// nvcc, bodies run on the host: see host_launch.hpp). A .cu file includes this and instantiates
// `launch` for the bodies of its concept. The rest of a launcher is plain C++, because nvcc reads a
// .cu file once for every architecture.
#pragma once

#if !defined(__CUDACC__)
#include "kernels/cuda/host_launch.hpp"
#else

#include <cuda_runtime.h>

#include "kernels/cuda/body.hpp"

namespace dedloc::kernels::cuda {

/// Three or more blocks share a multiprocessor unless the body has kResident, so a thread has at
/// most 85 registers. Each thread has 128 bytes of loads in flight, so a multiprocessor has 96 KiB;
/// the fastest memory needs some 30 KiB.
template <class Body>
__global__ void __launch_bounds__(kThreads, resident_blocks<Body>()) run_body(const Body body) {
    __shared__ typename Body::Shared shared;
    typename Body::Local local;
    body.begin(blockIdx.x, threadIdx.x, shared, local);
#pragma unroll 1
    for (unsigned phase = 1; phase < phases_of(body); ++phase) {
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
