// When a backbone asks its host for a new generation, and what it has asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "peer/base/units.hpp"
#include "peer/wire/types.hpp"

namespace dedloc {

/// Timing and numbering only: whether a generation is needed follows from the state of the peer
/// (generations.cpp).
class GenerationRequest final {
  public:
    /// `failure_timeout`: between two requests, and the unit of the wait for a missing state.
    explicit GenerationRequest(Duration failure_timeout) : timeout_(failure_timeout) {}

    /// The project wants these voters in a generation of at least this number: more than the
    /// present one if the voters stay the same but one of them has lost its memory.
    void want(std::vector<PeerKey> voters, std::uint64_t min_generation, TimePoint now);
    const std::vector<PeerKey>& voters() const { return voters_; }
    std::uint64_t min_generation() const { return min_generation_; }

    /// Tells whether the state of the head is here or on its way (`is_coming`).
    void watch(TimePoint now, bool is_coming);
    /// The head has moved: the wait for its state begins anew.
    void head_moved() { stuck_since_ = kNever; }
    /// The state of the head has not come for so long that the project goes on from an older one.
    bool is_stuck(TimePoint now) const;

    bool is_due(TimePoint now) const { return now >= next_; }
    /// Asks now: the number of the generation to ask for, higher than `current` and than any
    /// before, and at least min_generation().
    std::uint64_t ask(TimePoint now, std::uint64_t current);
    /// The host has answered.
    void answered(TimePoint now) { pause_until_ = next_ = now; }
    /// While a request is open this voter votes for no record: the host signs for the state of the
    /// request.
    bool is_open(TimePoint now) const { return now < pause_until_; }

  private:
    const Duration timeout_;
    std::vector<PeerKey> voters_;  ///< empty: those of the head
    std::uint64_t min_generation_ = 0;
    std::uint64_t last_asked_ = 0;
    TimePoint pause_until_ = TimePoint::min();  ///< an answer by then, or none comes
    TimePoint next_ = TimePoint::min();
    TimePoint stuck_since_ = kNever;
};

}  // namespace dedloc
