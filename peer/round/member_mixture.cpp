// How a member follows the project's changes of the mixture. A change is signed for steps to come,
// so the trainer is usually told before it computes on a state that it concerns, and what it has
// computed stays right. A peer that hears of a change late has drawn samples from the former
// mixture: its sum and the contribution that it holds are dropped, since other peers would not
// count them.
#include <string>
#include <utility>

#include "peer/round/member.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {

bool Member::take_mixture(SharedMixture mixture, const CommitRecord* last, Outbox& out) {
    const SharedMixture former = mixtures_.in_force();
    if (!mixtures_.take(std::move(mixture))) return false;
    const bool is_late = last != nullptr && mixtures_.compare(*last);
    out.note("the project has changed the mixture of the run's sources: version " +
             std::to_string(mixtures_.version()));
    if (is_late) out.note("a change of it came too late and is void");
    mixture_changed(former, out);
    return true;
}

bool Member::compare_mixture(const CommitRecord& record, Outbox& out) {
    const SharedMixture former = mixtures_.in_force();
    if (!mixtures_.compare(record)) return false;
    out.note("a change of the mixture came too late: the round of step " +
             std::to_string(record.step.value()) + " was drawn without it, so it is void");
    mixture_changed(former, out);
    return true;
}

void Member::tell_mixture(Outbox& out) const {
    if (mixtures_.in_force()) out.act(action::Mix{mixtures_.in_force()});
}

void Member::mixture_changed(const SharedMixture& former, Outbox& out) {
    out.act(action::MixtureChanged{.as_signed = mixtures_.as_signed(),
                                   .in_force = mixtures_.in_force()});
    // No sample that may still count is older.
    const std::uint64_t last = step_.value();
    const std::uint64_t first = last < wire::kMaxStaleSteps ? 0 : last - wire::kMaxStaleSteps;
    bool is_affected = false;
    for (std::uint64_t step = first; step <= last; ++step) {
        is_affected = is_affected ||
                      mixture_at(former.get(), StepIndex{step}) != mixtures_.at(StepIndex{step});
    }
    const bool is_asked = phase() == Phase::kFreezing || is_handing_over_;
    if (is_affected && (sum_.is_begun() || held_.is_held() || is_asked)) {
        if (is_asked) ++stale_freezes_;
        out.note("samples that were drawn from the former mixture are dropped");
        give_up(out);
    }
    out.act(action::Mix{mixtures_.in_force()});
    if (is_affected) resume(out);
}

}  // namespace dedloc::round
