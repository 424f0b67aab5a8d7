// One stay in a swarm: joins, does its work (worker.hpp) and averages until the run is
// finished or the volunteer's machine asks us to stop, then leaves in an orderly way.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "boinc_app/page/status_page.hpp"
#include "boinc_app/runtime/volunteer_runtime.hpp"
#include "boinc_app/seat/events.hpp"
#include "boinc_app/seat/reachability.hpp"
#include "boinc_app/seat/saver.hpp"
#include "boinc_app/seat/slot_files.hpp"
#include "boinc_app/seat/ticket_keeper.hpp"
#include "boinc_app/seat/upload.hpp"
#include "boinc_app/seat/worker.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/event_queue.hpp"
#include "peer/net/reactor.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "peer/platform/address_watch.hpp"

namespace dedloc::seat {

/// The command line of one stay.
struct Options {
    std::filesystem::path key = "peer.key";             ///< secret key file, created if absent
    std::filesystem::path journal = "receipt_journal";  ///< file of ReceiptJournal
    std::filesystem::path state = "saved_state";        ///< a trainer's file (saved_state.hpp)
    /// Address to accept connections at. If absent, the same port as at the last start with this
    /// key if it is free, else any free port: on loopback if all DHT seeds are on loopback, else on
    /// all interfaces, IPv4 and IPv6.
    std::optional<Endpoint> listen;
    /// The volunteer has agreed that we ask the router to forward a port to us.
    bool maps_port = false;
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
    /// Times between two ticket requests.
    TicketPace ticket_pace{};
    /// Called when a commit has counted work of this stay, by the thread of run().
    std::function<void()> has_worked = [] {};
};

/// Why a stay has ended.
enum class End {
    kDone,         ///< the run is finished, the lease is over or a ticket was refused: write the
                   ///< receipt
    kQuit,         ///< the volunteer's machine asks us to stop
    kUnreachable,  ///< no ticket, no word from the swarm, or an aggregator that cannot be dialled,
                   ///< for now: try again later
};

/// One stay in a swarm. Not copyable. Thread: main.
class Seat {
  public:
    /// `run` and `runtime` must outlive it. Calls `make_worker` once.
    /// Errors: InputError, IoError (bad files, key, journal; address in use), the worker's.
    Seat(const formats::RunFile& run, const MakeWorker& make_worker, const Options& options,
         runtime::VolunteerRuntime& runtime);
    ~Seat();
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    /// Joins the swarm and returns when this peer has left it. Polls the runtime five times a
    /// second. While suspended, the peer is out of the swarm and computes nothing.
    /// Errors: Error when the gateway or the swarm refuses us or one of our threads fails, the
    /// worker's own exception when that fails.
    End run();

    /// The signed list of all contributions of this key: the job's output file. Call after run().
    Buffer receipt() const;
    /// After kUnreachable: why, in one sentence for the volunteer.
    const std::string& why() const { return why_; }
    /// This peer's public key.
    PeerKey peer() const { return key_.public_key(); }

  private:
    PeerConfig peer_config() const;
    /// Null for an aggregator, which has no state.
    std::unique_ptr<Saver> make_saver();
    /// Begins where an earlier process of the job has saved its state, if that can be used.
    void take_saved_state(PeerConfig& config);
    void save_when_due(const News& news);
    /// Takes the bandwidths that BOINC has measured here as estimates until rounds measure them.
    void take_first_guess(PeerConfig& config) const;
    /// Null if the run has no gateway, or the ticket came from the command line.
    std::unique_ptr<TicketKeeper> ticket_keeper();
    /// Waits for the first ticket. Returns why the stay ends if none comes, else nothing.
    std::optional<End> enrol();
    /// Returns why the stay ends if this peer is of no use here, else nothing.
    std::optional<End> settle_in(const formats::EnrolmentReply& reply);
    /// Asks the gateway again whether this peer can be dialled if the network may be another one,
    /// and follows its answers. Returns why the stay ends if this peer is of no use any more.
    std::optional<End> stay_reachable();
    /// An aggregator that cannot be dialled is of no use.
    std::optional<End> end_of_aggregator();
    std::optional<End> end_of_stay(const News& news, const runtime::HostWish& wish) const;
    net::TransportOptions transport_options() const;
    net::DhtDirectoryOptions directory_options() const;
    EventSink listening_sink();
    WorkerParts worker_parts();
    bool is_aggregator() const { return worker_->role() == Role::kAggregator; }
    /// Leaves the swarm when the host suspends us, and rejoins when it resumes us.
    void obey(const runtime::HostWish& wish);
    void report(const News& news);
    /// Keeps what the volunteer allows.
    void keep(const runtime::HostLimits& limits);
    /// Opens the status page, if a port can be had.
    void open_page();
    /// Shows on the status page what the seat does now.
    void show(std::string doing);
    std::string doing(const News& news) const;
    /// Called by the status page's thread.
    page::Picture picture() const;
    double progress() const;
    /// Asks the project for credit from time to time, if there is new work.
    void ask_for_credit(const News& news);

    const formats::RunFile& run_;
    const Options options_;
    runtime::VolunteerRuntime& runtime_;
    const KeyPair key_;
    ReceiptJournal journal_;
    Events events_;
    const kernels::ThreadWorkers workers_;
    net::EventQueue queue_;
    net::TcpTransport transport_;
    net::DhtDirectory directory_;
    std::exception_ptr worker_failure_;             ///< set before events_ hears of it
    std::unique_ptr<Saver> saver_;                  ///< outlives the worker, which gives it copies
    std::unique_ptr<Upload> upload_;                ///< null for an aggregator
    std::atomic<bool> is_asked_for_state_ = false;  ///< the last ticket came with that
    const std::unique_ptr<Worker> worker_;
    std::optional<net::Reactor> reactor_;  ///< started after the first ticket
    Reachability reachability_;
    platform::AddressWatch addresses_;
    bool has_moved_ = false;                       ///< since the gateway's last answer
    std::uint64_t judged_ = 0;                     ///< tickets whose replies were judged
    std::unique_ptr<TicketKeeper> tickets_;        ///< uses reachability_
    std::chrono::steady_clock::time_point begin_;  ///< when run() began
    std::string why_ = "no other peer of the swarm can be reached";
    bool is_away_ = false;
    runtime::HostLimits kept_;  ///< as given to worker and transport
    Work reported_;             ///< what was counted at the last report
    Work paid_for_;             ///< what was counted at the last message
    std::chrono::steady_clock::time_point last_message_ = std::chrono::steady_clock::now();
    StepIndex furthest_;
    double progress_ = 0;  ///< as reported
    mutable std::mutex picture_mutex_;
    page::Picture picture_;  ///< under picture_mutex_; its history stays empty
    /// Null: none. The last member, since its thread reads those above.
    std::unique_ptr<page::StatusPage> page_;
};

}  // namespace dedloc::seat
