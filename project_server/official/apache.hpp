// The gateway behind Apache, the web server of an official BOINC project.
#pragma once

#include <cstdint>
#include <string>

namespace dedloc::official {

/// The configuration that Apache needs, as a file to include in the project's <VirtualHost>.
/// `gateway_host`: where the gateway listens, as Apache's machine sees it.
std::string apache_configuration(const std::string& master_url, const std::string& gateway_host,
                                 std::uint16_t gateway_port);

}  // namespace dedloc::official
