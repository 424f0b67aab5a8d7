// ZeroMQ's CURVE for connections between machines: sets the keys of a socket, and lets in only the
// clients that it is to let in. ZeroMQ asks the process for each client (ZAP, its RFC 27), on a
// thread of this file.
#pragma once

#include "peer/base/digest.hpp"
#include "project_server/control/place.hpp"

namespace dedloc::control {

/// Makes what the socket listens at next accessible to that client only. Errors: IoError,
/// InputError (a key that is none).
void serve_curve(void* socket, const RemoteAccess& access);
/// What the socket connects to next must be that voter. Errors: as above.
void use_curve(void* socket, const RemoteEnd& end);

}  // namespace dedloc::control
