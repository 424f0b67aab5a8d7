// What the processor is, and how many of its cores some threads have. Two hardware threads of a
// core (siblings) share its units for matrix products.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace dedloc::platform {

/// The number of different cores among these CPUs, by package and core in
/// `topology`/cpuN/topology, as Linux shows them. A CPU of which nothing is known there counts as a
/// core.
unsigned cores_of(std::span<const unsigned> cpus,
                  const std::filesystem::path& topology = "/sys/devices/system/cpu");

/// The number of cores that `threads` threads of this process can have at once: at least 1, at most
/// `threads`. Requires threads ≥ 1 (aborts).
unsigned cores_for(unsigned threads);

/// Name and instructions of the first CPU in /proc/cpuinfo; empty if it is not readable.
std::string processor_kind();

}  // namespace dedloc::platform
