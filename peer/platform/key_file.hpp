// Ed25519 keys on disk: the secret seed as 64 hex digits and a newline, readable by the owner only.
#pragma once

#include <filesystem>

#include "peer/base/digest.hpp"

namespace dedloc::platform {

/// Errors: IoError.
void write_key(const std::filesystem::path& path, const KeyPair& key);
/// Errors: IoError (cannot be read), InputError (holds no key).
KeyPair read_key(const std::filesystem::path& path);
/// The key in `path`; generated and written there when there is no such file.
/// Errors: IoError, InputError (holds no key).
KeyPair read_or_create_key(const std::filesystem::path& path);

}  // namespace dedloc::platform
