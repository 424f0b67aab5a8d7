// The members of Stay are declared in the order of their wiring: the queue first, the reactor last,
// so that each part outlives those that use it. Frames pass reactor, interposer (if any), watch and
// transport in this order. The reactor is created only in wait_until_over(), after the router was
// asked for a port. The polling loop ends on a failure, on a finished run or by `pause`.
#include "peer/tool/stay.hpp"

#include <chrono>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/net/port_mapping.hpp"
#include "peer/platform/clock.hpp"
#include "peer/run_config.hpp"

namespace dedloc::tool {
namespace {

/// Validates `options` and adds the run's seeds if there are none. Errors: InputError.
StayOptions completed(const formats::RunFile& run, StayOptions options) {
    const bool is_backbone = options.role == Role::kBackbone;
    if (is_backbone && options.key.public_key() != run.backbone_key) {
        throw InputError("the key is not the backbone's that the run file names");
    }
    if (!is_backbone && options.key.public_key() == run.backbone_key) {
        throw InputError("this key is the backbone's, which has to join as one");
    }
    if (options.seeds.empty()) {
        for (const Endpoint& seed : run.dht_seeds) options.seeds.push_back(seed.text());
    }
    if (options.seeds.empty()) {
        throw InputError("neither the run file nor the arguments name a DHT seed");
    }
    return options;
}

std::optional<BackboneMemory> memory_of(const StayOptions& options) {
    if (options.memory.empty()) return std::nullopt;
    return std::make_optional<BackboneMemory>(options.memory);
}

}  // namespace

Stay::Stay(const formats::RunFile& run, const StayOptions& options,
           std::unique_ptr<Interposer> interposer)
    : run_(run),
      options_(completed(run, options)),
      memory_(memory_of(options_)),
      workers_(kernels::threads_within_reach(options_.threads)),
      interposer_(std::move(interposer)),
      watch_(run_.codec),
      log_(watch_, log_options()),
      transport_(transport_options(), watched(watch_, peer_sink())),
      watched_(transport_, watch_),
      directory_(directory_options(), queue_.sink()),
      trainer_(run_, trainer_options(), reporting_sink()) {}

Stay::~Stay() {
    if (reactor_) reactor_->stop();
}

PeerConfig Stay::peer_config() const {
    PeerConfig config = dedloc::peer_config(run_);
    config.role = options_.role;
    config.receives = options_.role != Role::kAggregator;
    config.upload = options_.upload;
    config.download = options_.download;
    config.measures_bandwidth = options_.measures_bandwidth;
    if (options_.role == Role::kBackbone) {
        config.may_begin_generations = run_.project_key == options_.key.public_key();
        config.voter = first_memory(0, true);
        if (memory_) memory_->recall(config);
    }
    return config;
}

net::TransportOptions Stay::transport_options() const {
    net::TransportOptions options;
    options.listen = options_.listen;
    options.max_links = options_.max_links;
    options.congestion = options_.congestion;
    options.max_flows = options_.connections;
    if (!options_.ticket) return options;
    options.session = net::SessionOptions{.project = run_.project_key,
                                          .ticket_key = run_.ticket_key,
                                          .run = formats::run_id(run_),
                                          .key = options_.key,
                                          .ticket = options_.ticket,
                                          .encrypts = run_.encrypts};
    // Checked here, so that an invalid ticket fails at once and not on each link.
    const auto now = platform::utc_now();
    const net::LinkRefusal fault = net::judge(options_.ticket, *options.session, now, {});
    if (fault != net::LinkRefusal::kNone) throw InputError(net::describe_own(fault));
    if (options_.ticket->ticket.peer != options_.key.public_key()) {
        throw InputError("our ticket is for another key than ours");
    }
    return options;
}

/// Events of the transport and of the trainer.
EventSink Stay::peer_sink() {
    return interposer_ ? interposer_->sink(queue_.sink()) : queue_.sink();
}

net::DhtDirectoryOptions Stay::directory_options() const {
    return {.run = formats::run_id(run_),
            .seeds = options_.seeds,
            .listen = {},
            .project = run_.project_key};
}

StepLogOptions Stay::log_options() {
    std::optional<KeyPair> project;
    if (run_.project_key == options_.key.public_key()) project = options_.key;
    return {.run = formats::run_id(run_),
            .peer = options_.key.public_key(),
            .elements = formats::element_count(run_),
            .codec = run_.codec,
            .project = std::move(project),
            .events = queue_.sink(),
            .publish = [this](const action::Settled& settled) { publish(settled); },
            .memory = memory_ ? &*memory_ : nullptr,
            .computing = [this] { return trainer_.computing_time(); },
            .is_quiet = options_.is_quiet};
}

SyntheticTrainerOptions Stay::trainer_options() {
    SyntheticTrainerOptions options{
        .peer = options_.key.public_key(),
        .samples_per_second = options_.samples_per_second,
        .memory = memory_ ? &*memory_ : nullptr,
        .workers = workers_,
        .checks = nullptr,
        .failed = [this](const std::string& sentence) { log_.failed(sentence); }};
    if (options_.checks) {
        options.checks = [this](StepIndex step, const FloatVector& average) {
            log_.check(step, average);
        };
    }
    return options;
}

/// The trainer's sink: reports to the log and the watch, then posts the event.
EventSink Stay::reporting_sink() {
    return [this, sink = peer_sink()](Event event) {
        if (const auto* reached = std::get_if<event::StateReached>(&event)) {
            log_.reached(*reached);
        } else if (const auto* frozen = std::get_if<event::ContributionFrozen>(&event)) {
            watch_.frozen(frozen->step);
        }
        sink(std::move(event));
    };
}

void Stay::publish(const action::Settled& settled) {
    const Endpoint here{options_.listen ? options_.listen->host : "", transport_.listening_port()};
    directory_.publish(net::head_of(formats::run_id(run_), settled, {&here, 1}), options_.key);
}

void Stay::wait_until_over(const Pause& pause) {
    log_.print_start(options_.key.public_key(), transport_.listening_port());
    if (options_.maps_port) {
        transport_.set_listening_port(net::map_port(transport_, directory_, false, pause));
    }
    net::Transport& transport = interposer_ ? interposer_->transport(watched_) : watched_;
    reactor_.emplace(peer_config(), options_.key,
                     net::ReactorParts{queue_, transport, directory_, trainer_, log_, workers_});
    reactor_->start();
    const bool is_backbone = options_.role == Role::kBackbone;
    StayEnd end;
    while (!end.failure && (!end.is_finished || is_backbone) && !pause()) end = log_.end();
    reactor_->stop();
    end = log_.end();
    log_.print_end(end.failure ? "failed" : end.is_finished ? "finished" : "stopped");
    if (end.failure) throw Error(*end.failure);
}

}  // namespace dedloc::tool
