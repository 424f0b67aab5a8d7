// The address of a backbone's control plane: its folder on this machine, or a folder on another
// machine, which is reached over SSH (tunnel.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace dedloc::control {

/// The folder of a voter on another machine, as the project reaches it.
struct RemoteEnd {
    std::string user;        ///< the account that the voter runs under
    std::string host;        ///< name or address, without brackets
    std::uint16_t port = 0;  ///< where its SSH server listens; 0: ssh's default
    std::string folder;      ///< absolute; the voter's --folder
    /// "ssh://USER@HOST[:PORT]/FOLDER", an IPv6 address in brackets.
    std::string text() const;
    bool operator==(const RemoteEnd&) const = default;
};

/// Parses RemoteEnd::text(). Nothing in it can be an option of ssh or more than one word of it. The
/// sockets in the folder must have paths of at most 107 bytes. Errors: InputError, which begins
/// with `what`.
RemoteEnd parse_remote_end(const std::string& text, const std::string& what);

/// A folder that a backbone works in, or a voter on another machine.
using Place = std::variant<std::filesystem::path, RemoteEnd>;
/// Lists the places at which a run can be followed, the best one first.
using Places = std::function<std::vector<Place>()>;

}  // namespace dedloc::control
