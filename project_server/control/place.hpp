// The address of a backbone's control plane: in its folder on this machine, or over TCP on
// another machine.
//
// A connection between machines is authenticated and encrypted by ZeroMQ's CURVE: each end knows
// the other end's key, and shows its own. The voter shows the key by which the swarm knows it, the
// project shows its key for the control plane (PROJECT/keys/control.key). CURVE uses Curve25519, so
// these Ed25519 keys are converted as libsodium does it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/platform/ports.hpp"

namespace dedloc::control {

/// What a backbone offers to other machines: commands at this port, events at the next one.
struct RemoteAccess {
    platform::ListenAddress listen;  ///< numeric host; the port is not 0
    KeyPair own;                     ///< the voter's
    PeerKey client;                  ///< the only one that is let in: the project's
};

/// A voter on another machine, as the project reaches it.
struct RemoteEnd {
    platform::ListenAddress address;  ///< name or numeric host; port of its RemoteAccess
    PeerKey voter;                    ///< the only one that is believed
    KeyPair own;                      ///< the project's
};

/// A folder that a backbone works in, or a voter on another machine.
using Place = std::variant<std::filesystem::path, RemoteEnd>;
/// Lists the places at which a run can be followed, the best one first.
using Places = std::function<std::vector<Place>()>;

}  // namespace dedloc::control
