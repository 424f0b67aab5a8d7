// Directory over the project's own DHT (see dht_seed.hpp): a peer announces its TCP port under the
// run's info-hash and asks who else did. An announcement outlives its peer by up to 45 minutes:
// what is found is worth a dial, no more.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/net/directory.hpp"
#include "peer/trainer.hpp"

namespace dedloc::net {

struct DhtDirectoryOptions {
    RunId run;
    std::vector<std::string> seeds;  ///< "host:port" each, as in the run file
    /// UDP, numeric host. Without a host: loopback if all seeds are, else every interface.
    Endpoint listen;
};

class DhtDirectory final : public Directory {
  public:
    /// Starts the node, which begins to know others; announces and asks nothing before join. `sink`
    /// gets event::EndpointsFound on a thread of this directory, without our own endpoint as far as
    /// it can be recognised. Errors: InputError (no seed, listen host not numeric), IoError (port
    /// in use).
    DhtDirectory(const DhtDirectoryOptions& options, EventSink sink);
    ~DhtDirectory() override;

    /// (most say nothing at all; a few seconds are enough). It may lie: only a dial from outside
    /// this object lives. True once a router has agreed; false if none does so within `patience`
    /// (most say nothing at all; a few seconds are enough). It may lie: only a dial from outside
    /// shows that it works. Thread: any; waits.
    bool map_port(std::uint16_t port, std::chrono::milliseconds patience);

    /// Thread: any.
    void join(std::uint16_t port) override;
    void leave() override;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::net
