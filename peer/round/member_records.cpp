// The records of rounds, which a voter votes for and members take from a Commit. A record follows
// from the plan, so a peer that has the plan makes it itself and compares digests. A record that
// was accepted in an earlier term comes with the message, because its plan may be unknown here.
#include <optional>
#include <utility>
#include <vector>

#include "peer/round/member.hpp"

namespace dedloc::round {

CommitRecord record_of(const wire::Plan& plan, const Digest& average, const Digest& previous_state,
                       const Head& head) {
    CommitRecord record{.generation = head.generation,
                        .step = head.step,
                        .previous_record = head.record,
                        .previous_state = previous_state,
                        .members = {},
                        .average = average,
                        .scalars = plan.scalars,
                        .mixture = plan.mixture};
    record.members.reserve(plan.members.size());
    const std::vector<std::uint64_t> reduced = wire::reduced_elements(plan);
    for (std::size_t k = 0; k < plan.members.size(); ++k) {
        const wire::PlanMember& member = plan.members[k];
        record.members.push_back({.peer = member.peer,
                                  .samples = member.samples,
                                  .loss_sum = member.loss_sum,
                                  .reduced = reduced[k],
                                  .added = member.added});
    }
    return record;
}

/// An average counts because a voter has it: no coordinator decides another one. A record of an
/// earlier term may be decided already, by voters that have lost it since or are gone. So it also
/// gets a vote if this voter has voted for it, or if there is no majority without its coordinator.
bool Member::knows_average_of(const CommitRecord& record, bool is_inherited,
                              bool has_others) const {
    if (average_of(record) != nullptr || voter_.accepted() == record) return true;
    return is_inherited && !has_others;
}

void Member::on_propose(TimePoint now, StepIndex step, const wire::Propose& propose,
                        bool has_others, Outbox& out) {
    if (step != voter_.head().step || !voter_.may_vote()) return;
    const bool is_of_plan = has_plan(propose.term, propose.attempt);
    // What members contributed and reduced follows from the plan. The coordinator's word is not
    // taken for it by a voter that has the plan.
    const bool is_inherited = propose.attempt == 0;
    auto record = propose.record;
    if (is_of_plan) {
        record =
            round::record_of(*last_plan(), propose.average, propose.previous_state, voter_.head());
    }
    if (!record || digest_of(*record) != propose.digest) return;
    // A coordinator that has inherited a record proposes it before it plans a round.
    if (is_inherited && last_plan() != nullptr && last_plan()->term == propose.term) return;
    // A voter votes for a new record only if it holds the state that the record names: a
    // coordinator with a damaged state gets no votes. A record accepted in an earlier term (attempt
    // 0) may be decided already, and its state is not judged again.
    const bool is_current = has_state() && step_ == step;
    const bool is_judged = config_.receives && !is_inherited;
    if (is_judged && (!is_current || record->previous_state != digest_)) return;
    if (config_.receives && !knows_average_of(*record, is_inherited, has_others)) {
        const bool is_known =
            refusal_ && refusal_->term == propose.term && refusal_->record == propose.digest;
        if (!is_known) refusal_ = {propose.term, step, propose.digest, now};
        refusal_->is_other = is_of_plan && phase() == Phase::kReady;
        return;
    }
    refusal_.reset();
    const auto signature = voter_.accept(propose.term, *record);
    if (!signature) return;
    out.send(propose.term.coordinator, step,
             wire::Accept{.term = propose.term, .digest = propose.digest, .signature = *signature});
}

/// Nothing if no average was complete here, or if the decided one is of another sum. Comes before
/// the record is appended.
std::optional<Dispute> Member::dispute_about(const CommitRecord& record) const {
    if (!round_ || !round_->average.values || plan() == nullptr) return {};
    const bool is_same_sum = round_->average.sum_id == round_->reduction->sum_id();
    const CommitRecord here =
        round::record_of(*plan(), record.average, record.previous_state, voter_.head());
    if (!is_same_sum || !(here == record)) return {};
    return Dispute{digest_of(record), round_->average.values, round_->reduction->parts_of_others()};
}

void Member::settle_dispute(const CommitRecord& record, const FloatVector& average, Outbox& out) {
    const auto dispute = std::exchange(dispute_, std::nullopt);
    if (!dispute || dispute->record() != digest_of(record)) return;
    for (const PeerKey& liar : dispute->liars(average)) {
        out.accuse(liar, liar.brief() + " has sent another average than the decided one of step " +
                             std::to_string(record.step.value()));
    }
}

std::optional<CommitRecord> Member::record_of(const wire::Commit& commit) const {
    std::optional<CommitRecord> record = commit.record;
    if (!record && has_plan(commit.certificate.term, commit.attempt)) {
        record =
            round::record_of(*last_plan(), commit.average, commit.previous_state, voter_.head());
    }
    if (record && digest_of(*record) != commit.digest) record.reset();
    return record;
}

}  // namespace dedloc::round
