// libsodium's randomness from a seed, so that an input does the same each time it is run.
#pragma once

#include <sodium.h>

#include <cstddef>
#include <cstdint>

#include "peer/base/check.hpp"
#include "peer/base/random.hpp"

namespace dedloc::fuzz {

class FixedRandomness {
  public:
    /// Replaces randomness for the rest of the process.
    static void begin(std::uint64_t seed) {
        static randombytes_implementation implementation{
            .implementation_name = [] { return "fixed"; },
            .random = [] { return static_cast<std::uint32_t>(numbers().next()); },
            .stir = nullptr,
            .uniform = nullptr,
            .buf =
                [](void* bytes, const std::size_t size) {
                    for (std::size_t i = 0; i < size; ++i) {
                        static_cast<unsigned char*>(bytes)[i] =
                            static_cast<unsigned char>(numbers().next());
                    }
                },
            .close = nullptr};
        static const bool is_ready = sodium_init() >= 0;  // draws a number itself, once
        DEDLOC_CHECK(is_ready, "libsodium is there");
        numbers() = Random{seed};
        randombytes_set_implementation(&implementation);
    }

  private:
    static Random& numbers() {
        static Random random{0};
        return random;
    }
};

}  // namespace dedloc::fuzz
