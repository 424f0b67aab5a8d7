// An always-on member of a swarm that the project has appointed to vote: it may coordinate, and it
// keeps state, ledger and checkpoints. The run's own backbone is also the seed of the run's DHT. On
// the control plane it publishes what happens and answers commands.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "peer/events.hpp"
#include "peer/net/tcp/transport_options.hpp"
#include "project_server/backbone/run_folder.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::backbone {

/// Settings of a Backbone.
struct BackboneOptions {
    Endpoint listen;                     ///< TCP, where members dial
    std::optional<Endpoint> dht_listen;  ///< UDP address of the DHT seed; absent: runs no seed
    std::string public_host{};  ///< numeric, where members dial if `listen` is a wildcard address
    std::optional<server::DatabaseSettings> database;  ///< absent: no rows are written
    std::uint64_t checkpoint_every = 1;                ///< steps between two checkpoints
    std::size_t keep_checkpoints = 3;                  ///< as in CheckpointStore
    std::size_t max_links = net::kDefaultVoterLinks;   ///< TransportOptions::max_links
    std::size_t threads = 0;  ///< for updates and digests; 0: one for each processor
    /// Called once, from any thread, when the backbone fails (disk full, …); with one sentence.
    std::function<void(const std::string&)> on_failure;
};

/// A running backbone. Thread: one.
class Backbone {
  public:
    /// Restores the newest checkpoint (or creates the initial state), opens the ledger, listens and
    /// joins the swarm. Throws IoError (port in use, disk) or InputError (a run with a gateway
    /// needs the project's key, which signs the backbone's own ticket).
    Backbone(RunFolder run, BackboneOptions options);
    /// Calls stop().
    ~Backbone();
    Backbone(const Backbone&) = delete;
    Backbone& operator=(const Backbone&) = delete;

    /// Saves the DHT's nodes for the next start and renews the backbone's own ticket. Call it every
    /// few minutes.
    void maintain();
    /// Checks voters.json, reads the project's revocations, and gives the address of the run's own
    /// backbone to the peer. Call it every two seconds.
    void poll();
    /// Leaves the swarm, writes the last checkpoint and rows, ends all threads. Idempotent.
    void stop();

    /// The TCP port it listens on.
    std::uint16_t port() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::backbone
