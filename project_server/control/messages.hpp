// The messages of the control plane: what a run's backbone publishes, and the commands that it
// answers. Each message is one JSON object in UTF-8, and names the version of the format:
//
//     {"version": 1, "session": 1764032431123456, "sequence": 17, "time": 1764032437.2,
//      "event": "step", "step": 4, "samples": 130, "loss": 7.4, …}
//     {"version": 1, "command": "pause"}
//     {"version": 1, "ok": true, "note": "the run is paused"}
//
// A session is one life of a backbone's process. Within a session the sequence of events ascends
// by one, so a subscriber sees that it has missed some, and asks for a snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::control {

inline constexpr std::uint64_t kVersion = 1;              ///< version of the format
inline constexpr std::size_t kMaxMessageBytes = 1 << 20;  ///< limit of every message
inline constexpr std::size_t kMaxMembers = 2'048;         ///< members in a snapshot
inline constexpr std::size_t kRecentSteps = 64;           ///< steps in a snapshot, at most
inline constexpr std::size_t kMaxTextBytes = 600;         ///< texts for people
inline constexpr std::size_t kMaxNamed = 1'000;           ///< entries of a Revocation

/// What the run does now.
enum class RunState : std::uint8_t {
    kRunning,  ///< steps follow one another
    kPaused,   ///< the project has paused it
    kFinished  ///< the last state is reached
};
/// "running", "paused" or "finished": as in dedloc_run.state.
const char* name_of(RunState state);

/// One linked peer of the swarm. Key and user are proven, the rest is its own claim.
struct MemberView {
    PeerKey key;                   ///< its public key
    std::string role = "trainer";  ///< "trainer", "aggregator" or "backbone"
    std::uint64_t user = 0;        ///< BOINC's id of the user in its ticket; 0: none
    bool has_state = false;        ///< it holds the run's state
    bool operator==(const MemberView&) const = default;
};
/// One step of the run.
struct StepView {
    std::uint64_t step = 0;     ///< updates done
    std::uint64_t samples = 0;  ///< counted in it
    double loss = 0;            ///< mean loss of these samples, in nats
    double seconds = 0;         ///< since the step before
    std::uint64_t members = 0;  ///< members in its record
    /// The state after it, how many members have reported a state, and how many this one. Nothing
    /// before they have.
    std::optional<Digest> digest{};
    std::uint64_t reported = 0;  ///< members that have reported a state
    std::uint64_t equal = 0;     ///< those of them with this digest
    bool operator==(const StepView&) const = default;
};
/// The swarm's work on the next step.
struct ProgressView {
    std::uint64_t step = 0;         ///< updates done
    std::uint64_t samples = 0;      ///< computed for the next one, as reported
    double samples_per_second = 0;  ///< all trainers together
    std::uint64_t trainers = 0;     ///< linked trainers that hold the state
    PeerKey coordinator{};          ///< zeros: none
    bool operator==(const ProgressView&) const = default;
};

/// A step is committed.
struct StepCommitted {
    StepView step;  ///< without a digest
    bool operator==(const StepCommitted&) const = default;
};
/// Members have reported the state after a step.
struct StepSettled {
    std::uint64_t step = 0;      ///< as in StepView
    Digest digest;               ///< the backbone's own state
    std::uint64_t reported = 0;  ///< as in StepView
    std::uint64_t equal = 0;     ///< as in StepView
    bool operator==(const StepSettled&) const = default;
};
/// The steps after this one are void: the project has begun a new generation of voters there.
struct StepsVoid {
    std::uint64_t after = 0;  ///< the last valid step
    bool operator==(const StepsVoid&) const = default;
};
/// A peer is linked, or its view has changed.
struct MemberJoined {
    MemberView member;  ///< replaces an older view
    bool operator==(const MemberJoined&) const = default;
};
/// A peer is not linked any more.
struct MemberLeft {
    PeerKey key;  ///< its public key
    bool operator==(const MemberLeft&) const = default;
};
/// About once a second.
struct Progress {
    ProgressView progress;  ///< replaces the last one
    bool operator==(const Progress&) const = default;
};
/// The run is paused, goes on, or is finished.
struct StateChanged {
    RunState state = RunState::kRunning;  ///< the new state
    bool operator==(const StateChanged&) const = default;
};
/// The coordinator accuses a member.
struct Suspicion {
    PeerKey key;             ///< the accused; zeros: no peer, but the run
    std::string what;        ///< its fault: the same for each repetition
    std::uint64_t step = 0;  ///< updates done
    std::string text;        ///< one line about this time
    bool operator==(const Suspicion&) const = default;
};
/// What can happen to a run.
using Happening = std::variant<StepCommitted, StepSettled, StepsVoid, MemberJoined, MemberLeft,
                               Progress, StateChanged, Suspicion>;
