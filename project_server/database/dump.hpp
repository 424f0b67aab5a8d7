// Copies of a database as SQL, by MariaDB's own programs.
#pragma once

#include <filesystem>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Writes the selected database to a new file, readable by its owner only: the state at one moment,
/// while other connections go on writing. `scratch` is a folder for temporary files. Errors:
/// IoError with the program's last words.
void dump_database(const DatabaseSettings& settings, const std::filesystem::path& file,
                   const std::filesystem::path& scratch);

/// Runs the statements of such a file in the selected database. Errors: IoError, as above.
void load_dump(const DatabaseSettings& settings, const std::filesystem::path& file,
               const std::filesystem::path& scratch);

}  // namespace dedloc::server
