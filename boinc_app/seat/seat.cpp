// run() opens the status page, waits for the first ticket, loads the saved state and then starts
// the reactor, whose configuration depends on both. This thread then only polls: each turn it waits
// for news for at most 200 ms, throws if a part has failed, applies the host's limits, reports,
// saves, looks for a reason to end and checks reachability; last it follows a suspension. It speaks
// to the protocol by events to the reactor, never directly. The reactor stops first at the end, so
// that the peer has left the swarm before a last save takes its time.
#include "boinc_app/seat/seat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/formats/training_memory.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/platform/networks.hpp"
#include "peer/run_config.hpp"

namespace dedloc::seat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollInterval{200};
/// Pause before the gateway is asked again about an answer that may be wrong.
constexpr std::chrono::seconds kAskAgainAfter{15};
/// Ports from which keys choose: below those that Linux gives to outgoing connections.
constexpr std::uint16_t kFirstPort = 20'000;
constexpr std::uint16_t kPorts = 10'000;

/// A port that follows from the key, so that it is the same after a restart of the job.
std::uint16_t port_for(const PeerKey& key) {
    std::uint32_t number = 0;
    std::memcpy(&number, key.bytes.data(), sizeof number);
    return static_cast<std::uint16_t>(kFirstPort + number % kPorts);
}
/// The client kills a process that has not ended a minute after it was asked to.
constexpr std::chrono::seconds kMaxSavingAtEnd{20};

}  // namespace

Seat::Seat(const formats::RunFile& run, const MakeWorker& make_worker, const Options& options,
           runtime::VolunteerRuntime& runtime)
    : run_(run),
      options_(options),
      runtime_(runtime),
      key_(platform::read_or_create_key(options.key)),
      journal_(options.journal, formats::run_id(run), key_.public_key()),
      events_(key_.public_key(), run.codec, journal_),
      workers_(kernels::threads_within_reach(runtime.granted_cpus())),
      transport_(transport_options(), listening_sink()),
      directory_(directory_options(), queue_.sink()),
      worker_(make_worker(worker_parts())),
      reachability_(transport_, directory_, options_.maps_port),
      reported_{.samples = journal_.samples()},
      paid_for_{.samples = journal_.samples()} {
    saver_ = make_saver();
    if (!saver_) return;
    upload_ = std::make_unique<Upload>(*saver_, runtime_, formats::checkpoint_bytes(run_),
                                       [this](const std::string& line) { events_.tell(line); });
}

Seat::~Seat() {
    if (reactor_) reactor_->stop();
}

PeerConfig Seat::peer_config() const {
    PeerConfig config = dedloc::peer_config(run_);
    config.role = worker_->role();
    config.receives = !is_aggregator();
    config.result_name = runtime_.result_name();
    if (tickets_) take_first_guess(config);
    const auto capped = [](const std::optional<Bandwidth>& guess,
                           const std::optional<Bandwidth>& cap) {
        return guess && cap ? std::min(*guess, *cap) : cap ? cap : guess;
    };
    const runtime::HostLimits limits = runtime_.limits();
    config.upload = capped(config.upload, limits.upload);
    config.download = capped(config.download, limits.download);
    return config;
}

void Seat::take_first_guess(PeerConfig& config) const {
    const auto reply = tickets_->news().first;
    if (!reply) return;
    config.upload = reply->upload;
    config.download = reply->download;
}

net::TransportOptions Seat::transport_options() const {
    net::TransportOptions options;
    options.logs_addresses = false;  // the client uploads the log
    const bool is_local =
        std::all_of(run_.dht_seeds.begin(), run_.dht_seeds.end(),
                    [](const Endpoint& seed) { return platform::is_loopback_host(seed.host); });
    options.preferred_port = port_for(key_.public_key());
    options.listen = options_.listen.value_or(Endpoint{is_local ? "127.0.0.1" : "::", 0});
    if (!run_.gateway.empty()) {
        options.session = net::SessionOptions{.project = run_.project_key,
                                              .ticket_key = run_.ticket_key,
                                              .run = formats::run_id(run_),
                                              .key = key_,
                                              .ticket = options_.ticket,
                                              .encrypts = run_.encrypts};
    }
    return options;
}

