// dedloc.json in a project's folder: the project's name and ports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace dedloc::server {

/// Settings that `dedloc project create` fixes for the life of a project.
struct Settings {
    std::string name;                 ///< as volunteers see it
    std::string host = "127.0.0.1";   ///< address that nginx listens on
    std::uint16_t port = 0;           ///< nginx, the public one
    std::uint16_t server_port = 0;    ///< dedloc-server, loopback only
    std::uint16_t gateway_port = 0;   ///< dedloc-gateway, loopback only
    std::uint16_t database_port = 0;  ///< mariadbd, loopback only
    bool operator==(const Settings&) const = default;
};

/// The URL that volunteers attach to, with a slash at the end.
std::string master_url(const Settings& settings);

/// Reads PROJECT/dedloc.json. Errors: InputError (no project there, or the name of the invalid
/// field).
Settings read_settings(const std::filesystem::path& project);
/// Writes PROJECT/dedloc.json. Errors: IoError.
void write_settings(const std::filesystem::path& project, const Settings& settings);

}  // namespace dedloc::server
