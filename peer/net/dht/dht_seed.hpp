// The seed of a run's DHT: the bootstrap node that the run file names. It stores announcements and
// answers lookups; it announces nothing itself. A node stores items only on other nodes, so a
// backbone runs a DhtDirectory beside its seed, like any peer.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "peer/events.hpp"

namespace dedloc::net {

/// Parameters of a seed.
struct DhtSeedOptions {
    Endpoint listen;      ///< UDP, numeric; port 0 for any
    std::string address;  ///< "host:port" under which peers reach it; empty: `listen`
    /// File with the known nodes, so that new peers find old ones after a restart of the seed.
    /// Empty: they are not saved.
    std::filesystem::path state_file;
};

/// Runs a seed on libtorrent's threads.
class DhtSeed final {
  public:
    /// Starts to listen with the nodes of state_file; a missing or unreadable file is ignored.
    /// Errors: InputError (address is not HOST:PORT), IoError (port in use).
    explicit DhtSeed(const DhtSeedOptions& options);
    /// Saves the known nodes, then stops.
    ~DhtSeed();
    DhtSeed(const DhtSeed&) = delete;
    DhtSeed& operator=(const DhtSeed&) = delete;

    /// The UDP port that it listens on.
    std::uint16_t port() const;
    /// Writes the known nodes to state_file (temporary file, rename). Call it every few minutes.
    /// Does nothing without a state_file. Errors: IoError.
    void save() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::net
