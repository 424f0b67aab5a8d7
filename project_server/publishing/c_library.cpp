// ldd -v lists after "Version information:" one block for each file: its path and a colon, then a
// line "libc.so.6 (GLIBC_2.34) => PATH" for each version that it needs.
#include "project_server/publishing/c_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dedloc::server {
namespace {

constexpr std::int64_t kHighest = 999;

std::optional<std::int64_t> take_number(std::string_view& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 0 || number > kHighest) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// The version at the begin of a text, such as that of "2.36]".
std::optional<CLibrary> version_at_begin(std::string_view text) {
    const auto major = take_number(text);
    if (!major || !text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
    const auto minor = take_number(text);
    if (!minor) return std::nullopt;
    return CLibrary{*major, *minor};
}

std::optional<CLibrary> version_after(std::string_view text, std::string_view mark) {
    const auto at = text.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    return version_at_begin(text.substr(at + mark.size()));
}

/// Parts of glibc need later versions of each other, which come with them.
bool is_of_glibc(std::string_view heading) {
    const std::string_view name = heading.substr(heading.rfind('/') + 1);
    for (const std::string_view part :
         {"libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libutil.so",
          "libresolv.so", "libanl.so", "libmvec.so", "libnsl.so", "ld-linux"}) {
        if (name.starts_with(part)) return true;
    }
    return false;
}

}  // namespace

std::string CLibrary::text() const {
    return fmt::format("{}.{}", major, minor);
}

std::optional<CLibrary> c_library_of_host(std::string_view os_version) {
    return version_after(os_version, "|libc ");
}

std::optional<CLibrary> needed_c_library(std::string_view ldd_output) {
    std::optional<CLibrary> needed;
    bool counts = false;
    while (!ldd_output.empty()) {
        const std::string_view line = ldd_output.substr(0, ldd_output.find('\n'));
        ldd_output.remove_prefix(std::min(line.size() + 1, ldd_output.size()));
        if (line.ends_with(':')) counts = !is_of_glibc(line);
        if (!counts) continue;
        if (const auto version = version_after(line, "(GLIBC_")) {
            needed = std::max(needed.value_or(CLibrary{}), *version);
        }
    }
    return needed;
}

}  // namespace dedloc::server
