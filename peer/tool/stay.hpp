// One stay in a swarm with a synthetic gradient: everything wired together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"
#include "peer/formats/ticket.hpp"
#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/event_queue.hpp"
#include "peer/net/reactor.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "peer/tool/backbone_memory.hpp"
#include "peer/tool/hostile_transport.hpp"
#include "peer/tool/round_watch.hpp"
#include "peer/tool/step_log.hpp"
#include "peer/tool/synthetic_trainer.hpp"

namespace dedloc::tool {

struct StayOptions {
    Role role = Role::kTrainer;
    KeyPair key;
    std::vector<std::string> seeds;  ///< HOST:PORT each; nothing: those of the run file
    std::optional<Endpoint> listen;  ///< TCP; nothing: outbound-only
    bool maps_port = false;          ///< asks the router to let others dial it
    double samples_per_second = 0;
    std::uint64_t upload_bytes_per_second = 0;    ///< 0: not known
    std::uint64_t download_bytes_per_second = 0;  ///< 0: not known
    bool measures_bandwidth = true;
    bool checks = false;           ///< every average is computed again
    std::filesystem::path memory;  ///< of a backbone: votes and state; empty: nowhere
    bool is_quiet = false;
    std::optional<formats::SignedTicket> ticket;          ///< nothing: links prove nothing
    std::optional<hostile::Misbehaviour> misbehaviour{};  ///< not of a backbone; nothing: honest
};

/// Waits a little; true when it is time to stop.
using Pause = std::function<bool()>;

/// Not copyable. Thread: one.
class Stay final {
  public:
    /// Listens and joins nothing yet. `run` must outlive it. Errors: InputError (wrong key of a
    /// backbone, no seed, a ticket that is not good), IoError (port in use).
    Stay(const formats::RunFile& run, const StayOptions& options);
    ~Stay();
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

    /// Joins, and prints a line for each state reached, until the run is finished (a backbone stays
    /// for latecomers), `pause` says so, or something fails; then leaves the swarm and prints the
    /// last line. Errors: Error (refused, something of ours cannot go on).
    void wait_until_over(const Pause& pause);

  private:
    PeerConfig peer_config() const;
    net::TransportOptions transport_options() const;
    net::DhtDirectoryOptions directory_options() const;
    StepLogOptions log_options();
    SyntheticTrainerOptions trainer_options();
    EventSink reporting_sink();
    EventSink transport_sink();
    std::unique_ptr<SharedAdversary> adversary() const;
    void publish(const action::Settled& settled);

    const formats::RunFile& run_;
    const StayOptions options_;
    const std::optional<BackboneMemory> memory_;
    const kernels::ThisThread workers_{};
    net::EventQueue queue_;
    const std::unique_ptr<SharedAdversary> adversary_;  ///< null: honest
    RoundWatch watch_;
    StepLog log_;
    net::TcpTransport transport_;
    WatchedTransport watched_;
    std::optional<HostileTransport> hostile_;
    net::DhtDirectory directory_;
    SyntheticTrainer trainer_;
    std::optional<net::Reactor> reactor_;  ///< once it is known where others can dial
};

}  // namespace dedloc::tool
