// One stay in a swarm: joins, computes and averages until the run is finished or the volunteer's
// machine asks us to stop, then leaves in an orderly way.
#pragma once

#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "boinc_app/gpu.hpp"
#include "boinc_app/seat_events.hpp"
#include "boinc_app/slot_files.hpp"
#include "boinc_app/status_page.hpp"
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

/// The command line of one stay.
struct SeatOptions {
    std::filesystem::path key = "peer.key";             ///< secret key file, created if absent
    std::filesystem::path journal = "receipt_journal";  ///< file of ReceiptJournal
    /// Address to accept connections at. If absent, a free port: on loopback if all DHT seeds are
    /// on loopback, else on all interfaces.
    std::optional<Endpoint> listen;
    /// The volunteer has agreed that we ask the router to forward a port to us.
    bool maps_port = false;
    /// What computes, unless the BOINC client has given the job a GPU.
    DeviceChoice device{};
    /// Samples computed at once; 0: as suits this machine (training::suitable_micro_batch).
    std::uint64_t micro_batch = 0;
    /// The stay ends after this time, which includes earlier processes of the job; 0: never.
    std::chrono::seconds lease{0};
    /// A ticket from the command line, where no BOINC client can get one. A run without a gateway
    /// needs none.
    std::optional<formats::SignedTicket> ticket{};
    /// The swarm counts as unreachable when no frame has arrived for this long; also the timeout of
    /// the first ticket request.
    std::chrono::seconds failure_timeout{600};
    /// Least time between two messages that ask the project for credit.
    std::chrono::seconds message_interval{3'600};
    /// Called when a commit has counted samples of this stay, by the thread of run().
    std::function<void()> has_trained = [] {};
};

/// Why a stay has ended.
enum class SeatEnd {
    kDone,         ///< the run is finished, the lease is over or a ticket was refused: write the
                   ///< receipt
    kQuit,         ///< the volunteer's machine asks us to stop
    kUnreachable,  ///< no ticket, or no word from the swarm, for now: try again later
};

/// One stay in a swarm. Not copyable. Thread: main.
class Seat {
  public:
    /// `run`, `shards` and `runtime` must outlive it.
    /// Errors: InputError, IoError (bad files, key, journal; address in use), DeviceError.
    Seat(const formats::RunFile& run, std::span<const formats::Shard> shards,
         const SeatOptions& options, VolunteerRuntime& runtime);
    ~Seat();
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    /// Joins the swarm and returns when this peer has left it. Polls the runtime five times a
    /// second. While suspended, the peer is out of the swarm and computes nothing.
    /// Errors: Error when the gateway or the swarm refuses us or one of our threads fails,
    /// DeviceError when the GPU does.
    SeatEnd run();

    /// The signed list of all contributions of this key: the job's output file. Call after run().
    Buffer receipt() const;
    /// After kUnreachable: why, in one sentence for the volunteer.
    const std::string& why() const { return why_; }
    /// This peer's public key.
    PeerKey peer() const { return key_.public_key(); }

  private:
    DeviceChoice device() const;
    PeerConfig peer_config() const;
    /// Takes the bandwidths that BOINC has measured here as estimates until rounds measure them.
    void take_first_guess(PeerConfig& config) const;
    /// Null if the run has no gateway, or the ticket came from the command line.
    std::unique_ptr<TicketKeeper> ticket_keeper();
    /// Waits for the first ticket. Returns why the stay ends if none comes, else nothing.
    std::optional<SeatEnd> enrol();
    void settle_in(const formats::EnrolmentReply& reply);
    std::optional<SeatEnd> end_of_stay(const SeatNews& news, const HostWish& wish) const;
    net::TransportOptions transport_options() const;
    net::DhtDirectoryOptions directory_options() const;
    EventSink listening_sink();
    training::SwarmTrainerOptions trainer_options();
    /// Samples that the trainer computes at once.
    std::uint64_t micro_batch() const;
    /// Leaves the swarm when the host suspends us, and rejoins when it resumes us.
    void obey(const HostWish& wish);
    void report(const SeatNews& news);
    /// Keeps what the volunteer allows.
    void keep(const HostLimits& limits);
    /// Opens the status page, if a port can be had.
    void open_page();
    /// Shows on the status page what the seat does now.
    void show(std::string doing);
    std::string doing(const SeatNews& news) const;
    /// Called by the status page's thread.
    SeatPicture picture() const;
    double progress() const;
    /// Asks the project for credit from time to time, if there are new samples.
    void ask_for_credit(const SeatNews& news);

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
    const Compute compute_;                ///< its replica is used by the training thread only
    std::exception_ptr training_failure_;  ///< set before events_ hears of it
    training::SwarmTrainer trainer_;
    std::optional<net::Reactor> reactor_;          ///< started after the first ticket
    std::unique_ptr<TicketKeeper> tickets_;        ///< started after the port mapping
    std::chrono::steady_clock::time_point begin_;  ///< when run() began
    std::string why_ = "no other peer of the swarm can be reached";
    bool is_away_ = false;
    HostLimits kept_;   ///< as given to trainer and transport
    Samples reported_;  ///< the journal's samples at the last report
    Samples paid_for_;  ///< the journal's samples at the last message
    std::chrono::steady_clock::time_point last_message_ = std::chrono::steady_clock::now();
    StepIndex furthest_;
    double progress_ = 0;  ///< as reported
    mutable std::mutex picture_mutex_;
    SeatPicture picture_;               ///< under picture_mutex_; its history stays empty
    std::unique_ptr<StatusPage> page_;  ///< null: none; last, its thread reads the members above
};

}  // namespace dedloc
