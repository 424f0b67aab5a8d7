#include "validators/output_file.hpp"

// Must precede BOINC's other headers: it defines the macros that they depend on.
#include <config.h>

#include <fmt/format.h>
#include <sched_config.h>
#include <sched_util.h>

#include <array>
#include <climits>
#include <fstream>

#include "peer/base/error.hpp"

namespace dedloc::validation {
namespace {

constexpr std::size_t kMaxNameBytes = 255;

std::optional<std::string_view> between(std::string_view text, std::string_view open,
                                        std::string_view close) {
    const auto begin = text.find(open);
    if (begin == std::string_view::npos) return std::nullopt;
    const auto end = text.find(close, begin + open.size());
    if (end == std::string_view::npos) return std::nullopt;
    return text.substr(begin + open.size(), end - begin - open.size());
}

}  // namespace

std::optional<std::string> output_file_name(std::string_view xml) {
    const auto reference = between(xml, "<file_ref>", "</file_ref>");
    if (!reference) return std::nullopt;
    const auto name = between(*reference, "<file_name>", "</file_name>");
    if (!name || name->empty() || name->size() > kMaxNameBytes ||
        name->find('/') != std::string_view::npos || name->front() == '.') {
        return std::nullopt;
    }
    return std::string{*name};
}

std::filesystem::path output_file_path(const std::string& name) {
    std::array<char, PATH_MAX> path{};
    if (dir_hier_path(name.c_str(), ::config.upload_dir, ::config.uldl_dir_fanout, path.data(),
                      false) != 0) {
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
