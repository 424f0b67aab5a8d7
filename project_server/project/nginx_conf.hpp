// nginx in front of a project. It serves downloads and page assets from disk and forwards other
// requests to dedloc-server and dedloc-gateway on loopback.
#pragma once

#include <filesystem>
#include <string>

#include "peer/platform/process.hpp"
#include "project_server/settings.hpp"

namespace dedloc::project {

/// The text of the configuration file. nginx writes only to PROJECT/nginx and PROJECT/log, so it
/// runs as any user. The text does not name the project's folder, which may have any name.
std::string nginx_configuration(const server::Settings& settings);

/// The folder that nginx must run in: the paths in its command and in its configuration file begin
/// there.
std::filesystem::path nginx_folder(const std::filesystem::path& project);

/// The command that starts nginx in the foreground. If it starts as root its workers stay root,
/// because in a container no other user may be able to read the folder.
platform::Command nginx_command();

}  // namespace dedloc::project
