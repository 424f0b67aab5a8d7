// Linux names the package and the core of each CPU in files of their own. The CPUs that count are
// those on which the scheduler may run this process. A file that cannot be read lowers no number.
#include "peer/platform/cores.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/check.hpp"

namespace dedloc::platform {
namespace {

std::optional<long> number_in(const std::filesystem::path& path) {
    std::ifstream file{path};
    long number = 0;
    if (!(file >> number)) return std::nullopt;
    return number;
}

}  // namespace

unsigned cores_of(std::span<const unsigned> cpus, const std::filesystem::path& topology) {
    std::set<std::pair<long, long>> cores;
    unsigned unknown = 0;
    for (const unsigned cpu : cpus) {
        const auto folder = topology / fmt::format("cpu{}", cpu) / "topology";
        const auto package = number_in(folder / "physical_package_id");
        const auto core = number_in(folder / "core_id");
        if (package && core) {
            cores.emplace(*package, *core);
        } else {
            ++unknown;
        }
    }
    return static_cast<unsigned>(cores.size()) + unknown;
}

unsigned cores_for(unsigned threads) {
    DEDLOC_CHECK(threads >= 1, "at least one thread is needed");
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return threads;
    std::vector<unsigned> cpus;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
    }
    return std::clamp(cores_of(cpus), 1U, threads);
}

std::string processor_kind() {
    std::ifstream file{"/proc/cpuinfo"};
    std::string kind;
    for (std::string line; std::getline(file, line) && !line.empty();) {
        for (const char* const field : {"model", "flags", "CPU ", "Features"}) {
            if (line.starts_with(field)) kind += line + "\n";
        }
    }
    return kind;
}

}  // namespace dedloc::platform