std::unique_ptr<TicketKeeper> Seat::ticket_keeper() {
    if (run_.gateway.empty() || options_.ticket) return nullptr;
    const std::optional<runtime::Account> account = runtime_.account();
    if (!account) {
        throw InputError{
            fmt::format("run {} wants a ticket, and there is no BOINC client to get "
                        "one through: pass a ticket file with --ticket",
                        run_.name)};
    }
    net::EnrolmentOptions options{.gateway = run_.gateway,
                                  .request = {.authenticator = account->authenticator,
                                              .host = account->host,
                                              .result = runtime_.result_name(),
                                              .key = key_.public_key(),
                                              .port = 0},
                                  .project = run_.project_key,
                                  .ticket_key = run_.ticket_key,
                                  .run = formats::run_id(run_),
                                  .proxy = account->proxy,
                                  .certificates = account->certificates,
                                  .timeout = options_.failure_timeout};
    TicketCalls calls{
        .has_ticket =
            [this](const formats::EnrolmentReply& reply) {
                transport_.present(reply.ticket);
                is_asked_for_state_ = reply.wants_checkpoint;
                transport_.revoke(reply.revoked.revocations);
            },
        .port = [this](const auto& is_unwanted) { return reachability_.port_to_try(is_unwanted); }};
    return std::make_unique<TicketKeeper>(std::move(options), std::move(calls),
                                          options_.ticket_pace);
}

