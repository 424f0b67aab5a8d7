// Bandwidths of peers, as far as rounds have contradicted what the peers claim.
//
// A claim counts until a round takes longer than planned because of its peer. From then on the
// bandwidth that was seen counts, in plans and in the choice of trainers. After kRounds rounds it
// counts twice, then four times, and so on, so that a link that has become faster is used again. If
// the peer is seen to be slow again, the rounds between are doubled.
//
// Liars     What is seen is what the coordinator itself has received, and when
//           (late_links.hpp). A reducer that withholds averages from another member, or
//           takes its chunks slowly, can make that one look slow. So only one peer at a time may be
//           moved out of rounds for what was seen, and plans only give such a peer a smaller part.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "peer/base/units.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::round {

/// What rounds have shown of peers' links. Keeps at most 4,096 peers. Belongs to the coordinator.
class SeenLinks {
  public:
    /// Decided rounds until a bandwidth that was seen counts twice.
    static constexpr std::uint32_t kRounds = 8;

    /// The peer has sent `bytes` in `time` and delayed the round.
    void on_slow_send(const PeerKey& peer, std::uint64_t bytes, Duration time);
    /// The peer has received `bytes` in `time` and delayed the round.
    void on_slow_receive(const PeerKey& peer, std::uint64_t bytes, Duration time);
    /// What a peer claims, or what was seen if that is less.
    std::optional<Bandwidth> upload_of(const PeerKey& peer, std::optional<Bandwidth> claim) const;
    std::optional<Bandwidth> download_of(const PeerKey& peer, std::optional<Bandwidth> claim) const;
    /// Whether the peer may be moved out of rounds for what was seen: one at a time.
    bool may_leave(const PeerKey& peer) const { return judged_ == peer; }
    /// A round is decided.
    void on_decision();
    /// The peer is measured anew: what it claims counts.
    void forget(const PeerKey& peer);

  private:
    struct Seen {
        double upload = 0;               ///< bytes per second, 0: nothing contradicts the claim
        double download = 0;             ///< bytes per second, 0: nothing contradicts the claim
        std::uint32_t left = kRounds;    ///< rounds until these two are doubled
        std::uint32_t length = kRounds;  ///< how many it was
    };

    Seen* doubt(const PeerKey& peer);

    std::map<PeerKey, Seen> seen_;
    std::optional<PeerKey> judged_;
};

}  // namespace dedloc::round
