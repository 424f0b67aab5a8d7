// Links to other peers: handshake, heartbeats and failure detection, dials, queues. A peer is
// "known" while it has a link that has passed the handshake.
//
// Handshake    Both ends send Challenge{nonce} when a link opens, and answer a Challenge with
//              Hello{its nonce}. A peer is known once its Hello carries our nonce; until then only
//              these two messages are accepted on the link.
// Two links    Two peers may dial each other at once. Both send over the newest link dialled by the
//              smaller key, unless it has been quiet. They still read frames from the other link,
//              and close it later.
// Restarts     A Hello carries the session of its process. A peer that has restarted with the same
//              key is first lost, then a newcomer.
// Liveness     Voters exchange a heartbeat each second with every peer, and so does a peer that
//              knows no live coordinator; after a failure timeout without a message the peer is
//              lost. Other pairs send each other news only (in swarms of more than kMeshLimit
//              members only new states), and their links live as long as the transport keeps them.
//              A peer is also lost when its last link closes.
// Dials        The addresses that the directory finds, the reducers of a plan, and lost voters,
//              which are dialled every two seconds without limit. At most kMaxDials at once, with
//              backoff for each address.
// Signatures   On a link that proves its sender, only messages that may be relayed are signed
//              (wire::LinkKind).
// Back-pressure  A link takes bulk data while its queue holds less than the window.
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
#include "peer/base/token_buckets.hpp"
#include "peer/config.hpp"
#include "peer/events.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::membership {

/// In swarms up to this size every peer sends its news to every other.
inline constexpr std::size_t kMeshLimit = 64;

/// Messages that a peer may send; bulk does not count, since windows bound it. The shortest rounds
/// take 5 ms and need ten messages.
inline constexpr TokenBuckets::Rate kMessages{.per_second = 4'000, .burst = 20'000};
/// Heartbeats of a peer: twice as many as one with news at all times sends.
inline constexpr TokenBuckets::Rate kHeartbeats{.per_second = 20, .burst = 200};

/// A peer that has passed the handshake, and its last heartbeat.
struct Known {
    LinkId link;                               ///< the link that messages to it are sent over
    PeerKey dialler;                           ///< the end that dialled `link`
    Role role = Role::kTrainer;                ///< as its last Hello says
    bool receives = true;                      ///< takes averages and holds a state
    Endpoint endpoint;                         ///< port 0: cannot be dialled
    std::uint16_t claimed_port = 0;            ///< the last port that it has told
    std::string result_name;                   ///< BOINC result of its job, as it claims
    std::uint64_t user = 0;                    ///< BOINC user of its ticket; 0: no ticket
    std::uint64_t max_samples_per_second = 0;  ///< limit of its device, from the ticket
    std::uint64_t session = 0;                 ///< random number of its process
    bool has_reported = false;                 ///< a heartbeat has arrived
    std::uint64_t generation = 0;              ///< generation of its last heartbeat
    StepIndex step;                            ///< step of its last heartbeat
    wire::Heartbeat heartbeat;                 ///< its last heartbeat
};

/// All links of this peer and the peers known over them.
class Links {
  public:
    /// Keeps a reference to `config`, which must outlive it.
    Links(const PeerConfig& config, const KeyPair& key);

    /// A frame has arrived. Returns a message from a known peer; nothing for handshakes and for
    /// frames that are refused (counted by reason; their link is closed).
    std::optional<wire::Message> receive(TimePoint now, const event::FrameReceived& event,
                                         Actions& actions);
    /// A link has opened, still pending: sends our Challenge.
    void opened(TimePoint now, const event::LinkOpened& event, Actions& actions);
    /// A link has closed. Returns the peer that is lost with it; if that peer has another link, it
    /// is a newcomer again.
    std::optional<PeerKey> closed(TimePoint now, const event::LinkClosed& event, Actions& actions);
    /// A dial has failed: backs off.
    void dial_failed(TimePoint now, const event::DialFailed& event, Actions& actions);
    /// The directory has found addresses: dials them, up to kMeshLimit known peers.
    void found(TimePoint now, const std::vector<Endpoint>& endpoints, Actions& actions);
    /// Dials the address unless it is known, our own, or backing off.
    void reach(TimePoint now, const Endpoint& endpoint, Actions& actions);

