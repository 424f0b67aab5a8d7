// What a Peer is told (events) and what it asks for (actions). The protocol core is a pure state
// machine between these two lists. A driver feeds it events with the current time and carries out
// its actions in order: the reactor (peer/net/reactor.hpp) on a real network, the simulated world
// (peer/simulation/world.hpp) in virtual time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/frame.hpp"
#include "peer/base/stable_bytes.hpp"
#include "peer/base/units.hpp"
#include "peer/wire/mixture.hpp"
#include "peer/wire/types.hpp"

namespace dedloc {

/// One peer's gradient on one state, summed over its samples.
struct Contribution {
    Samples samples;      ///< how many samples the sum covers; 0: nothing was computed
    double loss_sum = 0;  ///< sum of the losses of all samples, in nats
    /// False: some element is NaN or infinite. Such a contribution is never averaged.
    bool is_finite = true;
    SharedFloats sum;  ///< sum of the per-sample gradients, N elements; null when samples is 0
};

/// What a backbone knows about one connected peer, for status pages and the seat table. Apart from
/// key, user and host address, all values are the peer's own claims (Hello, last heartbeat).
struct SeatView {
    PeerKey peer;                   ///< the peer's public key
    std::uint64_t user = 0;         ///< the user in its ticket; 0: none. Proven by the link
    Role role = Role::kTrainer;     ///< what it does in the swarm
    std::string result_name;        ///< BOINC's name of its job; empty outside BOINC
    Endpoint endpoint;              ///< where it listens; port 0: it cannot be dialled
    bool has_state = false;         ///< it holds the state of its head
    StepIndex step;                 ///< its head: the step of its next round
    Digest digest;                  ///< its state; meaningful only if has_state
    Samples samples;                ///< accumulated on that state so far
    double samples_per_second = 0;  ///< its training speed
};

/// What a Peer is told. Each event is handled completely before the next one.
namespace event {

// --- from the driver ---------------------------------------------------------

/// Time has passed and nothing else has happened. Due at Peer::next_deadline() at the latest; an
/// earlier tick is harmless.
struct Tick {};

// --- from the directory and the transport ------------------------------------

/// The directory (the DHT or a fixed list) has answered with addresses of possible peers.
struct EndpointsFound {
    std::vector<Endpoint> endpoints;  ///< may repeat known addresses and may be out of date
};
/// A connection to another process is ready for frames, in either direction.
struct LinkOpened {
    LinkId link;           ///< chosen by the transport, never used again
    Endpoint remote;       ///< the other end; its port is a listening port only if `dialled`
    bool dialled = false;  ///< this peer opened the connection
    /// The key that the other end has proven to hold, with a ticket of this run. Empty: the
    /// transport proves nothing, and every frame must be signed.
    std::optional<PeerKey> proven{};
    std::uint64_t user = 0;  ///< the user in its ticket's job; 0: a project peer, or no ticket
    /// The limit in its ticket; 0: the run's limit holds.
    std::uint64_t max_samples_per_second = 0;
};
/// The connection has ended. Comes exactly once for each LinkOpened, also after action::Close.
struct LinkClosed {
    LinkId link;        ///< the closed link
    std::string why{};  ///< the reason, a short fixed text without a full stop; may be empty
};
/// A connection that action::Dial asked for could not be made.
struct DialFailed {
    Endpoint remote;       ///< as in action::Dial
    std::string why{};     ///< the reason, a short fixed text without a full stop; may be empty
    bool is_self = false;  ///< the handshake has proven that this peer itself listens there
};
/// A frame of action::Send has left this machine. A large frame counts only once all of it has
/// arrived at the other end, except for what the path itself holds. One event per Send of a link,
/// in order.
struct FrameWritten {
    LinkId link;  ///< the link of that Send
};
/// A whole frame has arrived. Frames of one link come in the order in which they were sent.
struct FrameReceived {
    LinkId link;        ///< the link that brought it
    SharedBytes frame;  ///< untrusted bytes, not decoded yet
};

// --- from the trainer (peer/trainer.hpp) -------------------------------------

/// A micro-batch is done.
struct Progressed {
    StepIndex step;                 ///< the state that the trainer works on
    Samples samples;                ///< in its sum so far
    double samples_per_second = 0;  ///< its current speed
};
/// The answer to action::Freeze: the trainer has stopped and hands over its sum.
struct ContributionFrozen {
    StepIndex step;             ///< as in action::Freeze
    Contribution contribution;  ///< 0 samples if nothing was computed on that state
};
/// The trainer now holds a state: after action::Apply, after action::Load, or at the start if it
/// begins with one.
struct StateReached {
    StepIndex step;  ///< updates that the state has seen
    Digest digest;   ///< its digest
};
/// The bytes of action::Load do not have the promised digest. The trainer keeps its old state.
struct StateRefused {
    StepIndex step;  ///< as in action::Load
};
/// The answer to action::TakeSnapshot: the whole state, which stays as it is while it is held.
struct SnapshotTaken {
    StepIndex step;              ///< updates that the state has seen
    Digest digest;               ///< root of the digest tree over `bytes`
    SharedStableBytes bytes;     ///< parameters ‖ m ‖ v, 12 N bytes
    std::vector<Digest> leaves;  ///< leaves of that tree (ModelState::leaf_digests)
};

// --- from the host of the peer -----------------------------------------------

/// The project has signed a generation: the answer to action::GenerationWanted. Only the host of a
/// backbone sends this; other peers hear of the generation from the backbone.
struct GenerationSigned {
    SignedGeneration generation;  ///< its record is that of GenerationWanted
};
/// Backbone only: the project wants these voters. action::GenerationWanted follows as soon as every
/// new voter holds the swarm's state, and is repeated until such a generation has begun.
struct VotersWanted {
    std::vector<PeerKey> voters;  ///< the complete list, ascending by key
    /// Lowest acceptable generation number. If it is higher than the present one, a new generation
    /// is wanted even with the same voters: one of them has lost its memory and is appointed again.
    std::uint64_t min_generation = 0;
};
/// The project pauses the run, or lets it go on: action::PauseChanged follows if the signature is
/// good and the count higher than the one known.
struct PauseSigned {
    SignedPause pause;  ///< signed by the host that holds the project's key
};
/// The project changes the mixture of the run's sources: action::MixtureChanged follows if the
/// signature is good and the version higher than the one known.
struct MixtureSigned {
    SharedMixture mixture;  ///< signed by the host that holds the project's key; not null
};
/// Voters only: the project's list of revocations has changed. Every other voter is told.
struct RevocationsSigned {
    Buffer list;  ///< formats::SignedRevocations, at most wire::kMaxRevocationsBytes
};
/// The answer to action::ReadHistory.
struct HistoryRead {
    PeerKey to;  ///< as in action::ReadHistory
    /// Consecutive ledger entries from the requested place on; empty if the ledger lacks it.
    std::vector<std::variant<Decision, SignedGeneration>> entries;
};

/// The volunteer's machine wants this peer out of the swarm (suspend, quit). action::Left follows
/// within RoundRules::leave_limit.
struct LeaveRequested {};
/// The volunteer's machine is available again: the peer rejoins the swarm.
struct ReturnRequested {};
/// Other peers can dial this one at another port from now on, or cannot dial it any more. It stays
/// in the swarm and tells the other peers.
struct ListeningPortChanged {
    std::uint16_t port = 0;  ///< replaces PeerConfig::listening_port; 0: it cannot be dialled
};

}  // namespace event

/// The kinds of events.
using EventKinds =
    std::variant<event::Tick, event::EndpointsFound, event::LinkOpened, event::LinkClosed,
                 event::DialFailed, event::FrameWritten, event::FrameReceived, event::Progressed,
                 event::ContributionFrozen, event::StateReached, event::StateRefused,
                 event::SnapshotTaken, event::GenerationSigned, event::VotersWanted,
                 event::PauseSigned, event::RevocationsSigned, event::HistoryRead,
                 event::LeaveRequested, event::ReturnRequested, event::ListeningPortChanged,
                 event::MixtureSigned>;
/// Everything that a Peer can be told. Its special members are compiled once, as wire::Body's.
struct Event : EventKinds {
    using EventKinds::EventKinds;
    using EventKinds::operator=;
    Event();
    Event(const Event& other);
    Event(Event&& other) noexcept;
    Event& operator=(const Event& other);
    Event& operator=(Event&& other) noexcept;
    ~Event();
};

/// What a Peer asks of its driver. Actions are carried out in the order of the list.
namespace action {

// --- for the transport -------------------------------------------------------

/// Connect to this address: event::LinkOpened or event::DialFailed follows.
struct Dial {
    Endpoint remote;  ///< a numeric host and a port that is not 0
};
/// Queue a frame on a link: event::FrameWritten follows unless the link closes first.
struct Send {
    LinkId link;  ///< an open link
    Frame frame;  ///< complete and, where the link needs it, signed
};
/// Close a link: event::LinkClosed follows. Frames that are queued already are still delivered if
/// the other end reads them.
struct Close {
    LinkId link;  ///< an open link
};

// --- for the trainer (peer/trainer.hpp) --------------------------------------

/// Compute micro-batches on this state and add them to the sum, with event::Progressed after each,
/// until Freeze, Pause, Apply or Load. Starts a new sum, or goes on with the one that Apply has
/// kept. Repeated for the same step it changes nothing. A trainer whose state is another one
/// ignores it.
struct Work {
    StepIndex step;  ///< the state to work on
};
/// Comes after the Freeze of this step, while its round is on its way: start the sum of the next
/// round on the same state and compute micro-batches as for Work. None of its samples may be in a
/// sum that was handed over before. If there is a sum already, this only limits it. A trainer whose
/// state is another one ignores it; one that cannot compute ahead may ignore it always, and waits
/// for the next state.
struct Overlap {
    StepIndex step;  ///< the state to work on
    /// Stop once the sum has so many samples, until the next action::Work. 0: after the
    /// micro-batch.
    Samples max;
};
/// Finish the current micro-batch and stop: event::ContributionFrozen follows. The contribution has
/// 0 samples if nothing was computed or if the trainer's state is another one.
struct Freeze {
    StepIndex step;  ///< the state that the contribution is computed on
};
/// Update state `step`, which the trainer holds, to `step + 1`: event::StateReached follows. A
/// micro-batch that is being computed ends on the old state and counts, or is dropped. The sum is
/// kept, and the next Work goes on with it on the new state.
struct Apply {
    StepIndex step;         ///< the state that the update starts from
    SharedFloats average;   ///< the round's averaged gradient, N elements
    UpdateScalars scalars;  ///< the optimizer's scalars for this update, from the record
};
/// Share the whole state, as it is now: event::SnapshotTaken follows.
struct TakeSnapshot {};
/// Drop the sum and replace the state: event::StateReached follows, or event::StateRefused if the
/// bytes do not have this digest.
struct Load {
    StepIndex step;     ///< updates that the new state has seen
    Digest digest;      ///< what the bytes must hash to
    SharedBytes bytes;  ///< parameters ‖ m ‖ v, 12 N bytes
};
/// Stop computing after the current micro-batch and drop the sum. No event follows.
struct Pause {};
/// Draw samples by this mixture of sources from now on, by the change in force at the step of the
/// state that they are computed on. Comes before the work on the first state that it changes. No
/// event follows.
struct Mix {
    SharedMixture mixture;  ///< not null
};

// --- for the host of the peer (net::Host): ledger, receipt, progress, pages --

/// This voter's memory has changed. Only from a peer that was given one (PeerConfig::voter). Comes
/// before the frames that depend on it: the host makes it durable before it continues.
struct Voted {
    VoterState state;  ///< replaces the former memory completely
};
/// A round is decided. Comes before the Apply of the same step: the host writes it first, so that a
/// crash cannot lose it.
struct Committed {
    CommitRecord record;      ///< the result of the round
    Certificate certificate;  ///< proves that the voters have decided `record`
};
/// A new generation of voters has begun: from its step on, records of earlier generations are void.
struct GenerationBegun {
    SignedGeneration generation;  ///< its signature is verified
};
/// Only with PeerConfig::may_begin_generations: a new generation is needed, because the project
/// wants other voters (event::VotersWanted), or because no connected peer holds the state that was
/// decided last. The host signs the record and answers with event::GenerationSigned.
struct GenerationWanted {
    GenerationRecord record;  ///< what the project is to sign
};
/// The run is paused or goes on, as the project wants it. A voter's host writes it to the disk
/// before it continues, since frames that tell it are sent next.
struct PauseChanged {
    SignedPause pause;  ///< its signature is verified; its count is higher than before
};
/// The project has changed the mixture of the run's sources, or a change of it came too late and is
/// void. The host writes the list to the disk before it continues, as PauseChanged.
struct MixtureChanged {
    SharedMixture as_signed;  ///< the project's list; its signature is verified. Not null
    SharedMixture in_force;   ///< the same without the changes that came too late
};
/// The coordinator has decided anew in which rounds this trainer takes part. A note says it too.
struct TurnChanged {
    TurnKind kind = TurnKind::kEveryRound;  ///< the new turn
    std::string why;  ///< one sentence for the volunteer: what it does now, and why
};
/// A voter has sent a list of revocations. The host verifies the project's signature, and ends the
/// links of the peers that a newer list revokes.
struct RevocationsHeard {
    Buffer list;  ///< untrusted: to be read as formats::SignedRevocations
};
/// Backbone only: another backbone has missed the decisions from this place on. The host reads them
/// from its ledger and answers with event::HistoryRead.
struct ReadHistory {
    PeerKey to;                    ///< the backbone that asks
    std::uint64_t generation = 0;  ///< its generation
    StepIndex step;                ///< its head: the first step that it lacks
    std::size_t max_entries = 0;   ///< at most this many entries are wanted
};
/// Backbone only: how many members of the last round have reached the same state as this backbone.
/// Comes once per state that the backbone reaches in time: when all connected members have reported
/// theirs, after RoundRules::join_timeout, or when the next round is decided. A backbone that was
/// killed before counts again when it is back (PeerConfig::last_settled).
struct Settled {
    std::uint64_t generation = 0;  ///< CommitRecord::generation
    StepIndex step;                ///< the state reached: the record's step + 1
    Digest digest;                 ///< this backbone's own state
    std::uint32_t reported = 0;    ///< members that reported this step, and the backbone itself
    std::uint32_t equal = 0;       ///< those among them that reported exactly `digest`
};
/// Backbone only: what the swarm looks like now. Comes about once per RoundRules::heartbeat and
/// after each commit.
struct SwarmSeen {
    StepIndex step;               ///< this backbone's head
    Samples samples;              ///< all peers' samples on the head's state so far
    PeerKey coordinator;          ///< leads the term that this backbone follows; zeros: none
    std::vector<SeatView> seats;  ///< every connected peer, this one excluded
};
/// The run is over: the voters have signed its last state, or have not done so for twelve failure
/// timeouts. Comes once, and again only if a new generation restarts from an earlier step.
struct Finished {
    StepIndex step;             ///< the step of this peer's state
    Digest digest;              ///< the digest of that state
    std::vector<Vote> votes{};  ///< those of its StateCertificate; empty: it has none
};
/// A voter has refused this peer for good: reconnecting does not help.
struct Refused {
    std::string reason;  ///< the voter's reason: untrusted text, for the log and the volunteer
};
/// This peer has left after event::LeaveRequested: it sends nothing until event::ReturnRequested.
struct Left {};
/// One line for the log.
struct Note {
    std::string line;                  ///< what has happened and why
    std::optional<PeerKey> suspect{};  ///< the peer that the line accuses; nothing: none
};

}  // namespace action

/// The kinds of actions. A new one comes last: the hashes of the simulator number them.
using ActionKinds =
    std::variant<action::Dial, action::Send, action::Close, action::Work, action::Freeze,
                 action::Apply, action::TakeSnapshot, action::Load, action::Pause, action::Voted,
                 action::Committed, action::GenerationBegun, action::GenerationWanted,
                 action::PauseChanged, action::RevocationsHeard, action::ReadHistory,
                 action::Settled, action::SwarmSeen, action::Finished, action::Refused,
                 action::Left, action::Note, action::Overlap, action::TurnChanged, action::Mix,
                 action::MixtureChanged>;
/// Everything that a Peer can ask for. Its special members are compiled once, as wire::Body's.
struct Action : ActionKinds {
    using ActionKinds::ActionKinds;
    using ActionKinds::operator=;
    Action();
    Action(const Action& other);
    Action(Action&& other) noexcept;
    Action& operator=(const Action& other);
    Action& operator=(Action&& other) noexcept;
    ~Action();
};
/// Actions in the order in which the driver carries them out.
using Actions = std::vector<Action>;

/// The actions that a Trainer performs (peer/trainer.hpp), each also one of ActionKinds.
using TrainerAction = std::variant<action::Work, action::Overlap, action::Freeze, action::Apply,
                                   action::TakeSnapshot, action::Load, action::Pause, action::Mix>;
/// The actions that the program around the peer performs (net::Host), likewise.
using HostAction =
    std::variant<action::Voted, action::Committed, action::GenerationBegun,
                 action::GenerationWanted, action::PauseChanged, action::MixtureChanged,
                 action::TurnChanged, action::RevocationsHeard, action::ReadHistory,
                 action::Settled, action::SwarmSeen, action::Finished, action::Refused,
                 action::Left, action::Note>;

}  // namespace dedloc
