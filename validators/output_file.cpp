// libsched places a file in BOINC's tree of folders, as BOINC's own upload handler does.
#include "validators/output_file.hpp"

// Must precede BOINC's other headers: it defines the macros that they depend on.
#include <config.h>

#include <fmt/format.h>
#include <sched_util_basic.h>

#include <array>
#include <climits>
#include <fstream>

#include "peer/base/error.hpp"

namespace dedloc::validation {

std::filesystem::path output_file_path(const server::ProjectConfig& project,
                                       const std::string& name) {
    std::array<char, PATH_MAX> path{};
    if (dir_hier_path(name.c_str(), project.upload_directory.c_str(), project.directory_fanout,
                      path.data(), false) != 0) {
        throw IoError(fmt::format("Cannot compute the path of the output file {}.", name));
    }
    return path.data();
}

std::optional<Buffer> read_output_file(const std::filesystem::path& path, std::size_t limit) {
    if (!std::filesystem::is_regular_file(path)) return std::nullopt;
    std::ifstream file{path, std::ios::binary};
    if (!file) throw IoError(fmt::format("Cannot open {}.", path.string()));
    Buffer bytes(limit + 1);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (file.bad()) throw IoError(fmt::format("Cannot read {}.", path.string()));
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    return bytes;
}

}  // namespace dedloc::validation
