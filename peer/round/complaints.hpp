// What the coordinator remembers of complaints about members that do not send.
//
// A member that complains alone is believed at first: the two are a pair, and get plans in which
// neither reduces for the other. Each such complaint is charged to the account that makes it. A
// member that is in more pairs than each of its partners is the cause of its pairs. An account with
// kBelieved charges is doubted: its complaints are not heard, it reduces nothing, and no round
// waits until it has the average. So an account costs the swarm at most kBelieved attempts, then
// one more after kRounds decided rounds, after 2 · kRounds, after 4 · kRounds and so on. A member
// whose own link fails is doubted like a liar; that costs it nothing else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "peer/round/exclusions.hpp"

namespace dedloc::round {

/// Charges by account, and pairs of accounts that do not reach each other. At most 4,096 of each
/// are kept: those that are forgiven last. Belongs to the coordinator.
class Complaints {
  public:
    using Account = Exclusions::Account;
    /// Charges that make an account doubted.
    static constexpr std::uint32_t kBelieved = 2;
    /// Decided rounds until the first charge of an account is forgiven, or a pair is tried again.
    /// Twice as many each time.
    static constexpr std::uint32_t kRounds = 64;
    /// Decided rounds after which it is forgotten that an account was late.
    static constexpr std::uint32_t kLateRounds = 16;

    /// The account has delayed a round.
    void charge(const Account& account, std::uint32_t charges = 1) {
        if (charges_.size() >= kMaxRecords && !charges_.contains(account)) {
            charges_.erase(std::ranges::min_element(charges_, {}, [](const auto& entry) {
                return std::pair{entry.second.count, kMaxRounds - entry.second.rounds};
            }));
        }
        Charges& record = charges_[account];
        record.count = std::min(record.count + charges, kBelieved);
        record.rounds = 0;
    }
    /// A round has not waited for the account's Ready, or has waited for what its lost link did not
    /// bring. Each third time, if no more than kLateRounds rounds were decided between two, it is
    /// no accident: returns the sum of the three delays.
    std::optional<Duration> on_late(const Account& account, Duration delay = {}) {
        if (late_.size() >= kMaxRecords && !late_.contains(account)) late_.erase(late_.begin());
        Late& record = late_[account];
        record.rounds = 0;
        record.delay += delay;
        if (++record.count < kLateTimes) return std::nullopt;
        const Duration sum = record.delay;
        late_.erase(account);
        return sum;
    }
    /// Whether the account is believed no more.
    bool is_doubted(const Account& account) const {
        const auto found = charges_.find(account);
        return found != charges_.end() && found->second.count >= kBelieved;
    }
    /// The two do not reach each other.
    void part(const Account& a, const Account& b) {
        const auto pair = std::minmax(a, b);
        if (pairs_.size() >= kMaxRecords && !pairs_.contains(pair)) {
            pairs_.erase(std::ranges::min_element(
                pairs_, {}, [](const auto& entry) { return entry.second.rounds; }));
        }
        Pair& record = pairs_[pair];
        record.rounds = record.length;
        record.length = std::min(2 * record.length, kMaxRounds);
    }
    /// The account may have sent different averages to different members: it reduces nothing, for
    /// as long as two are apart.
    void bar(const Account& account) { part(account, account); }
    /// Whether it reduces nothing for now.
    bool is_barred(const Account& account) const { return are_apart(account, account); }
    /// Whether neither may reduce for the other.
    bool are_apart(const Account& a, const Account& b) const {
        const auto found = pairs_.find(std::minmax(a, b));
        return found != pairs_.end() && found->second.rounds > 0;
    }
    /// How many accounts each one is apart from, without those that are apart from none.
    /// Cost  O(pairs)
    std::map<Account, std::size_t> count_apart() const {
        std::map<Account, std::size_t> counts;
        for (const auto& [pair, record] : pairs_) {
            if (record.rounds == 0 || pair.first == pair.second) continue;
            ++counts[pair.first];
            ++counts[pair.second];
        }
        return counts;
    }
    /// A round is decided.
    void on_decision() {
        for (auto& [account, record] : late_) ++record.rounds;
        std::erase_if(late_, [](const auto& entry) { return entry.second.rounds > kLateRounds; });
        for (auto& [pair, record] : pairs_) record.rounds -= record.rounds > 0 ? 1 : 0;
        for (auto& [account, record] : charges_) {
            if (record.count == 0 || ++record.rounds < record.length) continue;
            --record.count;
            record.rounds = 0;
            record.length = std::min(2 * record.length, kMaxRounds);
        }
    }

  private:
    static constexpr std::size_t kMaxRecords = 4'096;
    static constexpr std::uint32_t kMaxRounds = 1u << 20;
    static constexpr std::uint32_t kLateTimes = 3;
    struct Late {
        std::uint32_t count = 0;
        std::uint32_t rounds = 0;  ///< decided since the last time
        Duration delay{};          ///< sum of the delays
    };
    struct Charges {
        std::uint32_t count = 0;
        std::uint32_t rounds = 0;        ///< decided since the last charge, or forgiveness
        std::uint32_t length = kRounds;  ///< rounds until the next forgiveness
    };
    struct Pair {
        std::uint32_t rounds = 0;        ///< for which the two are still apart
        std::uint32_t length = kRounds;  ///< next time
    };

    std::map<Account, Charges> charges_;
    std::map<Account, Late> late_;
    std::map<std::pair<Account, Account>, Pair> pairs_;
};

}  // namespace dedloc::round
