// A hostile member is an honest Peer whose frames pass through an Adversary on their way to the
// network. The adversary changes, drops and adds frames. It has the peer's key, so everything that
// it sends carries the valid signature of a member.
//
//     driver ── event ──► Adversary::receive ── events ──► Peer ── actions ──► Adversary::send
//                              │ actions                                            │ actions
//                              ▼                                                    ▼
//                           network                                              network
//
// Sequence     Added frames are interleaved with the peer's frames, so every frame except bulk is
//              encoded again with the adversary's sequence number.
// Written      The peer counts event::FrameWritten to see how full its links are. It receives that
//              event for dropped frames as well, and does not receive it for added frames.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/random.hpp"
#include "peer/events.hpp"
#include "peer/wire/message.hpp"
#include "tests/hostile/forgery.hpp"
#include "tests/hostile/misbehaviour.hpp"

namespace dedloc::hostile {

/// What an adversary does, fixed for its life.
struct AdversarySettings {
    Misbehaviour misbehaviour = Misbehaviour::kForgedPromise;  ///< how it breaks the protocol
    /// The sample rate that the peer's ticket, or the run, allows. kOverclaimJoin claims slightly
    /// more.
    std::uint64_t max_samples_per_second = 0;
    std::uint64_t elements = 1;     ///< length of the run's vector
    std::uint64_t random_seed = 0;  ///< the same seed forges the same bodies
    /// Multiplies what it repeats after each heartbeat, and the frames of a flood that it keeps
    /// queued at a link.
    std::uint32_t intensity = 1;
    /// A flood's frames on each link at most; by default more than a peer may send.
    std::size_t flood_per_second = 5'000;
};

/// Stands between a Peer and its driver. Not thread-safe.
class Adversary final {
  public:
    /// `key` is the key of the peer that it belongs to.
    Adversary(const AdversarySettings& settings, const KeyPair& key);
    Adversary(const Adversary&) = delete;
    Adversary& operator=(const Adversary&) = delete;

    /// Takes a frame that the peer sends; appends the actions that the driver performs instead.
    void send(TimePoint now, const action::Send& send, Actions& actions);
    /// Takes an event for the peer; appends the events that the peer receives instead, and actions
    /// that the driver performs in addition.
    void receive(TimePoint now, const Event& event, std::vector<Event>& events, Actions& actions);

    /// How it breaks the protocol.
    Misbehaviour misbehaviour() const { return settings_.misbehaviour; }
    /// The steps whose averages are not the mean of what members have computed, because of it.
    const std::set<StepIndex>& garbled_steps() const { return garbled_steps_; }

  private:
    /// What has happened to a frame, until its event::FrameWritten is due.
    enum class Fate : std::uint8_t {
        kSent,     ///< the peer's; the driver has it
        kDropped,  ///< the peer's; the driver does not have it
        kAdded     ///< the adversary's; the peer does not know of it
    };
    /// What becomes of a frame of the peer.
    enum class Verdict : std::uint8_t { kKeep, kChanged, kDrop };
    struct Link {
        wire::LinkKind kind = wire::LinkKind::kUnproven;
        Endpoint remote;
        bool dialled = false;
        std::deque<Fate> frames{};  ///< frames that are not written yet, in order
        std::size_t added = 0;      ///< those of `frames` that the adversary has added
        std::size_t stormed = 0;    ///< frames of a flood since the peer's last heartbeat
        bool is_greeted = false;    ///< the peer has sent a heartbeat: the other end knows it
        PeerKey peer{};             ///< at the other end; known after its first message
        Digest nonce{};             ///< its Challenge
        Digest state{};             ///< the state in its last heartbeat
        Digest average{};           ///< the last one that it has offered
        std::uint32_t leaf = 0;     ///< the next one to request
        /// Chunks that it holds back, with their steps.
        std::deque<std::pair<StepIndex, wire::Chunk>> chunks{};
    };

    void note_own(TimePoint now, const wire::Message& message);
    Verdict change(TimePoint now, LinkId link, wire::Message& message);
    Verdict change_heartbeat(wire::Message& message, wire::Heartbeat& heartbeat);
    Verdict change_join(TimePoint now, StepIndex step, wire::Join& join);
    Verdict squat(wire::Message& message);
    void change_event(TimePoint now, Event& event) const;
    Samples claimed(TimePoint now) const;
    Verdict change_chunk(LinkId link, const wire::Message& message, wire::Chunk& chunk);
    void add_after_heartbeat(LinkId link, Actions& actions);
    std::uint32_t repetitions() const;
    void introduce_again(LinkId link, Actions& actions);
    void flood(LinkId link, Actions& actions);
    void react(LinkId link, const wire::Message& message, Actions& actions);
    void react_to_plan(LinkId link, StepIndex step, const wire::Plan& plan, Actions& actions);
    void complain(LinkId link, Actions& actions);
    void purge(LinkId link, Actions& actions);
    Verdict change_propose(wire::Propose& propose);
    void commit(const wire::Accept& accept, const Vote& vote, StepIndex step, Actions& actions);
    Verdict change_ready(LinkId link, const wire::Message& message, wire::Ready& ready);
    void drip(Actions& actions);
    bool is_pulse() const;
    void trickle(LinkId link, Actions& actions);
    void hold(LinkId link, const wire::Message& message, std::uint64_t heartbeats);
    void release(LinkId link, Actions& actions);
    void note_roots(LinkId link, const wire::Message& message);
    void query_everything(LinkId link, Actions& actions);
    void hang_up_and_dial(LinkId link, Actions& actions);
    void hang_up(Actions& actions);
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
    Digest swarm_state_;                       ///< the last one that another peer has reported
    StepIndex swarm_step_;                     ///< and its step
    TimePoint step_since_ = TimePoint::min();  ///< when standing_.step began
    std::uint64_t heartbeats_ = 0;             ///< number of the peer's heartbeats, not of copies
    std::uint64_t last_heartbeat_ = 0;         ///< the peer's sequence number of the last one
    std::uint64_t joins_ = 0;                  ///< number of joins, of the kinds that change some
    std::uint64_t changed_chunks_ = 0;
    std::optional<wire::Chunk> sample_;         ///< the first chunk that the peer has made
    std::optional<wire::Heartbeat> heartbeat_;  ///< the peer's last one
    std::uint64_t dripped_at_ = 0;              ///< heartbeats_ at which the last drip was sent
    std::uint64_t hung_up_at_ = 0;       ///< heartbeats_ when links were last dialled and closed
    std::optional<wire::Plan> plan_;     ///< the last plan that names the peer
    StepIndex plan_step_;                ///< the step of plan_
    std::optional<LinkId> coordinator_;  ///< the link on which plan_ arrived
    std::uint64_t rounds_ = 0;           ///< whose plans have named the peer
    std::uint64_t planned_at_ = 0;       ///< heartbeats_ at the first plan of the last of them
    std::uint64_t left_ = 0;             ///< the last of them that it has left
    /// A message of the peer that is not sent yet.
    struct Held {
        LinkId link;
        StepIndex step;
        wire::Body body;
        std::uint64_t due;  ///< heartbeats_ at which it is sent
    };
    std::optional<Held> held_;
    std::optional<wire::Propose> forged_;  ///< the proposal in place of the peer's
    std::set<StepIndex> garbled_steps_;
};

}  // namespace dedloc::hostile
