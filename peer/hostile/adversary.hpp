// A hostile member: an otherwise honest Peer whose frames pass through an adversary on their way to
// the network. The adversary changes, drops and adds frames; it has the peer's key, so everything
// that it sends is signed by a member in good standing.
//
//     driver ── event ──► Adversary::receive ── events ──► Peer ── actions ──► Adversary::send
//                              │ actions                                            │ actions
//                              ▼                                                    ▼
//                           network                                              network
//
// Sequence     Frames of the adversary's own stand between those of the peer, so every frame but
//              bulk is encoded again with a sequence number of the adversary's.
// Written      The peer counts event::FrameWritten to see how full its links are: it is told of
//              frames that are dropped as if they had been sent, and not of those that are added.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/random.hpp"
#include "peer/events.hpp"
#include "peer/hostile/forgery.hpp"
#include "peer/hostile/misbehaviour.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::hostile {

struct AdversarySettings {
    Misbehaviour misbehaviour = Misbehaviour::kForgedPromise;
    /// Of its ticket, or of the run: kOverclaimJoin goes just above what that allows.
    std::uint64_t max_samples_per_second = 0;
    std::uint64_t random_seed = 0;
};

/// Not copyable. Thread: one.
class Adversary final {
  public:
    Adversary(const AdversarySettings& settings, const KeyPair& key);
    Adversary(const Adversary&) = delete;
    Adversary& operator=(const Adversary&) = delete;

    /// The peer sends a frame: appends what the driver does instead.
    void send(TimePoint now, const action::Send& send, Actions& actions);
    /// The driver has an event for the peer: appends the events that the peer gets instead, and
    /// what the driver does besides.
    void receive(TimePoint now, const Event& event, std::vector<Event>& events, Actions& actions);

    Misbehaviour misbehaviour() const { return settings_.misbehaviour; }
    /// Steps in whose rounds it has sent garbage for averages.
    const std::set<StepIndex>& garbled_steps() const { return garbled_steps_; }

  private:
    /// What has become of a frame that the driver was given, or that the peer believes it was.
    enum class Fate : std::uint8_t { kSent, kDropped, kAdded };
    enum class Verdict : std::uint8_t { kKeep, kChanged, kDrop };
    struct Link {
        wire::LinkKind kind = wire::LinkKind::kUnproven;
        Endpoint remote;
        bool dialled = false;
        std::deque<Fate> frames{};  ///< not written yet
    };

    void note_own(TimePoint now, const wire::Message& message);
    Verdict change(TimePoint now, LinkId link, wire::Message& message);
    Verdict change_heartbeat(wire::Message& message, wire::Heartbeat& heartbeat);
    Verdict change_join(TimePoint now, wire::Join& join);
    Verdict change_chunk(LinkId link, const wire::Message& message, wire::Chunk& chunk);
    void add_after_heartbeat(LinkId link, Actions& actions);
    void react(LinkId link, const wire::Message& message, Actions& actions);
    void complain(LinkId link, Actions& actions);
    void hang_up_and_dial(LinkId link, Actions& actions);
    void add(LinkId link, StepIndex step, wire::Body body, Actions& actions);
    void written(const event::FrameWritten& event, std::vector<Event>& events);
    void tell_of_dropped(std::vector<Event>& events);

    const AdversarySettings settings_;
    const KeyPair key_;
    const PeerKey self_;
    Random random_;
    Forger forger_;
    std::map<LinkId, Link> links_;
    std::uint64_t sequence_ = 0;
    Standing standing_;
    TimePoint step_since_ = TimePoint::min();  ///< of `standing_`
    std::uint64_t heartbeats_ = 0;             ///< of the peer, however many got each
    std::uint64_t last_heartbeat_ = 0;         ///< its sequence number, as the peer counts
    std::uint64_t joins_ = 0;
    std::uint64_t changed_chunks_ = 0;
    std::uint64_t hung_up_at_ = 0;    ///< heartbeats_ then
    std::optional<wire::Plan> plan_;  ///< the last one that it is a member of
    StepIndex plan_step_;
    std::optional<LinkId> coordinator_;  ///< that `plan_` came over
    std::set<StepIndex> garbled_steps_;
};

}  // namespace dedloc::hostile
