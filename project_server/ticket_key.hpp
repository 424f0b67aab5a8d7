// The project's second Ed25519 key, keys/ticket.key: it signs the tickets of the runs whose run
// files name it, and nothing else. So the gateway, which faces the internet, works without the
// project's key, which also signs generations, pauses and revocations.
#pragma once

#include <filesystem>

#include "peer/base/digest.hpp"

namespace dedloc::server {

/// keys/ticket.key in the folder that state_folder() names.
std::filesystem::path ticket_key_file(const std::filesystem::path& state);
/// Makes the key unless there is one. Returns whether it did. Errors: IoError.
bool make_ticket_key(const std::filesystem::path& state);
/// Reads the key. Errors: InputError (absent, with what to do about it; unusable), IoError.
KeyPair read_ticket_key(const std::filesystem::path& state);

}  // namespace dedloc::server
