#include "peer/round/coordinator.hpp"

#include <algorithm>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/round/relays.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {
namespace {

/// Complaints of others about the same loss are waited for before anybody is judged.
constexpr Duration kHearing = std::chrono::seconds{1};
/// Reports are not added up at every event: the oftener the nearer the target is.
constexpr Duration kShortestLook = std::chrono::milliseconds{10};
constexpr Duration kLongestLook = std::chrono::milliseconds{100};
constexpr int kLooks = 16;  ///< in the time that is left

}  // namespace

// --- what is heard -----------------------------------------------------------

bool Coordinator::is_about_us(StepIndex step, const Term& term) const {
    return election_.is_leading() && step == step_ && term == term_;
}

bool Coordinator::is_eligible(const membership::Known& known) const {
    const Head& head = voter_.head();
    const wire::Heartbeat& heartbeat = known.heartbeat;
    const bool is_sound = heartbeat.has_state && heartbeat.state == own_.digest();
    return known.has_reported && known.generation == head.generation && known.step == head.step &&
           heartbeat.record == head.record && (is_sound || !known.receives);
}

void Coordinator::reported(TimePoint now, const PeerKey& from, StepIndex step, Samples samples,
                           double samples_per_second) {
    batch_.report(from, now, step, samples, samples_per_second);
}

void Coordinator::joined(const PeerKey& from, StepIndex step, const wire::Join& join, Outbox& out) {
    const auto seat = seats_.find(from);
    if (!is_about_us(step, join.term) || phase_ != Phase::kCalled || seat == seats_.end()) return;
    if (join.receives && join.state != own_.digest()) {
        out.note(from.brief() + " joined with another state: left out");
        seats_.erase(seat);
        return;
    }
    if (!join.is_finite) out.note(from.brief() + " had a gradient that is not finite");
    seat->second.join = join;
}

void Coordinator::reduced(const PeerKey& from, StepIndex step, const wire::Reduced& reduced) {
    if (!is_about_us(step, reduced.term) || phase_ != Phase::kPlanned) return;
    if (reduced.attempt == attempt_) reduced_.insert(from);
}

void Coordinator::stalled(TimePoint now, const PeerKey& from, StepIndex step,
                          const wire::Stalled& stalled) {
    if (!is_about_us(step, stalled.term) || phase_ != Phase::kPlanned) return;
    if (stalled.attempt != attempt_ || !seats_.contains(from)) return;
    stalls_[from] = stalled;
    judge_at_ = std::min(judge_at_, now + kHearing);
}

void Coordinator::ready(const PeerKey& from, StepIndex step, const wire::Ready& ready) {
    if (!is_about_us(step, ready.term) || phase_ != Phase::kPlanned) return;
    if (ready.attempt != attempt_ || !seats_.contains(from)) return;
    ready_[from] = ready.average;
    reduced_.insert(from);
}

std::optional<Decision> Coordinator::accepted(const PeerKey& from, StepIndex step,
                                              const wire::Accept& accept) {
    if (!is_about_us(step, accept.term) || phase_ != Phase::kProposed) return {};
    if (accept.digest != proposal_.digest || !voter_.is_in_view(from)) return {};
    const auto bytes = vote_bytes(config_.run, term_, proposal_.digest);
    if (votes_.contains(from) || !verify(from, bytes, accept.signature)) return {};
    votes_.emplace(from, accept.signature);
    std::vector<PeerKey> voters;
    Certificate certificate{.term = term_, .votes = {}};
    for (const auto& [voter, signature] : votes_) {
        voters.push_back(voter);
        certificate.votes.push_back({.voter = voter, .signature = signature});
    }
    if (!membership::is_quorum(voter_.head().view, config_.backbone, voters)) return {};
    return Decision{.record = *record_, .certificate = std::move(certificate)};
}

void Coordinator::heard(TimePoint now, const PeerKey& from, const wire::Heartbeat& heartbeat,
                        Outbox& out) {
    if (phase_ != Phase::kPlanned || plan_->relays.empty() || !seats_.contains(from)) return;
    const bool has_plan = heartbeat.term == term_ && heartbeat.attempt == attempt_;
    const TimePoint last = retold_.contains(from) ? retold_.at(from) : published_at_;
    if (has_plan || now < last + config_.rules.heartbeat || links_.is_crowded()) return;
    retold_[from] = now;
    out.send(from, step_, *plan_);
}

