#include "project_server/cli/closure.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "project_server/cli/process.hpp"

namespace dedloc::cli {
namespace {

/// Parts of glibc: they fit each other and the loader of the machine only.
constexpr std::array<std::string_view, 12> kSystemLibraries = {
    "libc.so.6",    "libm.so.6",    "libdl.so.2",           "libpthread.so.0",
    "librt.so.1",   "libutil.so.1", "libresolv.so.2",       "libanl.so.1",
    "libmvec.so.1", "libnsl.so.1",  "ld-linux-x86-64.so.2", "linux-vdso.so.1"};

bool is_of_the_system(std::string_view name) {
    return std::ranges::find(kSystemLibraries, name) != kSystemLibraries.end();
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
                fmt::format("the library {} that the program needs was not found", name));
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
    const auto listed = run_to_end({"ldd", std::filesystem::absolute(program).string()});
    if (listed.status != 0) {
        throw InputError(fmt::format("{} is no dynamically linked program", program.string()));
    }
    return parse_ldd(listed.output);
}

std::string physical_name(const std::string& stem, const std::filesystem::path& file) {
    std::ifstream input(file, std::ios::binary);
    if (!input) throw IoError(fmt::format("cannot read {}", file.string()));
    crypto_generichash_state state;
    crypto_generichash_init(&state, nullptr, 0, 32);
    std::vector<char> piece(std::size_t{1} << 20);
    while (input) {
        input.read(piece.data(), static_cast<std::streamsize>(piece.size()));
        const auto bytes =
            std::as_bytes(std::span(piece.data(), static_cast<std::size_t>(input.gcount())));
        crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()),
                                  bytes.size());
    }
    if (input.bad()) throw IoError(fmt::format("cannot read {}", file.string()));
    std::array<std::byte, 32> digest{};
    crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(digest.data()),
                             digest.size());
    return stem + "-" + to_hex(digest).substr(0, 16);
}

}  // namespace dedloc::cli
