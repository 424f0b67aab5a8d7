// Small files of the tool: keys, run files, and what a backbone must not forget.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/wire/run_file.hpp"
#include "peer/wire/ticket.hpp"

namespace dedloc::tool {

/// The whole file. Errors: InputError (cannot be read, or has more than `limit` bytes).
Buffer read_file(const std::filesystem::path& path, std::size_t limit);

/// Temporary file beside it, fsync, rename: after a crash `path` holds all of `bytes` or what it
/// held before. Errors: IoError.
void replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                  bool is_secret = false);

/// The key in `path`, as 64 hex digits (the form of a project's key files); made there, readable by
/// its owner only, when there is no such file. Errors: InputError (holds something else), IoError.
KeyPair key_in(const std::filesystem::path& path);

/// Errors: InputError (no such file, no run file).
wire::RunFile read_run(const std::filesystem::path& path);

/// A ticket, as hex digits. Errors: InputError (cannot be read, holds something else).
wire::SignedTicket read_ticket(const std::filesystem::path& path);
/// Errors: IoError.
void write_ticket(const std::filesystem::path& path, const wire::SignedTicket& ticket);

}  // namespace dedloc::tool
