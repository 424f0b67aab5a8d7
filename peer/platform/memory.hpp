// The memory of the machine.
#pragma once

#include <cstdint>

namespace dedloc::platform {

/// The machine's physical memory in bytes, whatever parts of it are in use.
std::uint64_t physical_memory();

}  // namespace dedloc::platform
