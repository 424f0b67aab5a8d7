// Whether a request comes from a computer that the database knows. Ids, CPIDs and names are copied
// with a client's folder or a disk, so they show which computer a client says it is; what it is
// made of shows whether that can be true. A computer that is taken for a new one loses nothing but
// its place in lists, and one that is taken for another costs that one its work: in doubt it is
// new.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/scheduler/request.hpp"

namespace dedloc::server {

/// What a computer is, as its client last reported it; empty: unknown.
struct Computer {
    std::string domain_name;       ///< its name
    std::string processor_vendor;  ///< such as GenuineIntel
    std::string processor_model;   ///< the product
    std::int64_t cores = 0;        ///< number of processors
    double memory_bytes = 0;       ///< size of the memory
    std::string os_name;           ///< such as Linux Debian
    std::string os_version;        ///< changes with each update of the system
};

/// Whether a request is of the same computer although nothing else tells: BOINC's server compares
/// processors and operating system, with the version, and here memory and name must agree as well.
/// Memory may differ by a tenth, as graphics and the kernel take different shares of it at each
/// start; a name that a client keeps to itself is not compared.
bool is_same_computer(const Computer& known, const HostReport& report);

/// Whether a request cannot be of the same computer although it names its host: the processor or
/// the operating system, without its version, is another one. Memory and the version of the system
/// change in the life of a computer.
bool is_other_computer(const Computer& known, const HostReport& report);

}  // namespace dedloc::server
