// Errors of the CUDA runtime, as exceptions.
#pragma once

#include <stdexcept>
#include <string>

namespace dedloc::kernels::cuda {

/// A call of the CUDA runtime failed.
class CudaError : public std::runtime_error {
  public:
    CudaError(int code, const std::string& call, const std::string& wanted);
    int code() const { return code_; }
    const std::string& call() const { return call_; }

  private:
    int code_;
    std::string call_;
};

/// The device has too little free memory. The device stays usable: free something, or ask for
/// less.
class CudaOutOfMemory final : public CudaError {
  public:
    using CudaError::CudaError;
};

/// Throws the exception for `code`, a cudaError_t. Clears the runtime's last error, so that a later
/// call does not report it again; but after an error that destroyed the context every call fails.
[[noreturn]] void throw_cuda_error(int code, const char* call, const char* wanted);

/// Throws if `code`, the result of `call`, is an error. `wanted` names the operation.
inline void check_cuda(int code, const char* call, const char* wanted) {
    if (code != 0) throw_cuda_error(code, call, wanted);
}

}  // namespace dedloc::kernels::cuda
