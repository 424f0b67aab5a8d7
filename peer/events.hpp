// What a Peer is told and what it asks for. The protocol core is a pure state machine between these
// two lists: it is told the time, what the network and the trainer did, and answers with actions
// for whoever drives it (the reactor on a real network, the world of tests/sim in virtual time).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/frame.hpp"
#include "peer/base/units.hpp"
#include "peer/wire/types.hpp"

namespace dedloc {

/// One peer's summed gradient on one state.
struct Contribution {
    Samples samples;
    double loss_sum = 0;  ///< sum over the samples of their losses, in nats
    bool is_finite =
        true;  ///< false: some element is NaN or infinite; such a contribution is never averaged
    SharedFloats
        sum;  ///< sum over samples of per-sample gradients, N elements; null when samples is 0
};

/// How one peer looks from a backbone, for pages and the seat table.
struct SeatView {
    PeerKey peer;
    Role role = Role::kTrainer;
    std::string result_name;
    Endpoint endpoint;
    bool has_state = false;
    StepIndex step;
    Digest digest;
    Samples samples;
    double samples_per_second = 0;
};

namespace event {

struct Tick {};
/// The directory's latest answer; may repeat what is known and may name peers that are long gone.
struct EndpointsFound {
    std::vector<Endpoint> endpoints;
};
struct LinkOpened {
    LinkId link;
    Endpoint remote;  ///< the address of the other end; its port is only the listening one when
                      ///< `dialled`
    bool dialled = false;
    /// Whose key the other end has proven to hold, with a ticket of the run; nothing where links
    /// prove nothing.
    std::optional<PeerKey> proven{};
    std::uint64_t user = 0;                    ///< of its ticket's seat; 0: none
    std::uint64_t max_samples_per_second = 0;  ///< of its ticket; 0: the run's
};
/// Comes exactly once for each LinkOpened, also after action::Close.
struct LinkClosed {
    LinkId link;
    std::string why{};  ///< one of a few sentences without a full stop, or nothing
};
struct DialFailed {
    Endpoint remote;
    std::string why{};     ///< one of a few sentences without a full stop, or nothing
    bool is_self = false;  ///< it is this peer that listens there, which has been proven
};
/// A frame given to Send has left this machine, a large one has arrived, in the order of the Sends.
struct FrameWritten {
    LinkId link;
};
struct FrameReceived {
    LinkId link;
    SharedBytes frame;
};

// From the trainer (see peer/trainer.hpp).
struct Progressed {
    StepIndex step;
    Samples samples;  ///< accumulated on this state so far
    double samples_per_second = 0;
};
struct ContributionFrozen {
    StepIndex step;
    Contribution contribution;
};
/// The trainer now holds state `step`: after apply, load, or at the start if it begins with one.
struct StateReached {
    StepIndex step;
    Digest digest;
};
/// The bytes given to Trainer::load did not have the promised digest; the old state is kept.
struct StateRefused {
    StepIndex step;
};
struct SnapshotTaken {
    StepIndex step;
    Digest digest;
    SharedBytes bytes;           ///< parameters ‖ m ‖ v, 12 N bytes
    std::vector<Digest> leaves;  ///< of the digest tree over `bytes` (ModelState::leaf_digests)
};

/// The project has appointed voters. From the host of a backbone; other peers hear it from it.
struct GenerationSigned {
    SignedGeneration generation;
};
/// Backbone only: these are to vote, ascending. action::GenerationWanted follows as soon as those
/// that are new hold the swarm's state; repeated until there is such a generation.
struct VotersWanted {
    std::vector<PeerKey> voters;
    /// Of the generation: higher than the present one, it is wanted also if the voters stay the
    /// same, because one of them has lost its memory and is appointed again.
    std::uint64_t min_generation = 0;
};
/// The answer to action::ReadHistory: consecutive entries from the place asked for, nothing if that
/// is not in the ledger.
struct HistoryRead {
    PeerKey to;
    std::vector<std::variant<Decision, SignedGeneration>> entries;
};

/// The volunteer's machine wants us out of the swarm (suspend, quit): action::Left follows within
/// RoundRules::leave_limit …
struct LeaveRequested {};
/// … and may have us back.
struct ReturnRequested {};

}  // namespace event

using Event =
    std::variant<event::Tick, event::EndpointsFound, event::LinkOpened, event::LinkClosed,
                 event::DialFailed, event::FrameWritten, event::FrameReceived, event::Progressed,
                 event::ContributionFrozen, event::StateReached, event::StateRefused,
                 event::SnapshotTaken, event::GenerationSigned, event::VotersWanted,
                 event::HistoryRead, event::LeaveRequested, event::ReturnRequested>;

namespace action {

struct Dial {
    Endpoint remote;
};
struct Send {
    LinkId link;
    Frame frame;
};
/// Frames already given to Send are still delivered if the other end reads them.
struct Close {
    LinkId link;
};

// For the trainer: each is the call of the same name in peer/trainer.hpp.
struct Work {
    StepIndex step;
};
struct Freeze {
    StepIndex step;
};
struct Apply {
    StepIndex step;
    SharedFloats average;
    UpdateScalars scalars;
};
struct TakeSnapshot {};
struct Load {
    StepIndex step;
    Digest digest;
    SharedBytes bytes;
};
struct Pause {};

// For the host of the peer: ledger, receipt, progress, pages.
/// This voter's memory has changed; only from a peer that was given one (PeerConfig::voter). Comes
/// before the frames that depend on it: the host has it on the disk before it goes on.
struct Voted {
    VoterState state;
};
/// A round has ended. Comes before the Apply of the same step, so that what must not be lost is
/// written first.
struct Committed {
    CommitRecord record;
    Certificate certificate;
};
/// The project has appointed voters: all records from this step on are void.
struct GenerationBegun {
    SignedGeneration generation;
};
/// Only with PeerConfig::may_begin_generations: voters are to be appointed, or no peer that is
/// here holds the state that was decided last. The host signs it and answers with
/// event::GenerationSigned.
struct GenerationWanted {
    GenerationRecord record;
};
/// Backbone only: another backbone has missed what was decided from this place on. The host answers
/// with event::HistoryRead, from its ledger.
struct ReadHistory {
    PeerKey to;
    std::uint64_t generation = 0;
    StepIndex step;
    std::size_t max_entries = 0;
};
/// Backbone only: how many of the commit's members have reported the state that follows it.
struct Settled {
    std::uint64_t generation = 0;
    StepIndex step;  ///< of the state reached, so commit.step + 1
    Digest digest;   ///< the backbone's own
    std::uint32_t reported =
        0;  ///< members that reported a digest of this state (the backbone included)
    std::uint32_t equal = 0;  ///< of these, how many reported exactly `digest`
};
/// Backbone only, about once a second and after each commit.
struct SwarmSeen {
    StepIndex step;
    Samples samples;  ///< reported on the current state
    PeerKey coordinator;
    std::vector<SeatView> seats;
};
/// The voters have signed the run's last state, or nobody has for a minute: nothing more to
/// compute. Comes once; again only if a new generation goes on from an earlier step.
struct Finished {
    StepIndex step;
    Digest digest;
};
/// The swarm will not have us, and asking again is no use.
struct Refused {
    std::string reason;
};
/// Out of the swarm after event::LeaveRequested: nothing is sent until event::ReturnRequested.
struct Left {};
/// One line for the log.
struct Note {
    std::string line;
};

}  // namespace action

using Action =
    std::variant<action::Dial, action::Send, action::Close, action::Work, action::Freeze,
                 action::Apply, action::TakeSnapshot, action::Load, action::Pause, action::Voted,
                 action::Committed, action::GenerationBegun, action::GenerationWanted,
                 action::ReadHistory, action::Settled, action::SwarmSeen, action::Finished,
                 action::Refused, action::Left, action::Note>;
using Actions = std::vector<Action>;

}  // namespace dedloc
