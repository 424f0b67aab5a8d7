// Ed25519 keys on disk: the secret seed as 64 hex digits and a newline. Only the owner can read the
// file.
#pragma once

#include <filesystem>

#include "peer/base/digest.hpp"

namespace dedloc::platform {

/// Writes or replaces a key file, durably. Errors: IoError.
void write_key(const std::filesystem::path& path, const KeyPair& key);
/// Reads a key file. Errors: as read_file(); InputError if it holds no key.
KeyPair read_key(const std::filesystem::path& path);
/// Reads the key in `path`, or generates one and writes it there if the file does not exist.
/// Errors: IoError, InputError (holds no key or cannot be read).
KeyPair read_or_create_key(const std::filesystem::path& path);

}  // namespace dedloc::platform
