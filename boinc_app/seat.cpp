#include "boinc_app/seat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/net/port_mapping.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/run_config.hpp"

namespace dedloc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollInterval{200};

}  // namespace

Seat::Seat(const formats::RunFile& run, const MakeWorker& make_worker, const SeatOptions& options,
           VolunteerRuntime& runtime)
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
      reported_{.samples = journal_.samples()},
      paid_for_{.samples = journal_.samples()} {}

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
    const HostLimits limits = runtime_.limits();
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
                    [](const Endpoint& seed) { return net::is_loopback_host(seed.host); });
    options.listen = options_.listen.value_or(Endpoint{is_local ? "127.0.0.1" : "0.0.0.0", 0});
    if (!run_.gateway.empty()) {
        options.session = net::SessionOptions{.project = run_.project_key,
                                              .run = formats::run_id(run_),
                                              .key = key_,
                                              .ticket = options_.ticket,
                                              .encrypts = run_.encrypts};
    }
    return options;
}

std::unique_ptr<TicketKeeper> Seat::ticket_keeper() {
    if (run_.gateway.empty() || options_.ticket) return nullptr;
    const std::optional<Account> account = runtime_.account();
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
                                              .port = transport_.listening_port()},
                                  .project = run_.project_key,
                                  .run = formats::run_id(run_),
                                  .proxy = account->proxy,
                                  .certificates = account->certificates,
                                  .timeout = options_.failure_timeout};
    return std::make_unique<TicketKeeper>(std::move(options),
                                          [this](const formats::EnrolmentReply& reply) {
                                              transport_.present(reply.ticket);
                                              transport_.revoke(reply.revoked.revocations);
                                          });
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
            .sink = queue_.sink(),
            .failed = [this](const std::string& sentence) {
                worker_failure_ = std::current_exception();
                events_.failed(sentence);
            }};
}

std::optional<SeatEnd> Seat::enrol() {
    tickets_ = ticket_keeper();
    while (tickets_) {
        const TicketNews news = tickets_->news();
        if (news.refusal) throw Error{fmt::format("no ticket: {}", *news.refusal)};
        if (news.failure) {
            why_ = fmt::format("no ticket: {}", *news.failure);
            return SeatEnd::kUnreachable;
        }
        if (news.first) return settle_in(*news.first);
        const HostWish wish = runtime_.wish();
        if (wish.must_quit || wish.is_aborted) return SeatEnd::kQuit;
        tickets_->pause(wish.is_suspended);
        show(wish.is_suspended ? "BOINC has suspended this job: it waits."
                               : "Asking the project for a ticket to the swarm.");
        events_.wait(kPollInterval);
    }
    return std::nullopt;
}

std::optional<SeatEnd> Seat::settle_in(const formats::EnrolmentReply& reply) {
    const formats::Ticket& ticket = reply.ticket.ticket;
    log_info("ticket for {} h, as {}",
             std::chrono::duration_cast<std::chrono::hours>(ticket.expires - ticket.issued).count(),
             reply.address);
    if (reply.is_reachable) return std::nullopt;
    log_info("port {} cannot be dialled at {} from outside: this peer is outbound-only",
             transport_.listening_port(), reply.address);
    if (is_aggregator()) {
        why_ = "other computers cannot dial this one, so it cannot average their gradients";
        return SeatEnd::kUnreachable;
    }
    transport_.set_listening_port(0);
    return std::nullopt;
}

void Seat::obey(const HostWish& wish) {
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

void Seat::keep(const HostLimits& limits) {
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

void Seat::report(const SeatNews& news) {
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

void Seat::open_page() {
    picture_.run = run_.name;
    picture_.steps = run_.steps;
    picture_.device = worker_->device();
    picture_.trains = !is_aggregator();
    show("Starting.");
    try {
        page_ = std::make_unique<StatusPage>([this] { return picture(); });
    } catch (const IoError& error) {
        log_warning("{}", error.what());
        return;
    }
    runtime_.offer_page(page_->url());
    log_info("what this job does is shown at {}", page_->url());
}

std::string Seat::doing(const SeatNews& news) const {
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

SeatPicture Seat::picture() const {
    SeatPicture picture = [this] {
        const std::lock_guard lock(picture_mutex_);
        return picture_;
    }();
    picture.history = events_.history();
    return picture;
}

void Seat::ask_for_credit(const SeatNews& news) {
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
std::optional<SeatEnd> Seat::end_of_stay(const SeatNews& news, const HostWish& wish) const {
    if (news.is_finished) return SeatEnd::kDone;
    if (wish.must_quit || wish.is_aborted) return SeatEnd::kQuit;
    if (options_.lease.count() > 0 && Clock::now() - begin_ > options_.lease) return SeatEnd::kDone;
    if (tickets_ && tickets_->news().refusal) {
        log_warning("no further ticket, leaving the swarm: {}", *tickets_->news().refusal);
        return SeatEnd::kDone;
    }
    const bool is_silent = !is_away_ && Clock::now() - news.last_heard > options_.failure_timeout;
    return is_silent ? std::optional{SeatEnd::kUnreachable} : std::nullopt;
}

SeatEnd Seat::run() {
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
    if (options_.maps_port) {
        net::map_port(transport_, directory_, [this] {
            const HostWish wish = runtime_.wish();
            return wish.must_quit || wish.is_aborted;
        });
    }
    if (const auto end = enrol()) return *end;
    reactor_.emplace(
        peer_config(), key_,
        net::ReactorParts{queue_, transport_, directory_, worker_->trainer(), events_, workers_});
    events_.joining();
    reactor_->start();
    for (;;) {
        const SeatNews news = events_.wait(kPollInterval);
        const HostWish wish = runtime_.wish();
        if (news.failure && worker_failure_) std::rethrow_exception(worker_failure_);
        if (news.failure) throw Error{*news.failure};
        if (news.refusal) throw Error{fmt::format("the swarm refused us: {}", *news.refusal)};
        keep(runtime_.limits());
        report(news);
        if (const auto end = end_of_stay(news, wish)) {
            reactor_->stop();
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

}  // namespace dedloc
