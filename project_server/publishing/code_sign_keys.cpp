// Changes of the key are the edges of a graph: from a former key to the key that it has signed. The
// next key of each former one follows from a breadth-first search that begins at the present key.
#include "project_server/publishing/code_sign_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/publishing/keys.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSignature = 4'096;  // bytes

/// A former key and the signature by it.
struct SignKeyChange {
    std::string name;  ///< name of the key's file
    std::string key;
    std::string signature;
};

fs::path key_file(const fs::path& directory, std::size_t number) {
    return directory / fmt::format("old_key_{}", number);
}

fs::path signature_file(const fs::path& directory, std::size_t number) {
    return directory / fmt::format("signature_{}", number);
}

std::vector<SignKeyChange> read_changes(const fs::path& directory) {
    std::vector<SignKeyChange> changes;
    for (std::size_t number = 0; fs::exists(key_file(directory, number)); ++number) {
        const auto signature = signature_file(directory, number);
        changes.push_back({.name = key_file(directory, number).filename().string(),
                           .key = read_public_key_text(key_file(directory, number)),
                           .signature = fs::exists(signature)
                                            ? platform::read_text(signature, kMaxSignature)
                                            : std::string{}});
        while (changes.back().signature.ends_with('\n')) changes.back().signature.pop_back();
    }
    return changes;
}

bool signs(const SignKeyChange& change, const std::string& key) {
    try {
        return VerifyingKey{change.key, change.name}.verifies(key, change.signature + '\n');
    } catch (const InputError&) {
        return false;  // it is no key
    }
}

}  // namespace

std::string present_key(Database& database, const fs::path& key_directory) {
    const auto row = database.query_one("select public_key from dedloc_code_sign_key where id = 1");
    return row ? row->text("public_key") : read_public_key_text(key_directory / "code_sign_public");
}

CodeSignKeys::CodeSignKeys(const fs::path& key_directory, std::string present)
    : present_(std::move(present)) {
    const auto changes = read_changes(key_directory);
    std::vector<std::string> reached{present_};
    for (std::size_t at = 0; at < reached.size(); ++at) {
        for (const SignKeyChange& change : changes) {
            const std::string target = reached[at];
            const bool is_new = std::ranges::find(reached, change.key) == reached.end();
            if (!is_new || !signs(change, target)) continue;
            next_[change.key] = {
                .key = target, .signature = change.signature, .can_verify = target == present_};
            reached.push_back(change.key);
        }
    }
    for (const SignKeyChange& change : changes) {
        const bool is_reached = std::ranges::find(reached, change.key) != reached.end();
        if (!is_reached) dead_ends_.push_back(change.name);
    }
}

KeyNotice CodeSignKeys::notice_for(std::string_view client_key) const {
    if (client_key.empty()) return {.key = present_};
    if (client_key == present_) return {};
    const auto found = next_.find(client_key);
    if (found == next_.end()) return {.is_unknown = true, .can_verify = false};
    return found->second;
}

void add_key_change(const fs::path& key_directory, const std::string& former,
                    const std::string& later, const std::string& signature) {
    const auto changes = read_changes(key_directory);
    const bool is_known = std::ranges::any_of(changes, [&](const SignKeyChange& change) {
        return change.key == former && signs(change, later);
    });
    if (is_known) return;
    // Readers look for the key first.
    platform::replace_file(signature_file(key_directory, changes.size()), signature);
    platform::replace_file(key_file(key_directory, changes.size()), former + '\n');
}

}  // namespace dedloc::server
