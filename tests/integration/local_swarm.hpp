// A swarm in one process, with everything real except BOINC: DHT seed, backbone and seats with
// their threads and sockets.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "boinc_app/seat/seat.hpp"
#include "boinc_app/training_worker.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/dht/dht_seed.hpp"
#include "peer/net/event_queue.hpp"
#include "peer/net/reactor.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "peer/run_config.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/state_keeper.hpp"
#include "tests/boinc_app/albert_of.hpp"
#include "tests/boinc_app/runtime/played_runtime.hpp"
#include "tests/boinc_app/tiny_world.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::test {

/// Samples that every seat computes at once.
inline constexpr std::uint64_t kMicroBatch = 4;

/// The backbone's host, which records its actions. Thread: any.
class Witness final : public net::Host {
  public:
    void perform(const HostAction& action) override {
        change([&] { std::visit([this](const auto& what) { on(what); }, action); });
    }
    void failed(const std::string& sentence) override {
        change([&] { failure_ = sentence; });
    }

    /// Waits until `condition(*this)` holds; false after `limit` or after a failure.
    template <class Condition>
    bool wait_for(std::chrono::seconds limit, Condition condition) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, limit, [&] { return condition(*this) || failure_; }) &&
               !failure_;
    }
    template <class Condition>
    bool wait(Condition condition) {
        return wait_for(std::chrono::seconds{90}, condition);
    }

    /// Commits so far.
    std::size_t commit_count() {
        const std::lock_guard lock(mutex_);
        return commits_.size();
    }

    // Read these inside wait's condition, or after everything has stopped.
    const std::vector<CommitRecord>& commits() const { return commits_; }
    const std::map<StepIndex, action::Settled>& settled_steps() const { return settled_; }
    const std::optional<action::Finished>& end() const { return finished_; }
    std::size_t seats() const { return seats_; }
    const std::vector<SeatView>& views() const { return views_; }

  private:
    void on(const action::Committed& commit) { commits_.push_back(commit.record); }
    void on(const action::Settled& settled) { settled_[settled.step] = settled; }
    void on(const action::SwarmSeen& swarm) {
        seats_ = swarm.seats.size();
        views_ = swarm.seats;
    }
    void on(const action::Finished& finished) { finished_ = finished; }
    void on(const action::Refused& refused) { failure_ = refused.reason; }
    void on(const auto&) {}
    template <class Change>
    void change(Change what) {
        const std::lock_guard lock(mutex_);
        what();
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<CommitRecord> commits_;
    std::map<StepIndex, action::Settled> settled_;
    std::optional<action::Finished> finished_;
    std::optional<std::string> failure_;
    std::size_t seats_ = 0;
    std::vector<SeatView> views_;
};

/// The additional parts of a project with a gateway.
struct TicketedProject {
    const KeyPair& key;
    /// Gets all events of the backbone's transport. Thread: the transport's.
    EventSink overhear;

    /// Issues a ticket for a day.
    formats::SignedTicket ticket_for(const PeerKey& peer, const RunId& run) const {
        const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
        return formats::sign({.run = run,
                              .peer = peer,
                              .job = {.user = 1, .host = 1, .result = 1},
                              .issued = now,
                              .expires = now + std::chrono::hours{24}},
                             key);
    }
};

/// The project's side: DHT seed and backbone.
class LocalBackbone {
  public:
    /// Completes the run file with its keys and addresses. With a `project` all links need tickets.
    /// A bandwidth in `link` is announced instead of what rounds measure.
    LocalBackbone(formats::RunFile& run, Witness& witness, const TicketedProject* project = nullptr,
                  const runtime::HostLimits& link = {})
        : project_(project),
          link_(link),
          seed_({.listen = {"127.0.0.1", 0}, .address = {}, .state_file = {}}),
          run_(complete(run)),
          store_(folder_.path() / "checkpoints", formats::run_id(run_), 1),
          transport_(transport_options(), transport_sink()),
          directory_(directory_options(), queue_.sink()),
          keeper_(initial_state(), store_, workers_, keeper_options(witness)),
          reactor_(config(), key_, {queue_, transport_, directory_, keeper_, witness, workers_}) {
        reactor_.start();
    }
    ~LocalBackbone() { reactor_.stop(); }
    LocalBackbone(const LocalBackbone&) = delete;
    LocalBackbone& operator=(const LocalBackbone&) = delete;

