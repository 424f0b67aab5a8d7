// Complaints become a map from each member to those that miss it. Members that most others miss
// are judged first; the complaints about all others are pairs, each of which says that two members
// do not reach each other.
#include "peer/round/hearing.hpp"

#include <algorithm>

namespace dedloc::round {
namespace {

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

bool reduces(const wire::Plan& plan, const PeerKey& peer) {
    return std::ranges::any_of(plan.ranges, [&](const wire::ChunkRange& range) {
        return plan.members[range.member.value()].peer == peer;
    });
}

bool Hearing::judge(const Stalls& stalls) {
    const Missed missed = this->missed(stalls);
    std::vector<Pair> pairs;
    std::vector<PeerKey> failed;
    for (const auto& [peer, witnesses] : missed.by) {
        const bool is_believed = is_missed_by_most(peer, witnesses, missed.are_senders) &&
                                 !(missed.are_senders && is_contradicted(peer, witnesses));
        if (is_believed) {
            failed.push_back(peer);
        } else {
            for (const PeerKey& witness : witnesses) pairs.push_back({witness, peer});
        }
    }
    // Most machines or links have become slower than planned: that is the fault of none of them. Or
    // a few members, maybe the only reducer, lie, or their own links fail.
    if (2 * failed.size() > round_.callees.size()) {
        accuse_witnesses(missed, failed);
        return false;
    }
    judge_failed(missed, failed);
    judge_pairs(pairs, missed.are_senders);
    return true;
}

/// The complaints. If reducers miss contributors, receivers miss averages for that reason alone.
Hearing::Missed Hearing::missed(const Stalls& stalls) const {
    const wire::Plan& plan = round_.plan;
    Missed missed;
    const auto add = [&](const PeerKey& witness, std::uint32_t k) {
        if (k >= plan.members.size() || plan.members[k].peer == witness) return;
        missed.by[plan.members[k].peer].insert(witness);
    };
    for (const auto& [peer, complaint] : stalls) {
        if (!reduces(plan, peer)) continue;
        for (const std::uint32_t k : complaint.senders) add(peer, k);
    }
    missed.are_senders = !missed.by.empty();
    if (missed.are_senders) return missed;
    for (const auto& [peer, complaint] : stalls) {
        if (!round_.callees.at(peer).join->receives) continue;
        for (const std::uint32_t k : complaint.reducers) {
            if (k < plan.members.size() && reduces(plan, plan.members[k].peer)) add(peer, k);
        }
    }
    return missed;
}

/// True if more than half of the accounts miss the member that could miss it.
bool Hearing::is_missed_by_most(const PeerKey& peer, const std::set<PeerKey>& witnesses,
                                bool is_sender) const {
    std::set<Judge::Account> able;
    std::set<Judge::Account> missing;
    for (const auto& [other, callee] : round_.callees) {
        const Judge::Account account = court_.judge.account_of(other);
        if (callee.is_lost || other == peer) continue;
        if (court_.judge.complaints().is_doubted(account)) continue;
        if (is_sender ? reduces(round_.plan, other) : callee.join->receives) able.insert(account);
    }
    for (const PeerKey& witness : witnesses) missing.insert(court_.judge.account_of(witness));
    return 2 * missing.size() > able.size();
}

/// True if the sender that others miss does send to this peer, and those that have missed it of
/// late are in fewer than kNetworks networks. Where most members cannot be dialled, two accounts
/// may be most of the reducers.
bool Hearing::is_contradicted(const PeerKey& sender, const std::set<PeerKey>& witnesses) const {
    constexpr std::size_t kNetworks = 3;
    const wire::Plan* const followed = court_.own.plan();
    const bool is_seen = followed != nullptr && followed->attempt == round_.plan.attempt &&
                         reduces(round_.plan, court_.self);
    if (!is_seen || !court_.own.is_sent_by(round_.now, sender)) return false;
    const Judge::Account account = court_.judge.account_of(sender);
    std::set<std::string> networks;
    for (const auto& [peer, known] : court_.links.known()) {
        const bool is_witness = witnesses.contains(peer);
        if (is_witness && court_.voter.is_voter(peer)) return false;
        const bool has_missed_it = is_witness || court_.judge.complaints().are_apart(
                                                     court_.judge.account_of(peer), account);
        if (has_missed_it) networks.insert(network_of(known.endpoint.host));
    }
    return networks.size() < kNetworks;
}

/// Witnesses that are fewer than those they miss are believed as often as others, but are charged
/// also while no link is known.
void Hearing::accuse_witnesses(const Missed& missed, const std::vector<PeerKey>& failed) {
    std::set<PeerKey> witnesses;
    for (const PeerKey& peer : failed) {
        witnesses.insert(missed.by.at(peer).begin(), missed.by.at(peer).end());
    }
    if (witnesses.size() >= failed.size()) return;
    for (const PeerKey& witness : witnesses) {
        if (court_.judge.is_trusted(witness)) continue;
        out_.accuse(witness, witness.brief() + " misses most members");
        court_.judge.charge(witness);
    }
}

void Hearing::judge_failed(const Missed& missed, const std::vector<PeerKey>& failed) {
    for (const PeerKey& peer : failed) {
        if (!missed.are_senders) {
            take_part(peer, "does not send averages");
            charge(peer, Complaints::kBelieved);
        } else if (court_.judge.is_corroborated(missed.by.at(peer))) {
            drop(peer, "joined and does not send");
        } else {
            leave_out(peer, "does not send");
        }
    }
}

/// A member that is in pairs with more accounts, now or of late, than each of those with which it
/// is in a pair now, and with two or more, explains all of its pairs: it has failed, or lies. Of
/// any other pair either may be the cause.
void Hearing::judge_pairs(const std::vector<Pair>& pairs, bool are_senders) {
    constexpr std::size_t kRemembered = 16;  // one with more pairs explains them at once
    Judge& judge = court_.judge;
    std::map<PeerKey, std::set<PeerKey>> others;
    std::set<PeerKey> witnesses;
    for (const auto& [witness, peer] : pairs) {
        if (judge.is_trusted(witness) || judge.is_trusted(peer)) continue;
        witnesses.insert(witness);
        others[witness].insert(peer);
        others[peer].insert(witness);
        if (others[witness].size() > kRemembered) continue;
        judge.complaints().part(judge.account_of(witness), judge.account_of(peer));
    }
    const auto apart = judge.complaints().count_apart();
    const auto count = [&](const PeerKey& peer) {
        const auto remembered = apart.find(judge.account_of(peer));
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
            leave_out(peer, "alone misses several members");
        } else {
            blame(peer, partners, all, are_senders);
        }
    }
    for (const auto& [witness, peer] : pairs) {
        if (judge.is_trusted(witness) || judge.is_trusted(peer)) {
            part_from_trusted(witness, peer, are_senders);
        } else if (!guilty.contains(witness) && !guilty.contains(peer)) {
            charge(witness);
            take_part(are_senders ? witness : peer, "is cut off from a member");
        }
    }
}

/// So many members have missed it, some of them now, and they miss fewer others.
void Hearing::blame(const PeerKey& peer, const std::set<PeerKey>& witnesses, std::size_t all,
                    bool is_sender) {
    constexpr std::size_t kSeveral = 3;
    const char* const why = "is missed by several members";
    if (!is_sender) {
        charge(peer, Complaints::kBelieved);
        take_part(peer, why);
    } else if (all < kSeveral || is_contradicted(peer, witnesses)) {
        leave_out(peer, why);
    } else {
        drop(peer, why);
    }
}

/// One of the two is a voter, or this peer: the other loses.
void Hearing::part_from_trusted(const PeerKey& witness, const PeerKey& peer, bool is_sender) {
    if (court_.judge.is_trusted(peer)) {
        charge(witness);
        return leave_out(witness, "alone misses " + peer.brief());
    }
    charge(peer);
    if (is_sender) return leave_out(peer, "does not reach " + witness.brief());
    take_part(peer, "does not reach " + witness.brief());
}

// --- verdicts -------------------------------------------------------------------

/// The other member if it is called and not lost; null otherwise.
Callee* Hearing::present(const PeerKey& peer) {
    const auto callee = round_.callees.find(peer);
    const bool is_there =
        callee != round_.callees.end() && !callee->second.is_lost && peer != court_.self;
    return is_there ? &callee->second : nullptr;
}

void Hearing::charge(const PeerKey& peer, std::uint32_t charges) {
    if (round_.is_link_known) court_.judge.charge(peer, charges);
}

void Hearing::drop(const PeerKey& peer, const std::string& why) {
    Callee* const callee = present(peer);
    if (callee == nullptr) return;
    court_.judge.exclude(round_.now, peer, why, out_, round_.delay);
    callee->is_lost = true;
}

void Hearing::leave_out(const PeerKey& peer, const std::string& why) {
    Callee* const callee = present(peer);
    if (callee == nullptr) return;
    out_.accuse(peer, peer.brief() + " " + why + ": left out");
    callee->is_lost = true;
}

void Hearing::take_part(const PeerKey& reducer, const std::string& why) {
    out_.note(reducer.brief() + " " + why + ", and loses its part");
    round_.demoted.insert(reducer);
    round_.callees.at(reducer).may_reduce = false;
}

}  // namespace dedloc::round
