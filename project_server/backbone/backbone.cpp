// The members are built in the order of their dependence. Opening the ledger replays it into the
// states, the history and the live picture; only then can the newest checkpoint that the ledger
// leads to be found and loaded. The reactor comes last and starts, and the command socket opens
// when everything answers; stop() goes the other way round. Other threads reach the protocol only
// by events in queue_. poll_mutex_ lets one thread at a time use voters_, and pause_mutex_ lets one
// order at a time change the pause.
#include "project_server/backbone/backbone.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <mutex>
#include <utility>

#include "kernels/thread_workers.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/dht/dht_seed.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/net/event_queue.hpp"
#include "peer/net/reactor.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "peer/platform/clock.hpp"
#include "peer/run_config.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/commands.hpp"
#include "project_server/backbone/history_reader.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/ledger_history.hpp"
#include "project_server/backbone/ledger_states.hpp"
#include "project_server/backbone/live_run.hpp"
#include "project_server/backbone/next_mixture.hpp"
#include "project_server/backbone/pause_file.hpp"
#include "project_server/backbone/remote_suspicions.hpp"
#include "project_server/backbone/revocation_watch.hpp"
#include "project_server/backbone/round_log.hpp"
#include "project_server/backbone/run_recorder.hpp"
#include "project_server/backbone/state_keeper.hpp"
#include "project_server/backbone/voter_memory.hpp"
#include "project_server/backbone/voters_watch.hpp"
#include "project_server/control/sockets.hpp"
#include "project_server/run_sources.hpp"
#include "project_server/signed_revocations.hpp"

