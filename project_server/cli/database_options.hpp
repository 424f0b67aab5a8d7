// The options that name a database on an existing server.
#pragma once

#include <memory>

#include "project_server/project/external_database.hpp"

namespace CLI {
class App;
}

namespace dedloc::cli {

/// Adds --database and --database-password-file.
std::shared_ptr<const project::DatabaseOptions> add_database_options(CLI::App& command);

}  // namespace dedloc::cli
