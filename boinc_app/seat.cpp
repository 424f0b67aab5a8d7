#include "boinc_app/seat.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/state/run_state.hpp"

namespace dedloc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollInterval{200};

std::uint64_t unpredictable() {
    std::uint64_t value = 0;
    randombytes_buf(&value, sizeof(value));
    return value;
}

}  // namespace

Seat::Seat(const wire::RunFile& run, std::span<const wire::Shard> shards,
           const SeatOptions& options, VolunteerRuntime& runtime)
    : run_(run),
      options_(options),
      runtime_(runtime),
      key_(key_in(options.key)),
      journal_(options.journal, wire::run_id(run), key_.public_key()),
      events_(key_.public_key(), journal_),
      workers_(kernels::threads_within_reach(runtime.granted_cpus())),
      transport_(transport_options(), listening_sink()),
      directory_(directory_options(), queue_.sink()),
      trainer_(run, shards, workers_, trainer_options(), queue_.sink()),
      reactor_(peer_config(), key_, {queue_, transport_, directory_, trainer_, events_, workers_}) {
}

Seat::~Seat() {
    reactor_.stop();
}

PeerConfig Seat::peer_config() const {
    PeerConfig config;
    config.run = wire::run_id(run_);
    config.project = run_.project_key;
    config.backbone = run_.backbone_key;
    config.role = Role::kTrainer;
    config.result_name = runtime_.result_name();
    config.rules.elements = wire::element_count(run_);
    config.rules.target_batch = Samples{run_.target_batch};
    config.rules.last_step = StepIndex{run_.steps};
    config.random_seed = unpredictable();
    config.scalars_of = [settings = state::lamb_settings(run_)](StepIndex step) {
        return state::lamb_scalars(settings, step);
    };
    return config;
}

net::TransportOptions Seat::transport_options() const {
    net::TransportOptions options;
    const bool is_local =
        std::all_of(run_.dht_seeds.begin(), run_.dht_seeds.end(),
                    [](const Endpoint& seed) { return net::is_loopback_host(seed.host); });
    options.listen = options_.listen.value_or(Endpoint{is_local ? "127.0.0.1" : "0.0.0.0", 0});
    return options;
}

net::DhtDirectoryOptions Seat::directory_options() const {
    net::DhtDirectoryOptions options;
    options.run = wire::run_id(run_);
    for (const Endpoint& seed : run_.dht_seeds) options.seeds.push_back(seed.text());
    options.project = run_.project_key;
    return options;
}

EventSink Seat::listening_sink() {
    return [this](Event event) {
        if (std::holds_alternative<event::FrameReceived>(event)) events_.heard();
        queue_.post(std::move(event));
    };
}

training::SwarmTrainerOptions Seat::trainer_options() {
    return {.peer = key_.public_key(),
            .threads = runtime_.granted_cpus(),
            .failed = [this](const std::string& sentence) { events_.failed(sentence); }};
}

void Seat::obey(const HostWish& wish) {
    if (wish.is_suspended == is_away_) return;
    is_away_ = wish.is_suspended;
    if (is_away_) {
        log_info("suspended: leaving the swarm, within a second");
        reactor_.post(event::LeaveRequested{});
    } else {
        log_info("resumed: joining the swarm again");
        events_.heard();
        reactor_.post(event::ReturnRequested{});
    }
}

void Seat::report(const SeatNews& news) {
    // A new generation may take the swarm back; what was reported stands.
    furthest_ = std::max(furthest_, news.step);
    runtime_.report_progress(
        std::min(1.0, static_cast<double>(furthest_.value()) / static_cast<double>(run_.steps)));
    if (news.samples != reported_) runtime_.state_is_saved();
    reported_ = news.samples;
}

SeatEnd Seat::sit() {
    const auto begin = Clock::now();
    log_info("peer {} takes a seat in run {} ({}), {} threads, port {}", peer().brief(), run_.name,
             wire::run_id(run_).brief(), runtime_.granted_cpus(), transport_.listening_port());
    reactor_.start();
    for (;;) {
        const SeatNews news = events_.wait(kPollInterval);
        const HostWish wish = runtime_.wish();
        if (news.failure) throw Error{*news.failure};
        if (news.refusal) throw Error{fmt::format("the swarm refused us: {}", *news.refusal)};
        report(news);
        const bool is_lease_over =
            options_.lease.count() > 0 && Clock::now() - begin > options_.lease;
        const bool is_silent = !is_away_ && Clock::now() - news.last_heard > options_.silence;
        if (wish.must_quit || wish.is_aborted || news.is_finished || is_lease_over || is_silent) {
            reactor_.stop();
            if (news.is_finished) return SeatEnd::kDone;
            if (wish.must_quit || wish.is_aborted) return SeatEnd::kQuit;
            return is_lease_over ? SeatEnd::kDone : SeatEnd::kUnreachable;
        }
        obey(wish);
    }
}

Buffer Seat::receipt() const {
    return wire::encode_receipt({.run = wire::run_id(run_),
                                 .result_name = runtime_.result_name(),
                                 .peer = key_.public_key(),
                                 .lines = journal_.lines()},
                                key_);
}

}  // namespace dedloc
