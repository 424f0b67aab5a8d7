// Finds links that carry more than has been seen of them.
//
// A link is measured by what rounds ask of it. Where every member has an equal part, a server among
// homes never carries more than a home does, so plans that rest on measurements alone keep the
// parts equal, and rounds take up to twice as long as the links allow. So now and then a round is
// planned as if one peer's link were faster than that. If the peer then measures more, and the
// round is shorter than the one before, it is asked for twice as much in the next one; if not, one
// round has been longer, and the next probe waits. To measure more is not enough: where processors
// are slower than links, as on loopback, a peer that is asked for more always measures more.
//
// Peers      first those without samples, as they are mostly servers, then the others, each once
//            before any again. Only peers whose link, if it were far faster, would save an eighth
//            of the round, and only in rounds of a second or more (make_plan()).
// Sizes      twice the claim of a peer without samples, a fifth more of the others: most homes'
//            links are as fast as they seem, and such a probe makes a round up to a fifth longer.
// Pauses     no probe for kFirstPause decided rounds after one that has found nothing, then for
//            twice as many, up to kMaxPause. One that has found more halves that.
// Liars      A peer that claims less than it has gets a smaller part. One that claims more is asked
//            for more, as with any claim, until rounds are late (SeenLinks). So it makes one round
//            in kFirstPause up to twice as long at the most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "peer/planning/request.hpp"
#include "peer/round/callee.hpp"
#include "peer/round/plan_maker.hpp"

namespace dedloc::round {

/// Chooses probes and learns what they have found. Belongs to the coordinator.
class LinkProbe {
  public:
    /// Rounds without a probe after the first one that has found nothing.
    static constexpr std::uint32_t kFirstPause = 16;
    /// Most rounds without a probe.
    static constexpr std::uint32_t kMaxPause = 512;

    /// The link to probe in a round of these callees, all of which have joined; nothing: none.
    std::optional<ProbedLink> next(const Callees& callees);
    /// The round is planned: with the probe, or without it as it would not shorten the round.
    void on_plan(bool is_probed);
    /// A round is decided. `took`: time since its plan was sent.
    void on_decision(Duration took);

  private:
    static constexpr std::size_t kMaxTried = 4'096;

    void settle(const Callees& callees);

    std::optional<PeerKey> probe_;  ///< the last one that next() has returned
    planning::LinkSpeed before_;    ///< what the peer claimed then
    bool is_probed_ = false;        ///< a round was planned with it
    Duration took_{};               ///< duration of the last decided round; 0: there was none
    Duration before_took_{};        ///< duration of the last decided round before the probe
    bool is_decided_ = false;       ///< the probed round is decided
    std::optional<PeerKey> found_;  ///< the last probe has found more of this peer's link
    std::set<PeerKey> tried_;       ///< peers that were chosen and get no probe before the others
    std::uint32_t pause_ = 0;       ///< decided rounds without a probe that are left
    std::uint32_t length_ = kFirstPause;
};

}  // namespace dedloc::round