namespace dedloc::backbone {
namespace {

/// Validity of the backbone's own ticket, which is renewed every few minutes.
constexpr std::chrono::hours kOwnTicketLife{24};
constexpr std::chrono::hours kTicketWarning{24 * 30};
/// How often the peer gets the address of the run's own backbone.
constexpr std::chrono::seconds kNameBackboneEvery{10};
/// Commands that are carried out at the same time: one may wait for a checkpoint.
constexpr std::size_t kCommandThreads = 3;
constexpr std::chrono::seconds kPauseLimit{4};
constexpr std::chrono::minutes kCheckpointLimit{5};

struct Start {
    std::unique_ptr<state::ModelState> state;
    bool is_held = true;  ///< false: zeros, because only the members have the run's state
};

/// The state of the newest checkpoint that the ledger leads to, else the run's initial state.
Start starting_state(const RunFolder& run, const CheckpointStore& store, const Head& head) {
    auto state = std::make_unique<state::ModelState>(state::tensor_ranges(run.run),
                                                     state::optimizer_settings(run.run));
    const auto found = store.newest(state->element_count(), [&](const Checkpoint& checkpoint) {
        const bool is_other_start = checkpoint.head.step == StepIndex{0} && run.run.initial_state &&
                                    checkpoint.head.digest != *run.run.initial_state;
        return !is_other_start &&
               state->restore(checkpoint.head.step, checkpoint.state, checkpoint.head.digest);
    });
    if (!found && run.run.initial_state) {
        if (run.is_own_backbone() && head.step == StepIndex{0}) {
            throw InputError(fmt::format(
                "the run {} starts from the state {}, which is in no file of {}: create it again",
                run.run.name, run.run.initial_state->brief(), run.checkpoints().string()));
        }
        log_info("run {} ({}): the state comes from the members", run.run.name, run.id.brief());
        return {.state = std::move(state), .is_held = false};
    }
    if (!found) state->initialise(state::initial_parameters(run.run));
    if (head.step > state->step()) {
        log_warning(
            "The ledger ends at step {}, the newest checkpoint at {}: the steps in between come "
            "from the members",
            head.step.value(), state->step().value());
    }
    log_info("run {} ({}): starting at step {} of {}, {} parameters", run.run.name, run.id.brief(),
             state->step().value(), run.run.steps, formats::parameter_count(run.run));
    return {.state = std::move(state)};
}

PeerConfig peer_config(const RunFolder& run, const LedgerWriter& ledger) {
    PeerConfig config = dedloc::peer_config(run.run);
    config.pause = read_pause(run.pause(), run.id, run.run.project_key);
    config.mixture = server::read_mixture(run.mixture(), run.run);
    config.role = Role::kBackbone;
    config.may_begin_generations = run.project_key.has_value();
    config.generation = ledger.generation();
    config.last_decision = ledger.last_decision();
    config.last_settled = ledger.last_settled();
    config.voter = voter_memory(run, ledger);
    return config;
}

/// Warns of the end of an appointment's ticket while there is time to appoint another voter.
void warn_if_ending(const formats::Ticket& ticket) {
    const auto left = ticket.expires - platform::utc_now();
    if (left > kTicketWarning) return;
    log_warning("this voter's ticket {} in {} days: let the project appoint a new voter",
                left.count() > 0 ? "ends" : "has ended",
                std::chrono::duration_cast<std::chrono::hours>(left).count() / 24);
}

/// The ticket of the appointment; the run's own backbone signs one with the project's key.
formats::SignedTicket own_ticket(const RunFolder& run) {
    if (run.settings) return run.settings->ticket;
    if (!run.project_key) {
        throw InputError(
            fmt::format("the members of {} need tickets, and the project's key, which "
                        "signs this backbone's ticket, is not here.",
                        run.run.name));
    }
    const auto now = platform::utc_now();
    const formats::Ticket ticket{.run = run.id,
                                 .peer = run.key.public_key(),
                                 .job = {},
                                 .issued = now,
                                 .expires = now + kOwnTicketLife};
    return formats::sign(ticket, *run.project_key);
}

net::TransportOptions transport_options(const RunFolder& run, const BackboneOptions& options) {
    net::TransportOptions transport;
    transport.listen = options.listen;
    transport.max_links = options.max_links;
    if (run.run.gateway.empty()) return transport;
    transport.session = net::SessionOptions{.project = run.run.project_key,
                                            .ticket_key = run.run.ticket_key,
                                            .run = run.id,
                                            .key = run.key,
                                            .ticket = own_ticket(run),
                                            .encrypts = run.run.encrypts};
    return transport;
}

/// Listen address of the DHT session; empty: the directory chooses one by its seeds.
Endpoint directory_listen(const BackboneOptions& options) {
    const bool is_open = options.dht_listen && !net::is_dialable_host(options.dht_listen->host);
    return is_open ? Endpoint{options.dht_listen->host, 0} : Endpoint{};
}

/// The seed of this process comes first: behind a NAT its public name may not lead back here.
std::vector<std::string> seeds_of(const RunFolder& run, const BackboneOptions& options) {
    if (run.settings) return run.settings->seeds;
    std::vector<std::string> seeds;
    if (!directory_listen(options).host.empty()) {
        seeds.push_back(Endpoint{"127.0.0.1", options.dht_listen->port}.text());
    }
    for (const auto& endpoint : run.run.dht_seeds) seeds.push_back(endpoint.text());
    return seeds;
}

std::optional<Endpoint> backbone_of(const RunFolder& run) {
    if (!run.settings || run.settings->backbone.empty()) return std::nullopt;
    return net::resolve_endpoint(run.settings->backbone);
}

}  // namespace

/// Members are in the order in which they depend on one another.
class Backbone::Impl {
  public:
    Impl(RunFolder run, BackboneOptions options)
        : run_(std::move(run)),
          options_(std::move(options)),
          store_(run_.checkpoints(), run_.id, options_.keep_checkpoints,
                 [this](const formats::CheckpointHead& head) { return states_.judge(head); }),
          history_(run_.ledger(), owner()),
          live_(run_.run, read_pause(run_.pause(), run_.id, run_.run.project_key),
                server::read_mixture(run_.mixture(), run_.run)),
          ledger_(run_.ledger(), owner(),
                  [this](const LedgerRecord& record, const LedgerReader::Place& after) {
                      states_.take(record);
                      history_.take(record, after);
                      live_.take(record);
                  }),
          recorder_(make_recorder()),
          remote_suspicions_(make_remote_suspicions()),
          workers_(kernels::threads_within_reach(options_.threads)),
          seed_(make_seed()),
          transport_(transport_options(run_, options_), queue_.sink()),
          revocations_(
              {.database = run_.settings ? std::nullopt : options_.database,
               .pending = run_.pending_revocations(),
               .publish = [this](const formats::Revocations& all) { publish_revocations(all); }}),
          directory_({.run = run_.id,
                      .seeds = seeds_of(run_, options_),
                      .listen = directory_listen(options_),
                      .project = run_.run.project_key},
                     queue_.sink()),
          backbone_(backbone_of(run_)),
          voters_(run_.wanted_voters(), ledger_.head(), queue_.sink()),
          keeper_(make_keeper()),
          reader_(history_, queue_.sink()),
          host_(ledger_, reader_, store_, recorder_.get(), log_options()),
          reactor_(peer_config(run_, ledger_), run_.key,
                   {queue_, transport_, directory_, keeper_, host_, workers_}) {
        reactor_.start();
        log_info("this voter is {}; members dial {}", run_.key.public_key().brief(),
                 Endpoint{options_.listen.host, transport_.listening_port()}.text());
        if (seed_) {
            log_info("the DHT seed answers at {}",
                     Endpoint{options_.dht_listen->host, seed_->port()}.text());
        }
        if (run_.settings) warn_if_ending(run_.settings->ticket.ticket);
        if (recorder_) recorder_->pause_changed(is_paused(live_.pause()));
        poll();
        live_.open(sockets_.path(control::kEventsSocket));
        commands_ = std::make_unique<control::Replier>(
            sockets_.path(control::kCommandsSocket), kCommandThreads,
            [handlers = handlers()](const std::string& request) {
                return answer(request, handlers);
            });
    }
    ~Impl() { stop(); }