    /// Closes links that have timed out or are retired; LinkClosed follows for each. Dials lost
    /// voters.
    void advance(TimePoint now, Actions& actions);
    /// When advance() must be called next. A lower bound: it may find nothing to do.
    TimePoint next_deadline() const { return tick_at_; }

    /// Sets which pairs exchange heartbeats: those where one end is a voter, or knows no live
    /// coordinator and says so (`is_led` is false). Both ends come to the same answer. `members` is
    /// the size of the swarm. False: nothing has changed.
    bool watch(const std::vector<PeerKey>& voters, std::size_t members, bool is_led);
    /// True if this peer and `peer` exchange heartbeats.
    bool is_watched(const PeerKey& peer) const;
    /// True if only voters expect our heartbeats.
    bool is_watched_by_voters_only() const;
    /// Sets the port that peers dial; 0: they cannot. New links learn it from the Hello, others
    /// from the next heartbeat.
    void set_listening_port(std::uint16_t port) { listening_port_ = port; }
    /// The port that this peer tells others.
    std::uint16_t listening_port() const { return listening_port_; }
    /// The generation that every frame carries from now on.
    void set_generation(std::uint64_t generation) { generation_ = generation; }

    /// False if the peer is not known: the message is dropped.
    bool send(const PeerKey& to, StepIndex step, wire::Body body, Actions& actions);
    /// Sends to all known peers.
    void broadcast(StepIndex step, const wire::Body& body, Actions& actions);
    /// Sends to peers that expect heartbeats; if it `is_news` and the swarm is small, to all.
    void broadcast_heartbeat(StepIndex step, const wire::Heartbeat& heartbeat, bool is_news,
                             Actions& actions);

    /// One message to several peers, encoded once for each kind of link.
    struct SharedMessage {
        wire::Message message;                     ///< what is sent
        std::map<wire::LinkKind, Frame> frames{};  ///< encodings made so far
    };
    /// Prepares such a message, and sends it to one peer; false if that peer is not known.
    SharedMessage shared_message(StepIndex step, wire::Body body);
    bool send(const PeerKey& to, SharedMessage& shared_message, Actions& actions);

    /// send() in steps: the kind of a peer's link (kUnproven if it is not known), a frame for links
    /// of a kind, and sending it. send_sealed() is false if the peer is not known.
    wire::LinkKind kind_of(const PeerKey& peer) const;
    Frame seal(StepIndex step, wire::Body body, wire::LinkKind kind);
    bool send_sealed(const PeerKey& to, const Frame& frame, Actions& actions);

    /// A frame that has left this machine.
    struct Written {
        std::optional<PeerKey> peer;  ///< its receiver; none: the link is still pending
        Bytes bytes;                  ///< its size
    };
    /// Takes a written frame off its link's queue.
    Written written(const event::FrameWritten& event);
    /// True if the queue to this peer holds less than `window` bytes.
    bool has_space(const PeerKey& peer, std::uint64_t window) const;
    /// Bytes in the queues of all links.
    std::uint64_t queued_bytes() const { return queued_bytes_; }
    /// True in a large swarm while the queues hold a window of bytes: messages that are not urgent
    /// would only delay the others.
    bool is_crowded() const { return !is_small_ && queued_bytes_ >= config_.rules.window_bytes; }

    /// The peer has violated the protocol: counts the reason and closes its link.
    void refuse(TimePoint now, const PeerKey& peer, const char* why, Actions& actions);
    /// The peer has said Leave: forgets it and closes its links.
    void drop(const PeerKey& peer, Actions& actions);
    /// Closes all links and forgets all peers. LinkClosed events of these links are ignored.
    /// Returns  the peers, which are lost
    std::vector<PeerKey> leave_all(Actions& actions);

