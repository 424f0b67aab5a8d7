// Who is there: every link is challenged, every answer checked, and whoever says nothing for too
// long is gone.
//
// Handshake    both ends send Challenge{nonce} when a link opens and Hello{other's nonce} when
//              challenged. A peer is known once its Hello carries our nonce; before that only
//              these two messages are taken from a link.
// Two links    peers may dial each other at once. Sends go over the newest link dialled by the
//              smaller key, unless that has been quiet; frames are still read from the other one,
//              which both ends close later.
// Lives        a Hello names the session of its process: who has restarted with the same key is
//              lost first, and then a newcomer.
// Liveness     voters exchange a heartbeat a second with every peer, and so does a peer that knows
//              no living coordinator; silence is loss. Other pairs tell each other what is new, in
//              swarms of more than kMeshLimit members only new states; their links live as long as
//              the transport keeps them. A closed last link is loss.
// Dials        to what the directory finds, to the reducers of a plan, and to voters that are lost,
//              which are tried again every two seconds for as long as it takes. At most kMaxDials
//              at once, and each address ever more seldom.
// Signatures   on a link that proves who speaks only what may be relayed is signed (see
//              wire::LinkKind).
// Back-pressure a link has room for bulk while less than the window waits in its queue.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "peer/base/log_limit.hpp"
#include "peer/base/random.hpp"
#include "peer/config.hpp"
#include "peer/events.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::membership {

/// In swarms up to this size every peer tells every other what is new.
inline constexpr std::size_t kMeshLimit = 64;

/// What is known of another peer.
struct Known {
    LinkId link;
    PeerKey dialler;  ///< of `link`
    Role role = Role::kTrainer;
    bool receives = true;
    Endpoint endpoint;  ///< port 0: cannot be dialled
    std::string result_name;
    std::uint64_t user = 0;                    ///< of its ticket's seat; 0: none
    std::uint64_t max_samples_per_second = 0;  ///< that its device can compute
    std::uint64_t session = 0;                 ///< one life of its process
    bool has_reported = false;                 ///< a heartbeat has come
    std::uint64_t generation = 0;
    StepIndex step;  ///< of its last heartbeat
    wire::Heartbeat heartbeat;
};

class Links {
  public:
    Links(const PeerConfig& config, const KeyPair& key);

    /// A message from a known peer, or nothing: handshake, refusal, garbage (counted).
    std::optional<wire::Message> receive(TimePoint now, const event::FrameReceived& event,
                                         Actions& actions);
    void opened(TimePoint now, const event::LinkOpened& event, Actions& actions);
    /// The peer that is lost with this link. It is a newcomer again if it has another one.
    std::optional<PeerKey> closed(TimePoint now, const event::LinkClosed& event, Actions& actions);
    void dial_failed(TimePoint now, const event::DialFailed& event, Actions& actions);
    void found(TimePoint now, const std::vector<Endpoint>& endpoints, Actions& actions);
    /// Dials a peer that a plan names but that is not known here.
    void reach(TimePoint now, const Endpoint& endpoint, Actions& actions);

    /// Closes silent links and retired ones; their loss follows as LinkClosed.
    void advance(TimePoint now, Actions& actions);
    /// Perhaps too early: who was heard since moves it at the next tick.
    TimePoint next_deadline() const { return tick_at_; }

    /// Which pairs exchange heartbeats, so that both ends agree on it: one of the two is a voter,
    /// or knows no living coordinator and says so. `members` is the size of the swarm. False:
    /// nothing has changed.
    bool watch(const std::vector<PeerKey>& voters, std::size_t members, bool is_led);
    bool is_watched(const PeerKey& peer) const;
    /// No peer but the voters waits for our heartbeats.
    bool is_watched_by_voters_only() const;
    /// Of every frame from now on.
    void set_generation(std::uint64_t generation) { generation_ = generation; }

    /// False when the peer is not known (any more): the message is dropped.
    bool send(const PeerKey& to, StepIndex step, wire::Body body, Actions& actions);
    /// To everybody that is known.
    void broadcast(StepIndex step, const wire::Body& body, Actions& actions);
    /// To those that wait for one every second; if it `is_news`, to all of a small swarm.
    void broadcast_heartbeat(StepIndex step, const wire::Heartbeat& heartbeat, bool is_news,
                             Actions& actions);

    /// One message to several peers. What it is on links of a kind is encoded once, when it is
    /// first sent there.
    struct Circular {
        wire::Message message;
        std::map<wire::LinkKind, Frame> frames{};
    };
    Circular circular(StepIndex step, wire::Body body);
    bool send(const PeerKey& to, Circular& circular, Actions& actions);

    /// The same in two steps. Of a peer that is not known: kUnproven.
    wire::LinkKind kind_of(const PeerKey& peer) const;
    Frame seal(StepIndex step, wire::Body body, wire::LinkKind kind);
    bool send_sealed(const PeerKey& to, const Frame& frame, Actions& actions);

