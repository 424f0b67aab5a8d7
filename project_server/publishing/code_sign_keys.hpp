// The public key with which clients check app versions, and its changes. A client trusts the first
// key that it sees; it accepts another one only with a signature by the key that it has. As in
// BOINC's server, keys/old_key_N holds a former public key and keys/signature_N the signature of a
// later one by it, for N = 0, 1, 2 … without a gap. In BOINC's server that is the present key; here
// it may be any later one, so a client that has missed changes is led from key to key, and a change
// needs no private key but the last one.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// What a reply says about the key.
struct KeyNotice {
    std::string key{};        ///< the key to accept; empty: none
    std::string signature{};  ///< the key's signature by the client's key; empty if it has none
    bool is_unknown = false;  ///< the client's key is none of this project's: it needs a new start
    /// Once the client has read the reply it has the present key, and so can check app versions.
    bool can_verify = true;
};

/// The text of the public key by which the app versions in the database are signed: the one that
/// the last change has written there together with their signatures; without a change
/// code_sign_public in `key_directory`. Errors: DatabaseError, IoError, InputError.
std::string present_key(Database& database, const std::filesystem::path& key_directory);

/// The project's keys, read once. Thread: any.
class CodeSignKeys {
  public:
    /// Reads the former keys. Errors: IoError, InputError (an empty file).
    CodeSignKeys(const std::filesystem::path& key_directory, std::string present);

    /// The present key.
    const std::string& present() const { return present_; }
    /// What a client with this key (trimmed; empty: none) must be told.
    KeyNotice notice_for(std::string_view client_key) const;
    /// Former keys, as file names, of which no signature leads to the present key: clients that
    /// have them must be attached anew.
    const std::vector<std::string>& dead_ends() const { return dead_ends_; }

  private:
    const std::string present_;
    /// The next key on the shortest path to the present one, by former key.
    std::map<std::string, KeyNotice, std::less<>> next_;
    std::vector<std::string> dead_ends_;
};

/// Writes that `former` signs `later` with `signature`, unless the files say so already. Durable,
/// and after a crash at any moment it can be repeated. Errors: IoError.
void add_key_change(const std::filesystem::path& key_directory, const std::string& former,
                    const std::string& later, const std::string& signature);

}  // namespace dedloc::server
