// What a member does with plans and queries that are not whole: a PlanChange is applied to the
// newest plan here, and if that is not its base the coordinator is asked for the whole plan. A
// reducer that has freed slices which a new plan needs gets them again.
#include <optional>
#include <utility>

#include "peer/round/member.hpp"
#include "peer/wire/plan_change.hpp"

namespace dedloc::round {

std::optional<wire::Plan> Member::on_plan_change(StepIndex step, const wire::PlanChange& change,
                                                 Outbox& out) {
    if (step != voter_.head().step) return {};
    const std::pair name{change.term, change.attempt};
    if (has_plan_ && name <= std::pair{plan_.term, plan_.attempt}) return {};
    if (has_plan_) {
        if (auto plan = wire::applied(plan_, change)) return plan;
    }
    if (std::exchange(asked_for_, name) == name) return {};
    out.send(change.term.coordinator, step,
             wire::PlanQuery{.term = change.term, .attempt = change.attempt});
    return {};
}

void Member::on_slice_query(const PeerKey& from, StepIndex step, const wire::SliceQuery& query) {
    if (!reduction_ || step != voter_.head().step) return;
    reduction_->send_again(from, query);
    has_more_ = true;
}

}  // namespace dedloc::round