/// Happening with its place.
struct Event {
    std::uint64_t session = 0;   ///< when the backbone started, µs since 1970
    std::uint64_t sequence = 0;  ///< ascends by one from 1
    double time = 0;             ///< seconds since 1970
    Happening what;              ///< the kind, with its fields
    bool operator==(const Event&) const = default;
};

/// The whole picture of a run after the event `sequence` of the session.
struct Snapshot {
    std::uint64_t session = 0;            ///< as in Event
    std::uint64_t sequence = 0;           ///< the last event in it; 0: none
    std::string run;                      ///< its name
    std::uint64_t steps = 0;              ///< the run ends with this step
    std::uint64_t target_batch = 0;       ///< samples of a step
    RunState state = RunState::kRunning;  ///< as the backbone sees it
    ProgressView progress;                ///< the newest
    std::vector<StepView> recent;         ///< ascending, the newest kRecentSteps
    std::vector<MemberView> members;      ///< ascending by key
    bool operator==(const Snapshot&) const = default;
};

/// What is revoked or forgiven.
struct Revocation {
    std::vector<std::uint64_t> users{};  ///< BOINC's ids of accounts
    std::vector<std::uint64_t> hosts{};  ///< BOINC's ids of computers
    std::vector<PeerKey> keys{};         ///< peers
    std::vector<PeerKey> voters{};  ///< keys of dismissed voters, whose tickets are valid for long
    bool operator==(const Revocation&) const = default;
};
/// What a backbone can be asked to do. Every command may be repeated without harm.
enum class Command : std::uint8_t {
    kSnapshot,    ///< answer with the picture of the run
    kPause,       ///< no round is called any more; answered when that is on the disk
    kResume,      ///< the opposite
    kCheckpoint,  ///< write the present state; answered when it is on the disk
    kReadVoters,  ///< voters.json has changed
    kRevoke,      ///< close the links of these now, and see that the database gets it
    kForgive,     ///< drop what kRevoke has kept for the database, and read its list anew
    kMix,         ///< change the mixture of sources; answered when that is on the disk
    kAddSource    ///< add a source, whose files are in the run's folder; answered likewise
};
/// What kMix asks for.
struct Mix {
    std::vector<std::uint64_t> weights{};  ///< one for each source of the run, with the added ones
    std::optional<std::uint64_t> from{};   ///< first step; absent: as soon as it can be
    bool operator==(const Mix&) const = default;
};
/// A command with what it needs.
struct Request {
    Command command = Command::kSnapshot;  ///< what to do
    Revocation revocation{};               ///< what kRevoke and kForgive name
    /// What kPause and kResume tell, signed by the project. Nothing: the backbone signs it itself,
    /// if it has the project's key.
    std::optional<SignedPause> pause{};
    Mix mix{};        ///< what kMix asks for
    Digest source{};  ///< the file of the source that kAddSource adds
    bool operator==(const Request&) const = default;
};
/// The answer.
struct Reply {
    bool is_done = false;  ///< false: `note` is the reason
    std::string note;      ///< one sentence without a full stop
    /// State that kCheckpoint has written; first step of the change that kMix has made.
    std::optional<std::uint64_t> step{};
    std::optional<Snapshot> snapshot{};  ///< answer to kSnapshot
    bool operator==(const Reply&) const = default;
};

/// The messages as text.
std::string write(const Event& event);
std::string write(const Request& request);
std::string write(const Reply& reply);
std::string write(const Snapshot& snapshot);
/// Parse untrusted text. Errors: InputError that names the field.
Event read_event(std::string_view text);
Request read_request(std::string_view text);
Reply read_reply(std::string_view text);

}  // namespace dedloc::control
