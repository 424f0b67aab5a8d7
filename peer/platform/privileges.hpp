// Root gives up its privileges.
#pragma once

#include <string>

namespace dedloc::platform {

/// Whether this process runs as root.
bool is_root();

/// Turns this process, which is root's, into one of the account `user` with its groups, for good.
/// The process keeps one capability of root's, CAP_NET_BIND_SERVICE, and its child processes
/// inherit it: they may listen on ports below 1024. HOME, USER and LOGNAME change with it.
///
/// Errors    InputError (no such account), IoError (the system refuses)
/// Thread    before there is a second one
void become_user(const std::string& user);

/// Root gives a folder and all that is in it to the account `user`. Errors: InputError (no such
/// account), IoError.
void give(const std::string& folder, const std::string& user);

/// Name of the account that owns the file or folder; its number if it has no name. Errors: IoError.
std::string owner_of(const std::string& path);

}  // namespace dedloc::platform
