// Debian has the licences of a package in /usr/share/doc/PACKAGE/copyright. Most of these files
// have fields "License: NAME" (DEP 5); all of them refer to the texts of common licences in
// /usr/share/common-licenses.
#include "project_server/packaging/origin.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/version.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/process.hpp"

namespace dedloc::packaging {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

constexpr const char* kCommonLicences = "/usr/share/common-licenses/";
constexpr const char* kOwnLicence = "LGPL-3.0-or-later";
constexpr std::string_view kLocalName = ".dist-info";
constexpr std::size_t kMaxParents = 8;

/// A header of each library that is compiled in: of headers only, or templates.
constexpr std::array kHeaders = {"/usr/include/CLI/CLI.hpp", "/usr/include/boost/version.hpp",
                                 "/usr/include/flatbuffers/flatbuffers.h",
                                 "/usr/include/rapidjson/rapidjson.h"};

/// What a command prints; nothing if it does not exist here.
std::string printed_by(const platform::Command& command) {
    try {
        return platform::run_to_end(command).output;
    } catch (const IoError&) {
        return {};
    }
}

/// dpkg knows some files of /usr/lib as those of /lib, and of /usr/bin as those of /bin.
std::string without_usr(const std::string& path) {
    constexpr std::string_view kUsr = "/usr";
    return path.starts_with("/usr/") ? path.substr(kUsr.size()) : path;
}

/// The package of each file that dpkg knows.
std::map<fs::path, std::string> debian_packages(const std::vector<fs::path>& files) {
    platform::Command command{"dpkg-query", "--search"};
    std::map<std::string, fs::path> by_text;
    for (const fs::path& file : files) {
        const std::string path = fs::weakly_canonical(file).string();
        for (const std::string& text : {path, without_usr(path)}) {
            if (by_text.emplace(text, file).second) command.push_back(text);
        }
    }
    std::map<fs::path, std::string> packages;
    std::istringstream lines{printed_by(command)};
    for (std::string line; std::getline(lines, line);) {
        const auto colon = line.find(": ");
        if (colon == std::string::npos) continue;
        const auto found = by_text.find(line.substr(colon + 2));
        const std::string package = line.substr(0, colon);
        if (found != by_text.end() && package.find(',') == std::string::npos) {
            packages.emplace(found->second, package);
        }
    }
    return packages;
}

/// The licences that a copyright file names.
std::string licences_in(const std::string& text) {
    static const std::regex field{R"((?:^|\n)License:[ \t]*([^\n]+))"};
    static const std::regex common{R"(/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9+]))"};
    Names names;
    for (const std::regex& pattern : {field, common}) {
        for (std::sregex_iterator at{text.begin(), text.end(), pattern}, end; at != end; ++at) {
            names.insert((*at)[1].str());
        }
        if (!names.empty()) break;
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

/// Nothing if its licences are not on this machine.
std::optional<Origin> debian_origin(const std::string& package) {
    const std::string line = printed_by({"dpkg-query", "--show",
                                         "--showformat=${Package} ${Version} ${source:Package} "
                                         "${source:Version} ${Architecture}",
                                         package});
    std::istringstream fields{line};
    Origin origin{.supplier = "Debian"};
    std::string source;
    std::string source_version;
    std::string architecture;
    fields >> origin.name >> origin.version >> source >> source_version >> architecture;
    origin.address = fmt::format("pkg:deb/debian/{}@{}?arch={}&upstream={}@{}", origin.name,
                                 origin.version, architecture, source, source_version);
    const fs::path licences = fmt::format("/usr/share/doc/{}/copyright", origin.name);
    if (!fs::is_regular_file(licences)) return std::nullopt;
    origin.text = platform::read_text(licences);
    origin.licences = licences_in(origin.text);
    return origin;
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

/// Whether a wheel of this name has the file: torch has all but NVIDIA's libraries, and those have
/// the names of their wheels, such as nvidia_cuda_cupti and libcupti.so.13.
bool is_of_wheel(const fs::path& file, const std::string& wheel) {
    constexpr std::string_view kVendor = "nvidia_";
    const bool is_vendors = file.string().find("/nvidia/") != std::string::npos;
    if (!wheel.starts_with(kVendor)) return !is_vendors;
    std::string topic = wheel.substr(kVendor.size());
    if (topic.ends_with("_cu13")) topic.resize(topic.size() - 5);
    if (topic == "cuda_runtime") topic = "cudart";
    if (topic.starts_with("cuda_")) topic.erase(0, 5);
    const std::string name = lower(file.filename().string());
    if (!is_vendors || !name.starts_with("lib" + topic)) return false;
    const std::string_view rest = std::string_view{name}.substr(3 + topic.size());
    return rest.starts_with('.') || rest.starts_with('_') || rest.starts_with('-') ||
           (topic == "cublas" && rest.starts_with("lt."));
}

/// The licences in a folder, one after the other, and in those below it.
std::string licence_files(const fs::path& folder, bool is_deep) {
    Names files;
    std::error_code failure;
    for (auto at = fs::recursive_directory_iterator{folder, failure};
         at != fs::recursive_directory_iterator{}; at.increment(failure)) {
        if (!is_deep) at.disable_recursion_pending();
        const std::string name = lower(at->path().filename().string());
        if (at->is_regular_file() && name.starts_with("licen")) files.insert(at->path().string());
    }
    std::string text;
    for (const std::string& file : files) text += platform::read_text(file) + '\n';
    return text;
}

/// The wheel of the folder `folder`/NAME-VERSION.dist-info that has the file.
std::optional<Origin> wheel_in(const fs::path& folder, const fs::path& file) {
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator{folder, failure}) {
        std::string name = entry.path().filename().string();
        if (!name.ends_with(kLocalName)) continue;
        name.resize(name.size() - kLocalName.size());
        const auto dash = name.rfind('-');
        if (dash == std::string::npos || !is_of_wheel(file, name.substr(0, dash))) continue;
        Origin origin{.name = name.substr(0, dash), .version = name.substr(dash + 1)};
        const bool is_vendors = origin.name.starts_with("nvidia_");
        origin.supplier = is_vendors ? "NVIDIA Corporation" : "PyTorch Foundation";
        origin.licences = is_vendors ? "NVIDIA's licence for CUDA" : "BSD-3-Clause and others";
        origin.address = fmt::format("pkg:pypi/{}@{}", origin.name, origin.version);
        std::ranges::replace(origin.address, '_', '-');
        origin.text = licence_files(entry.path(), true);
        return origin;
    }
    return std::nullopt;
}

/// The wheel that was unpacked in a folder above the file. Some have their licence there, others in
/// a folder between.
std::optional<Origin> wheel_origin(const fs::path& file) {
    fs::path folder = fs::weakly_canonical(file).parent_path();
    std::string between;
    for (std::size_t i = 0; i < kMaxParents && folder.has_relative_path(); ++i) {
        if (auto origin = wheel_in(folder, file)) {
            origin->text += between;
            if (origin->text.empty()) return std::nullopt;
            return origin;
        }
        between += licence_files(folder, false);
        folder = folder.parent_path();
    }
    return std::nullopt;
}

Origin own_origin() {
    return {.name = "dedloc",
            .version = version(),
            .supplier = "the authors of DeDLOC@home",
            .address = {},
            .licences = kOwnLicence,
            .text = fmt::format("DeDLOC@home is free software under the GNU Lesser General Public "
                                "License, version 3 or later ({0}LGPL-3), which adds permissions "
                                "to the GNU General Public License ({0}GPL-3).\n",
                                kCommonLicences)};
}

}  // namespace

std::map<fs::path, Origin> origins_of(const std::vector<fs::path>& files,
                                      const std::vector<fs::path>& own) {
    std::map<fs::path, Origin> origins;
    std::map<std::string, std::optional<Origin>> packages;  // read once each
    const auto debian = debian_packages(files);
    for (const fs::path& file : files) {
        if (std::ranges::find(own, file) != own.end()) {
            origins.emplace(file, own_origin());
        } else if (const auto found = debian.find(file); found != debian.end()) {
            const auto [entry, is_new] = packages.try_emplace(found->second);
            if (is_new) entry->second = debian_origin(found->second);
            if (entry->second) origins.emplace(file, *entry->second);
        } else if (auto wheel = wheel_origin(file)) {
            origins.emplace(file, std::move(*wheel));
        }
    }
    return origins;
}

std::vector<Origin> compiled_in() {
    std::set<Origin> found;
    for (const auto& [header, package] : debian_packages({kHeaders.begin(), kHeaders.end()})) {
        if (auto origin = debian_origin(package)) found.insert(std::move(*origin));
    }
    return {found.begin(), found.end()};
}

std::map<std::string, std::string> common_licences(const std::vector<std::string>& texts) {
    static const std::regex common{R"(/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9+]))"};
    std::map<std::string, std::string> found;
    for (const std::string& text : texts) {
        for (std::sregex_iterator at{text.begin(), text.end(), common}, end; at != end; ++at) {
            const fs::path place = kCommonLicences + (*at)[1].str();
            if (!fs::exists(place)) continue;
            const fs::path file = fs::canonical(place);
            found.try_emplace(file.filename().string(), platform::read_text(file));
        }
    }
    return found;
}

}  // namespace dedloc::packaging