  private:
    const formats::RunFile& complete(formats::RunFile& run) {
        if (project_ != nullptr) run.project_key = project_->key.public_key();
        run.backbone_key = key_.public_key();
        run.dht_seeds = {{"127.0.0.1", seed_.port()}};
        return run;
    }
    net::TransportOptions transport_options() const {
        net::TransportOptions options;
        options.listen = Endpoint{"127.0.0.1", 0};
        if (project_ == nullptr) return options;
        const RunId run = formats::run_id(run_);
        options.session =
            net::SessionOptions{.project = run_.project_key,
                                .run = run,
                                .key = key_,
                                .ticket = project_->ticket_for(key_.public_key(), run),
                                .encrypts = run_.encrypts};
        return options;
    }
    EventSink transport_sink() {
        if (project_ == nullptr) return queue_.sink();
        return [this](Event event) {
            project_->overhear(event);
            queue_.post(std::move(event));
        };
    }
    net::DhtDirectoryOptions directory_options() const {
        net::DhtDirectoryOptions options;
        options.run = formats::run_id(run_);
        options.seeds = {run_.dht_seeds.front().text()};
        return options;
    }
    std::unique_ptr<state::ModelState> initial_state() const {
        auto state = std::make_unique<state::ModelState>(state::tensor_ranges(run_),
                                                         state::optimizer_settings(run_));
        state->initialise(state::initial_parameters(run_));
        return state;
    }
    backbone::KeeperOptions keeper_options(Witness& witness) {
        backbone::KeeperOptions options;
        options.last_step = StepIndex{run_.steps};
        options.events = queue_.sink();
        options.on_checkpoint = [] {};
        options.on_failure = [&witness](const std::string& sentence) { witness.failed(sentence); };
        return options;
    }
    PeerConfig config() const {
        PeerConfig config = peer_config(run_);
        config.backbone = key_.public_key();
        config.role = Role::kBackbone;
        config.voter = first_memory(0, true);
        config.random_seed = 1;
        config.upload = link_.upload;
        config.download = link_.download;
        config.measures_bandwidth = !link_.upload;
        return config;
    }

    const TicketedProject* const project_;
    const runtime::HostLimits link_;
    const KeyPair key_ = KeyPair::generate();
    TemporaryDirectory folder_;
    net::DhtSeed seed_;
    const formats::RunFile run_;
    backbone::CheckpointStore store_;
    const kernels::ThreadWorkers workers_{2};
    net::EventQueue queue_;
    net::TcpTransport transport_;
    net::DhtDirectory directory_;
    backbone::StateKeeper keeper_;
    net::Reactor reactor_;
};

/// A slot that outlives its seat, as that of a job that is started again.
struct LastingSlot {
    std::filesystem::path folder;
    runtime::HostLimits limits{};  ///< the seat's
};

/// A seat with a main thread of its own.
class LocalSeat {
  public:
    /// A trainer's.
    LocalSeat(const formats::RunFile& run, std::span<const formats::Shard> shards,
              const std::string& name, const std::optional<runtime::Account>& account = {},
              const runtime::HostLimits& limits = {}, std::optional<unsigned> gpu = {})
        : LocalSeat(run,
                    training_worker(run, albert_task(run, shards), {.micro_batch = kMicroBatch}),
                    name, account, limits, gpu) {}
    LocalSeat(const formats::RunFile& run, const seat::MakeWorker& make_worker,
              const std::string& name, const std::optional<runtime::Account>& account = {},
              const runtime::HostLimits& limits = {}, std::optional<unsigned> gpu = {})
        : runtime_(name, account, limits, gpu),
          seat_(run, make_worker, options_in(folder_.path()), runtime_),
          main_([this] { run_main(); }) {}
    /// A trainer's.
    LocalSeat(const formats::RunFile& run, std::span<const formats::Shard> shards,
              const std::string& name, const LastingSlot& slot)
        : runtime_(name, {}, slot.limits, {}),
          seat_(run, training_worker(run, albert_task(run, shards), {.micro_batch = kMicroBatch}),
                options_in(slot.folder), runtime_),
          main_([this] { run_main(); }) {}
    ~LocalSeat() {
        runtime_.ask_to_quit();
        if (main_.joinable()) main_.join();
    }
    LocalSeat(const LocalSeat&) = delete;
    LocalSeat& operator=(const LocalSeat&) = delete;

    PlayedRuntime& runtime() { return runtime_; }
    PeerKey peer() const { return seat_.peer(); }
    /// Waits until the seat has left.
    seat::Seat& ended() {
        if (main_.joinable()) main_.join();
        return seat_;
    }
    /// Call after ended().
    std::optional<seat::End> end() const { return end_; }

  private:
    static seat::Options options_in(const std::filesystem::path& slot) {
        return {.key = slot / "peer.key",
                .journal = slot / "journal",
                .state = slot / "saved_state",
                .listen = {}};
    }
    void run_main() {
        try {
            end_ = seat_.run();
        } catch (const std::exception&) {
            end_.reset();
        }
    }

    TemporaryDirectory folder_;
    PlayedRuntime runtime_;
    seat::Seat seat_;
    std::optional<seat::End> end_;
    std::thread main_;
};

}  // namespace dedloc::test
