#include "kernels/cuda/error.hpp"

#include <cuda_runtime.h>

namespace dedloc::kernels::cuda {
namespace {

std::string sentence(int code, const std::string& call, const std::string& wanted) {
    const auto error = static_cast<cudaError_t>(code);
    return wanted + " failed: " + call + " says " + cudaGetErrorString(error) + " (" +
           cudaGetErrorName(error) + ", " + std::to_string(code) + ")";
}

}  // namespace

CudaError::CudaError(int code, const std::string& call, const std::string& wanted)
    : std::runtime_error(sentence(code, call, wanted)), code_(code), call_(call) {}

void throw_cuda_error(int code, const char* call, const char* wanted) {
    static_cast<void>(cudaGetLastError());
    if (code == cudaErrorMemoryAllocation) throw CudaOutOfMemory(code, call, wanted);
    throw CudaError(code, call, wanted);
}

}  // namespace dedloc::kernels::cuda