net::DhtDirectoryOptions Seat::directory_options() const {
    net::DhtDirectoryOptions options;
    options.run = formats::run_id(run_);
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

WorkerParts Seat::worker_parts() {
    return {.peer = key_.public_key(),
            .workers = workers_,
            .cpus = runtime_.granted_cpus(),
            .gpu = runtime_.granted_gpu(),
            .shared_folder = runtime_.shared_folder(),
            .sink = queue_.sink(),
            .failed = [this](const std::string& sentence) {
                worker_failure_ = std::current_exception();
                events_.failed(sentence);
            }};
}

std::optional<End> Seat::enrol() {
    tickets_ = ticket_keeper();
    while (tickets_) {
        const TicketNews news = tickets_->news();
        if (news.refusal) throw Error{fmt::format("no ticket: {}", *news.refusal)};
        if (news.failure) {
            why_ = fmt::format("no ticket: {}", *news.failure);
            return End::kUnreachable;
        }
        if (news.first) return settle_in(*news.first);
        const runtime::HostWish wish = runtime_.wish();
        if (wish.must_quit || wish.is_aborted) return End::kQuit;
        tickets_->pause(wish.is_suspended);
        show(wish.is_suspended ? "BOINC has suspended this job: it waits."
                               : "Asking the project for a ticket to the swarm.");
        events_.wait(kPollInterval);
    }
    return std::nullopt;
}

std::optional<End> Seat::settle_in(const formats::EnrolmentReply& reply) {
    const formats::Ticket& ticket = reply.ticket.ticket;
    log_info("ticket for {} h, as {}",
             std::chrono::duration_cast<std::chrono::hours>(ticket.expires - ticket.issued).count(),
             reply.address);
    judged_ = 1;
    transport_.set_listening_port(reachability_.judge(reply.is_reachable).port);
    if (reply.is_reachable) return std::nullopt;
    log_info("port {} cannot be dialled at {} from outside: this peer is outbound-only",
             reachability_.tried(), reply.address);
    return end_of_aggregator();
}

std::optional<End> Seat::end_of_aggregator() {
    if (!is_aggregator()) return std::nullopt;
    why_ = "other computers cannot dial this one, so it cannot average their gradients";
    return End::kUnreachable;
}

std::optional<End> Seat::stay_reachable() {
    if (!tickets_) return std::nullopt;
    if (addresses_.has_changed(Clock::now())) {
        log_info(
            "this computer's network addresses have changed: asking again whether other "
            "computers can dial it");
        has_moved_ = true;
        reachability_.network_changed();
        tickets_->ask_soon(std::chrono::seconds{0});
    }
    const TicketNews news = tickets_->news();
    if (news.tickets == judged_) return std::nullopt;
    judged_ = news.tickets;
    const Reachability::Verdict verdict = reachability_.judge(news.is_reachable);
    if (verdict.asks_again) tickets_->ask_soon(kAskAgainAfter);
    const bool is_new = verdict.port != transport_.listening_port();
    // Elsewhere the same port is announced again, since it is at another address.
    if (!is_new && !std::exchange(has_moved_, false)) return std::nullopt;
    transport_.set_listening_port(verdict.port);
    reactor_->post(event::ListeningPortChanged{verdict.port});
    if (is_new && verdict.port != 0) {
        events_.tell(
            fmt::format("other computers can dial this one now, at port {}", verdict.port));
    } else if (is_new) {
        events_.tell("other computers cannot dial this one any more: it averages nothing");
    }
    return verdict.port == 0 ? end_of_aggregator() : std::nullopt;
}

void Seat::obey(const runtime::HostWish& wish) {
    if (wish.is_suspended == is_away_) return;
    is_away_ = wish.is_suspended;
    if (tickets_) tickets_->pause(is_away_);
    if (is_away_) {
        events_.tell("suspended: leaving the swarm, within a second");
        reactor_->post(event::LeaveRequested{});
    } else {
        events_.tell("resumed: joining the swarm again");
        events_.joining();
        reactor_->post(event::ReturnRequested{});
    }
}

void Seat::keep(const runtime::HostLimits& limits) {
    if (limits == kept_) return;
    kept_ = limits;
    worker_->limit(limits.computing);
    transport_.limit(limits.upload, limits.download);
    const auto in_words = [](const std::optional<Bandwidth>& cap) {
        return cap ? fmt::format("at most {} KB/s", (cap->value() + 999) / 1'000)
                   : std::string{"without a limit"};
    };
    const std::string computing =
        is_aggregator() ? ""
                        : fmt::format("compute {:.0f} % of the time, ", 100 * limits.computing);
    events_.tell(fmt::format("your preferences: {}send {}, receive {}", computing,
                             in_words(limits.upload), in_words(limits.download)));
}

void Seat::report(const News& news) {
    // A new generation may go back to an earlier step; the reported progress must not fall.
    furthest_ = std::max(furthest_, news.step);
    progress_ = std::max(progress_, std::min(1.0, progress()));
    runtime_.report_progress(progress_);
    runtime_.report_traffic(transport_.sent(), transport_.received());
    if (news.work != reported_) runtime_.state_is_saved();
    if (news.work.exceeds(reported_)) options_.has_worked();
    reported_ = news.work;
    ask_for_credit(news);
    show(doing(news));
}

std::unique_ptr<Saver> Seat::make_saver() {
    if (is_aggregator()) return nullptr;
    return std::make_unique<Saver>(
        SaverOptions{.path = options_.state,
                     .run = formats::run_id(run_),
                     .bytes = formats::state_bytes(run_),
                     .ask_for_copy =
                         [this] {
                             worker_->copy_state([this](std::optional<StateToSave> copy) {
                                 saver_->take(std::move(copy));
                             });
                         },
                     .place_of = [this](StepIndex step) { return events_.place_of(step); }});
}

void Seat::take_saved_state(PeerConfig& config) {
    if (!saver_) return;
    const std::uint64_t bytes = formats::state_bytes(run_);
    const auto interval = save_interval(bytes, runtime_.save_interval());
    log_info(
        "saves its state at most every {} s: {:.1f} MB on the disk, twice that while it writes",
        interval.count(), static_cast<double>(bytes) / 1e6);
    std::error_code error;
    std::filesystem::remove(options_.state.string() + ".tmp",
                            error);  // a killed process has left it
    if (!std::filesystem::exists(options_.state, error)) return;
    try {
        const SavedState saved = read_state_file(options_.state, run_);
        log_info("begins with the state of step {} that it has saved", saved.place.step().value());
        config.generation = saved.place.generation;
        config.last_decision = saved.place.decision;
        events_.resumed(saved.place);
        saver_->has(saved.place);
        worker_->trainer().perform(action::Load{.step = saved.state.head.step,
                                                .digest = saved.state.head.digest,
                                                .bytes = saved.state.bytes});
    } catch (const Error& unusable) {
        log_warning("{}: deleted, other peers send the state", unusable.what());
        std::filesystem::remove(options_.state, error);
    }
}

void Seat::save_when_due(const News& news) {
    if (!saver_) return;
    saver_->generation_begun(news.generation, news.first_step);
    if (!is_away_) saver_->save_when_due(Clock::now(), news.step, runtime_.save_interval());
    if (saver_->take_saved()) runtime_.state_is_saved();
    upload_->go_on(is_asked_for_state_ && !is_away_);
}

void Seat::open_page() {
    picture_.run = run_.name;
    picture_.steps = run_.steps;
    picture_.device = worker_->device();
    picture_.trains = !is_aggregator();
    show("Starting.");
    try {
        page_ = std::make_unique<page::StatusPage>([this] { return picture(); });
    } catch (const IoError& error) {
        log_warning("{}", error.what());
        return;
    }
    runtime_.offer_page(page_->url());
    log_info("what this job does is shown at {}", page_->url());
}

std::string Seat::doing(const News& news) const {
    if (is_away_) {
        return "BOINC has suspended this job: it is out of the swarm, and computes and sends "
               "nothing.";
    }
    if (news.is_paused) return "The project has paused the run; what was computed is kept.";
    const std::uint64_t step = std::min(news.step.value() + 1, run_.steps);
    if (is_aggregator()) {
        if (!news.has_joined) return "Joining the swarm: waiting for its next step.";
        return fmt::format(
            "Averaging: this computer averages the gradients that other computers have computed "
            "for step {} of {}.",
            step, run_.steps);
    }
    if (!news.has_joined) return "Joining the swarm: getting the model from other peers.";
    if (!news.turn.empty()) return "Step " + std::to_string(step) + ": " + news.turn + ".";
    return fmt::format(
        "Training: computing samples for step {} of {}, and averaging with the "
        "other peers.",
        step, run_.steps);
}

void Seat::show(std::string doing) {
    const std::lock_guard lock(picture_mutex_);
    picture_.step = furthest_.value();
    picture_.doing = std::move(doing);
    picture_.progress = progress_;
    picture_.samples = reported_.samples.value();
    picture_.averaged = reported_.averaged;
    picture_.sent = transport_.sent();
    picture_.received = transport_.received();
    picture_.credit = runtime_.credit();
    if (options_.lease.count() > 0) {
        const auto left = options_.lease - (Clock::now() - begin_);
        picture_.time_left = std::max(std::chrono::seconds{0},
                                      std::chrono::duration_cast<std::chrono::seconds>(left));
    }
}

page::Picture Seat::picture() const {
    page::Picture picture = [this] {
        const std::lock_guard lock(picture_mutex_);
        return picture_;
    }();
    picture.history = events_.history();
    return picture;
}

void Seat::ask_for_credit(const News& news) {
    const auto now = Clock::now();
    const bool is_due = now - last_message_ >= options_.message_interval;
    if (!is_due || !news.work.exceeds(paid_for_)) return;
    last_message_ = now;
    paid_for_ = news.work;
    runtime_.send_message(formats::kCreditMessage,
                          fmt::format("<samples>{}</samples>\n", news.work.samples.value()));
}

double Seat::progress() const {
    const double of_run = static_cast<double>(furthest_.value()) / static_cast<double>(run_.steps);
    if (options_.lease.count() == 0) return of_run;
    // The job ends with its lease, or with the run if that is earlier; only the lease is certain.
    const std::chrono::duration<double> stayed = Clock::now() - begin_;
    return of_run >= 1 ? 1 : stayed / std::chrono::duration<double>(options_.lease);
}

/// Why the stay must end now; nothing if it continues.
std::optional<End> Seat::end_of_stay(const News& news, const runtime::HostWish& wish) const {
    if (news.is_finished) return End::kDone;
    if (wish.must_quit || wish.is_aborted) return End::kQuit;
    if (options_.lease.count() > 0 && Clock::now() - begin_ > options_.lease) return End::kDone;
    if (tickets_ && tickets_->news().refusal) {
        log_warning("no further ticket, leaving the swarm: {}", *tickets_->news().refusal);
        return End::kDone;
    }
    const bool is_silent = !is_away_ && Clock::now() - news.last_heard > options_.failure_timeout;
    return is_silent ? std::optional{End::kUnreachable} : std::nullopt;
}

End Seat::run() {
    begin_ = Clock::now() - runtime_.time_before();
    log_info("peer {} takes a seat in run {} ({}) on {}, port {}", peer().brief(), run_.name,
             formats::run_id(run_).brief(), worker_->device(), transport_.listening_port());
    keep(runtime_.limits());
    log_info("{}", worker_->memory_line(peer_config().rules.kept_averages));
    if (runtime_.time_before() == std::chrono::seconds{0}) {
        log_info(
            "this computer exchanges {} directly with other volunteers' computers, which see its "
            "IP address; nothing else on it is read or sent",
            is_aggregator() ? "gradients" : "gradients and the model");
    }
    if (const auto account = runtime_.account(); account && !account->proxy.empty()) {
        log_warning(
            "the BOINC client uses a proxy: it serves requests to the project's gateway, "
            "but links to other peers are direct");
    }
    open_page();
    if (const auto end = enrol()) return *end;
    if (!tickets_ && options_.maps_port) {
        transport_.set_listening_port(reachability_.port_to_try([this] {
            const runtime::HostWish wish = runtime_.wish();
            return wish.must_quit || wish.is_aborted;
        }));
    }
    PeerConfig config = peer_config();
    take_saved_state(config);
    reactor_.emplace(
        std::move(config), key_,
        net::ReactorParts{queue_, transport_, directory_, worker_->trainer(), events_, workers_});
    events_.joining();
    reactor_->start();
    for (;;) {
        const News news = events_.wait(kPollInterval);
        const runtime::HostWish wish = runtime_.wish();
        if (news.failure && worker_failure_) std::rethrow_exception(worker_failure_);
        if (news.failure) throw Error{*news.failure};
        if (news.refusal) throw Error{fmt::format("the swarm refused us: {}", *news.refusal)};
        keep(runtime_.limits());
        report(news);
        save_when_due(news);
        auto end = end_of_stay(news, wish);
        if (!end) end = stay_reachable();
        if (end) {
            reactor_->stop();
            const bool goes_on = *end != End::kDone && !wish.is_aborted;
            if (saver_ && goes_on) saver_->save_at_end(Clock::now(), news.step, kMaxSavingAtEnd);
            return *end;
        }
        obey(wish);
    }
}

Buffer Seat::receipt() const {
    return formats::encode_receipt({.run = formats::run_id(run_),
                                    .result_name = runtime_.result_name(),
                                    .peer = key_.public_key(),
                                    .lines = journal_.lines()},
                                   key_);
}

}  // namespace dedloc::seat
