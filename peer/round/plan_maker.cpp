// Members are the callees in ascending order of their keys; the index in that list is the member
// order that sums follow. make_plan() lets planning::plan_shares() cut the vector; amend_plan()
// keeps that cut (chunk_elements), moves only the chunks of lost reducers (planning::reassign) and
// renumbers members last, because ranges refer to member indices.
#include "peer/round/plan_maker.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/planning/planner.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {
namespace {

/// A reducer whose part saves less time than this is left out (PlanRequest::latency).
constexpr Duration kLatency = std::chrono::milliseconds{20};

/// A peer is probed if this percentage of its claim would shorten the round by 1 / kWorthwhile.
constexpr std::uint64_t kFarFasterPercent = 3'200;
constexpr int kWorthwhile = 8;
/// Shorter rounds are not probed: processors and latency take most of their time.
constexpr Duration kMinProbedRound = std::chrono::seconds{1};
constexpr std::uint64_t kAnyLink = 100'000'000'000;  ///< bytes per second that no link has

bool is_v6(const Callee& callee) {
    return callee.endpoint.host.find(':') != std::string::npos;
}

/// Whether all callees have links over IPv6, or are the coordinator's. Only then may a peer that is
/// known at an IPv6 address reduce, since the others may have IPv4 only.
bool are_all_v6(const Callees& callees) {
    return std::all_of(callees.begin(), callees.end(), [](const auto& entry) {
        return entry.second.endpoint.host.empty() || is_v6(entry.second);
    });
}

planning::Member member_of(const Callee& callee, bool contributes, bool are_all_v6) {
    const bool can_be_dialled = callee.endpoint.port != 0 && (are_all_v6 || !is_v6(callee));
    return {.upload = callee.join->upload,
            .download = callee.join->download,
            .contributes = contributes,
            .receives = callee.join->receives,
            .is_reachable = can_be_dialled && callee.may_reduce};
}

/// A request without members and chunks.
planning::PlanRequest request_for(const RoundRules& rules) {
    return {.members = {},
            .elements = rules.elements,
            .contribution = planning::on_the_wire(rules.codec),
            .average = planning::on_the_wire(rules.codec),
            .latency = kLatency};
}

void name_reducers(wire::Plan& plan, const Callees& callees) {
    plan.reducers.clear();
    std::set<std::uint32_t> named;
    for (const wire::ChunkRange& range : plan.ranges) named.insert(range.member.value());
    for (const std::uint32_t k : named) {
        const Endpoint& endpoint = callees.at(plan.members[k].peer).endpoint;
        // The coordinator does not know its own public address; members use their links to it.
        if (endpoint.host.empty()) continue;
        plan.reducers.push_back({.member = PeerIndex{k}, .endpoint = endpoint});
    }
}

bool has_samples(const wire::Plan& plan) {
    return std::any_of(plan.members.begin(), plan.members.end(),
                       [](const wire::PlanMember& m) { return m.samples > Samples{0}; });
}

/// Removes these members and renumbers the others; ranges keep their reducers.
void remove_members(wire::Plan& plan, const std::set<PeerKey>& gone) {
    std::vector<std::uint32_t> place(plan.members.size(), 0);
    std::vector<wire::PlanMember> rest;
    for (std::size_t k = 0; k < plan.members.size(); ++k) {
        place[k] = static_cast<std::uint32_t>(rest.size());
        if (!gone.contains(plan.members[k].peer)) rest.push_back(plan.members[k]);
    }
    for (wire::ChunkRange& range : plan.ranges) {
        range.member = PeerIndex{place[range.member.value()]};
    }
    plan.members = std::move(rest);
}

/// The ranges of a plan with the probed bandwidth; nothing if the `usual` round is short, or if a
/// far faster link would hardly shorten it. The chunks stay those of the request.
std::optional<std::vector<wire::ChunkRange>> ranges_with(const ProbedLink& probed,
                                                         const wire::Plan& plan,
                                                         planning::PlanRequest request,
                                                         const planning::Forecast& usual) {
    const std::uint32_t index = wire::index_of(plan, probed.peer);
    if (index == plan.members.size() || usual.round < kMinProbedRound) return {};
    const planning::Member member = request.members[index];
    if (!member.is_reachable || !member.upload || !member.download) return {};
    const auto shares_if = [&](std::uint64_t percent) {
        const auto faster = [&](Bandwidth speed) {
            return Bandwidth{percent * std::min(speed.value(), kAnyLink) / 100};
        };
        request.members[index].upload = faster(*member.upload);
        request.members[index].download = faster(*member.download);
        return planning::plan_shares(request);
    };
    const auto best = shares_if(kFarFasterPercent);
    if (!best || best->forecast.round > usual.round - usual.round / kWorthwhile) return {};
    auto shares = shares_if(probed.percent);
    if (!shares || shares->ranges == plan.ranges) return {};
    return std::move(shares->ranges);
}

}  // namespace

planning::PlanRequest request_for(const RoundRules& rules, const Callees& callees) {
    planning::PlanRequest request = request_for(rules);
    const bool all_v6 = are_all_v6(callees);
    for (const auto& [peer, callee] : callees) {
        request.members.push_back(member_of(callee, callee.join->samples > Samples{0}, all_v6));
    }
    request.chunk_elements = planning::chunk_elements_for(request);
    return request;
}

