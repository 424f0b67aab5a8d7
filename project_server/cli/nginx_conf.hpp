// nginx in front of a project: downloads and page assets from disk, the rest from dedloc-server on
// loopback.
#pragma once

#include <filesystem>
#include <string>

#include "peer/platform/process.hpp"
#include "project_server/settings.hpp"

namespace dedloc::cli {

/// The configuration file: everything nginx writes lies in PROJECT/nginx and PROJECT/log, so it
/// runs as any user. Requires  an absolute project path without quotes, `$` and line ends (`project
/// create` refuses others).
std::string nginx_configuration(const std::filesystem::path& project,
                                const server::Settings& settings);

/// How to start it in the foreground. As root its workers stay root: in a container nobody else can
/// read the folder.
platform::Command nginx_command(const std::filesystem::path& project);

}  // namespace dedloc::cli
