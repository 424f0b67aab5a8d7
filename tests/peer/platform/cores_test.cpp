#include "peer/platform/cores.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <vector>

#include "peer/platform/scratch_folder.hpp"

namespace dedloc::platform {
namespace {

/// A CPU of a machine that is made up.
struct Cpu {
    unsigned number;
    int package;
    int core;
};

void write(const std::filesystem::path& folder, const std::vector<Cpu>& cpus) {
    for (const Cpu& cpu : cpus) {
        const auto topology = folder / fmt::format("cpu{}", cpu.number) / "topology";
        std::filesystem::create_directories(topology);
        std::ofstream{topology / "physical_package_id"} << cpu.package << "\n";
        std::ofstream{topology / "core_id"} << cpu.core << "\n";
    }
}

unsigned count(const std::filesystem::path& folder, const std::vector<unsigned>& cpus) {
    return cores_of(cpus, folder);
}

TEST_CASE("siblings are one core, cores of two packages are not", "[platform]") {
    const ScratchFolder folder;
    write(folder.path(), {{0, 0, 0}, {1, 0, 1}, {2, 1, 0}, {3, 1, 1}, {4, 0, 0}, {5, 0, 1}});
    CHECK(count(folder.path(), {0, 1, 2, 3, 4, 5}) == 4);
    CHECK(count(folder.path(), {0, 4}) == 1);
    CHECK(count(folder.path(), {0, 2}) == 2);
    CHECK(count(folder.path(), {}) == 0);
    // Nothing is known of these.
    CHECK(count(folder.path(), {0, 4, 6, 7}) == 3);
    std::ofstream{folder.path() / "cpu0" / "topology" / "core_id"} << "x\n";
    CHECK(count(folder.path(), {0, 4}) == 2);
}

TEST_CASE("this process has from one core to as many as threads", "[platform]") {
    CHECK(cores_for(1) == 1);
    const unsigned many = cores_for(1'000);
    CHECK(many >= 1);
    CHECK(many <= 1'000);
    CHECK(cores_for(2) <= 2);
    CHECK_FALSE(processor_kind().empty());
    CHECK(processor_kind() == processor_kind());
}

}  // namespace
}  // namespace dedloc::platform
