// An exclusion lasts as long as the swarm without the peer needs to lose what the peer has cost it:
// the delay times the members that waited, between the time since the head and half an hour.
#include "peer/round/judge.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace dedloc::round {
namespace {

constexpr Duration kMaxTurn = std::chrono::minutes{30};

bool can_any_reduce(const Callees& callees) {
    return std::ranges::any_of(callees, [](const auto& entry) {
        return entry.second.may_reduce && entry.second.endpoint.port != 0;
    });
}

void allow_all(Callees& callees) {
    for (auto& [peer, callee] : callees) callee.may_reduce = true;
}

}  // namespace

Judge::Account Judge::account_of(const PeerKey& peer) const {
    const membership::Known* known = links_.find(peer);
    return Exclusions::account_of(peer, known != nullptr ? known->user : 0);
}

bool Judge::is_corroborated(const std::set<PeerKey>& witnesses) const {
    std::set<Account> accounts;
    for (const PeerKey& witness : witnesses) {
        if (voter_.is_voter(witness)) return true;
        accounts.insert(account_of(witness));
    }
    return accounts.size() > 1;
}

void Judge::exclude(TimePoint now, const PeerKey& peer, const Account& account,
                    const std::string& why, Outbox& out, const Delay& delay) {
    const Duration round =
        std::clamp(now - head_.since(), config_.rules.heartbeat, config_.rules.join_timeout);
    const Duration lost =
        static_cast<Duration::rep>(delay.members) * std::min(delay.time, kMaxTurn);
    const Duration turn = std::max(round, std::min(lost, kMaxTurn));
    const Duration length = exclusions_.exclude(account, now, turn);
    batch_.forget(peer);
    for (const auto& [other, known] : links_.known()) {
        if (account_of(other) == account) batch_.forget(other);
    }
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(length).count();
    out.accuse(peer, peer.brief() + " " + why + ": left out for " + std::to_string(seconds) + " s");
}

void Judge::charge(const PeerKey& peer, std::uint32_t charges) {
    if (!is_trusted(peer)) complaints_.charge(account_of(peer), charges);
}

void Judge::on_decision(const CommitRecord& record) {
    for (const CommitLine& line : record.members) exclusions_.on_decision(account_of(line.peer));
    complaints_.on_decision();
}

void Judge::choose_reducers(Callees& callees) const {
    allow_all(callees);
    for (auto& [peer, callee] : callees) {
        const Account account = account_of(peer);
        if (peer == self_) continue;
        if (complaints_.is_doubted(account) || complaints_.is_barred(account)) {
            callee.may_reduce = false;
        }
    }
    if (!can_any_reduce(callees)) allow_all(callees);
    for (auto a = callees.begin(); a != callees.end(); ++a) {
        for (auto b = std::next(a); b != callees.end(); ++b) {
            const Account one = account_of(a->first);
            const Account other = account_of(b->first);
            if (!complaints_.are_apart(one, other)) continue;
            if (complaints_.is_doubted(one) || complaints_.is_doubted(other)) continue;
            a->second.may_reduce = b->second.may_reduce = false;
        }
    }
    if (!can_any_reduce(callees)) allow_all(callees);
}

}  // namespace dedloc::round