    /// The known peers, and one of them (null: not known).
    const std::map<PeerKey, Known>& known() const { return known_; }
    const Known* find(const PeerKey& peer) const;
    /// Peers that have become known, once each; the caller sends them what they need.
    std::vector<PeerKey> take_newcomers() { return std::exchange(newcomers_, {}); }
    /// Peers whose new link has replaced a quiet one, once each. They are newcomers as well, since
    /// messages sent over the old link may be lost.
    std::vector<PeerKey> take_relinked() { return std::exchange(relinked_, {}); }
    /// Peers that have restarted, once each. They are newcomers as well.
    std::vector<PeerKey> take_restarted() { return std::exchange(restarted_, {}); }
    /// Fails a DEDLOC_CHECK if the state contradicts itself.
    void check_invariants() const;

  private:
    struct Link {
        wire::LinkKind kind() const {
            return proven ? wire::LinkKind::kProven : wire::LinkKind::kUnproven;
        }
        Endpoint remote;
        bool dialled = false;
        Digest nonce;                   ///< the nonce of our Challenge
        std::optional<PeerKey> proven;  ///< sender that the transport has proven; none: unproven
        std::uint64_t user = 0;         ///< user and device limit from its ticket; 0: no ticket
        std::uint64_t max_samples_per_second = 0;
        bool is_challenged = false;   ///< the other end's Challenge has come
        std::optional<PeerKey> peer;  ///< sender after the handshake; none: pending
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
        std::optional<PeerKey> peer{};  ///< the last one that introduced itself there
    };

    void take_port(Known& known, const wire::Heartbeat& heartbeat);
    void answer(TimePoint now, LinkId id, Link& link, const wire::Challenge& challenge,
                Actions& actions);
    void greet(TimePoint now, LinkId id, Link& link, const wire::Message& message,
               const wire::Hello& hello, Actions& actions);
    void dial(TimePoint now, const Endpoint& endpoint, Actions& actions);
    TimePoint silent_at(const Link& link) const;
    wire::Message message_with(StepIndex step, wire::Body body);
    const Frame& frame_for(const Link& link, SharedMessage& shared_message);
    TimePoint earliest_deadline() const;
    bool is_voter(const PeerKey& peer) const;
    void remember_voter(const PeerKey& peer, const Known& known);
    void redial_voters(TimePoint now, Actions& actions);
    void forget_worst_attempt();
    void post(LinkId id, Frame frame, Actions& actions);
    /// `suspect`: the peer that `why` accuses.
    void close(LinkId id, Link& link, const std::string& why, Actions& actions,
               const std::optional<PeerKey>& suspect = {});
    void try_later(TimePoint now, const Endpoint& remote);
    void forget_queue(Link& link);
    void forget_earlier_life(const PeerKey& peer, std::uint64_t session, LinkId newest,
                             Actions& actions);
    void count_refusal(TimePoint now, LinkId id, const char* why, Actions& actions,
                       const std::string& detail = {}, const std::optional<PeerKey>& suspect = {});
    bool is_known_endpoint(const Endpoint& endpoint) const;
    std::string log_name(const Endpoint& remote) const;
    std::string log_name(const Link& link) const;

    const PeerConfig& config_;
    const KeyPair key_;
    Random random_;
    const std::uint64_t session_;
    std::uint64_t sequence_ = 0;
    std::uint64_t generation_ = 0;
    std::uint16_t listening_port_;
    std::uint64_t queued_bytes_ = 0;
    TimePoint tick_at_ = kNever;  ///< nothing is due earlier
    bool is_small_ = true;
    bool is_led_ = false;            ///< this peer knows a live coordinator
    std::vector<PeerKey> voters_{};  ///< ascending
    std::map<PeerKey, Endpoint> lost_voters_;
    std::size_t dials_ = 0;  ///< dials that have neither opened a link nor failed
    TokenBuckets messages_{kMessages};
    TokenBuckets heartbeats_{kHeartbeats};
    LogLimit<TimePoint> refusals_;  ///< refused frames, failed dials and closed links, by reason
    std::unordered_map<LinkId, Link> links_;
    std::map<PeerKey, Known> known_;
    std::map<Endpoint, Attempt> attempts_;
    std::set<Endpoint> self_;  ///< endpoints that turned out to be our own
    std::vector<PeerKey> newcomers_;
    std::vector<PeerKey> restarted_;
    std::vector<PeerKey> relinked_;
};

}  // namespace dedloc::membership
