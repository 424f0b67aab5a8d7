// The accounts that the coordinator believes: which are excluded, doubted or trusted, and which
// members may reduce. exclusions.hpp and complaints.hpp keep the records; this class knows the
// account of a peer, and how much it has cost. An exclusion covers all devices of a user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "peer/config.hpp"
#include "peer/membership/links.hpp"
#include "peer/membership/voter.hpp"
#include "peer/outbox.hpp"
#include "peer/progress/target_batch.hpp"
#include "peer/round/callee.hpp"
#include "peer/round/complaints.hpp"
#include "peer/round/exclusions.hpp"
#include "peer/round/head_times.hpp"

namespace dedloc::round {

/// What a misbehaving peer has cost.
struct Delay {
    Duration time{};          ///< the delay of a round
    std::size_t members = 0;  ///< that waited for it
};

/// The coordinator's memory of misbehaviour.
class Judge {
  public:
    /// What is excluded, charged and forgiven: a user with all devices, or one key.
    using Account = Exclusions::Account;

    /// Keeps references to all arguments but `self`; they must outlive it.
    Judge(const PeerConfig& config, const PeerKey& self, const membership::Links& links,
          const membership::Voter& voter, const HeadTimes& head, progress::TargetBatch& batch)
        : config_(config), self_(self), links_(links), voter_(voter), head_(head), batch_(batch) {}

    /// The account of a peer: its user if it is linked and has shown a ticket.
    Account account_of(const PeerKey& peer) const;
    /// Whether the peer is not called for now.
    bool is_out(TimePoint now, const PeerKey& peer) const {
        return exclusions_.is_out(account_of(peer), now);
    }
    /// Whether it is a voter or this peer.
    bool is_trusted(const PeerKey& peer) const { return peer == self_ || voter_.is_voter(peer); }
    /// Whether another peer has made, or been the cause of, too many complaints to be believed.
    bool is_doubted(const PeerKey& peer) const {
        return peer != self_ && complaints_.is_doubted(account_of(peer));
    }
    /// True if a voter is among the witnesses, or two accounts are: one liar excludes no other
    /// peer.
    bool is_corroborated(const std::set<PeerKey>& witnesses) const;

    /// Excludes the peer's account, and drops the reports of its peers. `why` is logged.
    void exclude(TimePoint now, const PeerKey& peer, const std::string& why, Outbox& out,
                 const Delay& delay = {}) {
        exclude(now, peer, account_of(peer), why, out, delay);
    }
    /// The same for the account that the peer had.
    void exclude(TimePoint now, const PeerKey& peer, const Account& account, const std::string& why,
                 Outbox& out, const Delay& delay);
    /// The peer has delayed a round. Voters and this peer are not charged.
    void charge(const PeerKey& peer, std::uint32_t charges = 1);
    /// This record is decided.
    void on_decision(const CommitRecord& record);
    /// Says which callees may reduce: neither of two members that do not reach each other, nor one
    /// that is doubted, unless no other could.
    void choose_reducers(Callees& callees) const;

    /// Charges by account, and pairs that do not reach each other.
    Complaints& complaints() { return complaints_; }
    /// The same.
    const Complaints& complaints() const { return complaints_; }

  private:
    const PeerConfig& config_;
    const PeerKey self_;
    const membership::Links& links_;
    const membership::Voter& voter_;
    const HeadTimes& head_;
    progress::TargetBatch& batch_;
    Exclusions exclusions_;
    Complaints complaints_;
};

}  // namespace dedloc::round
