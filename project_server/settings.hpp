// Settings of a project. They are in dedloc.json in its folder; the project of an official BOINC
// server has them in config.xml.
#pragma once

#include <filesystem>

#include "project_server/setting_values.hpp"

namespace dedloc::server {

/// Whether the folder is an official BOINC server's project that `dedloc install` has prepared: it
/// has no dedloc.json, but a folder dedloc/.
bool is_official(const std::filesystem::path& project);
/// The folder that holds runs/, keys/project.key, keys/ticket.key, log/ and pids/ of a project: its
/// own one, or dedloc/ in that of an official BOINC server.
std::filesystem::path state_folder(const std::filesystem::path& project);

/// Whether the folder has settings: dedloc.json, or those of `dedloc install` in config.xml.
bool has_settings(const std::filesystem::path& project);
/// Reads PROJECT/dedloc.json, or config.xml of an official BOINC server's project. Of the latter it
/// fills in name, url and the fields of gateway and peers. Errors: InputError (no project there,
/// or the name of the invalid field).
Settings read_settings(const std::filesystem::path& project);
/// Writes PROJECT/dedloc.json. Errors: IoError.
void write_settings(const std::filesystem::path& project, const Settings& settings);

}  // namespace dedloc::server
