#include "project_server/scheduler/same_computer.hpp"

#include <algorithm>
#include <cmath>

namespace dedloc::server {
namespace {

constexpr double kMemoryTolerance = 0.1;  // share of the larger one

/// Whether both are known and differ.
bool contradict(const std::string& known, const std::string& reported) {
    return !known.empty() && !reported.empty() && known != reported;
}

}  // namespace

bool is_same_computer(const Computer& known, const HostReport& report) {
    const double larger = std::max(known.memory_bytes, report.memory_bytes);
    return known.cores == report.cores && known.processor_vendor == report.processor_vendor &&
           known.processor_model == report.processor_model && known.os_name == report.os_name &&
           known.os_version == report.os_version &&
           std::abs(known.memory_bytes - report.memory_bytes) <= kMemoryTolerance * larger &&
           !contradict(known.domain_name, report.domain_name);
}

bool is_other_computer(const Computer& known, const HostReport& report) {
    return contradict(known.processor_vendor, report.processor_vendor) ||
           contradict(known.processor_model, report.processor_model) ||
           contradict(known.os_name, report.os_name);
}

}  // namespace dedloc::server
