#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/fuzz_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    dedloc::fuzz::run(std::as_bytes(std::span{data, size}));
    return 0;
}
