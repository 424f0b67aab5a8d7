// Peers that the coordinator does not call for a while: peers that did not answer a call or did not
// send, and peers that claimed impossible samples or sent pieces that cannot be averaged. Each
// exclusion lasts twice as long as the one before, up to kMaxTurns turns. Every kGoodRounds decided
// rounds in which the peer took part halve the next one.
//
// A turn is the time by which the peer has delayed a round, times the members of that round: for so
// long the swarm without the peer loses what the delay has cost it. So a peer that sends in some
// rounds and delays others costs a swarm of n members one part of n + 1 at most.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc::round {

/// Backoff list of misbehaving accounts, at most 4,096. Belongs to the coordinator.
class Exclusions {
  public:
    /// Longest exclusion, in turns.
    static constexpr std::uint32_t kMaxTurns = 64;
    /// Decided rounds since the last offence that halve the next exclusion.
    static constexpr std::uint32_t kGoodRounds = 16;

    /// The account that an exclusion covers: a user with all devices, or one key if the peer has
    /// shown no ticket.
    struct Account {
        std::uint64_t user = 0;  ///< BOINC user of the ticket; 0: no ticket
        PeerKey peer;            ///< zero if there is a user
        auto operator<=>(const Account&) const = default;
    };
    /// The account of `peer`; `user` is 0 if it has shown no ticket.
    static Account account_of(const PeerKey& peer, std::uint64_t user) {
        return user != 0 ? Account{.user = user, .peer = {}} : Account{.user = 0, .peer = peer};
    }

    /// Excludes the account for one `turn`, then for twice as many turns each time. If the list is
    /// full, the exclusion that ends first is dropped.
    /// Returns  the length of this exclusion
    Duration exclude(const Account& account, TimePoint now, Duration turn) {
        if (records_.size() >= kMaxRecords && !records_.contains(account)) drop_earliest();
        Record& record = records_[account];
        const Duration length = turn * record.turns;
        record.ends = now + length;
        record.good_rounds = 0;
        record.turns = std::min(2 * record.turns, kMaxTurns);
        return length;
    }
    /// True while the account is excluded.
    bool is_out(const Account& account, TimePoint now) const {
        const auto found = records_.find(account);
        return found != records_.end() && now < found->second.ends;
    }
    /// The account took part in a round that is decided.
    void on_decision(const Account& account) {
        const auto found = records_.find(account);
        if (found == records_.end() || ++found->second.good_rounds < kGoodRounds) return;
        found->second.good_rounds = 0;
        found->second.turns /= 2;
        if (found->second.turns == 0) records_.erase(found);
    }

  private:
    static constexpr std::size_t kMaxRecords = 4'096;
    struct Record {
        TimePoint ends;
        std::uint32_t turns = 1;  ///< length of the next exclusion
        std::uint32_t good_rounds = 0;
    };

    void drop_earliest() {
        records_.erase(std::min_element(
            records_.begin(), records_.end(),
            [](const auto& a, const auto& b) { return a.second.ends < b.second.ends; }));
    }

    std::map<Account, Record> records_;
};

}  // namespace dedloc::round
