// `ldd` prints a line "NAME => PATH (0xADDRESS)" for each library, and one without an arrow for the
// loader and for the kernel's vdso.
#include "project_server/packaging/closure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <system_error>

#include "peer/base/error.hpp"
#include "peer/platform/process.hpp"

namespace dedloc::packaging {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVdso = "linux-vdso.so.1";

/// glibc's libraries. Newer versions have some of them only for programs that were linked with an
/// older one.
constexpr std::array<std::string_view, 9> kCLibraries = {
    "libc.so.6",    "libm.so.6",      "libdl.so.2",  "libpthread.so.0", "librt.so.1",
    "libutil.so.1", "libresolv.so.2", "libanl.so.1", "libmvec.so.1"};

/// Parts of NVIDIA's driver.
constexpr std::array<std::string_view, 2> kDriverLibraries = {"libcuda.so.1", "libnvidia-ml.so.1"};

bool is_one_of(const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

/// All that a program loads, with the loader.
std::vector<Needed> all_libraries(const std::string& lines) {
    std::vector<Needed> all;
    std::istringstream input(lines);
    for (std::string line; std::getline(input, line);) {
        const auto start = line.find_first_not_of(" \t");
        if (start == std::string::npos) continue;
        line = line.substr(start, line.rfind(" (0x") - start);
        const auto arrow = line.find(" => ");
        if (arrow == std::string::npos) {
            if (line.starts_with('/')) all.push_back({fs::path{line}.filename().string(), line});
            continue;
        }
        const std::string name = line.substr(0, arrow);
        const std::string file = line.substr(arrow + 4);
        if (is_one_of(kDriverLibraries, name) || name == kVdso) continue;
        if (file.starts_with("not found")) {
            throw InputError(
                fmt::format("the library {}, which the program needs, was not found: it is absent, "
                            "or in a folder that this account may not read (dedloc app package, as "
                            "the account that has built the program, makes a folder for dedloc app "
                            "add --package)",
                            name));
        }
        all.push_back({name, file});
    }
    return all;
}

bool is_of_c_library(const Needed& library) {
    return is_one_of(kCLibraries, library.name) || library.name.starts_with("ld-linux");
}

/// What ldd says of a file, without blanks around it.
std::string first_line(const std::string& text) {
    const auto begin = std::min(text.find_first_not_of(" \t\n"), text.size());
    return text.substr(begin, text.find('\n', begin) - begin);
}

std::string ldd(const fs::path& program) {
    std::error_code failed;
    if (!fs::is_regular_file(program, failed)) {
        const bool is_closed = failed == std::errc::permission_denied;
        throw InputError(fmt::format("{} program {}",
                                     is_closed ? "this account may not read the" : "there is no",
                                     program.string()));
    }
    const auto listed = platform::run_to_end({"ldd", fs::absolute(program).string()});
    if (listed.status != 0) {
        throw InputError(fmt::format("{} is not a dynamically linked program: {}", program.string(),
                                     first_line(listed.output)));
    }
    return listed.output;
}

}  // namespace

std::vector<Needed> parse_ldd(const std::string& lines) {
    auto closure = all_libraries(lines);
    std::erase_if(closure, is_of_c_library);
    std::ranges::sort(closure, {}, &Needed::name);
    return closure;
}

std::vector<Needed> library_closure(const fs::path& program) {
    return parse_ldd(ldd(program));
}

std::vector<Needed> c_library(const fs::path& program) {
    auto found = all_libraries(ldd(program));
    std::erase_if(found, [](const Needed& library) { return !is_of_c_library(library); });
    const auto main = std::ranges::find(found, kCLibraries.front(), &Needed::name);
    if (main == found.end() || found.size() < 2) {
        throw InputError(fmt::format("{} does not use glibc", program.string()));
    }
    const fs::path folder = main->file.parent_path();
    for (const std::string_view name : kCLibraries) {
        if (std::ranges::find(found, name, &Needed::name) != found.end()) continue;
        if (fs::exists(folder / name)) found.push_back({std::string{name}, folder / name});
    }
    std::ranges::sort(found, {}, &Needed::name);
    return found;
}

}  // namespace dedloc::packaging
