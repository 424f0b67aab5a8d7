// The public key with which clients check app versions, and its changes. A client trusts the first
// key that it sees; it accepts another one only with a signature by the key that it has. As in
// BOINC's server, keys/old_key_N holds a former public key and keys/signature_N the signature of
// the present one by it, for N = 0, 1, 2 … without a gap.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::server {

/// What a reply says about the key.
struct KeyNotice {
    std::string key{};        ///< the present key; empty: the client has it
    std::string signature{};  ///< the key's signature by the client's key; empty if it has none
    bool is_unknown = false;  ///< the client's key is none of this project's: it needs a new start
};

/// The project's keys, read once. Thread: any.
class CodeSignKeys {
  public:
    /// Errors: IoError, InputError (no present key, or an old key without its signature).
    explicit CodeSignKeys(const std::filesystem::path& key_directory);

    /// What a client with this key (trimmed; empty: none) must be told.
    KeyNotice notice_for(std::string_view client_key) const;

  private:
    struct Change {
        std::string old_key;
        std::string signature;
    };
    const std::string key_;
    const std::vector<Change> changes_;
};

}  // namespace dedloc::server
