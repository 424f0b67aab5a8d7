// The seed of a run's DHT: the one address that newcomers are told. It stores announcements and
// hands out nodes; it announces nothing itself (a node stores only on others, so the backbone runs
// a DhtDirectory beside it, as any peer).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "peer/events.hpp"

namespace dedloc::net {

struct DhtSeedOptions {
    Endpoint listen;      ///< UDP, numeric; port 0 for any
    std::string address;  ///< "host:port" under which peers reach it; empty: as listened on
    /// Known nodes are kept here, so that a restarted seed still brings newcomers and old peers
    /// together. Empty: not.
    std::filesystem::path state_file;
};

class DhtSeed final {
  public:
    /// Listens at once; goes on from state_file if there is one (an unreadable one is as none).
    /// Errors: InputError (address is not HOST:PORT), IoError (port in use).
    explicit DhtSeed(const DhtSeedOptions& options);
    /// Saves the state, then stops.
    ~DhtSeed();
    DhtSeed(const DhtSeed&) = delete;
    DhtSeed& operator=(const DhtSeed&) = delete;

    std::uint16_t port() const;
    /// Writes the known nodes to state_file (temporary file, rename). To be called every few
    /// minutes; nothing without a state_file. Errors: IoError.
    void save() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::net
