// Reads the device code of an object file or library made by nvcc with --compress-mode=none: PTX as
// text, machine code of every architecture as counts of instructions. Needs no tool of CUDA.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace dedloc::tests {

/// The instructions that tell how floats are computed, and whether registers sufficed.
enum class Operation {
    kFloatFma,
    kFloatMultiply,
    kFloatAdd,
    kDoubleFma,
    kMultiFunction,
    kLocalLoad,
    kLocalStore
};
inline constexpr std::size_t kOperations = 7;

/// One kernel's machine code for one architecture.
struct MachineCode {
    int architecture;  ///< 75 for sm_75
    std::string kernel;
    std::array<std::size_t, kOperations> counts{};

    std::size_t count(Operation operation) const {
        return counts[static_cast<std::size_t>(operation)];
    }
};

/// One kernel's PTX for one architecture.
struct PtxCode {
    int architecture;
    std::string kernel;
    std::vector<std::string> instructions;  ///< without predicate and semicolon
};

struct DeviceCode {
    std::vector<MachineCode> machine;
    std::vector<PtxCode> ptx;
};

/// Errors  std::runtime_error if the file cannot be read
DeviceCode read_device_code(const std::string& path);

/// What is wrong with one instruction of PTX where every operation must be rounded once, to
/// nearest-even, denormals kept; empty if nothing is.
std::string objection_to(const std::string& instruction);

/// Every kernel of which an instruction of PTX, or the machine code, is not exact: a line each.
std::vector<std::string> objections_to(const DeviceCode& code);

}  // namespace dedloc::tests
