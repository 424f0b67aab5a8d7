// Checks the code of the device library, without a GPU: its PTX, which drivers compile for future
// chips, and its machine code for every architecture. Every operation is rounded once, and every
// kernel has the barriers that its body needs.
#include "tests/kernels/cuda/device_code.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>

using namespace dedloc::tests;

namespace {

const std::set<int> kArchitectures{75, 80, 86, 89, 90, 100, 120};

std::size_t count_with(const std::vector<std::string>& lines, const std::string& a,
                       const std::string& b) {
    return static_cast<std::size_t>(
        std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
            return line.find(a) != std::string::npos && line.find(b) != std::string::npos;
        }));
}

template <class Code>
std::map<std::string, std::set<int>> architectures_of(const std::vector<Code>& kernels) {
    std::map<std::string, std::set<int>> found;
    for (const Code& code : kernels) found[code.kernel].insert(code.architecture);
    return found;
}

/// Barriers that a kernel of this body must have, in PTX and in machine code: one in the loop over
/// the phases, none if there is only one phase.
const std::map<std::string, std::size_t> kBarriers{
    {"EachElement", 0}, {"SegmentSums", 1},  {"TotalSums", 1},
    {"TableSums", 1},   {"TensorTotals", 1}, {"TableElements", 0},
};

/// The class template of the body that a mangled name of run_body<Body> contains.
std::string body_of(const std::string& kernel) {
    static const std::regex body{R"(run_bodyINS1_\d+([A-Za-z]\w*))"};
    static const std::regex length{R"(run_bodyINS1_(\d+))"};
    std::smatch name, digits;
    if (!std::regex_search(kernel, name, body) || !std::regex_search(kernel, digits, length)) {
        return kernel;
    }
    return name[1].str().substr(0, std::stoul(digits[1]));
}

/// Whether the kernel updates the tensors of a table, whose alignment it finds out itself.
bool is_over_table(const std::string& kernel) {
    const std::string body = body_of(kernel);
    return body == "TableSums" || body == "TableElements";
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

}  // namespace

TEST_CASE("every device kernel rounds every operation once, on every architecture", "[cuda]") {
    const DeviceCode code = read_device_code(DEDLOC_DEVICE_LIBRARY);
    CHECK(joined(objections_to(code)) == "");
    const auto machine = architectures_of(code.machine);
    CHECK(machine.size() == 16);
    for (const auto& [kernel, architectures] : machine) {
        INFO(kernel);
        CHECK(architectures == kArchitectures);
    }
    CHECK(architectures_of(code.ptx) == machine);
    for (const PtxCode& kernel : code.ptx) CHECK(kernel.instructions.size() >= 10);
}

TEST_CASE("device kernels spill no registers", "[cuda]") {
    for (const MachineCode& kernel : read_device_code(DEDLOC_DEVICE_LIBRARY).machine) {
        INFO(kernel.kernel << " on sm_" << kernel.architecture);
        CHECK(kernel.count(Operation::kLocalLoad) + kernel.count(Operation::kLocalStore) == 0);
    }
}

TEST_CASE("kernels for aligned memory load or store 16 bytes at once", "[cuda]") {
    const DeviceCode code = read_device_code(DEDLOC_DEVICE_LIBRARY);
    std::size_t aligned = 0;
    for (const PtxCode& kernel : code.ptx) {
        // The last argument of their template is true.
        static const std::regex last{"Lb1EE+vT_$"};
        if (!std::regex_search(kernel.kernel, last) || is_over_table(kernel.kernel)) continue;
        ++aligned;
        INFO(kernel.kernel << " for compute_" << kernel.architecture);
        CHECK(count_with(kernel.instructions, "ld.global.v4", "") +
                  count_with(kernel.instructions, "st.global.v4", "") >
              0);
    }
    CHECK(aligned == 2 * kArchitectures.size());
}

TEST_CASE("kernels over a table load 16 bytes at once in aligned tensors and 4 in others",
          "[cuda]") {
    const DeviceCode code = read_device_code(DEDLOC_DEVICE_LIBRARY);
    std::size_t tables = 0;
    for (const PtxCode& kernel : code.ptx) {
        if (!is_over_table(kernel.kernel)) continue;
        ++tables;
        INFO(kernel.kernel << " for compute_" << kernel.architecture);
        const auto count = [&](const char* load) {
            return count_with(kernel.instructions, load, "");
        };
        CHECK(count("ld.global.v4") > 0);
        // Elements that are only squared are loaded as bits on devices with slow doubles. One such
        // load is that of the segment's length.
        const bool has_bits = count("ld.global.v4.u32") > 0 && count("ld.global.u32") > 4;
        CHECK((count("ld.global.f32") > 0 || has_bits));
        CHECK((body_of(kernel.kernel) == "TableSums" ||
               count_with(kernel.instructions, "st.global.v4", "") > 0));
    }
    CHECK(tables == 8 * kArchitectures.size());
}

