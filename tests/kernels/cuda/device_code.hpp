// Reads the device code of an object file or library that nvcc made with --compress-mode=none: PTX
// as text, machine code of every architecture as counts of instructions. Needs no CUDA tools.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace dedloc::tests {

/// Instructions that show how floats are computed, whether registers sufficed (local loads and
/// stores are spills), and where the threads of a block wait for each other.
enum class Operation {
    kFloatFma,
    kFloatMultiply,
    kFloatAdd,
    kDoubleFma,
    kMultiFunction,
    kLocalLoad,
    kLocalStore,
    kBarrier
};
inline constexpr std::size_t kOperations = 8;

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

/// The barriers of a block (bar.sync, barrier.sync) in a kernel's PTX.
std::size_t barriers_of(const PtxCode& kernel);

/// The reason why an instruction of PTX breaks the rule "every operation is rounded once, to
/// nearest-even, denormals kept"; empty if it keeps the rule.
std::string objection_to(const std::string& instruction);

/// One line for each inexact instruction of PTX and each kernel with inexact machine code.
std::vector<std::string> objections_to(const DeviceCode& code);

}  // namespace dedloc::tests
