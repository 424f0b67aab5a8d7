#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/fuzz_target.hpp"

namespace {

dedloc::fuzz::Target target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
    target = dedloc::fuzz::target_of(**arguments);
    // A target may make databases for its first input, which takes minutes on a busy machine: here
    // no time limit runs yet.
    target({});
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    target(std::as_bytes(std::span{data, size}));
    return 0;
}
