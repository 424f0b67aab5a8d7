// One stay of a synthetic peer in a swarm, from joining to leaving: wires all parts together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/thread_workers.hpp"
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

/// Parameters of a stay.
struct StayOptions {
    Role role = Role::kTrainer;      ///< kBackbone needs the run's backbone key
    KeyPair key;                     ///< this peer's key
    std::vector<std::string> seeds;  ///< HOST:PORT of DHT seeds; empty: those of the run file
    std::optional<Endpoint> listen;  ///< TCP; nothing: outbound-only
    bool maps_port = false;          ///< asks the router to forward the port
    std::size_t max_links = net::kDefaultLinks;  ///< TransportOptions::max_links
    std::string congestion{};                    ///< TransportOptions::congestion
    std::size_t connections = net::kMaxFlows;    ///< TransportOptions::max_flows
    std::size_t threads = 1;            ///< for digests and updates; 0: as many as can run at once
    double samples_per_second = 0;      ///< speed of the trainer; 0: computes nothing
    std::optional<Bandwidth> upload{};  ///< PeerConfig::upload
    std::optional<Bandwidth> download{};  ///< PeerConfig::download
    bool measures_bandwidth = true;       ///< false: the two bandwidths are exact
    bool checks = false;                  ///< verifies every average
    std::filesystem::path memory;         ///< folder of a backbone's memory; empty: not kept
    bool is_quiet = false;                ///< prints no line for each step
    std::optional<formats::SignedTicket> ticket;          ///< nothing: links prove nothing
    std::optional<hostile::Misbehaviour> misbehaviour{};  ///< nothing: honest; not for a backbone
    std::uint32_t intensity = 1;                          ///< AdversarySettings::intensity
};

/// Waits for a short time; returns true when the stay should end.
using Pause = std::function<bool()>;

/// Not copyable. Thread: one.
class Stay final {
  public:
    /// Opens the port and starts the trainer; joins nothing yet. `run` must outlive it. Errors:
    /// InputError (wrong key, no seed, invalid ticket), IoError (port in use).
    Stay(const formats::RunFile& run, const StayOptions& options);
    /// Leaves the swarm if wait_until_over() has thrown.
    ~Stay();
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

    /// Joins the swarm and prints a line for each state reached. Ends when the run is finished (not
    /// for a backbone, which latecomers need), when `pause` returns true, or after a failure; then
    /// leaves the swarm and prints the last line. Errors: Error (refused by the swarm, or a failure
    /// of this process).
    void wait_until_over(const Pause& pause);

  private:
    PeerConfig peer_config() const;
    net::TransportOptions transport_options() const;
    net::DhtDirectoryOptions directory_options() const;
    StepLogOptions log_options();
    SyntheticTrainerOptions trainer_options();
    EventSink reporting_sink();
    EventSink peer_sink();
    std::unique_ptr<SharedAdversary> adversary() const;
    void publish(const action::Settled& settled);

    const formats::RunFile& run_;
    const StayOptions options_;
    const std::optional<BackboneMemory> memory_;
    const kernels::ThreadWorkers workers_;  ///< shared by the trainer and the network thread
    net::EventQueue queue_;
    const std::unique_ptr<SharedAdversary> adversary_;  ///< null: honest
    RoundWatch watch_;
    StepLog log_;
    net::TcpTransport transport_;
    WatchedTransport watched_;
    std::optional<HostileTransport> hostile_;
    net::DhtDirectory directory_;
    SyntheticTrainer trainer_;
    std::optional<net::Reactor> reactor_;  ///< created once the port for other peers is known
};

}  // namespace dedloc::tool
