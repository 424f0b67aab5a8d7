#include "tests/kernels/cuda/device_code.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace dedloc::tests {
namespace {

/// Reads numbers at offsets of an ELF file; numbers beyond its end are 0.
class Elf {
  public:
    explicit Elf(std::string_view bytes) : bytes_(bytes) {}

    template <class T>
    T at(std::size_t offset) const {
        T value{};
        if (offset <= bytes_.size() && sizeof(T) <= bytes_.size() - offset) {
            std::memcpy(&value, bytes_.data() + offset, sizeof(T));
        }
        return value;
    }
    std::string text_at(std::size_t offset) const {
        if (offset >= bytes_.size()) return {};
        return std::string{bytes_.substr(offset, bytes_.find('\0', offset) - offset)};
    }

  private:
    std::string_view bytes_;
};

constexpr std::uint16_t kCudaMachine = 190;

/// Since Volta an instruction has 16 bytes; its lowest 9 bits are the operation. The test proves
/// that these codes are right on every architecture with kernels whose code is known.
constexpr std::array<std::uint64_t, kOperations> kCodes{0x023, 0x020, 0x021, 0x02b,
                                                        0x108, 0x183, 0x187, 0x11d};

void read_machine_code(std::string_view bytes, std::vector<MachineCode>& found) {
    constexpr std::string_view kText = ".text.";
    const Elf elf{bytes};
    if (elf.at<std::uint16_t>(18) != kCudaMachine) return;
    const auto sections = static_cast<std::size_t>(elf.at<std::uint64_t>(40));
    const std::size_t size = elf.at<std::uint16_t>(58);
    const std::size_t count = elf.at<std::uint16_t>(60);
    const std::size_t names_section = sections + size * elf.at<std::uint16_t>(62);
    const auto names = static_cast<std::size_t>(elf.at<std::uint64_t>(names_section + 24));
    const int architecture = static_cast<int>(elf.at<std::uint32_t>(48) >> 8 & 0xff);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t section = sections + i * size;
        const std::string name = elf.text_at(names + elf.at<std::uint32_t>(section));
        if (!name.starts_with(kText)) continue;
        MachineCode code{.architecture = architecture, .kernel = name.substr(kText.size())};
        const auto first = static_cast<std::size_t>(elf.at<std::uint64_t>(section + 24));
        const auto length = static_cast<std::size_t>(elf.at<std::uint64_t>(section + 32));
        for (std::size_t at = first; at < first + length; at += 16) {
            const std::uint64_t operation = elf.at<std::uint64_t>(at) & 0x1ff;
            for (std::size_t k = 0; k < kOperations; ++k) {
                code.counts[k] += operation == kCodes[k] ? 1u : 0u;
            }
        }
        found.push_back(std::move(code));
    }
}

void read_ptx(const std::string& text, std::vector<PtxCode>& found) {
    static const std::regex target{R"(\.target sm_(\d+))"};
    static const std::regex entry{R"(\.entry (\w+))"};
    static const std::regex instruction{R"(^\s*(?:@!?%p\d+\s+)?([a-z][\w.]*\s.*);)"};
    int architecture = 0;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (std::regex_search(line, match, target)) {
            architecture = std::stoi(match[1]);
        } else if (std::regex_search(line, match, entry)) {
            found.push_back({architecture, match[1], {}});
        } else if (!found.empty() && std::regex_search(line, match, instruction)) {
            found.back().instructions.push_back(match[1]);
        }
    }
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

DeviceCode read_device_code(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    if (!file) throw std::runtime_error("cannot read " + path);
    const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
    const std::string_view view{bytes};
    DeviceCode code;
    for (std::size_t at = 0; (at = view.find("\x7f"
                                             "ELF",
                                             at)) != view.npos;
         ++at) {
        read_machine_code(view.substr(at), code.machine);
    }
    for (std::size_t at = 0; (at = view.find(".version ", at)) != view.npos; ++at) {
        read_ptx(std::string{view.substr(at, view.find('\0', at) - at)}, code.ptx);
    }
    return code;
}

std::size_t barriers_of(const PtxCode& kernel) {
    std::size_t count = 0;
    for (const std::string& instruction : kernel.instructions) {
        const bool is_barrier =
            instruction.starts_with("bar.sync") || instruction.starts_with("barrier.sync");
        count += is_barrier ? 1u : 0u;
    }
    return count;
}

std::string objection_to(const std::string& instruction) {
    static const std::regex square{R"(^fma\.rn\.f64\s+%\w+, (%\w+), (%\w+), \S+$)"};
    const std::string operation = instruction.substr(0, instruction.find_first_of(" \t"));
    const bool is_float =
        has(operation, ".f32") || has(operation, ".f64") || has(operation, ".f16");
    if (!is_float) return {};
    if (has(operation, ".ftz")) return "flushes denormals to zero";
    if (has(operation, ".approx") || has(operation, ".full")) return "is approximate";
    if (operation.starts_with("fma.") || operation.starts_with("mad.")) {
        // The square of a former float is exact as a double: fused or not, it is rounded once.
        std::smatch match;
        const bool is_square =
            std::regex_search(instruction, match, square) && match[1] == match[2];
        return is_square ? "" : "rounds a product and a sum together";
    }
    for (const char* const name : {"add.", "sub.", "mul.", "div.", "sqrt.", "rcp."}) {
        // Without an explicit rounding, the compiler of the PTX might contract it.
        if (operation.starts_with(name) && !has(operation, ".rn.")) return "has no rounding";
    }
    return {};
}

std::vector<std::string> objections_to(const DeviceCode& code) {
    std::vector<std::string> lines;
    for (const PtxCode& kernel : code.ptx) {
        for (const std::string& instruction : kernel.instructions) {
            const std::string objection = objection_to(instruction);
            if (objection.empty()) continue;
            lines.push_back("compute_" + std::to_string(kernel.architecture) + " " + kernel.kernel +
                            ": " + instruction + " " + objection);
        }
    }
    for (const MachineCode& kernel : code.machine) {
        // A correct division or root begins with a multi-function instruction and continues with
        // fused ones. A kernel without the former must not have the latter.
        const std::size_t fused = kernel.count(Operation::kFloatFma);
        if (fused == 0 || kernel.count(Operation::kMultiFunction) > 0) continue;
        lines.push_back("sm_" + std::to_string(kernel.architecture) + " " + kernel.kernel + ": " +
                        std::to_string(fused) + " fused multiply-adds");
    }
    return lines;
}

}  // namespace dedloc::tests
