// Replaces the CUDA runtime's errors when the host plays the device: no call fails there.
#include <stdexcept>

#include "kernels/cuda/error.hpp"

namespace dedloc::kernels::cuda {

void throw_cuda_error(int code, const char* call, const char* wanted) {
    throw std::logic_error(std::string{wanted} + ": " + call + " says " + std::to_string(code));
}

}  // namespace dedloc::kernels::cuda
