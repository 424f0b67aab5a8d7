// Directory over the project's own DHT (see dht_seed.hpp): a peer announces its TCP port under the
// run's info-hash and asks who else did. An announcement outlives its peer by up to 45 minutes:
// what is found is worth a dial, no more.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/net/directory.hpp"
#include "peer/trainer.hpp"
#include "peer/wire/swarm_head.hpp"

namespace dedloc::net {

struct DhtDirectoryOptions {
    RunId run;
    std::vector<std::string> seeds;  ///< "host:port" each, as in the run file
    /// UDP, numeric host. Without a host: loopback if all seeds are, else every interface.
    Endpoint listen;
    /// Whose word on the swarm's head is looked for; nothing: nobody's.
    std::optional<PeerKey> project{};
};

/// What a backbone may publish of a state that its members hold, with the addresses of voters, its
/// own first: as many as others can dial, at most kMaxHeadEndpoints.
wire::SwarmHead head_of(const RunId& run, const action::Settled& settled,
                        std::span<const Endpoint> voters);

class DhtDirectory final : public Directory {
  public:
    /// Starts the node, which begins to know others; announces and asks nothing before join. `sink`
    /// gets event::EndpointsFound on a thread of this directory, without our own endpoint as far as
    /// it can be recognised. Errors: InputError (no seed, listen host not numeric), IoError (port
    /// in use).
    DhtDirectory(const DhtDirectoryOptions& options, EventSink sink);
    ~DhtDirectory() override;

    /// Asks the routers here, by UPnP and NAT-PMP, to pass a TCP port of theirs on to `port` as
    /// long as this object lives (if it is not destroyed, a router forgets after an hour). That
    /// port of the router's, maybe another number; nothing if none agrees within `patience` (most
    /// say nothing at all; a few seconds are enough). Called again it asks nobody anew and waits
    /// on. A router may lie: only a dial from outside shows that it works. Requires the same port
    /// in each call. Thread: any, one at a time; waits.
    std::optional<std::uint16_t> map_port(std::uint16_t port, std::chrono::milliseconds timeout);

    /// Puts the swarm's head into the DHT, and again every so often until there is a newer one: for
    /// a backbone that holds the project's key. Thread: any.
    void publish(const wire::SwarmHead& head, const KeyPair& project);
    /// The newest that the project has published, as far as it has been found. Thread: any.
    std::optional<wire::SwarmHead> head() const;

    /// Thread: any.
    void join(std::uint16_t port) override;
    void leave() override;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::net
