// World: performing a peer's actions (perform()), the simulated directory and project, and the
// queries of a host's state. The directory and the project answer by timed callbacks that
// check the host's life.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "peer/base/overloaded.hpp"
#include "peer/simulation/node.hpp"
#include "peer/simulation/world.hpp"

namespace dedloc::simulation {
namespace {

constexpr Duration kSigningTime = std::chrono::milliseconds{500};

}  // namespace

// --- actions of a peer -------------------------------------------------------

void World::perform(Id id, const Action& action) {
    Node& host = node(id);
    if (writes(host, action)) do_write(id, action);
    std::visit(Overloaded{
                   [&](const action::Dial& a) { network_.dial(id, a.remote); },
                   [&](const action::Send& a) {
                       if (!hooks_->takes_frame(id, a)) put_on_link(a.link, a.frame);
                   },
                   [&](const action::Close& a) { network_.close(a.link); },
                   [&](const action::Apply& a) {
                       host.state_generation = host.generation;
                       host.trainer->perform(a);
                   },
                   [&](const action::Load& a) {
                       host.state_generation = host.generation;
                       host.trainer->perform(a);
                   },
                   [](const action::Voted&) {},
                   [](const action::Committed&) {},
                   [&](const action::GenerationBegun& a) {
                       host.generation = a.generation.record.generation;
                       newest_generation_ = std::max(newest_generation_, host.generation);
                   },
                   [&](const action::GenerationWanted& a) { sign(id, a.record); },
                   [&](const action::PauseChanged& a) { host.pause_count = a.pause.count; },
                   [&](const action::MixtureChanged& a) { host.mixture = a.as_signed; },
                   [](const action::RevocationsHeard&) {},
                   [](const action::TurnChanged&) {},
                   [&](const action::ReadHistory& a) { read_history(id, a); },
                   [](const action::Settled&) {},
                   [](const action::SwarmSeen&) {},
                   [&](const action::Finished&) { host.is_finished = true; },
                   [](const action::Refused&) {},
                   [](const action::Left&) {},
                   [](const action::Note&) {},
                   [&](const auto& a) { host.trainer->perform(a); },
               },
               action);
}

void World::put_on_link(LinkId link, const Frame& sent) {
    SharedBytes frame = hooks_->transmits(link, sent.whole());
    if (frame != nullptr) network_.send(link, std::move(frame));
}

SignedGeneration World::signed_by_project(const GenerationRecord& record) const {
    return {record, project_.sign(digest_of(run_, record).bytes)};
}

void World::sign(Id id, const GenerationRecord& wanted) {
    note(id,
         fmt::format("wants generation {} from step {}", wanted.generation, wanted.step.value()));
    if (!options_.auto_sign) return;
    const auto [it, is_new] = signed_.emplace(wanted.generation, signed_by_project(wanted));
    // The project signs each generation once; a repeated request gets the same signed generation.
    if (is_new) hooks_->generation_signed(it->second);
    after(kSigningTime, [this, id, life = node(id).life, answer = it->second] {
        if (node(id).life == life) deliver(id, event::GenerationSigned{answer});
    });
}

void World::answer_directory(Id id) {
    // The answer names every peer that has ever started, as a real directory forgets peers slowly.
    const double chance = random_.uniform();
    std::vector<Endpoint> found;
    for (const auto& other : nodes_) {
        if (other->life == 0 || other->profile.connection.is_outbound_only) continue;
        if (directory_.partial > 0 && random_.uniform() < directory_.partial) continue;
        found.push_back(other->endpoint);
    }
    for (std::size_t i = found.size(); i > 1; --i) std::swap(found[i - 1], found[random_.below(i)]);
    if (found.size() > options_.directory_answer) {
        found.resize(options_.directory_answer);
        // The project's signed head is in every answer, and it names the backbone.
        if (nodes_.front()->life != 0) found.push_back(nodes_.front()->endpoint);
    }
    if (random_.uniform() < directory_.stale) found.push_back({"10.255.0.1", 4'000});
    const Event event = event::EndpointsFound{std::move(found)};
    if (chance >= directory_.missing) {
        deliver(id, event);
        if (random_.uniform() < directory_.duplicate) deliver(id, event);
    }
    const auto life = node(id).life;
    const auto stagger = std::chrono::milliseconds{random_.below(100)};
    after(options_.directory_interval + stagger, [this, id, life] {
        if (node(id).is_alive && node(id).life == life) answer_directory(id);
    });
}

// --- observation -------------------------------------------------------------

bool World::is_up(Id id) const {
    return node(id).is_alive && !node(id).is_hung && !node(id).is_leaving;
}
bool World::has_state(Id id) const {
    return node(id).trainer != nullptr && node(id).trainer->has_state();
}
StepIndex World::step(Id id) const {
    return has_state(id) ? trainer(id).state().step() : StepIndex{0};
}
bool World::are_all_at(StepIndex wanted) const {
    for (Id id = 0; id < nodes_.size(); ++id) {
        if (!is_up(id) || !node(id).profile.receives || !node(id).is_awaited) continue;
        // A peer that arrives after the end of the run need not fetch its last state.
        if (node(id).is_finished && node(id).role != Role::kBackbone) continue;
        if (!has_state(id) || step(id) < wanted) return false;
    }
    return true;
}
const VirtualTrainer& World::trainer(Id id) const {
    return *node(id).trainer;
}
const PeerKey& World::key(Id id) const {
    return node(id).key.public_key();
}
Role World::role(Id id) const {
    return node(id).role;
}
std::optional<World::Id> World::find(const PeerKey& wanted) const {
    for (Id id = 0; id < nodes_.size(); ++id) {
        if (key(id) == wanted) return id;
    }
    return std::nullopt;
}

/// Tickets need proven links; if there are none, the run's limit applies.
std::uint64_t World::max_samples_per_second(Id id) const {
    if (!proves_links_) return options_.rules.max_samples_per_second;
    const Profile& profile = node(id).profile;
    if (profile.max_samples_per_second > 0) return profile.max_samples_per_second;
    const std::chrono::duration<double> time = profile.micro_batch_time;
    return 1 + static_cast<std::uint64_t>(4 * static_cast<double>(profile.micro_batch) /
                                          std::max(time.count(), 1e-3));
}

}  // namespace dedloc::simulation
