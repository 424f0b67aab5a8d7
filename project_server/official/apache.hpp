// The gateway behind Apache, the web server of an official BOINC project.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace dedloc::official {

/// The configuration that Apache needs, as a file to include in the project's <VirtualHost>.
/// `gateway_host`: where the gateway listens, as Apache's machine sees it.
std::string apache_configuration(const std::string& master_url, const std::string& gateway_host,
                                 std::uint16_t gateway_port);

/// The line for the <VirtualHost>. Apache starts also while there is no such file.
std::string apache_line(const std::filesystem::path& project);

/// What --remove leaves in the file while the folder dedloc/ stays: a line `Include` without
/// "Optional", which would keep Apache from starting, then does no harm.
std::string apache_nothing();

}  // namespace dedloc::official
