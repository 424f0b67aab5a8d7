// The machine code of the kernel of crops, without a GPU: every operation is rounded once, on every
// architecture, so that crops have the bits that the same bodies have on the host.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/kernels/cuda/device_code.hpp"

namespace dedloc::tests {
namespace {

TEST_CASE("the kernel of crops rounds every operation once, on every architecture", "[cuda]") {
    const DeviceCode code = read_device_code(DEDLOC_CROPS_OBJECT);
    CHECK(objections_to(code) == std::vector<std::string>{});
    std::map<std::string, std::set<int>> machine;
    for (const MachineCode& kernel : code.machine) {
        INFO(kernel.kernel << " on sm_" << kernel.architecture);
        machine[kernel.kernel].insert(kernel.architecture);
        CHECK(kernel.count(Operation::kBarrier) == 1);
    }
    CHECK(machine.size() == 3);  // one for each precision
    for (const auto& [kernel, architectures] : machine) {
        CHECK(architectures == std::set<int>{75, 80, 86, 89, 90, 100, 120});
    }
    CHECK(code.ptx.size() == 3 * 7);
}

}  // namespace
}  // namespace dedloc::tests
