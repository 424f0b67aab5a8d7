// World: hosts, time, and the options of a peer. Everything runs from one timeline; callbacks for a
// host are tagged with its life, and those for an earlier life do nothing. All randomness comes
// from streams split from the seed by fixed numbers, so a new use of random numbers needs its own
// stream to keep recorded seeds valid.
#include "peer/simulation/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/simulation/node.hpp"

namespace dedloc::simulation {
namespace {

std::unique_ptr<const Problem> make_problem(const WorldOptions& options, std::uint64_t seed) {
    if (options.problem == ProblemKind::kQuadratic) {
        return std::make_unique<Quadratic>(options.rules.elements, seed);
    }
    DEDLOC_CHECK(options.rules.elements == TinyNetwork::kElements,
                 "the rules have the network's number of elements", TinyNetwork::kElements);
    return std::make_unique<TinyNetwork>(seed);
}

UpdateScalars scalars_at(StepIndex step) {
    return state::update_scalars(simulated_optimizer(), step);
}

RunId run_of(std::uint64_t seed) {
    ByteWriter writer;
    writer.write(seed);
    return RunId{blake2b(std::move(writer).finish()).bytes};
}

}  // namespace

Profile Profile::with_mbit(double upload, double download) {
    Profile profile;
    profile.connection.upload_bytes_per_second = upload * 125'000;
    profile.connection.download_bytes_per_second = download * 125'000;
    return profile;
}
Profile Profile::home() {
    return with_mbit(20, 100);
}
Profile Profile::office() {
    return with_mbit(1'000, 1'000);
}
Profile Profile::outbound_only() const {
    Profile profile = *this;
    profile.connection.is_outbound_only = true;
    return profile;
}

World::World(std::uint64_t seed, const RoundRules& rules)
    : World(seed, WorldOptions{.rules = rules, .network = {}}) {}

World::World(std::uint64_t seed, const WorldOptions& options)
    : options_(options),
      seed_(seed),
      problem_(make_problem(options, seed)),
      project_(key_of(seed, 0)),
      run_(run_of(seed)),
      proves_links_(options.proves_links.value_or(Random{seed}.split(3).below(2) == 1)),
      random_(Random{seed}.split(1)),
      network_(timeline_, *this, Random{seed}.split(2), options.network) {
    if (options.voters > 1) begin_with_voters();
}

KeyPair World::key_of(std::uint64_t seed, std::uint64_t number) {
    std::array<std::byte, 32> bytes;
    Random random = Random{seed}.split(1'000'000 + number);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
    return KeyPair::from_seed(bytes);
}

/// Appoints the voters before the run begins, with a generation 1 at the state of step 0.
void World::begin_with_voters() {
    VirtualTrainer first{*problem_, {}, [](const Event&) {}, [](Duration, const auto&) {}, {}};
    first.start_at_the_beginning();
    GenerationRecord record{
        .generation = 1, .step = {}, .state = first.state().digest(), .voters = {}};
    for (std::size_t i = 0; i < options_.voters; ++i) {
        record.voters.push_back(key_of(seed_, 1 + i).public_key());
    }
    std::sort(record.voters.begin(), record.voters.end());
    const SignedGeneration generation = signed_by_project(record);
    signed_.emplace(record.generation, generation);
    newest_generation_ = record.generation;
}

World::~World() = default;

// --- hosts -------------------------------------------------------------------

World::Id World::add(Role role, const Profile& profile) {
    DEDLOC_CHECK(!nodes_.empty() || role == Role::kBackbone, "the first host is a backbone");
    const std::size_t number = nodes_.size();
    // Each host is in a /24 of its own.
    const Endpoint endpoint{fmt::format("10.{}.{}.1", number >> 8 & 255, number & 255), 4'000};
    const Id id = network_.add_node(profile.connection, endpoint);
    nodes_.push_back(std::make_unique<Node>(
        Node{.key = key_of(seed_, 1 + number), .role = role, .profile = profile}));
    if (role == Role::kTrainer) {
        node(id).added_sources = static_cast<std::uint8_t>(added_.size());
    }
    node(id).endpoint = endpoint;
    // Every clock shows another time.
    const TimePoint shown = TimePoint{} + std::chrono::milliseconds{random_.below(1'000'000)};
    node(id).clock = Clock{now(), shown, profile.drift_ppm};
    hooks_->added(id);
    if (role != Role::kBackbone) return id;
    // A new key has not voted, whatever was decided before.
    const bool is_first_voter = id == 0 && options_.voters == 1;
    const std::uint64_t generation = id < options_.voters ? 0 : newest_generation_;
    node(id).disk.voter = first_memory(generation, is_first_voter);
    if (id < options_.voters && options_.voters > 1) {
        node(id).disk.ledger.emplace_back(signed_.at(1));
    }
    return id;
}

World::Id World::add_backbone(const Profile& profile) {
    const Id id = add(Role::kBackbone, profile);
    start(id);
    return id;
}

std::vector<World::Id> World::add_voters(const Profile& profile) {
    std::vector<Id> ids;
    for (std::size_t i = 0; i < options_.voters; ++i) ids.push_back(add_backbone(profile));
    return ids;
}

void World::appoint(const std::vector<Id>& voters) {
    std::vector<PeerKey> wanted;
    for (const Id id : voters) wanted.push_back(key(id));
    std::sort(wanted.begin(), wanted.end());
    note(0, fmt::format("is told to appoint {} voters", wanted.size()));
    node(0).wanted_voters = wanted;
    if (node(0).is_alive) deliver(0, event::VotersWanted{wanted});
}

void World::set_paused(bool is_paused) {
    note(0, is_paused ? "is told to pause the run" : "is told to resume the run");
    const std::uint64_t count = node(0).pause_count;
    if (!node(0).is_alive || is_paused_at(count) == is_paused) return;
    deliver(0, event::PauseSigned{sign_pause(run_, count + 1, project_)});
}

void World::change_mixture(StepIndex from, std::vector<std::uint64_t> weights) {
    note(0, fmt::format("is told to change the mixture from step {}", from.value()));
    const SharedMixture last = node(0).mixture;
    std::vector<MixtureChange> changes = last ? last->changes : std::vector<MixtureChange>{};
    std::erase_if(changes, [&](const MixtureChange& change) { return change.from >= from; });
    changes.push_back({.from = from, .weights = std::move(weights)});
    sign_mixture_after(last, std::move(changes), added_);
}

void World::add_source() {
    note(0, "is told that the run has another source");
    const SharedMixture last = node(0).mixture;
    added_.push_back(blake2b(bytes_of(fmt::format("source {}", added_.size()))));
    sign_mixture_after(last, last ? last->changes : std::vector<MixtureChange>{}, added_);
}

void World::sign_mixture_after(const SharedMixture& last, std::vector<MixtureChange> changes,
                               std::vector<Digest> added) {
    const auto mixture = std::make_shared<const SignedMixture>(sign_mixture(
        run_, last ? last->version + 1 : 1, std::move(changes), project_, std::move(added)));
    if (node(0).is_alive) deliver(0, event::MixtureSigned{mixture});
}

World::Id World::add_trainer(const Profile& profile) {
    const Id id = add(Role::kTrainer, profile);
    start(id);
    return id;
}

std::vector<World::Id> World::add_trainers(std::size_t count, const Profile& profile) {
    std::vector<Id> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(add_trainer(profile));
    return ids;
}

World::Id World::add_aggregator(const Profile& profile) {
    Profile without_samples = profile;
    without_samples.micro_batch = 0;
    const Id id = add(Role::kAggregator, without_samples);
    start(id);
    return id;
}

PeerConfig World::config_for(Id id, Memory memory) const {
    const Node& host = node(id);
    const Connection& connection = host.profile.connection;
    const auto guess = [&](double bytes_per_second) {
        return host.profile.guesses_bandwidth
                   ? known_bandwidth(static_cast<std::uint64_t>(bytes_per_second))
                   : std::nullopt;
    };
    PeerConfig config{
        .run = run_,
        .project = project_.public_key(),
        .backbone = nodes_.front()->key.public_key(),
        .role = host.role,
        .receives = host.profile.receives,
        .result_name = fmt::format("seat_{}", id),
        .listening_port = connection.is_outbound_only ? std::uint16_t{0} : host.endpoint.port,
        .upload = guess(connection.upload_bytes_per_second),
        .download = guess(connection.download_bytes_per_second),
        .measures_bandwidth = host.profile.measures_bandwidth,
        .rules = options_.rules,
        .random_seed = Random{seed_}.split(2'000'000 + id).split(host.life).next(),
        .scalars_of = scalars_at,
        .may_begin_generations = id == 0,
        .generation = {},
        .last_decision = {},
        .last_settled = {},
        .voter = {},
        .pause = {},
        .sources = kSources,
        .added_sources = host.added_sources,
        .mixture = {}};
    if (memory != Memory::kLost || host.life == 1) {
        config.generation = last_generation(host.disk);
        config.last_decision = last_decision(host.disk);
        config.last_settled = host.disk.settled;
        config.voter = host.disk.voter;
        config.pause = host.disk.pause;
        config.mixture = host.disk.mixture;
    }
    return config;
}

std::unique_ptr<VirtualTrainer> World::trainer_for(Id id) {
    const Node& host = node(id);
    const bool computes = host.role == Role::kTrainer;
    // Every life of every host computes different samples.
    const std::uint64_t first_sample = (std::uint64_t{id} << 48) + (host.life << 32);
    return std::make_unique<VirtualTrainer>(
        *problem_,
        VirtualTrainer::Settings{.micro_batch_time = host.profile.micro_batch_time,
                                 .micro_batch = computes ? host.profile.micro_batch : 0,
                                 .apply_time = host.profile.apply_time,
                                 .first_sample = first_sample},
        [this, id, life = host.life](Event event) {
            after(Duration{0}, [this, id, life, event = std::move(event)] {
                if (node(id).life == life) deliver(id, event);
            });
        },
        [this, id, life = host.life](Duration wait, const std::function<void()>& what) {
            after(wait, [this, id, life, what] {
                if (node(id).is_alive && node(id).life == life) what();
            });
        },
        [this, id](const Frozen& frozen) { hooks_->frozen(id, frozen); });
}

void World::start(Id id, Memory memory) {
    Node& host = node(id);
    DEDLOC_CHECK(!host.is_alive, "a host is started only if its peer does not run", id);
    DEDLOC_CHECK(host.role != Role::kBackbone || host.life == 0 || memory != Memory::kLost,
                 "a backbone does not restart without its ledger");
    ++host.life;
    host.is_alive = true;
    host.is_hung = host.is_leaving = host.is_finished = false;
    host.inbox.clear();
    host.actions.clear();
    host.performed = 0;
    host.is_busy = host.is_written = false;
    host.digested_bytes = 0;
    host.tick_at = kNever;
    host.generation = host.state_generation = 0;
    note(id, fmt::format("starts, memory {}", memory == Memory::kLost   ? "lost"
                                              : memory == Memory::kDisk ? "on disk"
                                                                        : "stale"));
    network_.start(id);
    const PeerConfig config = config_for(id, memory);
    if (config.generation) host.generation = config.generation->record.generation;
    host.pause_count = config.pause ? config.pause->count : 0;
    host.mixture = config.mixture;
    host.peer = std::make_unique<Peer>(config, host.key, workers_);
    host.trainer = trainer_for(id);
    hooks_->starts(id);
    load_disk(id, memory);
    deliver(id, event::Tick{});
    if (!host.wanted_voters.empty()) deliver(id, event::VotersWanted{host.wanted_voters});
    answer_directory(id);
}

// --- time --------------------------------------------------------------------

void World::after(Duration wait, std::function<void()> what) {
    const std::uint64_t number = next_call_++;
    calls_.emplace(number, std::move(what));
    timeline_.at(now() + wait, What::kCall, 0, number);
}

void World::call(std::uint64_t number) {
    const auto it = calls_.find(number);
    const std::function<void()> what = std::move(it->second);
    calls_.erase(it);
    what();
}

void World::happen(const Moment& moment) {
    if (Network::is_mine(moment.what)) return network_.handle(moment);
    if (moment.what == What::kTick) return tick(moment.subject, moment);
    call(moment.detail);
}

bool World::run_until(const std::function<bool()>& is_done, Duration limit) {
    const TimePoint end = now() + limit;
    try {
        while (!is_done()) {
            if (timeline_.is_empty() || timeline_.next() > end) {
                timeline_.pass_to(end);
                return false;
            }
            happen(timeline_.pop());
        }
    } catch (const std::exception& error) {
        hooks_->failed(error);
        throw;
    }
    return true;
}

void World::run_for(Duration time) {
    (void)run_until([] { return false; }, time);
}

}  // namespace dedloc::simulation
