#include "project_server/backbone/backbone.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "kernels/thread_workers.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/net/dht_directory.hpp"
#include "peer/net/dht_seed.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/net/event_queue.hpp"
#include "peer/net/reactor.hpp"
#include "peer/net/tcp_transport.hpp"
#include "peer/run_config.hpp"
#include "peer/state/run_state.hpp"
#include "peer/wire/history.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/durable_file.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/round_log.hpp"
#include "project_server/backbone/run_recorder.hpp"
#include "project_server/backbone/state_keeper.hpp"

namespace dedloc::backbone {
namespace {

/// Of the backbone's own ticket, which is renewed every few minutes.
constexpr std::chrono::hours kOwnTicketLife{24};

using StateDigests = std::map<StepIndex, Digest>;

/// The states that the ledger names, of the steps that there are checkpoints of.
StateDigests states_in_ledger(const RunFolder& run, const CheckpointStore& store) {
    std::set<StepIndex> wanted;
    for (const auto& entry : store.list()) wanted.insert(entry.head.step);
    StateDigests states;
    LedgerReader reader{run.ledger(), {run.id, run.run.backbone_key}};
    while (const auto record = reader.next()) {
        if (const auto* const commit = std::get_if<LedgerCommit>(&*record)) {
            const StepIndex step = commit->record.step;
            if (wanted.contains(step)) states[step] = commit->record.previous_state;
        } else if (const auto* const begun = std::get_if<SignedGeneration>(&*record)) {
            states.erase(states.upper_bound(begun->record.step), states.end());
            states[begun->record.step] = begun->record.state;
        }
    }
    return states;
}

/// The newest checkpoint's state that the ledger leads to, else the run's first.
std::unique_ptr<state::ModelState> starting_state(const RunFolder& run,
                                                  const CheckpointStore& store, const Head& head) {
    auto state = std::make_unique<state::ModelState>(state::tensor_ranges(run.run),
                                                     state::lamb_settings(run.run));
    const StateDigests states = states_in_ledger(run, store);
    const auto found = store.newest(state->element_count(), [&](const Checkpoint& checkpoint) {
        const CheckpointHead& saved = checkpoint.head;
        const auto decided = states.find(saved.step);
        if (saved.step > head.step) return false;
        if (decided != states.end() && decided->second != saved.digest) return false;
        return state->restore(saved.step, checkpoint.state, saved.digest);
    });
    if (!found) state->initialise(state::initial_parameters(run.run));
    if (head.step > state->step()) {
        log_warning(
            "The ledger goes to step {}, the newest checkpoint to {}: the steps between come from "
            "the members",
            head.step.value(), state->step().value());
    }
    log_info("run {} ({}): starting at step {} of {}, {} parameters", run.run.name, run.id.brief(),
             state->step().value(), run.run.steps, state->element_count());
    return state;
}

Buffer contents_of(const std::filesystem::path& path) {
    const DurableFile file{path, DurableFile::Mode::kRead};
    Buffer bytes(file.size());
    bytes.resize(file.read_at(0, bytes));
    return bytes;
}

/// What this backbone voted last; nothing before its first vote. It may not vote again without
/// knowing, so a file that cannot be read is an error.
std::optional<VoterState> last_vote(const RunFolder& run) {
    if (!std::filesystem::exists(run.voter())) return std::nullopt;
    auto state = wire::decode_voter_state(contents_of(run.voter()));
    if (!state) {
        throw IoError(fmt::format("{} holds no vote of this program.", run.voter().string()));
    }
    return state;
}

/// What this backbone decided last. Nothing before that, and where the file cannot be read: then
/// the others prove it.
std::optional<Decision> last_decision(const RunFolder& run) {
    if (!std::filesystem::exists(run.last_decision())) return std::nullopt;
    return wire::decode_decision(contents_of(run.last_decision()));
}

PeerConfig peer_config(const RunFolder& run, const LedgerWriter& ledger,
                       const std::optional<Decision>& last) {
    PeerConfig config = dedloc::peer_config(run.run);
    config.role = Role::kBackbone;
    config.may_begin_generations = run.project_key.has_value();
    config.generation = ledger.generation();
    config.last_record = ledger.last_record();
    if (last && last->record == config.last_record) config.last_certificate = last->certificate;
    config.voter = last_vote(run);
    return config;
}

/// The project's own member needs no gateway.
wire::SignedTicket own_ticket(const RunFolder& run) {
    if (!run.project_key) {
        throw InputError(
            fmt::format("the members of {} prove tickets, and the project's key that "
                        "signs this backbone's is not here.",
                        run.run.name));
    }
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const wire::Ticket ticket{.run = run.id,
                              .peer = run.key.public_key(),
                              .seat = {},
                              .issued = now,
                              .expires = now + kOwnTicketLife};
    return wire::sign(ticket, *run.project_key);
}

net::TransportOptions transport_options(const RunFolder& run, const BackboneOptions& options) {
    net::TransportOptions transport;
    transport.listen = options.listen;
    if (run.run.gateway.empty()) return transport;
    transport.session = net::SessionOptions{.project = run.run.project_key,
                                            .run = run.id,
                                            .key = run.key,
                                            .ticket = own_ticket(run),
                                            .encrypts = run.run.encrypts};
    return transport;
}

std::vector<std::string> texts_of(const std::vector<Endpoint>& endpoints) {
    std::vector<std::string> texts;
    for (const auto& endpoint : endpoints) texts.push_back(endpoint.text());
    return texts;
}

}  // namespace

/// Members in the order in which they need one another.
class Backbone::Impl {
  public:
    Impl(RunFolder run, BackboneOptions options)
        : run_(std::move(run)),
          options_(std::move(options)),
          store_(run_.checkpoints(), run_.id, options_.keep_checkpoints),
          last_(last_decision(run_)),
          ledger_(run_.ledger(), {run_.id, run_.run.backbone_key}, last_),
          recorder_(make_recorder()),
          workers_(kernels::threads_within_reach(options_.threads)),
          seed_({.listen = options_.dht_listen, .address = "", .state_file = run_.dht_nodes()}),
          transport_(transport_options(run_, options_), queue_.sink()),
          directory_(
              {.run = run_.id, .seeds = texts_of(run_.run.dht_seeds), .listen = {}, .project = {}},
              queue_.sink()),
          keeper_(starting_state(run_, store_, ledger_.head()), store_, workers_, keeper_options()),
          host_(ledger_, store_, recorder_.get(), log_options()),
          reactor_(peer_config(run_, ledger_, last_), run_.key,
                   {queue_, transport_, directory_, keeper_, host_, workers_}) {
        reactor_.start();
        log_info("members dial {}, the DHT seed answers at {}",
                 Endpoint{options_.listen.host, transport_.listening_port()}.text(),
                 Endpoint{options_.dht_listen.host, seed_.port()}.text());
    }
    ~Impl() { stop(); }

