// One stay in a swarm: joins, computes and averages until the run is over or the volunteer's
// machine wants us out, and leaves politely.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "boinc_app/seat_events.hpp"
#include "boinc_app/slot_files.hpp"
#include "boinc_app/ticket_keeper.hpp"
#include "boinc_app/training/swarm_trainer.hpp"
#include "boinc_app/volunteer_runtime.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"
#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/event_queue.hpp"
#include "peer/net/reactor.hpp"
#include "peer/net/tcp/tcp_transport.hpp"

namespace dedloc {

struct SeatOptions {
    std::filesystem::path key = "peer.key";
    std::filesystem::path journal = "receipt_journal";
    /// Where peers can dial us; nothing: loopback if all DHT seeds are there, else all interfaces.
    std::optional<Endpoint> listen;
    /// The volunteer has agreed that the router is asked to let others dial us.
    bool maps_port = false;
    /// The seat is given up after this time; 0: never.
    std::chrono::seconds lease{0};
    /// Of the project, where no BOINC client speaks for us. A run without a gateway wants none.
    std::optional<formats::SignedTicket> ticket{};
    /// Nobody heard for so long: the swarm cannot be reached.
    std::chrono::seconds failure_timeout{600};
};

enum class SeatEnd {
    kDone,         ///< the run is finished or the lease is over: bring the receipt home
    kQuit,         ///< the volunteer's machine wants us to stop
    kUnreachable,  ///< no swarm there: come back later
};

/// Not copyable. Thread: main.
class Seat {
  public:
    /// `run`, `shards` and `runtime` must outlive it.
    /// Errors: InputError, IoError (bad files, key, journal; address in use).
    Seat(const formats::RunFile& run, std::span<const formats::Shard> shards,
         const SeatOptions& options, VolunteerRuntime& runtime);
    ~Seat();
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    /// Returns when the stay is over and the swarm has been left. Polls the runtime five times a
    /// second: suspended means that we have left the swarm and compute nothing.
    /// Errors: Error, when the swarm refuses us or a thread of ours cannot go on.
    SeatEnd run();

    /// Everything this key has contributed, signed: the job's output file. After run().
    Buffer receipt() const;
    PeerKey peer() const { return key_.public_key(); }

  private:
    PeerConfig peer_config() const;
    /// What BOINC has measured here, until real rounds say better.
    void take_first_guess(PeerConfig& config) const;
    /// Nothing where the run has no gateway, or the ticket is in our hands already.
    std::unique_ptr<TicketKeeper> ticket_keeper();
    /// Waits for the first ticket. How the stay ends if there will be none.
    std::optional<SeatEnd> enrol();
    void settle_in(const formats::EnrolmentReply& reply);
    std::optional<SeatEnd> end_of_stay(const SeatNews& news, const HostWish& wish) const;
    net::TransportOptions transport_options() const;
    net::DhtDirectoryOptions directory_options() const;
    EventSink listening_sink();
    training::SwarmTrainerOptions trainer_options();
    /// Leaves and returns as the host wishes.
    void obey(const HostWish& wish);
    void report(const SeatNews& news);

    const formats::RunFile& run_;
    const SeatOptions options_;
    VolunteerRuntime& runtime_;
    const KeyPair key_;
    ReceiptJournal journal_;
    SeatEvents events_;
    const kernels::ThreadWorkers workers_;
    net::EventQueue queue_;
    net::TcpTransport transport_;
    net::DhtDirectory directory_;
    training::SwarmTrainer trainer_;
    std::optional<net::Reactor> reactor_;          ///< once there is a ticket
    std::unique_ptr<TicketKeeper> tickets_;        ///< once it is known where others can dial
    std::chrono::steady_clock::time_point begin_;  ///< of run()
    bool is_away_ = false;
    Samples reported_;
    StepIndex furthest_;
};

}  // namespace dedloc