void Coordinator::lost(const PeerKey& peer, Outbox& out) {
    batch_.forget(peer);
    const auto seat = seats_.find(peer);
    if (seat == seats_.end() || seat->second.is_lost) return;
    out.note(peer.brief() + " was lost in the round of step " + std::to_string(step_.value()));
    if (phase_ == Phase::kCalled) {
        seats_.erase(seat);
    } else {
        lose(seat->second);
        is_amend_due_ = phase_ == Phase::kPlanned;
    }
}

void Coordinator::greet(const PeerKey& peer, Outbox& out) {
    if (!election_.is_leading() || phase_ == Phase::kGathering) return;
    if (voter_.is_in_view(peer) && !seats_.contains(peer))
        out.send(peer, step_, wire::Elect{term_});
    if (phase_ == Phase::kPlanned) out.send(peer, step_, *plan_);
    if (phase_ == Phase::kProposed) out.send(peer, step_, whole_proposal());
}

// --- time --------------------------------------------------------------------

TimePoint Coordinator::next_deadline() const {
    return std::min({deadline_, judge_at_, ask_at_});
}

void Coordinator::reset() {
    const bool is_decided = step_ < voter_.head().step;
    if (plan_ && is_decided) veterans_ = veterans_of(*plan_);
    if (record_ && is_decided) latecomers_.decided(record_->previous_state);
    phase_ = Phase::kGathering;
    gathering_since_ = kNever;
    seats_.clear();
    most_lost_ = 0;
    plan_.reset();
    record_.reset();
    reduced_.clear();
    ready_.clear();
    gone_.clear();
    demoted_.clear();
    stalls_.clear();
    votes_.clear();
    is_amend_due_ = false;
    deadline_ = judge_at_ = ask_at_ = kNever;
}

void Coordinator::advance(TimePoint now, Outbox& out) {
    const bool is_ours =
        election_.is_leading() &&
        (phase_ == Phase::kGathering || (step_ == voter_.head().step && term_ == election_.term()));
    if (!is_ours) reset();
    if (!election_.is_leading()) return;
    if (phase_ != Phase::kProposed && election_.inherited() && election_.has_promises()) {
        propose_again(*election_.inherited(), out);
    }
    if (now >= deadline_) time_out(now, out);
    if (now >= judge_at_) judge_stalls(out);
    if (phase_ == Phase::kPlanned && is_amend_due_) amend(now, out);
    if (phase_ == Phase::kProposed && ask_at_ == kNever) {
        ask_at_ = now + config_.rules.election_pause;
    }
    if (now >= ask_at_) ask_again(now, out);
    switch (phase_) {
        case Phase::kGathering:
            return gather(now, out);
        case Phase::kCalled: {
            const bool all_joined = std::all_of(seats_.begin(), seats_.end(), [](const auto& s) {
                return s.second.join.has_value();
            });
            if (all_joined) plan(now, out);
            return;
        }
        case Phase::kPlanned: {
            if (is_ready_at_all_but_lost() && election_.has_promises()) propose(out);
            return;
        }
        case Phase::kProposed:
            return;
    }
}

/// Who could not promise or vote a moment ago may have caught up, or mended its state.
void Coordinator::ask_again(TimePoint now, Outbox& out) {
    ask_at_ = now + config_.rules.election_pause;
    if (phase_ == Phase::kProposed) {
        std::set<PeerKey> silent;
        for (const PeerKey& peer : voter_.head().view) {
            if (!votes_.contains(peer)) silent.insert(peer);
        }
        send_to(silent, whole_proposal(), out);
    } else if (!election_.has_promises()) {
        election_.ask_others({}, out);
    }
}

void Coordinator::time_out(TimePoint now, Outbox& out) {
    deadline_ = kNever;
    if (phase_ == Phase::kCalled) {
        std::erase_if(seats_, [](const auto& entry) { return !entry.second.join; });
        if (!seats_.contains(self_)) return cancel("the coordinator itself is late", out);
        return plan(now, out);
    }
    if (phase_ != Phase::kPlanned) return;
    // Somebody is not ready. If others are, it is they who are late; if nobody is, a part is
    // missing everywhere, and nobody has said whose.
    if (ready_.empty()) return cancel("nobody could finish it in time", out);
    for (auto& [peer, seat] : seats_) {
        if (seat.is_lost || ready_.contains(peer)) continue;
        out.note(peer.brief() + " is late: left out");
        lose(seat);
        is_amend_due_ = true;
    }
    deadline_ = now + config_.rules.round_timeout;
}