    void tend() {
        seed_.save();
        if (!run_.run.gateway.empty()) transport_.present(own_ticket(run_));
    }
    void revoke(const wire::Revocations& latest) { transport_.revoke(latest); }
    std::uint16_t port() const { return transport_.listening_port(); }

    void stop() {
        reactor_.stop();
        keeper_.stop();
        seal_ledger();
        if (recorder_) recorder_->stop();
    }

  private:
    std::unique_ptr<RunRecorder> make_recorder() {
        if (!options_.database) return nullptr;
        return std::make_unique<RunRecorder>(RecorderOptions{.database = *options_.database,
                                                             .run_name = run_.run.name,
                                                             .run = run_.id,
                                                             .backbone = run_.key.public_key(),
                                                             .ledger = run_.ledger()},
                                             store_);
    }
    void seal_ledger() {
        try {
            ledger_.seal();
        } catch (const Error& error) {
            options_.on_failure(error.what());
        }
    }
    RoundLogOptions log_options() {
        return {.run = run_.id,
                .last_step = StepIndex{run_.run.steps},
                .voter = run_.voter(),
                .last_decision = run_.last_decision(),
                .project_key = run_.project_key,
                .events = queue_.sink(),
                .publish = [this](const action::Settled& settled) { publish(settled); },
                .on_failure = options_.on_failure};
    }
    /// The seed of the DHT is this process: where it is found, so are we.
    void publish(const action::Settled& settled) {
        Endpoint here{options_.listen.host, transport_.listening_port()};
        if (!net::is_dialable_host(here.host)) here.host = run_.run.dht_seeds.front().host;
        directory_.publish(net::head_of(run_.id, settled, here), *run_.project_key);
    }
    KeeperOptions keeper_options() {
        return {.checkpoint_every = options_.checkpoint_every,
                .last_step = StepIndex{run_.run.steps},
                .events = queue_.sink(),
                .on_checkpoint =
                    [this] {
                        if (recorder_) recorder_->checkpoints_have_changed();
                    },
                .on_failure = options_.on_failure};
    }

    const RunFolder run_;
    const BackboneOptions options_;
    const CheckpointStore store_;
    const std::optional<Decision> last_;  ///< before this start
    LedgerWriter ledger_;
    const std::unique_ptr<RunRecorder> recorder_;
    const kernels::ThreadWorkers workers_;
    net::EventQueue queue_;
    net::DhtSeed seed_;
    net::TcpTransport transport_;
    net::DhtDirectory directory_;
    StateKeeper keeper_;
    RoundLog host_;
    net::Reactor reactor_;
};

Backbone::Backbone(RunFolder run, BackboneOptions options)
    : impl_(std::make_unique<Impl>(std::move(run), std::move(options))) {}
Backbone::~Backbone() = default;
void Backbone::tend() {
    impl_->tend();
}
void Backbone::revoke(const wire::Revocations& latest) {
    impl_->revoke(latest);
}
void Backbone::stop() {
    impl_->stop();
}
std::uint16_t Backbone::port() const {
    return impl_->port();
}

}  // namespace dedloc::backbone
