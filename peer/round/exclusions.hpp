// Peers that the coordinator does not call for a while: those that were called and did not answer,
// and those that were caught claiming or sending what cannot be. Each time costs twice as long as
// the time before, up to kMaxTurns turns; rounds that are served to the end win the way back.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc::round {

class Exclusions {
  public:
    static constexpr std::uint32_t kMaxTurns = 64;
    /// So many rounds in a row halve what the next offence costs.
    static constexpr std::uint32_t kGoodRounds = 3;

    /// The party held to account: a user with all its devices, or, without a ticket, a key.
    struct Account {
        std::uint64_t user = 0;
        PeerKey peer;  ///< zero with a user
        auto operator<=>(const Account&) const = default;
    };
    static Account account_of(const PeerKey& peer, std::uint64_t user) {
        return user != 0 ? Account{.user = user, .peer = {}} : Account{.user = 0, .peer = peer};
    }

    /// Leaves it out for one turn, about the time of a round, then for twice as many each time.
    /// Returns  for how long
    Duration exclude(const Account& account, TimePoint now, Duration turn) {
        if (records_.size() >= kMaxRecords && !records_.contains(account)) forget_least();
        Record& record = records_[account];
        const Duration length = turn * record.turns;
        record.ends = now + length;
        record.good_rounds = 0;
        record.turns = std::min(2 * record.turns, kMaxTurns);
        return length;
    }
    bool is_out(const Account& account, TimePoint now) const {
        const auto found = records_.find(account);
        return found != records_.end() && now < found->second.ends;
    }
    /// It was in a round that is decided.
    void served(const Account& account) {
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
        std::uint32_t turns = 1;  ///< of the next time
        std::uint32_t good_rounds = 0;
    };

    void forget_least() {
        records_.erase(std::min_element(
            records_.begin(), records_.end(),
            [](const auto& a, const auto& b) { return a.second.ends < b.second.ends; }));
    }

    std::map<Account, Record> records_;
};

}  // namespace dedloc::round
