// Reads run files; reads and writes ticket files.
#pragma once

#include <filesystem>

#include "peer/formats/run_file.hpp"
#include "peer/formats/ticket.hpp"

namespace dedloc::tool {

/// Reads a run file. Errors: InputError (no such file, not a run file).
formats::RunFile read_run(const std::filesystem::path& path);

/// Reads a ticket in hex digits. Errors: InputError (cannot be read, not a ticket).
formats::SignedTicket read_ticket(const std::filesystem::path& path);
/// Writes a ticket in hex digits. Errors: IoError.
void write_ticket(const std::filesystem::path& path, const formats::SignedTicket& ticket);

}  // namespace dedloc::tool