    void maintain() {
        if (seed_) seed_->save();
        if (!run_.run.gateway.empty() && !run_.settings) transport_.present(own_ticket(run_));
    }
    void poll() {
        revocations_.poll(platform::utc_now());
        const std::lock_guard lock{poll_mutex_};
        const auto now = std::chrono::steady_clock::now();
        if (run_.project_key) voters_.poll(now);
        if (remote_suspicions_) remote_suspicions_->poll();
        if (!backbone_ || now < name_backbone_) return;
        name_backbone_ = now + kNameBackboneEvery;
        queue_.post(event::EndpointsFound{{*backbone_}});
    }
    std::uint16_t port() const { return transport_.listening_port(); }

    void stop() {
        commands_.reset();
        reactor_.stop();
        reader_.stop();
        keeper_.stop();
        remote_suspicions_.reset();
        if (recorder_) recorder_->stop();
    }

  private:
    LedgerOwner owner() const { return {run_.id, run_.run.backbone_key}; }
    std::unique_ptr<net::DhtSeed> make_seed() const {
        if (!options_.dht_listen) return nullptr;
        return std::make_unique<net::DhtSeed>(net::DhtSeedOptions{
            .listen = *options_.dht_listen, .address = "", .state_file = run_.dht_nodes()});
    }
    std::unique_ptr<RunRecorder> make_recorder() {
        if (!options_.database) return nullptr;
        return std::make_unique<RunRecorder>(RecorderOptions{.database = *options_.database,
                                                             .run_name = run_.run.name,
                                                             .run = run_.id,
                                                             .backbone = run_.run.backbone_key,
                                                             .ledger = run_.ledger(),
                                                             .codec = run_.run.codec},
                                             store_);
    }
    std::unique_ptr<RemoteSuspicions> make_remote_suspicions() {
        if (!recorder_ || run_.settings) return nullptr;
        return std::make_unique<RemoteSuspicions>(
            run_.folder,
            [this](const control::Suspicion& suspicion) { recorder_->suspected(suspicion); });
    }
    CommandHandlers handlers() {
        return {.snapshot = [this] { return live_.picture(); },
                .set_paused = [this](bool is_paused,
                                     const auto& order) { return set_paused(is_paused, order); },
                .mix = [this](const control::Mix& wanted) { return mix(wanted); },
                .add_source = [this](const Digest& source) { return add_source(source); },
                .checkpoint = [this]() -> std::optional<std::uint64_t> {
                    const auto step = keeper_.checkpoint(kCheckpointLimit);
                    return step ? std::optional{step->value()} : std::nullopt;
                },
                .read_voters = [this] { poll_voters(); },
                .revoke =
                    [this](const control::Revocation& named) {
                        revocations_.revoke(named, platform::utc_now());
                    },
                .forgive =
                    [this](const control::Revocation& named) {
                        revocations_.forgive(named, platform::utc_now());
                    }};
    }
    control::RunState set_paused(bool is_paused, const std::optional<SignedPause>& order) {
        const std::lock_guard lock{pause_mutex_};
        if (order) {
            check_order(*order, is_paused);
            queue_.post(event::PauseSigned{*order});
        } else if (!run_.project_key) {
            throw InputError("only the backbone that has the project's key pauses a run");
        } else if (const auto next =
                       next_pause(live_.pause(), is_paused, run_.id, *run_.project_key)) {
            queue_.post(event::PauseSigned{*next});
        }
        return live_.await_pause(is_paused, kPauseLimit);
    }
    std::optional<std::uint64_t> mix(const control::Mix& wanted) {
        if (!run_.project_key) {
            throw InputError("only the backbone that has the project's key changes a mixture");
        }
        const std::lock_guard lock{pause_mutex_};
        const auto last = live_.mixture();
        const control::Snapshot now = live_.picture();
        const std::uint64_t decided = now.recent.empty() ? 0 : now.recent.back().step;
        const StepIndex step{std::max(now.progress.step, decided)};
        const SignedMixture next = next_mixture(last.as_signed, last.in_force,
                                                {.weights = wanted.weights, .from = wanted.from},
                                                step, run_.run, *run_.project_key);
        queue_.post(event::MixtureSigned{std::make_shared<const SignedMixture>(next)});
        if (!live_.await_mixture(next.version, kPauseLimit)) return std::nullopt;
        return next.changes.back().from.value();
    }
    bool add_source(const Digest& source) {
        if (!run_.project_key) {
            throw InputError("only the backbone that has the project's key adds a source");
        }
        const std::lock_guard lock{pause_mutex_};
        const auto last = live_.mixture();
        const auto next = next_addition(last.as_signed, last.in_force, source, run_.folder,
                                        run_.run, *run_.project_key);
        if (!next) return true;
        queue_.post(event::MixtureSigned{std::make_shared<const SignedMixture>(*next)});
        return live_.await_mixture(next->version, kPauseLimit);
    }
    void check_order(const SignedPause& order, bool is_paused) const {
        if (is_paused_at(order.count) != is_paused ||
            !is_signed(run_.id, run_.run.project_key, order)) {
            throw InputError("the project has not signed this order");
        }
        const auto known = live_.pause();
        if (known && known->count > order.count) {
            throw InputError("the project has given a later order");
        }
    }
    void poll_voters() {
        const std::lock_guard lock{poll_mutex_};
        if (run_.project_key) voters_.poll(std::chrono::steady_clock::now());
    }
    RoundLogOptions log_options() {
        return {
            .run = run_.id,
            .last_step = StepIndex{run_.run.steps},
            .voter = run_.voter(),
            .pause = run_.pause(),
            .mixture = run_.mixture(),
            .live = &live_,
            .project_key = run_.project_key,
            .events = queue_.sink(),
            .begun = [this](const GenerationRecord& record) { voters_.begun(record); },
            .revocations_heard = [this](const Buffer& list) { hear_revocations(list); },
            .publish = [this](const action::Settled& settled,
                              const std::vector<Endpoint>& others) { publish(settled, others); },
            .on_failure = options_.on_failure,
            .pause_run = [this] { pause_run(); }};
    }
    /// Not while an administrator's order is under way: its thread waits for this one.
    void pause_run() {
        const std::unique_lock lock{pause_mutex_, std::try_to_lock};
        if (!lock) return;
        if (const auto next = next_pause(live_.pause(), true, run_.id, *run_.project_key)) {
            queue_.post(event::PauseSigned{*next});
        }
    }
    /// Ends the links of those revoked. The backbone with the project's key signs each change for
    /// the other voters and the gateway; `all` comes every two seconds.
    void publish_revocations(const formats::Revocations& all) {
        transport_.revoke(all);
        if (!run_.project_key) return;
        formats::Revocations entries = all;
        entries.as_of = {};
        const bool is_told = entries == told_revocations_;
        if (is_told && is_list_stored_) return;
        if (all.size() > wire::kMaxRevocations) {
            return log_warning(
                "voters on other machines are not told of {} revocations until the database has "
                "the new ones",
                all.size());
        }
        const auto list = formats::sign(all, *run_.project_key);
        store_revocations(list);
        if (is_told) return;
        told_revocations_ = std::move(entries);
        queue_.post(event::RevocationsSigned{encode(list)});
    }
    /// Writes the list that the gateway hands out: it has no key to sign one. After a failure the
    /// next list is written, two seconds later.
    void store_revocations(const formats::SignedRevocations& list) {
        if (run_.settings) return;  // there is no gateway at a voter on another machine
        try {
            server::write_signed_revocations(run_.folder, list);
            is_list_stored_ = true;
            is_list_lost_ = false;
        } catch (const IoError& error) {
            is_list_stored_ = false;
            if (std::exchange(is_list_lost_, true)) return;
            log_error("the gateway gets no new revocations: {}", error.what());
        }
    }
    void hear_revocations(const Buffer& list) {
        if (!run_.settings) return;  // this backbone reads them itself
        const auto heard = formats::decode_revocations(list);
        if (!heard || !formats::is_signed_by(run_.run.project_key, *heard)) {
            return log_warning("a voter has sent revocations that the project has not signed");
        }
        revocations_.hear(heard->revocations, platform::utc_now());
    }
    /// Publishes the run's head in the DHT.
    void publish(const action::Settled& settled, const std::vector<Endpoint>& others) {
        Endpoint here{options_.listen.host, transport_.listening_port()};
        if (!net::is_dialable_host(here.host)) here.host = options_.public_host;
        std::vector<Endpoint> voters{here};
        voters.insert(voters.end(), others.begin(), others.end());
        directory_.publish(net::head_of(run_.id, settled, voters), *run_.project_key);
    }
    StateKeeper make_keeper() {
        Start start = starting_state(run_, store_, ledger_.head());
        return StateKeeper{std::move(start.state), store_, workers_, keeper_options(start.is_held)};
    }
    KeeperOptions keeper_options(bool holds_state) {
        return {.checkpoint_every = options_.checkpoint_every,
                .last_step = StepIndex{run_.run.steps},
                .holds_state = holds_state,
                .events = queue_.sink(),
                .on_checkpoint =
                    [this] {
                        if (recorder_) recorder_->checkpoints_have_changed();
                    },
                .on_failure = options_.on_failure};
    }