// --- gather, call ------------------------------------------------------------

void Coordinator::gather(TimePoint now, Outbox& out) {
    ask_at_ = kNever;
    const bool has_state = own_.has_state() && own_.step() == voter_.head().step;
    if (!has_state || own_.step() >= config_.rules.last_step) {
        deadline_ = kNever;
        return;
    }
    gathering_since_ = std::min(gathering_since_, now);
    if (own_.is_in_round()) return call(now, out);
    const bool is_new = step_ != own_.step() || !has_begun_;
    if (is_new) batch_.begin(own_.step());
    step_ = own_.step();
    has_begun_ = true;
    if (!is_new && now < look_at_) return;
    look_at_ = now + kShortestLook;
    // Called by a predecessor: the round begins again with what is frozen.
    const bool has_waited = now >= gathering_since_ + 2 * config_.rules.heartbeat;
    if (has_waited && has_frozen_members()) return call(now, out);
    const bool is_reached = batch_.estimate(now) >= config_.rules.target_batch;
    const Duration patience = std::max(expected_, config_.rules.heartbeat);
    const bool waits = is_reached && latecomers_.hold_up(now, voter_.head(), links_, patience);
    if (is_reached && !waits) return call(now, out);
    const TimePoint reached_at = batch_.reached_at(now);
    if (reached_at != kNever) {
        look_at_ = now + std::clamp((reached_at - now) / kLooks, kShortestLook, kLongestLook);
    }
    deadline_ = std::max(reached_at, look_at_);
}

/// By a predecessor, or in a round that they have not heard the end of.
bool Coordinator::has_frozen_members() const {
    return std::any_of(links_.known().begin(), links_.known().end(), [&](const auto& entry) {
        return is_eligible(entry.second) && entry.second.heartbeat.is_frozen;
    });
}

void Coordinator::call(TimePoint now, Outbox& out) {
    reset();
    phase_ = Phase::kCalled;
    step_ = own_.step();
    // Attempts ascend over a whole term: no plan of it is ever taken for another.
    if (term_ != election_.term()) attempt_ = 0;
    term_ = election_.term();
    deadline_ = now + config_.rules.join_timeout;
    ask_at_ = now + config_.rules.election_pause;
    seats_.try_emplace(self_, Seat{.join = {}, .endpoint = {"", config_.listening_port}});
    for (const auto& [peer, known] : links_.known()) {
        if (!is_eligible(known) || seats_.size() >= wire::kMaxMembers) continue;
        seats_.try_emplace(peer, Seat{.join = {}, .endpoint = known.endpoint});
    }
    std::set<PeerKey> seated;
    for (const auto& [peer, seat] : seats_) seated.insert(peer);
    send_to(seated, wire::Call{term_}, out);
    election_.ask_others(seated, out);
}

void Coordinator::cancel(const std::string& why, Outbox& out) {
    out.note("the round of step " + std::to_string(step_.value()) + " is off: " + why);
    send_to(receivers(), wire::Cancel{term_}, out);
    reset();
    for (const auto& [peer, known] : links_.known()) batch_.forget(peer);
    batch_.forget(self_);  // what was reported before the call is forgotten by its owners too
}

void Coordinator::send_to(const std::set<PeerKey>& peers, wire::Body body, Outbox& out) {
    out.send_to_all({peers.begin(), peers.end()}, step_, std::move(body));
}

// --- plan --------------------------------------------------------------------

void Coordinator::plan(TimePoint now, Outbox& out) {
    const auto planned =
        make_plan(config_.rules, term_, ++attempt_, config_.scalars_of(step_), seats_, veterans_);
    if (!planned) return cancel("nobody has samples, or nobody can be dialled", out);
    Samples joined;
    for (const wire::PlanMember& member : planned->plan.members) joined += member.samples;
    batch_.gathered(joined);
    phase_ = Phase::kPlanned;
    expected_ = planned->expected;
    publish(planned->plan, now, out);
}