    /// A frame has left this machine: how large it was, and to whom, if that is known.
    struct Written {
        std::optional<PeerKey> peer;
        Bytes bytes;
    };
    Written written(const event::FrameWritten& event);
    /// Less than so many bytes wait to be sent to this peer.
    bool has_room(const PeerKey& peer, std::uint64_t window) const;
    /// Waiting to be sent, over all links.
    std::uint64_t queued_bytes() const { return queued_bytes_; }
    /// A large swarm's coordinator has a window of bytes in its queues: what need not be sent now
    /// would only make everybody wait.
    bool is_crowded() const { return !is_small_ && queued_bytes_ >= config_.rules.window_bytes; }

    /// What it said is none of the protocol: its link is closed.
    void refuse(TimePoint now, const PeerKey& peer, const char* why, Actions& actions);
    /// It said good-bye: not known any more, its links are closed.
    void drop(const PeerKey& peer, Actions& actions);
    /// Closes everything; knows nobody afterwards. Links that close later are ignored.
    void leave_all(Actions& actions);

    const std::map<PeerKey, Known>& known() const { return known_; }
    const Known* find(const PeerKey& peer) const;
    /// True once after somebody became known; for the greeting that only the caller can give.
    std::vector<PeerKey> take_newcomers() { return std::exchange(newcomers_, {}); }
    /// Peers that have a new link beside one that says nothing, once each; they are newcomers as
    /// well, for what was sent over that one may be lost.
    std::vector<PeerKey> take_relinked() { return std::exchange(relinked_, {}); }
    /// Peers whose earlier life is over, once each; they are newcomers as well.
    std::vector<PeerKey> take_restarted() { return std::exchange(restarted_, {}); }
    void check_invariants() const;

  private:
    struct Link {
        wire::LinkKind kind() const {
            return proven ? wire::LinkKind::kProven : wire::LinkKind::kUnproven;
        }
        Endpoint remote;
        bool dialled = false;
        Digest nonce;                   ///< what we challenged with
        std::optional<PeerKey> proven;  ///< by the transport: no other peer speaks here
        std::uint64_t user = 0;         ///< of its ticket, with the next one
        std::uint64_t max_samples_per_second = 0;
        std::optional<PeerKey> peer;
        std::uint64_t last_sequence = 0;
        TimePoint opened_at;
        TimePoint last_heard{};
        TimePoint watched_since = kNever;
        TimePoint close_at = kNever;
        bool is_closing = false;
        std::deque<std::size_t> queue{};  ///< sizes of the frames sent and not yet written
        std::uint64_t queued_bytes = 0;
    };
    struct Attempt {
        bool is_dialling = false;
        unsigned failures = 0;
        TimePoint not_before;
    };

    void greet(TimePoint now, LinkId id, Link& link, const wire::Message& message,
               const wire::Hello& hello, Actions& actions);
    void dial(TimePoint now, const Endpoint& endpoint, Actions& actions);
    TimePoint silent_at(const Link& link) const;
    wire::Message message_with(StepIndex step, wire::Body body);
    const Frame& frame_for(const Link& link, Circular& circular);
    TimePoint earliest_deadline() const;
    bool is_voter(const PeerKey& peer) const;
    void remember_voter(const PeerKey& peer, const Known& known);
    void redial_voters(TimePoint now, Actions& actions);
    void forget_worst_attempt();
    void post(LinkId id, Frame frame, Actions& actions);
    void close(LinkId id, Link& link, const std::string& why, Actions& actions);
    void try_later(TimePoint now, const Endpoint& remote);
    void forget_queue(Link& link);
    void forget_earlier_life(const PeerKey& peer, std::uint64_t session, LinkId newest,
                             Actions& actions);
    void count_refusal(TimePoint now, LinkId id, const char* why, Actions& actions,
                       const std::string& detail = {});
    bool is_known_endpoint(const Endpoint& endpoint) const;

    const PeerConfig& config_;
    const KeyPair key_;
    Random random_;
    const std::uint64_t session_;
    std::uint64_t sequence_ = 0;
    std::uint64_t generation_ = 0;
    std::uint64_t queued_bytes_ = 0;
    TimePoint tick_at_ = kNever;  ///< nothing can be due before
    bool is_small_ = true;
    bool is_led_ = false;            ///< by a coordinator that is linked
    std::vector<PeerKey> voters_{};  ///< ascending
    std::map<PeerKey, Endpoint> lost_voters_;
    std::size_t dials_ = 0;         ///< not answered yet
    LogLimit<TimePoint> refusals_;  ///< of frames
    std::unordered_map<LinkId, Link> links_;
    std::map<PeerKey, Known> known_;
    std::map<Endpoint, Attempt> attempts_;
    std::set<Endpoint> self_;  ///< endpoints that turned out to be our own
    std::vector<PeerKey> newcomers_;
    std::vector<PeerKey> restarted_;
    std::vector<PeerKey> relinked_;
};

}  // namespace dedloc::membership
