// What the seed and the directory have in common: a libtorrent session used as a node of the
// project's own DHT and as nothing else. It talks to the seeds it is given and to nodes learnt from
// them; every other way of libtorrent to find somebody (public routers, local discovery, port
// mapping) is off until it is asked for. Nothing outside dht_*.cpp includes this.
#pragma once

#include <libtorrent/session.hpp>
#include <string>
#include <vector>

#include "peer/events.hpp"

namespace dedloc::net {

struct DhtSessionOptions {
    Endpoint listen;  ///< UDP; port 0 for any
    std::vector<Endpoint>
        seeds;  ///< may have names for hosts; without any, the address listened on is the seed
    libtorrent::dht::dht_state saved;
};

struct DhtSession {
    libtorrent::session session;
    std::uint16_t port = 0;                  ///< UDP port listened on
    std::vector<std::string> own_addresses;  ///< that it listens on
};

/// Requires a numeric options.listen.host. Errors: IoError (UDP port in use, no such address).
DhtSession open_dht_session(const DhtSessionOptions& options);

/// Of "host:port" each. Errors: InputError (one is not of this form).
std::vector<Endpoint> parse_seeds(const std::vector<std::string>& texts);

}  // namespace dedloc::net