TEST_CASE("every device kernel has the barriers between its phases", "[cuda]") {
    const DeviceCode code = read_device_code(DEDLOC_DEVICE_LIBRARY);
    std::set<std::string> seen;
    for (const PtxCode& kernel : code.ptx) {
        INFO(kernel.kernel << " for compute_" << kernel.architecture);
        const std::string body = body_of(kernel.kernel);
        REQUIRE(kBarriers.count(body) == 1);
        CHECK(barriers_of(kernel) == kBarriers.at(body));
        seen.insert(body);
    }
    for (const MachineCode& kernel : code.machine) {
        INFO(kernel.kernel << " on sm_" << kernel.architecture);
        const std::string body = body_of(kernel.kernel);
        REQUIRE(kBarriers.count(body) == 1);
        CHECK(kernel.count(Operation::kBarrier) == kBarriers.at(body));
    }
    CHECK(seen.size() == kBarriers.size());
}

TEST_CASE("contraction, flushing and approximation are detected", "[cuda]") {
    const DeviceCode code = read_device_code(DEDLOC_CONTRACTED_OBJECT);
    const auto lines = objections_to(code);
    for (const int architecture : kArchitectures) {
        const std::string ptx = "compute_" + std::to_string(architecture) + " ";
        const std::string machine = "sm_" + std::to_string(architecture) + " ";
        INFO(joined(lines));
        CHECK(count_with(lines, ptx + "contracted", "rounds a product and a sum together") == 1);
        CHECK(count_with(lines, ptx + "contracted", "flushes denormals") == 1);
        CHECK(count_with(lines, ptx + "apart", "flushes denormals") == 2);
        CHECK(count_with(lines, ptx + "divided", "flushes denormals") == 1);
        CHECK(count_with(lines, ptx + "rooted", "flushes denormals") == 1);
        CHECK(count_with(lines, machine + "contracted", "1 fused multiply-adds") == 1);
        CHECK(count_with(lines, machine + "apart", "fused") == 0);
    }
}

TEST_CASE("instructions are counted correctly on every architecture", "[cuda]") {
    const DeviceCode code = read_device_code(DEDLOC_CONTRACTED_OBJECT);
    std::set<int> seen;
    for (const MachineCode& kernel : code.machine) {
        INFO(kernel.kernel << " on sm_" << kernel.architecture);
        const auto count = [&](Operation operation) { return kernel.count(operation); };
        if (kernel.kernel == "contracted") {
            CHECK(count(Operation::kFloatFma) == 1);
            CHECK(count(Operation::kDoubleFma) == 1);
            CHECK(count(Operation::kFloatMultiply) == 0);
            seen.insert(kernel.architecture);
        } else if (kernel.kernel == "apart") {
            CHECK(count(Operation::kFloatFma) == 0);
            CHECK(count(Operation::kFloatMultiply) == 1);
            CHECK(count(Operation::kFloatAdd) == 1);
        } else if (kernel.kernel == "in_local_memory") {
            CHECK(count(Operation::kFloatAdd) == 64);
            CHECK(count(Operation::kLocalLoad) >= 64);
            CHECK(count(Operation::kLocalStore) >= 64);
        } else if (kernel.kernel == "synchronized") {
            CHECK(count(Operation::kBarrier) == 2);
        } else {
            CHECK(count(Operation::kMultiFunction) >= 1);
        }
        if (kernel.kernel != "synchronized") CHECK(count(Operation::kBarrier) == 0);
    }
    CHECK(seen == kArchitectures);
}

TEST_CASE("an instruction of PTX is judged by its modifiers", "[cuda]") {
    CHECK(objection_to("add.rn.f32 \t%f1, %f2, %f3") == "");
    CHECK(objection_to("fma.rn.f64 \t%fd4, %fd2, %fd2, %fd3") == "");
    CHECK(objection_to("mad.lo.s32 \t%r1, %r2, %r3, %r4") == "");
    CHECK(objection_to("fma.rn.f64 \t%fd4, %fd2, %fd3, %fd3") != "");
    CHECK(objection_to("fma.rn.f32 \t%f4, %f2, %f2, %f3") != "");
    CHECK(objection_to("mul.f32 \t%f4, %f2, %f2") != "");
    CHECK(objection_to("div.full.f32 \t%f4, %f2, %f2") != "");
    CHECK(objection_to("sqrt.approx.f32 \t%f4, %f2") != "");
    CHECK(objection_to("mul.rn.ftz.f32 \t%f4, %f2, %f2") != "");
}
