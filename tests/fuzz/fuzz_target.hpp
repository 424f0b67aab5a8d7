// What every fuzz target of this folder defines.
#pragma once

#include <cstddef>
#include <span>

namespace dedloc::fuzz {

/// Takes any bytes. Aborts (DEDLOC_CHECK, sanitizers) if what it drives does what it must not.
void run(std::span<const std::byte> input);

}  // namespace dedloc::fuzz