    const RunFolder run_;
    const BackboneOptions options_;
    LedgerStates states_;
    const CheckpointStore store_;
    LedgerHistory history_;
    LiveRun live_;
    LedgerWriter ledger_;
    const std::unique_ptr<RunRecorder> recorder_;
    std::unique_ptr<RemoteSuspicions> remote_suspicions_;  ///< null: none are recorded
    const kernels::ThreadWorkers workers_;
    net::EventQueue queue_;
    const std::unique_ptr<net::DhtSeed> seed_;  ///< null: another process runs the seed
    net::TcpTransport transport_;
    formats::Revocations told_revocations_;  ///< the last ones told to other voters
    bool is_list_stored_ = false;            ///< the gateway has told_revocations_
    bool is_list_lost_ = false;  ///< the last list could not be written, which is logged
    RevocationWatch revocations_;
    net::DhtDirectory directory_;
    const std::optional<Endpoint> backbone_;  ///< the run's own backbone, if this is another voter
    std::chrono::steady_clock::time_point name_backbone_{};
    std::mutex pause_mutex_;  ///< one pause, resumption or change of the mixture at a time
    std::mutex poll_mutex_;   ///< one thread at a time uses voters_
    VotersWatch voters_;
    StateKeeper keeper_;
    HistoryReader reader_;
    RoundLog host_;
    net::Reactor reactor_;
    const control::SocketFolder sockets_{run_.folder};
    std::unique_ptr<control::Replier> commands_;  ///< null once stopped
};

Backbone::Backbone(RunFolder run, BackboneOptions options)
    : impl_(std::make_unique<Impl>(std::move(run), std::move(options))) {}
Backbone::~Backbone() = default;
void Backbone::maintain() {
    impl_->maintain();
}
void Backbone::poll() {
    impl_->poll();
}
void Backbone::stop() {
    impl_->stop();
}
std::uint16_t Backbone::port() const {
    return impl_->port();
}

}  // namespace dedloc::backbone