void Coordinator::publish(const wire::Plan& plan, TimePoint now, Outbox& out) {
    plan_ = plan;
    attempt_ = plan.attempt;
    reduced_.clear();
    ready_.clear();
    stalls_.clear();
    judge_at_ = kNever;
    const auto patience =
        std::chrono::duration_cast<Duration>(expected_ * config_.rules.round_patience);
    deadline_ = now + std::max(config_.rules.round_timeout, patience);
    published_at_ = now;
    retold_.clear();
    send_to(addressees(), plan, out);
}

bool Coordinator::reduces(const PeerKey& peer) const {
    return std::any_of(plan_->ranges.begin(), plan_->ranges.end(), [&](const auto& range) {
        return plan_->members[range.member.value()].peer == peer;
    });
}

bool Coordinator::is_reduced_by_all_but(const PeerKey& peer) const {
    return std::all_of(seats_.begin(), seats_.end(), [&](const auto& seat) {
        return seat.first == peer || reduced_.contains(seat.first) || !reduces(seat.first);
    });
}

void Coordinator::lose(Seat& seat) {
    seat.is_lost = true;
    ++most_lost_;
}

bool Coordinator::is_ready_at_all_but_lost() const {
    if (ready_.size() + most_lost_ < seats_.size()) return false;
    return std::all_of(seats_.begin(), seats_.end(), [&](const auto& seat) {
        return seat.second.is_lost || ready_.contains(seat.first);
    });
}

/// Somebody is lost or has lost its part. A contribution that has arrived everywhere stays in.
void Coordinator::amend(TimePoint now, Outbox& out) {
    is_amend_due_ = false;
    std::vector<PeerKey> absent;
    for (const wire::PlanMember& member : plan_->members) {
        const auto seat = seats_.find(member.peer);
        if (seat != seats_.end() && seat->second.is_lost) absent.push_back(member.peer);
    }
    if (is_ready_at_all_but_lost()) return;
    bool moves_chunks = !demoted_.empty();
    for (const PeerKey& peer : absent) {
        if (!reduces(peer) && is_reduced_by_all_but(peer)) continue;
        gone_.insert(peer);
        moves_chunks = moves_chunks || reduces(peer);
    }
    // A chunk that moves is sent again by its contributors: who cannot is out.
    if (moves_chunks) gone_.insert(absent.begin(), absent.end());
    if (gone_.empty() && demoted_.empty()) return;
    const auto amended = amend_plan(config_.rules, *plan_, seats_, gone_, demoted_, veterans_);
    if (!amended) return cancel("too few are left for it", out);
    for (const PeerKey& peer : gone_) seats_.erase(peer);
    if (!seats_.contains(self_)) return cancel("the coordinator is left out", out);
    out.note("the round of step " + std::to_string(step_.value()) + " goes on without " +
             std::to_string(gone_.size()) + " members and " + std::to_string(demoted_.size()) +
             " reducers");
    publish(*amended, now, out);
    gone_.clear();
    demoted_.clear();
}

/// Who is to blame when chunks do not come. A contributor that several reducers miss (or the only
/// one) is out; a reducer that alone misses somebody cannot be reached by it, and a reducer that
/// only receivers miss does not send: both lose their part and stay.
void Coordinator::judge_stalls(Outbox& out) {
    judge_at_ = kNever;
    std::map<std::uint32_t, std::set<PeerKey>> missed_by;
    for (const auto& [peer, stall] : stalls_) {
        for (const std::uint32_t k : stall.senders) missed_by[k].insert(peer);
    }
    std::size_t reducers = 0;
    for (const auto& [peer, seat] : seats_) reducers += !seat.is_lost && reduces(peer) ? 1 : 0;
    const auto is_member = [&](std::uint32_t k) { return k < plan_->members.size(); };
    bool is_explained = false;
    for (const auto& [k, witnesses] : missed_by) {
        if (!is_member(k)) continue;
        is_explained = true;
        const PeerKey& sender = plan_->members[k].peer;
        const bool is_alone = witnesses.size() == 1 && reducers > 1;
        if (is_alone) {
            out.note(sender.brief() + " does not reach " + witnesses.begin()->brief() +
                     ", which loses its part");
            demoted_.insert(*witnesses.begin());
        } else if (const auto seat = seats_.find(sender); seat != seats_.end() && sender != self_) {
            out.note(sender.brief() + " does not send: left out");
            lose(seat->second);
        }
    }
    for (const auto& [peer, stall] : stalls_) {
        for (const std::uint32_t k : stall.reducers) {
            if (is_explained || !is_member(k) || reducers < 2) continue;
            const PeerKey& reducer = plan_->members[k].peer;
            out.note(reducer.brief() + " does not send averages, and loses its part");
            demoted_.insert(reducer);
        }
    }
    stalls_.clear();
    is_amend_due_ = true;
}

