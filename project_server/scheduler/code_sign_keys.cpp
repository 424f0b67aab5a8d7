#include "project_server/scheduler/code_sign_keys.hpp"

#include <fmt/format.h>

#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/xml.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxKey = 4096;  // bytes of a key or signature

std::string read_trimmed(const fs::path& file) {
    return clean_text(read_public_key_text(file), kMaxKey);
}

template <class Change>
std::vector<Change> read_changes(const fs::path& directory) {
    std::vector<Change> changes;
    for (int i = 0;; ++i) {
        const fs::path old_key = directory / fmt::format("old_key_{}", i);
        if (!fs::exists(old_key)) return changes;
        changes.push_back({.old_key = read_trimmed(old_key),
                           .signature = read_trimmed(directory / fmt::format("signature_{}", i))});
    }
}

}  // namespace

CodeSignKeys::CodeSignKeys(const fs::path& key_directory)
    : key_(read_trimmed(key_directory / "code_sign_public")),
      changes_(read_changes<Change>(key_directory)) {}

KeyNotice CodeSignKeys::notice_for(std::string_view client_key) const {
    if (client_key.empty()) return {.key = key_};
    if (client_key == key_) return {};
    for (const Change& change : changes_) {
        if (client_key == change.old_key) return {.key = key_, .signature = change.signature};
    }
    return {.is_unknown = true};
}

}  // namespace dedloc::server
