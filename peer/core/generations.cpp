// Generations: the project's signed lists of voters, each with the state that the history goes on
// from. A backbone whose host holds the project's key asks for one in two cases: other voters are
// wanted, or no peer has the state that was decided last (the only voter died before it signed it,
// and members no longer retain the averages that lead to it).
#include <algorithm>
#include <string>
#include <utility>

#include "peer/core/core.hpp"
#include "peer/membership/quorum.hpp"

namespace dedloc {

/// The swarm may have moved on since it was asked for: then another one is, with the next number.
void Peer::Core::on(const event::GenerationSigned& event) {
    const GenerationRecord& record = event.generation.record;
    request_.answered(now_);
    const bool is_held = member_.holds_state() && member_.step() == record.step &&
                         member_.digest() == record.state &&
                         member_.phase() != round::Member::Phase::kApplying;
    if (!is_held || record.step > head().step) {
        return out_.note("generation " + std::to_string(record.generation) +
                         " is dropped: the swarm has gone on since it was asked for");
    }
    begin_generation(event.generation);
}

void Peer::Core::on(const event::VotersWanted& event) {
    request_.want(event.voters, event.min_generation, now_);
}

/// A backbone without its votes in this generation may have helped to decide what is not in its
/// ledger: it has lost the memory of its votes, or ledger and memory come from a backup. Every
/// majority of the n voters has one of any n / 2 (rounded up) others, so if that many of them are
/// not ahead, nothing that was decided is missing. Voters that the project dismisses are not waited
/// for.
bool Peer::Core::knows_all_decisions() const {
    if (voter_.may_vote()) return true;
    std::size_t others = 0;
    std::size_t heard = 0;
    for (const PeerKey& peer : head().voters) {
        if (peer == self_ || !std::ranges::binary_search(request_.voters(), peer)) continue;
        ++others;
        const membership::Known* known = links_.find(peer);
        const bool is_not_ahead = known != nullptr && known->has_reported &&
                                  known->generation == head().generation &&
                                  known->step <= head().step;
        if (is_not_ahead) ++heard;
    }
    return heard >= std::min(others, (head().voters.size() + 1) / 2);
}

/// Those that are new have to hold the state, or the next round would wait for them.
bool Peer::Core::may_appoint() const {
    const bool is_so_already =
        request_.voters() == head().voters && head().generation >= request_.min_generation();
    if (request_.voters().empty() || is_so_already || !is_current()) return false;
    if (!knows_all_decisions()) return false;
    // A round that can be decided is decided first.
    if (member_.is_in_round() && election_.has_majority_here()) return false;
    return std::ranges::all_of(request_.voters(), [&](const PeerKey& peer) {
        if (peer == self_ || voter_.is_voter(peer)) return true;
        const membership::Known* known = links_.find(peer);
        return known != nullptr && known->generation == head().generation &&
               known->step == head().step && known->heartbeat.has_state &&
               known->heartbeat.state == member_.digest();
    });
}

void Peer::Core::want_generation() {
    if (!config_.may_begin_generations || is_finished_) return;
    const bool is_coming = is_current() || member_.phase() == round::Member::Phase::kApplying ||
                           catch_up_.progress() != stuck_at_;
    stuck_at_ = catch_up_.progress();
    request_.watch(now_, is_coming);
    voter_.pause(request_.is_open(now_));
    if (!request_.is_due(now_)) return;
    const bool is_stuck = request_.is_stuck(now_) && election_.has_majority_here() &&
                          member_.holds_state() && member_.step() <= head().step;
    const bool appoints = head().step < config_.rules.last_step && may_appoint();
    if (!appoints && !is_stuck) return;
    const std::uint64_t generation = request_.ask(now_, head().generation);
    voter_.pause(true);
    if (!appoints) {
        out_.note("no peer that is here holds the state of step " +
                  std::to_string(head().step.value()) + ": going on from step " +
                  std::to_string(member_.step().value()));
    }
    out_.act(action::GenerationWanted{{.generation = generation,
                                       .step = member_.step(),
                                       .state = member_.digest(),
                                       .voters = appoints ? request_.voters() : head().voters}});
}

/// A keeper that has missed what led to a generation fetches that first.
void Peer::Core::take(const wire::Message&, const wire::Generation& body) {
    const GenerationRecord& record = body.generation.record;
    if (record.generation <= head().generation) return;
    if (!keeps_history() || record.step <= head().step) return begin_generation(body.generation);
    if (!membership::is_signed(config_.run, config_.project, body.generation)) return;
    if (pending_ && pending_->record.generation >= record.generation) return;
    pending_ = body.generation;
    missed_.ask_now(now_);
}

void Peer::Core::begin_generation(const SignedGeneration& generation) {
    if (!voter_.begin(generation)) return;
    const GenerationRecord& record = generation.record;
    out_.note("generation " + std::to_string(record.generation) + " begins at step " +
              std::to_string(record.step.value()) + " with " +
              std::to_string(record.voters.size()) + " voters");
    settlement_.restart(record.step, out_);
    out_.act(action::GenerationBegun{generation});
    last_decision_.reset();
    certificates_.clear();
    proven_.clear();
    missed_.clear();
    told_.clear();  // steps may come again
    is_finished_ = false;
    election_.reset();
    coordinator_.on_generation();
    catch_up_.stop();
    donor_.begin(head().generation);
    head_changed(false);
    member_.restart(record.state, out_);
    links_.broadcast(head().step, wire::Generation{generation}, out_.actions);
    take_certificate({.generation = record.generation,
                      .step = record.step,
                      .record = head().record,
                      .state = record.state,
                      .votes = {}});
    send_heartbeat(Audience::kSmallSwarm);
}

}  // namespace dedloc
