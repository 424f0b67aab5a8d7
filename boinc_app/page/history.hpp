// What a seat has seen of the swarm since its process began: rounds, members, events. In bounded
// memory; shown on the status page.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::page {

/// A committed round.
struct SeenRound {
    std::uint64_t step = 0;                        ///< updates after the round
    double loss = 0;                               ///< mean over its samples, in nats
    std::uint64_t samples = 0;                     ///< all members'
    std::uint64_t ours = 0;                        ///< this peer's
    Bytes averaged{};                              ///< other members' gradients, by this peer
    std::size_t members = 0;                       ///< members of the round
    std::chrono::steady_clock::time_point when{};  ///< when this peer heard of the commit
};

/// A member of the last round.
struct SeenMember {
    std::string peer;           ///< the beginning of its key
    std::uint64_t samples = 0;  ///< its samples in the round
    bool is_us = false;         ///< this peer
};

/// A line of the log.
struct SeenEvent {
    std::chrono::system_clock::time_point when;  ///< in UTC
    std::string line;                            ///< untrusted text
};

/// The newest rounds and events. Not synchronized.
class History {
  public:
    static constexpr std::size_t kMaxRounds = 512;   ///< more: old ones are thinned out
    static constexpr std::size_t kMaxMembers = 100;  ///< those with most samples, and this peer
    static constexpr std::size_t kMaxEvents = 20;    ///< the oldest is dropped
    static constexpr std::size_t kMaxLine = 300;     ///< bytes of a line; the rest is cut off

    /// Adds a round and returns it. If the swarm has gone back, rounds of later steps are dropped
    /// first.
    SeenRound add(const CommitRecord& record, Codec codec, const PeerKey& us,
                  std::chrono::steady_clock::time_point now);
    /// Adds a line of the log.
    void add(std::string line, std::chrono::system_clock::time_point now);

    /// Ascending by step; older ones are thinned out.
    const std::deque<SeenRound>& rounds() const { return rounds_; }
    /// Members of the last round, most samples first.
    const std::vector<SeenMember>& members() const { return members_; }
    /// Oldest first.
    const std::deque<SeenEvent>& events() const { return events_; }
    /// Samples a second of the whole swarm over the last ten rounds that are kept; 0: too few.
    double samples_per_second() const;

  private:
    std::deque<SeenRound> rounds_;
    std::vector<SeenMember> members_;
    std::deque<SeenEvent> events_;
};

}  // namespace dedloc::page
