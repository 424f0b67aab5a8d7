#include "project_server/backbone/backbone.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <utility>

#include "peer/base/log.hpp"
#include "peer/net/dht_directory.hpp"
#include "peer/net/dht_seed.hpp"
#include "peer/net/event_queue.hpp"
#include "peer/net/nng_transport.hpp"
#include "peer/net/reactor.hpp"
#include "peer/state/run_state.hpp"
#include "peer/wire/message.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/round_log.hpp"
#include "project_server/backbone/run_recorder.hpp"
#include "project_server/backbone/state_keeper.hpp"

namespace dedloc::backbone {
namespace {

/// Updates that the ledger proves; 0 for an empty one.
StepIndex updates_in_ledger(const RunFolder& run) {
    LedgerReader reader{run.ledger(), run.id};
    Buffer last;
    while (auto record = reader.next()) {
        if (auto* commit = std::get_if<LedgerCommit>(&*record)) {
            last = std::move(commit->signed_frame);
        }
    }
    const auto message = wire::decode(last);
    return message ? message->step.next() : StepIndex{0};
}

/// The newest checkpoint's state, else the run's first.
std::unique_ptr<state::ModelState> starting_state(const RunFolder& run,
                                                  const CheckpointStore& store) {
    auto state = std::make_unique<state::ModelState>(state::tensor_ranges(run.run),
                                                     state::lamb_settings(run.run));
    const auto found = store.newest(state->element_count(), [&](const Checkpoint& checkpoint) {
        return state->restore(checkpoint.head.step, checkpoint.state, checkpoint.head.digest);
    });
    if (!found) state->initialise(state::initial_parameters(run.run));
    const auto updates = updates_in_ledger(run);
    if (updates > state->step()) {
        log_warning(
            "The ledger goes to step {}, the newest checkpoint to {}: the steps between are done "
            "again",
            updates.value(), state->step().value());
    }
    log_info("run {} ({}): starting at step {} of {}, {} parameters", run.run.name, run.id.brief(),
             state->step().value(), run.run.steps, state->element_count());
    return state;
}

PeerConfig peer_config(const RunFolder& run) {
    PeerConfig config;
    config.run = run.id;
    config.coordinator = run.run.backbone_key;
    config.role = Role::kBackbone;
    config.rules.elements = wire::element_count(run.run);
    config.rules.target_batch = Samples{run.run.target_batch};
    config.rules.last_step = StepIndex{run.run.steps};
    randombytes_buf(&config.random_seed, sizeof config.random_seed);
    config.scalars_of = [settings = state::lamb_settings(run.run)](StepIndex step) {
        return state::lamb_scalars(settings, step);
    };
    return config;
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
          ledger_(run_.ledger(), run_.id),
          recorder_(make_recorder()),
          seed_({.listen = options_.dht_listen, .address = "", .state_file = run_.dht_nodes()}),
          transport_({.listen = options_.listen, .limits = {}}, queue_.sink()),
          directory_({.run = run_.id, .seeds = texts_of(run_.run.dht_seeds), .listen = {}},
                     queue_.sink()),
          keeper_(starting_state(run_, store_), store_, keeper_options()),
          host_(ledger_, recorder_.get(), options_.on_failure),
          reactor_(peer_config(run_), run_.key, {queue_, transport_, directory_, keeper_, host_}) {
        reactor_.start();
        log_info("members dial {}, the DHT seed answers at {}",
                 Endpoint{options_.listen.host, transport_.listening_port()}.text(),
                 Endpoint{options_.dht_listen.host, seed_.port()}.text());
    }
    ~Impl() { stop(); }

    void save_dht() { seed_.save(); }
    std::uint16_t port() const { return transport_.listening_port(); }

    void stop() {
        reactor_.stop();
        keeper_.stop();
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
    LedgerWriter ledger_;
    const std::unique_ptr<RunRecorder> recorder_;
    net::EventQueue queue_;
    net::DhtSeed seed_;
    net::NngTransport transport_;
    net::DhtDirectory directory_;
    StateKeeper keeper_;
    RoundLog host_;
    net::Reactor reactor_;
};

Backbone::Backbone(RunFolder run, BackboneOptions options)
    : impl_(std::make_unique<Impl>(std::move(run), std::move(options))) {}
Backbone::~Backbone() = default;
void Backbone::save_dht() {
    impl_->save_dht();
}
void Backbone::stop() {
    impl_->stop();
}
std::uint16_t Backbone::port() const {
    return impl_->port();
}

}  // namespace dedloc::backbone
