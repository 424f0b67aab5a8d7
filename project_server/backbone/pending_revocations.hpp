// The file `pending_revocations` in a backbone's folder: what an administrator has revoked, and the
// database does not have yet. It holds a control message: the command that would revoke it.
#pragma once

#include <filesystem>

#include "project_server/control/messages.hpp"

namespace dedloc::backbone {

/// Nothing is revoked if there is no such file. Errors: IoError, InputError (damaged).
control::Revocation read_pending(const std::filesystem::path& file);
/// Replaces the file, durably; removes it if nothing is revoked. Errors: IoError.
void write_pending(const std::filesystem::path& file, const control::Revocation& named);

/// Whether nothing is named.
bool is_empty(const control::Revocation& named);
/// Adds what is not there yet. Errors: InputError (more than wire::kMaxRevocations afterwards).
void add(control::Revocation& to, const control::Revocation& more);
/// Removes what is there.
void remove(control::Revocation& from, const control::Revocation& named);

}  // namespace dedloc::backbone
