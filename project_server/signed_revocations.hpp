// The file `revocations` in a run's folder: the revoked tickets, signed with the project's key. The
// backbone writes it whenever the list changes; the gateway, which has no such key, hands it out.
#pragma once

#include <filesystem>

#include "peer/formats/ticket.hpp"

namespace dedloc::server {

/// Replaces the file, durably. Errors: IoError.
void write_signed_revocations(const std::filesystem::path& run_folder,
                              const formats::SignedRevocations& list);
/// Reads the file. Does not verify the signature, which is for those who get the list.
/// Errors: as read_file(); InputError if it holds no list.
formats::SignedRevocations read_signed_revocations(const std::filesystem::path& run_folder);

}  // namespace dedloc::server
