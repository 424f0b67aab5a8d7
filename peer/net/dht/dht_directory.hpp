// Directory on the project's own DHT (see dht_seed.hpp): a peer announces its TCP port under the
// run's info-hash and looks up the other announcements. An announcement outlives its peer by up to
// 45 minutes, so a found endpoint may be dead.
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

/// Parameters of a directory.
struct DhtDirectoryOptions {
    RunId run;                       ///< the info-hash is derived from it
    std::vector<std::string> seeds;  ///< "host:port" each, as in the run file; not empty
    /// UDP, numeric host; "::" means both families. Empty host: loopback if all seeds are on
    /// loopback, else every interface.
    Endpoint listen;
    /// The key that signs the swarm's head; nothing: the head is not looked up.
    std::optional<PeerKey> project{};
};

/// The head that a backbone publishes for a settled state. It contains the voters' addresses that
/// can be dialled, in the given order, at most kMaxHeadEndpoints; the backbone's own should be
/// first.
wire::SwarmHead head_of(const RunId& run, const action::Settled& settled,
                        std::span<const Endpoint> voters);

/// A DHT node with a thread of its own.
class DhtDirectory final : public Directory {
  public:
    /// Starts the node, which learns about other nodes; nothing is announced or looked up before
    /// join(). `sink` gets event::EndpointsFound on this directory's thread, without our own
    /// endpoint as far as it can be recognised. Errors: InputError (no seed, listen host not
    /// numeric), IoError (port in use).
    DhtDirectory(const DhtDirectoryOptions& options, EventSink sink);
    ~DhtDirectory() override;

    /// Asks the local routers by UPnP and NAT-PMP to forward a TCP port to `port` while this object
    /// lives (after a crash, a router forgets the mapping within an hour). Returns the router's
    /// port, which may be another number; nothing if no router agrees within `timeout` (most do
    /// not answer at all; a few seconds are enough). A later call sends no new request and only
    /// waits. The mapping may still not work: only a dial from outside proves it. Requires the same
    /// port in each call. Thread: any, one at a time; blocks.
    std::optional<std::uint16_t> map_port(std::uint16_t port, std::chrono::milliseconds timeout);
    /// Ends the mapping, so that the next map_port() asks the routers again, since one may have
    /// restarted; with `is_elsewhere` those of another network. Does nothing before map_port().
    /// Thread: as map_port().
    void unmap_port(bool is_elsewhere);

    /// Stores the swarm's head in the DHT, repeatedly while joined, until a newer one is given. For
    /// a backbone that holds the project's key. Thread: any.
    void publish(const wire::SwarmHead& head, const KeyPair& project);
    /// The newest head of the project that was found; nothing if none was. Thread: any.
    std::optional<wire::SwarmHead> head() const;

    /// Thread: any.
    void join(std::uint16_t port) override;
    void leave() override;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::net
