// An always-on member of a swarm that the project has appointed to vote: it coordinates, keeps
// state, ledger and checkpoints. The run's own one is also the seed of its DHT.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "peer/events.hpp"
#include "peer/formats/ticket.hpp"
#include "project_server/backbone/run_folder.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::backbone {

struct BackboneOptions {
    Endpoint listen;                     ///< TCP, where members dial
    std::optional<Endpoint> dht_listen;  ///< UDP, where the seed answers; absent: it is no seed
    std::optional<server::DatabaseSettings> database;  ///< absent: no rows are written
    std::uint64_t checkpoint_every = 1;
    std::size_t keep_checkpoints = 3;
    std::size_t threads = 0;  ///< for updates and digests; 0: all that the machine has
    /// Told once, from any thread, when the backbone cannot go on (disk full, …); one sentence.
    std::function<void(const std::string&)> on_failure;
};

class Backbone {
  public:
    /// Restores the newest checkpoint (or makes the first state), opens the ledger, listens and
    /// joins the swarm. Throws IoError (port in use, disk) or InputError (a run with a gateway
    /// wants the project's key, which signs the backbone's own ticket).
    Backbone(RunFolder run, BackboneOptions options);
    /// As stop().
    ~Backbone();
    Backbone(const Backbone&) = delete;
    Backbone& operator=(const Backbone&) = delete;

    /// Keeps what a restart wants to know of the DHT, and its own ticket good. To be called every
    /// few minutes.
    void maintain();
    /// Looks at who is to vote, and for the run's own backbone. To be called every two seconds.
    void poll();
    /// Ends the links of those and lets them in no more; others it lets in again. A list that is
    /// older than the last one changes nothing.
    void revoke(const formats::Revocations& latest);
    /// Leaves the swarm, writes the last checkpoint and rows, ends all threads. Idempotent.
    void stop();

    std::uint16_t port() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::backbone
