// What every fuzz target of this folder is.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace dedloc::fuzz {

/// Takes any bytes. Aborts (DEDLOC_CHECK, sanitizers) if what it drives does what it must not.
using Target = void (*)(std::span<const std::byte> input);

/// The target that a program of several is called by: `fuzz_message` for "./fuzz_message". Aborts
/// if it has no such target (DEDLOC_CHECK).
Target target_of(std::string_view program);

}  // namespace dedloc::fuzz
