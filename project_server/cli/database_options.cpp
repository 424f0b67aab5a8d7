#include "project_server/cli/database_options.hpp"

#include <CLI/CLI.hpp>

namespace dedloc::cli {

std::shared_ptr<const project::DatabaseOptions> add_database_options(CLI::App& command) {
    const auto options = std::make_shared<project::DatabaseOptions>();
    auto* const url = command.add_option(
        "--database", options->url,
        "An empty database on an existing MariaDB server (10.6 or newer): "
        "mysql://USER@HOST:PORT/NAME, with ?ssl-ca=FILE behind it over TLS, or "
        "mysql://USER@localhost/NAME?socket=FILE. Default: a MariaDB of the project's own");
    command
        .add_option("--database-password-file", options->password_file,
                    "File whose first line is the password, mode 0600. Default: the environment "
                    "variable MYSQL_PWD")
        ->needs(url);
    return options;
}

}  // namespace dedloc::cli
