// Run files and tickets as the tool reads and writes them.
#pragma once

#include <filesystem>

#include "peer/formats/run_file.hpp"
#include "peer/formats/ticket.hpp"

namespace dedloc::tool {

/// Errors: InputError (no such file, no run file).
formats::RunFile read_run(const std::filesystem::path& path);

/// A ticket, as hex digits. Errors: InputError (cannot be read, holds something else).
formats::SignedTicket read_ticket(const std::filesystem::path& path);
/// Errors: IoError.
void write_ticket(const std::filesystem::path& path, const formats::SignedTicket& ticket);

}  // namespace dedloc::tool
