// The kinds of coprocessors that BOINC's clients report, and the text in which servers store them
// (host.serialnum). This is the only list: the scheduler, the gateway, pages and the statistics
// export ask it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::server {

/// A kind that has an element of its own in a request.
struct CoprocessorKind {
    std::string_view element{};  ///< in <coprocs>
    std::string_view type{};     ///< BOINC's name: in <no_rsc_apps> and in <coproc> of a version
    std::string_view label{};    ///< in host.serialnum
    std::string_view name{};     ///< element with the product's name
    std::string_view memory{};   ///< element with the memory; empty: only <coproc_opencl> has it
    double memory_unit = 1;      ///< bytes
    std::string_view driver{};   ///< element with a version of the driver; empty: see `memory`
};

/// All of clients 7.20 to 8.3. Every other device is a <coproc> that names its type: OpenCL devices
/// of other makers, which BOINC labels opencl_gpu, and what a volunteer lists in cc_config.xml,
/// such as miner_asic.
inline constexpr std::array<CoprocessorKind, 4> kCoprocessorKinds{{
    {.element = "coproc_cuda",
     .type = "NVIDIA",
     .label = "CUDA",
     .name = "name",
     .memory = "totalGlobalMem",
     .driver = "drvVersion"},
    {.element = "coproc_ati",
     .type = "ATI",
     .label = "CAL",
     .name = "name",
     .memory = "localRAM",
     .memory_unit = 1024 * 1024,
     .driver = "CALVersion"},
    {.element = "coproc_intel_gpu", .type = "intel_gpu", .label = "INTEL", .name = "name"},
    {.element = "coproc_apple_gpu",
     .type = "apple_gpu",
     .label = "apple_gpu",
     .name = "model",
     .driver = "metal_support"},
}};
/// The element and the label of all others.
inline constexpr std::string_view kOtherCoprocessor = "coproc";
inline constexpr std::string_view kOtherOpenCl = "opencl_gpu";

/// BOINC has no more processor types in a computer.
inline constexpr std::size_t kMaxCoprocessors = 8;
/// Nor more of one type.
inline constexpr std::int64_t kMaxInstances = 64;

/// The coprocessors of one type in a computer.
struct Coprocessor {
    std::string type;                 ///< BOINC's name
    std::string label;                ///< in host.serialnum
    std::string name;                 ///< the product's; may be empty
    std::int64_t count = 0;           ///< 1 to kMaxInstances
    double memory_bytes = 0;          ///< memory of one
    std::string driver;               ///< its version; may be empty
    std::int64_t opencl_version = 0;  ///< 300 is 3.0; 0: no OpenCL
    double peak_flops = 0;            ///< FLOP/s of one
    double wanted_seconds = 0;        ///< work requested; 0: none
    double idle = 0;                  ///< how many are without a job
};

/// Whether it is of a kind above or another OpenCL device.
bool is_gpu(const Coprocessor& coprocessor);

/// The coprocessors in the body of a <coprocs>, in its order; at most kMaxCoprocessors.
std::vector<Coprocessor> parse_coprocessors(std::string_view coprocs);

/// "[label|name|count|memory MB|driver|OpenCL version]" of each, as BOINC's servers write it. Whole
/// entries only, in at most `limit` bytes.
std::string serial_text(const std::vector<Coprocessor>& coprocessors, std::size_t limit);

/// The number of GPUs that a host.serialnum lists, of all kinds; entries that are no GPUs, such as
/// the versions of BOINC and VirtualBox, are ignored. Untrusted input; at most `limit`.
std::int64_t count_gpus(std::string_view serial, std::int64_t limit);

/// Whether an entry of host.serialnum is a version of a program, not a coprocessor.
bool is_version_entry(std::string_view entry);

}  // namespace dedloc::server