// --- decide ------------------------------------------------------------------

/// Of those who are ready: what most of them hold, and of equals our own, else the smallest.
Digest Coordinator::average_of_most() const {
    std::map<Digest, std::size_t> count;
    for (const auto& [peer, seat] : seats_) {
        const auto ready = ready_.find(peer);
        if (ready != ready_.end() && seat.join->receives) ++count[ready->second];
    }
    DEDLOC_CHECK(!count.empty(), "somebody holds the average");
    const auto own = ready_.find(self_);
    Digest best = count.begin()->first;
    for (const auto& [digest, n] : count) {
        const bool is_own = own != ready_.end() && own->second == digest;
        if (n > count[best] || (n == count[best] && is_own)) best = digest;
    }
    return best;
}

void Coordinator::propose(Outbox& out) {
    proposal_ = {.term = term_,
                 .attempt = attempt_,
                 .digest = {},
                 .average = average_of_most(),
                 .previous_state = own_.digest(),
                 .stays = {},
                 .record = {}};
    for (const wire::PlanMember& member : plan_->members) {
        const auto ready = ready_.find(member.peer);
        const bool is_equal =
            ready != ready_.end() && (!member.receives || ready->second == proposal_.average);
        if (ready != ready_.end() && !is_equal) {
            out.note(member.peer.brief() + " holds another average: it has to fetch the state");
        }
        const bool stays = is_equal && !seats_.at(member.peer).is_lost;
        proposal_.stays.push_back(stays ? 1 : 0);
    }
    record_ = record_of(*plan_, proposal_, voter_.head());
    proposal_.digest = digest_of(*record_);
    phase_ = Phase::kProposed;
    deadline_ = judge_at_ = kNever;
    send_to(addressees(), proposal_, out);
}

void Coordinator::propose_again(const CommitRecord& record, Outbox& out) {
    reset();
    phase_ = Phase::kProposed;
    step_ = voter_.head().step;
    term_ = election_.term();
    record_ = record;
    proposal_ = {.term = term_,
                 .attempt = 0,
                 .digest = digest_of(record),
                 .average = record.average,
                 .previous_state = record.previous_state,
                 .stays = {},
                 .record = record};
    out.note("proposing again what was accepted for step " + std::to_string(step_.value()));
    send_to(addressees(), proposal_, out);
}

std::set<PeerKey> Coordinator::addressees() const {
    return plan_ ? told_directly(*plan_, receivers(), seats_, veterans_) : receivers();
}

std::set<PeerKey> Coordinator::receivers() const {
    std::set<PeerKey> all(voter_.head().view.begin(), voter_.head().view.end());
    if (record_) {
        for (const CommitLine& line : record_->members) all.insert(line.peer);
    }
    for (const auto& [peer, seat] : seats_) all.insert(peer);
    all.insert(gone_.begin(), gone_.end());
    return all;
}

/// For those that may not know the plan.
wire::Propose Coordinator::whole_proposal() const {
    wire::Propose whole = proposal_;
    whole.record = record_;
    return whole;
}

void Coordinator::check_invariants() const {
    DEDLOC_CHECK(phase_ != Phase::kPlanned || plan_.has_value(), "a planned round has a plan");
    DEDLOC_CHECK(phase_ != Phase::kProposed || record_.has_value(), "a proposal is a record");
    DEDLOC_CHECK(phase_ == Phase::kGathering || phase_ == Phase::kProposed ||
                     !election_.is_leading() || seats_.contains(self_),
                 "the coordinator sits in its own round", step_.value());
}

}  // namespace dedloc::round
