// A trainer that the coordinator does not call to every round. Its sum, or the contribution that it
// has frozen, outlives rounds without it: the trainer gets their averages like any peer that has
// missed a round, and joins a later one with the same contribution. No sample counts if its state
// is more than wire::kMaxStaleSteps steps older than that round's, and none counts twice: a record
// that counts the contribution settles it, and if this peer cannot know the record it drops it.
#include <string>
#include <utility>

#include "peer/round/member.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {
namespace {

/// "the swarm computes 12.3 samples/s instead of 45.6".
std::string cost_of(const wire::TurnChange& turn) {
    if (turn.speed_with == 0 && turn.speed_now == 0) {
        return "the others have to wait for it";
    }
    const auto text = [](double speed) {
        const auto tenths = static_cast<std::uint64_t>(10 * speed);
        return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
    };
    return "the swarm computes " + text(turn.speed_with) + " samples/s instead of " +
           text(turn.speed_now);
}

}  // namespace

/// What this peer does in its present turn, and why.
std::string Member::turn_text() const {
    const std::string limit = std::to_string(wire::kMaxStaleSteps) + " steps";
    switch (turn_.kind) {
        case TurnKind::kEveryRound:
            return "this computer takes part in every round";
        case TurnKind::kSomeRounds:
            return "this computer takes part in one round of " + std::to_string(turn_.every) +
                   " with its samples of all of them, because with it in every round " +
                   cost_of(turn_);
        case TurnKind::kWhenDone:
            return "this computer takes part whenever it has finished a micro-batch, which counts "
                   "for up to " +
                   limit + ", because otherwise " + cost_of(turn_);
        case TurnKind::kReduceOnly:
            return "this computer averages and does not compute for now, because a micro-batch "
                   "takes it longer than the " +
                   limit + " for which samples count";
        case TurnKind::kRest:
            return "this computer rests and is asked again later, because with it in every "
                   "round " +
                   cost_of(turn_);
    }
    return {};
}

void Member::on_turn(const wire::TurnChange& turn, Outbox& out) {
    if (config_.role != Role::kTrainer || !config_.receives) return;
    const wire::TurnChange former = std::exchange(turn_, turn);
    const bool is_same =
        former.kind == turn.kind && former.every == turn.every && former.term == turn.term;
    if (is_same) return;
    out.act(action::TurnChanged{.kind = turn.kind, .why = turn_text()});
    out.note(turn_text());
    if (is_sum_too_old()) {
        drop_sum(out);
        if (phase() == Phase::kWorking) samples_ = Samples{0};
    }
    switch (turn.kind) {
        case TurnKind::kEveryRound:
        case TurnKind::kSomeRounds:
        case TurnKind::kWhenDone:
            if (phase() == Phase::kWorking) compute(out);
            return;
        case TurnKind::kReduceOnly:
            // What has been computed counts for the next round.
            if (sum_.is_begun()) out.act(action::Overlap{.step = step_, .max = Samples{0}});
            return;
        case TurnKind::kRest:
            if (sum_.is_begun()) drop_sum(out);
            if (phase() == Phase::kWorking) samples_ = Samples{0};
            // A contribution without a call would wait for nothing.
            if (const auto* const frozen = std::get_if<Frozen>(&phase_);
                frozen != nullptr && frozen->term == Term{}) {
                held_.drop();
                work(out);
            }
            return;
    }
}

/// The trainer stops by itself after one micro-batch, so that no Call ever waits for it.
void Member::hold_when_done(Outbox& out) {
    if (phase() != Phase::kWorking) return;
    if (samples_ > Samples{0}) return hold(out);
    out.act(action::Overlap{.step = step_, .max = Samples{1}});
}

/// A round was decided without this peer. The trainer finishes its micro-batch, if there is one. If
/// it computes a micro-batch at a time it freezes that, so that it outlives a state that is loaded.
void Member::keep_samples(Outbox& out) {
    const bool freezes = sum_.is_begun() && turn_.kind == TurnKind::kWhenDone && !held_.is_held() &&
                         !is_handing_over_;
    if (phase() == Phase::kWorking) sum_.keep(samples_);
    if (phase() == Phase::kFreezing) {
        is_handing_over_ = true;
    } else if (freezes) {
        freeze({}, out);
        is_handing_over_ = true;
        sum_.keep(Samples{0});
    } else if (sum_.is_begun()) {
        out.act(action::Overlap{.step = step_, .max = Samples{0}});
    }
    forget_round();
    phase_ = Idle{};
}

/// Waits for a Call with a contribution that was computed on an earlier state. False: there is
/// none, or it is too old.
bool Member::wait_with_contribution(Outbox& out) {
    if (!held_.is_held()) return false;
    const Samples samples = held_.contribution().samples;
    if (held_.is_older_than(wire::kMaxStaleSteps, step_)) {
        out.note(std::to_string(samples.value()) + " samples are more than " +
                 std::to_string(wire::kMaxStaleSteps) + " steps old: they do not count");
        held_.drop();
        return false;
    }
    samples_ = samples;
    phase_ = Frozen{};
    return true;
}

/// The trainer of a paused run keeps its sum and its state. The phase decides which call continues
/// the sum.
void Member::set_paused(bool is_paused, Outbox& out) {
    if (std::exchange(is_paused_, is_paused) == is_paused) return;
    if (!is_paused) {
        // The next call of work() continues the sum in all other phases.
        if (phase() == Phase::kWorking) compute(out);
    } else if (sum_.is_begun()) {
        out.act(action::Overlap{.step = step_, .max = Samples{0}});
    }
}

}  // namespace dedloc::round
