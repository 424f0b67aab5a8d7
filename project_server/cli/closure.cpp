#include "project_server/cli/closure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "peer/base/error.hpp"
#include "peer/platform/process.hpp"

namespace dedloc::cli {
namespace {

/// Parts of glibc. They work only with each other and with the loader of the same machine.
constexpr std::array<std::string_view, 12> kSystemLibraries = {
    "libc.so.6",    "libm.so.6",    "libdl.so.2",           "libpthread.so.0",
    "librt.so.1",   "libutil.so.1", "libresolv.so.2",       "libanl.so.1",
    "libmvec.so.1", "libnsl.so.1",  "ld-linux-x86-64.so.2", "linux-vdso.so.1"};

/// Parts of NVIDIA's driver, which each volunteer's machine has of its own.
constexpr std::array<std::string_view, 2> kDriverLibraries = {"libcuda.so.1", "libnvidia-ml.so.1"};

bool is_of_the_system(std::string_view name) {
    return std::ranges::find(kSystemLibraries, name) != kSystemLibraries.end() ||
           std::ranges::find(kDriverLibraries, name) != kDriverLibraries.end();
}

}  // namespace

std::vector<Needed> parse_ldd(const std::string& lines) {
    std::vector<Needed> closure;
    std::istringstream input(lines);
    for (std::string line; std::getline(input, line);) {
        const auto arrow = line.find(" => ");
        if (arrow == std::string::npos) continue;  // the loader and the vdso have no arrow
        const auto start = line.find_first_not_of(" \t");
        const auto name = line.substr(start, arrow - start);
        if (is_of_the_system(name)) continue;
        auto file = line.substr(arrow + 4);
        if (file.starts_with("not found")) {
            throw InputError(
                fmt::format("the library {}, which the program needs, was not found", name));
        }
        file = file.substr(0, file.find(" (0x"));
        closure.push_back({.name = name, .file = file});
    }
    std::ranges::sort(closure, {}, &Needed::name);
    return closure;
}

std::vector<Needed> library_closure(const std::filesystem::path& program) {
    if (!std::filesystem::is_regular_file(program)) {
        throw InputError(fmt::format("there is no program {}", program.string()));
    }
    const auto listed = platform::run_to_end({"ldd", std::filesystem::absolute(program).string()});
    if (listed.status != 0) {
        throw InputError(fmt::format("{} is not a dynamically linked program", program.string()));
    }
    return parse_ldd(listed.output);
}

std::optional<server::CLibrary> needed_c_library(const std::vector<std::filesystem::path>& files) {
    std::optional<server::CLibrary> needed;
    for (const std::filesystem::path& file : files) {
        const auto listed =
            platform::run_to_end({"ldd", "-v", std::filesystem::absolute(file).string()});
        if (listed.status != 0) {
            throw InputError(fmt::format("{} is not a dynamically linked program", file.string()));
        }
        needed = std::max(needed, server::needed_c_library(listed.output));
    }
    return needed;
}

}  // namespace dedloc::cli