/// A member sends its contribution to all other reducers, and its part of the average to all other
/// receivers; it receives its part of all other contributions, and the rest of the average.
Traffic traffic_of(Codec codec, const wire::Plan& plan, const PeerKey& peer) {
    std::uint64_t part = 0;
    std::uint64_t contributors = 0;
    std::uint64_t receivers = 0;
    const wire::PlanMember* own = nullptr;
    for (const wire::PlanMember& member : plan.members) {
        if (member.peer == peer) {
            own = &member;
            continue;
        }
        contributors += member.samples > Samples{0} ? 1 : 0;
        receivers += member.receives ? 1 : 0;
    }
    if (own == nullptr) return {};
    for (const wire::ChunkRange& range : plan.ranges) {
        if (plan.members[range.member.value()].peer != peer) continue;
        const auto element = [&](std::uint32_t chunk) {
            return std::min(std::uint64_t{chunk} * plan.chunk_elements, plan.elements);
        };
        part += element(range.last_chunk) - element(range.first_chunk);
    }
    const auto bytes = [size = planning::on_the_wire(codec)](std::uint64_t elements) {
        return size.bytes_of(elements);
    };
    const std::uint64_t rest = bytes(plan.elements - part);
    return {.sent = (own->samples > Samples{0} ? rest : 0) + receivers * bytes(part),
            .received = (own->receives ? rest : 0) + contributors * bytes(part)};
}

std::optional<NewPlan> make_plan(const RoundRules& rules, const Term& term, std::uint32_t attempt,
                                 const UpdateScalars& scalars, const Callees& callees,
                                 const Veterans& veterans,
                                 const std::optional<ProbedLink>& probed) {
    wire::Plan plan{.term = term,
                    .attempt = attempt,
                    .elements = rules.elements,
                    .chunk_elements = 0,
                    .scalars = scalars,
                    .members = {},
                    .ranges = {},
                    .reducers = {},
                    .relays = {},
                    .expected = {}};
    for (const auto& [peer, callee] : callees) {
        plan.members.push_back({.peer = peer,
                                .samples = callee.join->samples,
                                .loss_sum = callee.join->loss_sum,
                                .contribution_id = callee.join->contribution_id,
                                .receives = callee.join->receives,
                                .exponent = callee.join->exponent,
                                .added = callee.join->added});
    }
    const planning::PlanRequest request = request_for(rules, callees);
    if (!has_samples(plan)) return {};
    if (std::ranges::none_of(request.members, &planning::Member::is_reachable)) return {};
    plan.chunk_elements = request.chunk_elements;
    const auto shares = planning::plan_shares(request);
    if (!shares) return {};
    auto forecast = shares->forecast;
    plan.ranges = shares->ranges;
    const auto ranges = probed ? ranges_with(*probed, plan, request, forecast) : std::nullopt;
    if (ranges) {
        plan.ranges = *ranges;
        forecast = planning::forecast(request, plan.ranges);
    }
    name_reducers(plan, callees);
    plan.relays = choose_relays(plan, callees, veterans);
    using std::chrono::milliseconds;
    plan.expected = std::min(std::chrono::ceil<milliseconds>(forecast.round),
                             milliseconds{wire::kMaxExpectedMilliseconds});
    const bool is_known =
        std::any_of(request.members.begin(), request.members.end(),
                    [](const planning::Member& m) { return m.upload || m.download; });
    return NewPlan{.plan = std::move(plan),
                   .expected = is_known ? forecast.round : Duration{},
                   .is_probed = ranges.has_value()};
}

std::optional<wire::Plan> amend_plan(const RoundRules& rules, const wire::Plan& plan,
                                     const Callees& callees, const std::set<PeerKey>& gone,
                                     const std::set<PeerKey>& demoted, const Veterans& veterans) {
    wire::Plan amended = plan;
    ++amended.attempt;
    auto request = request_for(rules);
    request.chunk_elements = plan.chunk_elements;
    const bool all_v6 = are_all_v6(callees);
    std::vector<PeerIndex> lost;
    for (std::uint32_t k = 0; k < plan.members.size(); ++k) {
        const PeerKey& peer = plan.members[k].peer;
        const Callee& callee = callees.at(peer);
        planning::Member member = member_of(callee, plan.members[k].samples > Samples{0}, all_v6);
        const bool is_gone = gone.contains(peer);
        if (is_gone) member.contributes = member.receives = false;
        if (is_gone || demoted.contains(peer) || callee.is_lost) member.is_reachable = false;
        if (!member.is_reachable) lost.push_back(PeerIndex{k});
        request.members.push_back(member);
    }
    auto ranges = planning::reassign(request, plan.ranges, lost);
    if (!ranges) return {};
    amended.ranges = std::move(ranges).value();
    remove_members(amended, gone);
    if (!has_samples(amended)) return {};
    Callees rest = callees;
    for (const PeerKey& peer : gone) rest.erase(peer);
    name_reducers(amended, rest);
    amended.relays = choose_relays(amended, rest, veterans);
    return amended;
}

}  // namespace dedloc::round
