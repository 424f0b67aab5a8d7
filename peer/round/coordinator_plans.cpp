// How a plan travels. An amendment of a large plan goes as a change to the peers that have said
// that they hold the plan before it, in a heartbeat, a Reduced or a Ready; the others get it whole.
// Relays pass on what they get, so a member may get a change without its base: it asks for the
// whole plan.
#include <optional>
#include <set>
#include <utility>

#include "peer/round/coordinator.hpp"
#include "peer/wire/plan_change.hpp"

namespace dedloc::round {
namespace {

/// Plans of up to so many members are sent whole: 4 kB.
constexpr std::size_t kMaxWholeMembers = 64;

}  // namespace

void Coordinator::send_plan(const std::optional<wire::Plan>& base, Outbox& out) {
    const std::set<PeerKey> holders = std::exchange(plan_holders_, {});
    std::set<PeerKey> all = addressees();
    const bool is_small = plan_->members.size() <= kMaxWholeMembers;
    const auto change = base && !is_small ? wire::change_of(*base, *plan_) : std::nullopt;
    if (change) {
        std::set<PeerKey> informed;
        for (const PeerKey& peer : holders) {
            if (all.erase(peer) > 0) informed.insert(peer);
        }
        if (!informed.empty()) send_to(informed, *change, out);
    }
    if (!all.empty()) send_to(all, *plan_, out);
}

/// Once for each peer and attempt, so that a liar gets the plan that it is sent anyway.
void Coordinator::plan_queried(TimePoint now, const PeerKey& from, StepIndex step,
                               const wire::PlanQuery& query, Outbox& out) {
    if (!is_about_us(step, query.term) || phase_ != Phase::kPlanned) return;
    if (query.attempt != attempt_ || !receivers().contains(from)) return;
    if (plan_resent_at_.try_emplace(from, now).second) out.send(from, step_, *plan_);
}

}  // namespace dedloc::round
