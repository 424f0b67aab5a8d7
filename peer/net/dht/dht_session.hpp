// A libtorrent session that is only a node of the project's own DHT; seed and directory share this
// code. It contacts the given seeds and nodes learnt from them. libtorrent's other mechanisms
// (public routers, local discovery, port mapping) are off unless enabled later. Only dht_*.cpp
// includes this header.
#pragma once

#include <libtorrent/session.hpp>
#include <string>
#include <vector>

#include "peer/events.hpp"

namespace dedloc::net {

/// Parameters of a session.
struct DhtSessionOptions {
    Endpoint listen;  ///< UDP, numeric host; port 0 for any
    /// Bootstrap nodes; hosts may be names. Empty: this node is its own seed.
    std::vector<Endpoint> seeds;
    libtorrent::dht::dht_state saved;  ///< nodes known from an earlier session
};

/// A session that listens.
struct DhtSession {
    libtorrent::session session;             ///< the DHT node
    std::uint16_t port = 0;                  ///< its UDP port
    std::vector<std::string> own_addresses;  ///< addresses that it listens on
};

/// Opens a session and starts its DHT node; waits up to 10 s for the socket. Requires a numeric
/// options.listen.host. Errors: IoError (UDP port in use, no such address).
DhtSession open_dht_session(const DhtSessionOptions& options);

/// Parses "host:port" texts. Errors: InputError (a text has another form).
std::vector<Endpoint> parse_seeds(const std::vector<std::string>& texts);

}  // namespace dedloc::net
