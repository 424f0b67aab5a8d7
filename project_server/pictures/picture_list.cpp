// Names are kept one after the other in one string. A file's key is the begin of a digest of seed
// and name; files are sorted by key, which mixes the classes. The fingerprint is a sum of digests
// of name, size and time, so it does not depend on the order in which the system lists a folder.
#include "project_server/pictures/picture_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "peer/base/digest.hpp"
#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "peer/formats/picture_labels.hpp"

namespace dedloc::pictures {
namespace {

namespace fs = std::filesystem;

/// The first 8 bytes of a text's digest.
std::uint64_t hash_of(std::string_view text) {
    const Digest digest = blake2b(bytes_of(text));
    std::uint64_t hash = 0;
    std::memcpy(&hash, digest.bytes.data(), sizeof hash);
    return hash;
}

/// The sub-folder that a name begins with; empty if it has none.
std::string_view class_of(std::string_view name) {
    const auto end = name.find('/');
    return end == std::string_view::npos ? std::string_view{} : name.substr(0, end);
}

[[noreturn]] void refuse_folder(const fs::path& folder, const std::error_code& reason) {
    throw InputError(
        fmt::format("cannot list {}: {}", shown_name(folder.string()), reason.message()));
}

}  // namespace

PictureList::PictureList(const fs::path& folder, std::uint64_t seed) : folder_(folder) {
    std::error_code failed;
    fs::recursive_directory_iterator at{folder, failed};
    if (failed) refuse_folder(folder, failed);
    while (at != fs::recursive_directory_iterator{}) {
        const fs::directory_entry entry = *at;
        const bool is_hidden = entry.path().filename().string().starts_with('.');
        if (is_hidden) at.disable_recursion_pending();
        if (!is_hidden && entry.is_regular_file(failed)) add(entry, seed);
        at.increment(failed);
        if (failed) refuse_folder(entry.path(), failed);
    }
    std::set<std::string, std::less<>> classes;
    for (const Entry& entry : entries_) {
        const auto found = class_of(std::string_view{names_}.substr(entry.begin, entry.size));
        if (!found.empty() && !classes.contains(found)) classes.emplace(found);
    }
    for (const std::string& name : classes) {
        if (formats::is_class_name(name)) continue;
        throw InputError(fmt::format(
            "the folder {} cannot be a class: a name has at most {} bytes of UTF-8 without control "
            "characters",
            shown_name((folder / name).string()), formats::kMaxClassNameBytes));
    }
    if (classes.size() > formats::kMaxClasses) {
        throw InputError(fmt::format("{} has {} folders, and a corpus has at most {} classes",
                                     shown_name(folder.string()), classes.size(),
                                     formats::kMaxClasses));
    }
    classes_.assign(classes.begin(), classes.end());
    std::ranges::sort(entries_, [&](const Entry& a, const Entry& b) {
        if (a.key != b.key) return a.key < b.key;
        const std::string_view names{names_};
        return names.substr(a.begin, a.size) < names.substr(b.begin, b.size);
    });
}

void PictureList::add(const fs::directory_entry& file, std::uint64_t seed) {
    const std::string name = file.path().lexically_relative(folder_).string();
    std::error_code failed;  // a file that is gone meanwhile is refused when it is read
    const std::uint64_t size = file.file_size(failed);
    const auto time = file.last_write_time(failed).time_since_epoch().count();
    entries_.push_back({.key = hash_of(fmt::format("{} {}", seed, name)),
                        .begin = names_.size(),
                        .size = name.size()});
    names_ += name;
    bytes_ += failed ? 0 : size;
    fingerprint_ += hash_of(fmt::format("{} {} {}", size, time, name));
}

std::string_view PictureList::name(std::size_t index) const {
    return std::string_view{names_}.substr(entries_[index].begin, entries_[index].size);
}

fs::path PictureList::path(std::size_t index) const {
    return folder_ / name(index);
}

std::uint16_t PictureList::label(std::size_t index) const {
    const auto found = class_of(name(index));
    if (found.empty()) return formats::kNoClass;
    return static_cast<std::uint16_t>(std::ranges::lower_bound(classes_, found) - classes_.begin());
}

std::string shown_name(std::string_view name) {
    std::string shown;
    while (!name.empty()) {
        const std::size_t length = utf8_length(name);
        const auto first = static_cast<unsigned char>(name.front());
        const bool is_plain = length > 0 && first >= 32 && first != 127;
        shown += is_plain ? name.substr(0, length) : "?";
        name.remove_prefix(std::max<std::size_t>(1, length));
    }
    return shown;
}

}  // namespace dedloc::pictures
