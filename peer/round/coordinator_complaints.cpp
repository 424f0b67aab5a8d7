// How the coordinator judges complaints about members that do not send.
//
// Pieces      When a reducer refuses a sender's pieces, the sender leaves the round at once, and
//             the complaint is charged to the reducer.
// Stalls      Complaints are collected for kHearing, then judged together. A reducer may miss
//             contributors, a receiver may miss reducers.
//
// A member that most reducers or receivers miss has failed: it is left out if it does not
// send its contribution, and excluded from later calls if a voter or two accounts miss it; a
// reducer that does not send averages loses its part. But a sender that does send to this peer has
// failed only if members in three networks miss it.
// What remains are pairs: two members that do not reach each other, says one of them. Pairs are
// remembered. A member that has been in pairs with more accounts than any of the others has failed
// itself, or lies: a witness is left out, a sender too, and excluded if three accounts have missed
// it, a reducer loses its part. Of a pair that does not tell, the reducer loses its part and both
// stay members. A member that misses this peer or a voter, or is missed by one of them, is the one
// that loses.
//
// complaints.hpp says what is remembered for the next rounds.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "peer/round/coordinator.hpp"

namespace dedloc::round {
namespace {

/// How long complaints about the same loss are collected before any member is judged.
constexpr Duration kHearing = std::chrono::seconds{1};

/// The /24 of an IPv4 address, the /48 of an IPv6 address: what one subscriber may have.
std::string network_of(const std::string& host) {
    if (host.find(':') == std::string::npos) return host.substr(0, host.rfind('.'));
    std::size_t end = 0;
    for (int group = 0; group < 3 && end != std::string::npos; ++group) {
        end = host.find(':', end + (group > 0 ? 1 : 0));
    }
    return host.substr(0, end);
}

}  // namespace

void Coordinator::on_complaint(TimePoint now, const PeerKey& from, StepIndex step,
                               const wire::Stalled& stalled, Outbox& out) {
    if (!is_about_us(step, stalled.term) || phase_ != Phase::kPlanned) return;
    if (stalled.attempt != attempt_ || !seats_.contains(from)) return;
    if (complaints_.is_doubted(account_of(from)) && from != self_) return;
    const bool misses_some = !stalled.senders.empty() || !stalled.reducers.empty();
    if (misses_some && now >= heed_at_) {
        stalls_[from] = stalled;
        judge_at_ = std::min(judge_at_, now + kHearing);
    }
    if (!reduces(from) && from != self_) return;
    for (const std::uint32_t k : stalled.refused) {
        if (k >= plan_->members.size()) continue;
        const PeerKey& sender = plan_->members[k].peer;
        const auto seat = seats_.find(sender);
        if (seat == seats_.end() || sender == self_ || gone_.contains(sender)) continue;
        if (complaints_.is_doubted(account_of(from)) && from != self_) return;
        exclude(now, sender, "has sent " + from.brief() + " pieces that cannot be averaged", out,
                now - published_at_);
        charge(from);
        seat->second.is_lost = true;
        gone_.insert(sender);
        is_amend_due_ = true;
    }
}

/// Voters are not charged. Nor is any member for a plan that was made without knowing its link.
void Coordinator::charge(const PeerKey& peer, std::uint32_t charges) {
    if (expected_ != Duration{} && !is_trusted(peer)) {
        complaints_.charge(account_of(peer), charges);
    }
}

bool Coordinator::is_trusted(const PeerKey& peer) const {
    return peer == self_ || voter_.is_voter(peer);
}

/// True if a voter is among the witnesses, or two accounts are: one liar excludes no other peer.
bool Coordinator::is_corroborated(const std::set<PeerKey>& witnesses) const {
    std::set<Exclusions::Account> accounts;
    for (const PeerKey& witness : witnesses) {
        if (voter_.is_voter(witness)) return true;
        accounts.insert(account_of(witness));
    }
    return accounts.size() > 1;
}

/// True if the sender that others miss does send to this peer, and those that have missed it of
/// late are in fewer than kNetworks networks. Where most members cannot be dialled, two accounts
/// may be most of the reducers.
bool Coordinator::is_contradicted(TimePoint now, const PeerKey& sender,
                                  const std::set<PeerKey>& witnesses) const {
    constexpr std::size_t kNetworks = 3;
    const wire::Plan* const followed = own_.plan();
    const bool is_seen = followed != nullptr && followed->attempt == attempt_ && reduces(self_);
    if (!is_seen || !own_.is_sent_by(now, sender)) return false;
    const Exclusions::Account account = account_of(sender);
    std::set<std::string> networks;
    for (const auto& [peer, known] : links_.known()) {
        const bool is_witness = witnesses.contains(peer);
        if (is_witness && voter_.is_voter(peer)) return false;
        if (!is_witness && !complaints_.are_apart(account_of(peer), account)) continue;
        networks.insert(network_of(known.endpoint.host));
    }
    return networks.size() < kNetworks;
}

/// The complaints. If reducers miss contributors, receivers miss averages for that reason alone.
Coordinator::Missed Coordinator::missed() const {
    Missed missed;
    const auto add = [&](const PeerKey& witness, std::uint32_t k) {
        if (k >= plan_->members.size() || plan_->members[k].peer == witness) return;
        missed.by[plan_->members[k].peer].insert(witness);
    };
    for (const auto& [peer, stall] : stalls_) {
        if (!reduces(peer)) continue;
        for (const std::uint32_t k : stall.senders) add(peer, k);
    }
    missed.are_senders = !missed.by.empty();
    if (missed.are_senders) return missed;
    for (const auto& [peer, stall] : stalls_) {
        if (!seats_.at(peer).join->receives) continue;
        for (const std::uint32_t k : stall.reducers) {
            if (k < plan_->members.size() && reduces(plan_->members[k].peer)) add(peer, k);
        }
    }
    return missed;
}

/// True if more than half of the accounts miss the member that could miss it.
bool Coordinator::is_missed_by_most(const PeerKey& peer, const std::set<PeerKey>& witnesses,
                                    bool is_sender) const {
    std::set<Exclusions::Account> able;
    std::set<Exclusions::Account> missing;
    for (const auto& [other, seat] : seats_) {
        const Exclusions::Account account = account_of(other);
        if (seat.is_lost || other == peer || complaints_.is_doubted(account)) continue;
        if (is_sender ? reduces(other) : seat.join->receives) able.insert(account);
    }
    for (const PeerKey& witness : witnesses) missing.insert(account_of(witness));
    return 2 * missing.size() > able.size();
}

/// The seat of another member that is not lost; null if it has none.
Seat* Coordinator::present(const PeerKey& peer) {
    const auto seat = seats_.find(peer);
    const bool is_there = seat != seats_.end() && !seat->second.is_lost && peer != self_;
    return is_there ? &seat->second : nullptr;
}

void Coordinator::leave_out(const PeerKey& peer, const std::string& why, Outbox& out) {
    Seat* const seat = present(peer);
    if (seat == nullptr) return;
    out.accuse(peer, peer.brief() + " " + why + ": left out");
    seat->is_lost = true;
}

void Coordinator::take_part(const PeerKey& reducer, const std::string& why, Outbox& out) {
    out.note(reducer.brief() + " " + why + ", and loses its part");
    demoted_.insert(reducer);
    seats_.at(reducer).may_reduce = false;
}

void Coordinator::judge_stalls(TimePoint now, Outbox& out) {
    judge_at_ = kNever;
    const Missed missed = this->missed();
    std::vector<Pair> pairs;
    std::vector<PeerKey> failed;
    for (const auto& [peer, witnesses] : missed.by) {
        const bool is_believed = is_missed_by_most(peer, witnesses, missed.are_senders) &&
                                 !(missed.are_senders && is_contradicted(now, peer, witnesses));
        if (is_believed) {
            failed.push_back(peer);
        } else {
            for (const PeerKey& witness : witnesses) pairs.push_back({witness, peer});
        }
    }
    // Most machines or links have become slower than planned: that is the fault of none of them. Or
    // a few members, maybe the only reducer, lie, or their own links fail: these are believed as
    // often as others, but are charged also while no link is known.
    if (2 * failed.size() > seats_.size()) {
        std::set<PeerKey> witnesses;
        for (const PeerKey& peer : failed) {
            witnesses.insert(missed.by.at(peer).begin(), missed.by.at(peer).end());
        }
        if (witnesses.size() < failed.size()) {
            for (const PeerKey& witness : witnesses) {
                if (is_trusted(witness)) continue;
                out.accuse(witness, witness.brief() + " misses most members");
                complaints_.charge(account_of(witness));
            }
        }
        return cancel(now, "most members are slower than planned", out);
    }
    for (const PeerKey& peer : failed) {
        if (!missed.are_senders) {
            take_part(peer, "does not send averages", out);
            charge(peer, Complaints::kBelieved);
        } else if (is_corroborated(missed.by.at(peer))) {
            drop(now, peer, "joined and does not send", out);
        } else {
            leave_out(peer, "does not send", out);
        }
    }
    judge_pairs(now, pairs, missed.are_senders, out);
    stalls_.clear();
    is_amend_due_ = true;
}

/// Excludes a member that does not send.
void Coordinator::drop(TimePoint now, const PeerKey& peer, const std::string& why, Outbox& out) {
    Seat* const seat = present(peer);
    if (seat == nullptr) return;
    exclude(now, peer, why, out, now - published_at_);
    seat->is_lost = true;
}

/// Each pair is a witness and a member that it misses. A member that is in pairs with more
/// accounts, now or of late, than each of those with which it is in a pair now, and with two or
/// more, explains all of its pairs: it has failed, or lies. Of any other pair either may be the
/// cause.
void Coordinator::judge_pairs(TimePoint now, const std::vector<Pair>& pairs, bool are_senders,
                              Outbox& out) {
    constexpr std::size_t kRemembered = 16;  // one with more pairs explains them at once
    std::map<PeerKey, std::set<PeerKey>> others;
    std::set<PeerKey> witnesses;
    for (const auto& [witness, peer] : pairs) {
        if (is_trusted(witness) || is_trusted(peer)) continue;
        witnesses.insert(witness);
        others[witness].insert(peer);
        others[peer].insert(witness);
        if (others[witness].size() > kRemembered) continue;
        complaints_.part(account_of(witness), account_of(peer));
    }
    const auto apart = complaints_.count_apart();
    const auto count = [&](const PeerKey& peer) {
        const auto remembered = apart.find(account_of(peer));
        return std::max(others.at(peer).size(),
                        remembered == apart.end() ? std::size_t{0} : remembered->second);
    };
    std::set<PeerKey> guilty;
    for (const auto& [peer, partners] : others) {
        const std::size_t all = count(peer);
        const bool is_worst = std::ranges::all_of(
            partners, [&](const PeerKey& partner) { return all > count(partner); });
        if (all < 2 || !is_worst) continue;
        guilty.insert(peer);
        if (witnesses.contains(peer)) {
            charge(peer, Complaints::kBelieved);
            leave_out(peer, "alone misses several members", out);
        } else {
            blame(now, peer, partners, all, are_senders, out);
        }
    }
    for (const auto& [witness, peer] : pairs) {
        if (is_trusted(witness) || is_trusted(peer)) {
            part_from_trusted(witness, peer, are_senders, out);
        } else if (!guilty.contains(witness) && !guilty.contains(peer)) {
            charge(witness);
            take_part(are_senders ? witness : peer, "is cut off from a member", out);
        }
    }
}

/// So many members have missed it, some of them now, and they miss fewer others.
void Coordinator::blame(TimePoint now, const PeerKey& peer, const std::set<PeerKey>& witnesses,
                        std::size_t all, bool is_sender, Outbox& out) {
    constexpr std::size_t kSeveral = 3;
    const char* const why = "is missed by several members";
    if (!is_sender) {
        charge(peer, Complaints::kBelieved);
        take_part(peer, why, out);
    } else if (all < kSeveral || is_contradicted(now, peer, witnesses)) {
        leave_out(peer, why, out);
    } else {
        drop(now, peer, why, out);
    }
}

/// One of the two is a voter, or this peer: the other loses.
void Coordinator::part_from_trusted(const PeerKey& witness, const PeerKey& peer, bool is_sender,
                                    Outbox& out) {
    if (is_trusted(peer)) {
        charge(witness);
        return leave_out(witness, "alone misses " + peer.brief(), out);
    }
    charge(peer);
    if (is_sender) return leave_out(peer, "does not reach " + witness.brief(), out);
    take_part(peer, "does not reach " + witness.brief(), out);
}

/// Neither of two members that do not reach each other reduces, nor does one that is doubted,
/// unless no other could.
void Coordinator::choose_reducers() {
    const auto can_any_reduce = [&] {
        return std::ranges::any_of(seats_, [](const auto& entry) {
            return entry.second.may_reduce && entry.second.endpoint.port != 0;
        });
    };
    const auto allow_all = [&] {
        for (auto& [peer, seat] : seats_) seat.may_reduce = true;
    };
    allow_all();
    for (auto& [peer, seat] : seats_) {
        const Exclusions::Account account = account_of(peer);
        if (peer == self_) continue;
        if (complaints_.is_doubted(account) || complaints_.is_barred(account)) {
            seat.may_reduce = false;
        }
    }
    if (!can_any_reduce()) allow_all();
    for (auto a = seats_.begin(); a != seats_.end(); ++a) {
        for (auto b = std::next(a); b != seats_.end(); ++b) {
            const Exclusions::Account one = account_of(a->first);
            const Exclusions::Account other = account_of(b->first);
            if (!complaints_.are_apart(one, other)) continue;
            if (complaints_.is_doubted(one) || complaints_.is_doubted(other)) continue;
            a->second.may_reduce = b->second.may_reduce = false;
        }
    }
    if (!can_any_reduce()) allow_all();
}

}  // namespace dedloc::round
