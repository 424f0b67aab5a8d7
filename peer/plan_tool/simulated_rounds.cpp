// The fleet is converted to a world of simulated hosts with the real protocol. A first round warms
// the swarm up. Then each round is timed from outside, from the last freeze until all members hold
// the next state. A day of simulated time without the expected event ends the simulation.
#include "peer/plan_tool/simulated_rounds.hpp"

#include <algorithm>
#include <optional>

#include "peer/base/check.hpp"
#include "peer/plan_tool/round_watch.hpp"
#include "peer/simulation/world.hpp"

namespace dedloc::plan {
namespace {

using planning::LinkSpeed;
using planning::Member;
using planning::PlanRequest;
using simulation::Profile;
using simulation::World;

/// Limits of the scaled vector, for one host and for all together: it should have about as many
/// chunks as the real one, and a host holds some six vectors.
constexpr std::uint64_t kMaxElements = 4'000'000;
constexpr std::uint64_t kMaxElementsOfAll = 100'000'000;
constexpr std::uint64_t kElementBytes = 4;
constexpr std::uint64_t kMicroBatch = 8;
constexpr std::uint64_t kMicroBatches = 4;  ///< micro-batches of each trainer per step
constexpr Duration kMaxWait = std::chrono::hours{24};

Bandwidth scaled(Bandwidth speed, std::uint64_t by) {
    return Bandwidth{std::max<std::uint64_t>(1, speed.value() / by)};
}

/// Chooses or adds the backbone and makes it the first member.
void place_backbone(PlanRequest& request) {
    auto& members = request.members;
    auto found = std::find_if(members.begin(), members.end(), [](const Member& member) {
        return member.is_reachable && !member.contributes;
    });
    if (found == members.end()) {
        found = std::max_element(members.begin(), members.end(), [](const auto& a, const auto& b) {
            return std::min(a.upload, a.download) < std::min(b.upload, b.download);
        });
        members.push_back({.upload = found->upload, .download = found->download});
        found = members.end() - 1;
    }
    found->contributes = false;
    found->receives = true;
    std::rotate(members.begin(), found, found + 1);
}

/// Elements in fp32 that have as many bytes as the larger of the fleet's encodings.
std::uint64_t elements_of(const PlanRequest& fleet) {
    const planning::VectorSize size = planning::size_of(fleet);
    return std::max(size.contribution_bytes, size.average_bytes) / kElementBytes + 1;
}

/// The number by which vector and bandwidths are divided.
std::uint64_t scale_of(const PlanRequest& fleet) {
    const std::uint64_t max =
        std::min(kMaxElements, kMaxElementsOfAll / (fleet.members.size() + 1));
    return (elements_of(fleet) + max - 1) / max;
}

PlanRequest request_for(const PlanRequest& fleet, const SimulationOptions& options) {
    PlanRequest request = fleet;
    const std::vector<LinkSpeed> links = planning::known_links(fleet);
    const std::uint64_t scale = scale_of(fleet);
    for (std::size_t k = 0; k < links.size(); ++k) {
        Member& member = request.members[k];
        member.upload = scaled(links[k].upload, scale);
        member.download = scaled(links[k].download, scale);
        member.receives |= member.contributes;  // a trainer needs the next state
    }
    place_backbone(request);
    request.elements = elements_of(fleet) / scale + 1;
    request.contribution = planning::on_the_wire(Codec::kFp32);
    request.average = request.contribution;
    request.chunk_elements = planning::chunk_elements_for(request);
    request.latency = options.latency;
    return request;
}

Profile profile_of(const Member& member, const LinkSpeed& link, Duration latency) {
    Profile profile;
    profile.connection = {.upload_bytes_per_second = static_cast<double>(link.upload.value()),
                          .download_bytes_per_second = static_cast<double>(link.download.value()),
                          .latency = latency / 2,
                          .jitter = latency / 20,
                          .is_outbound_only = !member.is_reachable};
    profile.micro_batch = kMicroBatch;
    profile.receives = member.receives;
    profile.measures_bandwidth = false;  // the peers must follow the plan in the result
    profile.holds_first_state = true;
    profile.checkpoint_every = 0;  // none
    return profile;
}

/// `scale`: the real vector has so many times as many elements.
simulation::WorldOptions world_options(const PlanRequest& request, const SimulationOptions& asked,
                                       std::uint64_t scale) {
    const planning::Traffic traffic = planning::traffic_of(request);
    simulation::WorldOptions options;
    options.rules.elements = request.elements;
    options.rules.target_batch = Samples{traffic.contributors * kMicroBatch * kMicroBatches};
    options.rules.last_step = StepIndex{asked.rounds + 1'000};
    options.rules.chooses_trainers = false;  // the fleet's own round is asked for
    options.rules.probes_links = false;      // bandwidths are declared
    options.network.tcp = asked.tcp;
    if (asked.tcp.packet_bytes > 0) {
        options.network.tcp.packet_bytes =
            std::max<std::uint64_t>(1, asked.tcp.packet_bytes / scale);
    }
    options.proves_links = true;
    return options;
}

/// Measures the rounds of a world.
class Stopwatch {
  public:
    Stopwatch(World& world, RoundWatch& watch, const PlanRequest& request)
        : world_(world), watch_(watch), request_(request) {}

    /// Runs the world until the first round with all trainers is over.
    bool warm_up() {
        const bool is_full = world_.run_until([&] { return is_everybody_computing(); }, kMaxWait);
        return is_full && next_round().has_value();
    }

    std::optional<SimulatedRound> next_round() {
        const StepIndex step = world_.step(0);
        watch_.begin(step);
        if (!world_.run_until([&] { return is_everybody_frozen(); }, kMaxWait)) return {};
        const TimePoint begin = world_.now();
        const bool is_done =
            world_.run_until([&] { return world_.are_all_at(step.next()); }, kMaxWait);
        if (!is_done || !watch_.whole_at()) return {};
        return SimulatedRound{.planned = *watch_.planned_at() - begin,
                              .moved = *watch_.whole_at() - begin,
                              .committed = world_.now() - begin};
    }

  private:
    template <class Condition>
    bool holds_of_trainers(Condition condition) const {
        for (std::uint32_t k = 0; k < request_.members.size(); ++k) {
            if (request_.members[k].contributes && !condition(k)) return false;
        }
        return true;
    }
    bool is_everybody_computing() const {
        return holds_of_trainers([&](std::uint32_t k) {
            return world_.is_up(k) && world_.has_state(k) && world_.trainer(k).is_computing() &&
                   world_.step(k) == world_.step(0);
        });
    }
    bool is_everybody_frozen() const {
        return holds_of_trainers(
            [&](std::uint32_t k) { return !world_.trainer(k).is_computing(); });
    }

    World& world_;
    RoundWatch& watch_;
    const PlanRequest& request_;
};

}  // namespace

SimulatedRounds simulate_rounds(const PlanRequest& fleet, const SimulationOptions& options) {
    SimulatedRounds result{.request = request_for(fleet, options), .plan = {}, .rounds = {}};
    const PlanRequest& request = result.request;
    DEDLOC_CHECK(planning::traffic_of(request).contributors > 0,
                 "no member of the round contributes");
    result.plan = planning::plan_shares(request).value();
    const World* players = nullptr;
    RoundWatch watch{request.members.size(),
                     [&](const PeerKey& peer) { return players->find(peer); }};
    auto world_of = world_options(request, options, scale_of(fleet));
    world_of.observer = &watch;
    World world{options.seed, world_of};
    players = &world;
    const std::vector<LinkSpeed> links = planning::known_links(request);
    for (std::size_t k = 0; k < request.members.size(); ++k) {
        const Member& member = request.members[k];
        const Profile profile = profile_of(member, links[k], options.latency);
        if (k == 0) {
            world.add_backbone(profile);
        } else if (member.contributes) {
            world.add_trainer(profile);
        } else {
            world.add_aggregator(profile);
        }
    }
    Stopwatch stopwatch{world, watch, request};
    if (!stopwatch.warm_up()) return result;
    while (result.rounds.size() < options.rounds) {
        const auto round = stopwatch.next_round();
        if (!round) break;
        result.rounds.push_back(*round);
    }
    return result;
}

}  // namespace dedloc::plan
