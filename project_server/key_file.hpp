// Ed25519 keys on the project's disk: the secret seed as 64 hex digits, readable by the owner
// alone.
#pragma once

#include <filesystem>

#include "peer/base/digest.hpp"

namespace dedloc::server {

/// Errors: IoError.
void write_key(const std::filesystem::path& file, const KeyPair& key);
/// Errors: IoError when the file cannot be read, InputError when it holds no key.
KeyPair read_key(const std::filesystem::path& file);

}  // namespace dedloc::server
