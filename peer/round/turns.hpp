// Which trainers the coordinator calls, and how long it waits for each.
//
// Between two rounds the coordinator asks planning::choose_turns() with what it knows of
// its peers, and tells each trainer whose turn changes (wire::TurnChange).
//
// Known       A micro-batch's time is the time between Call and Join, as seen here, and for a
//             trainer that holds its micro-batches the time between two of them. A speed counts at
//             most twice what the trainer has joined with. Bandwidths are the peers' own, until
//             a round takes longer than planned because of one of them (seen_links.hpp).
// Liars       One that makes itself slow is called less and paid less. One that claims to be fast
//             and joins late is judged by its Joins. One that never joins costs one wait, and after
//             that it is called only while it says that it holds a contribution: if it does not
//             join then, it is excluded like any other peer that ignores a Call.
// Disturbed   What was measured in a round that lost members or was cancelled does not count.
// Hysteresis  A trainer is moved out of rounds if that makes the swarm kGain faster, and back if it
//             makes the swarm no slower. With two trainers or fewer none is moved out.
// Trial       The swarm's speed after a choice is compared with that before it (speed_trial.hpp). A
//             choice that has made the swarm slower is taken back.
// Asked again After kAsk rounds, then twice as many each time, it is in a round again, so that it
//             is measured anew: at the latest after as long as so many rounds took before it left,
//             since rounds without it may be much longer. One that only reduces is given another
//             micro-batch, for which no round waits.
// Idle        A trainer that has joined kMaxIdle rounds in a row without samples is called when it
//             holds a micro-batch, so seats cost a sample. One that says so, and joins without
//             samples kMaxIdle times in a row all the same, lies.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "peer/config.hpp"
#include "peer/planning/turns.hpp"
#include "peer/round/seen_links.hpp"
#include "peer/round/speed_trial.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// A peer of the fleet, for the choice.
struct FleetMember {
    PeerKey peer;                   ///< its key
    planning::Member member;        ///< contributes: it is a trainer that may be left out
    double samples_per_second = 0;  ///< as it claims, within its ticket
};

/// The turns of all trainers. Belongs to the coordinator.
class Turns {
  public:
    /// Gain in samples per second for which trainers are moved out of rounds.
    static constexpr double kGain = 1.05;
    /// Rounds until a trainer that is not in every round is measured anew; doubled up to kMaxAsk.
    static constexpr std::uint64_t kAsk = 6;
    static constexpr std::uint64_t kMaxAsk = 512;
    /// Trainers of the smallest fleet in which some are moved out of rounds.
    static constexpr std::size_t kMinTrainers = 3;
    /// Joins without samples, in as many rounds in a row, that are believed.
    static constexpr std::uint32_t kMaxIdle = 3;

    /// Keeps a reference to `rules`, which must outlive it.
    explicit Turns(const RoundRules& rules) : rules_(rules) {}

    /// A trainer's new turn.
    struct Change {
        PeerKey peer;              ///< the trainer
        wire::TurnChange message;  ///< tells it
        std::string why;           ///< for the coordinator's log
    };

    /// This peer leads a new term: all trainers are in every round.
    void begin(const Term& term);
    /// The turn of a peer; in every round if none is known.
    TurnKind of(const PeerKey& peer) const;
    /// What a trainer must be told (again) when it has linked anew. Nothing: it is in every round.
    std::optional<wire::TurnChange> message_for(const PeerKey& peer) const;

    /// Whether the Call of this step goes to the peer with this heartbeat.
    bool is_called(const PeerKey& peer, const wire::Heartbeat& heartbeat, StepIndex step) const;
    /// How long a Call waits for its Join. `computing`: how long it can have computed by the Call.
    Duration join_limit(const PeerKey& peer, Duration computing) const;
    /// Whether it may hold samples of earlier states: its turn lets it, or did when they began.
    bool may_hold_old(const PeerKey& peer, StepIndex step) const;
    /// Since when its samples can have been computed: its last counted Join, or `since` if that is
    /// later or unknown.
    TimePoint unpaid_since(const PeerKey& peer, TimePoint since) const;

    /// A called peer has joined: `wait` after the Call at `called_at`, with the samples of
    /// `computing`. Its speed counts once the round is decided. False: it has said too often that
    /// it holds samples, and has joined without any.
    [[nodiscard]] bool on_join(const PeerKey& peer, StepIndex step, TimePoint called_at,
                               Duration wait, Samples samples, Duration computing);
    /// A called trainer has not joined within `wait`. True if that may be a long micro-batch: it is
    /// called when it holds one from now on, and must be told. False if it has ignored the Call.
    bool on_no_join(const PeerKey& peer, StepIndex step, TimePoint now, Duration wait);
    /// Whether the swarm's speed is measured under new turns.
    bool is_on_trial() const { return trial_.is_under_way(); }
    /// What rounds have shown of the links of peers.
    SeenLinks& links() { return links_; }
    const SeenLinks& links() const { return links_; }
    /// A round was decided `time` after the one before, with so many samples. `is_disturbed`: its
    /// members failed, or an attempt at it.
    void on_decision(Samples samples, Duration time, bool is_disturbed);
    /// The run was paused for this long.
    void shift(Duration pause);

    /// The head is `step`, and no round has been called on it. Returns the turns that change. If no
    /// trainer is in every round any more, all are.
    /// Cost  at most 60 plans; in fleets of more than kMesh members once in kRarely steps
    std::vector<Change> choose(TimePoint now, StepIndex step,
                               const std::vector<FleetMember>& fleet);

  private:
    static constexpr std::size_t kMesh = 64;
    static constexpr std::uint64_t kRarely = 8;

    /// What a Join says of a trainer's speed.
    struct Joined {
        double wait = 0;  ///< seconds from Call to Join
        double rate = 0;  ///< samples per second
    };

    struct Record {
        planning::Turn turn;
        planning::Turn former;            ///< the turn before it was asked again
        bool is_asked = false;            ///< in every round until it is measured anew
        bool was_out = false;             ///< it has had another turn than that of every round
        StepIndex since;                  ///< step at which the turn began
        TimePoint since_time;             ///< and when
        StepIndex last_called;            ///< last step with a Join
        std::uint64_t gap = 0;            ///< steps between the last two Joins
        TimePoint paid_at{};              ///< Call of its last Join with samples
        bool is_paid = false;             ///< paid_at is known
        std::optional<Joined> last_join;  ///< in the round that is not decided yet
        bool is_doubtful = false;         ///< measured in a disturbed round only
        double micro_batch = 0;           ///< seconds
        double measured_rate = 0;  ///< samples per second that it has joined with; 0: unknown
        std::uint32_t joins = 0;   ///< since it was asked last
        std::uint32_t idle = 0;    ///< steps in a row that it has joined without samples
        std::uint32_t misses = 0;
        std::uint64_t ask_after = kAsk;  ///< steps
        double former_round = 0;         ///< seconds of a round before it left, or of a Call
        double speed_with = 0;           ///< TurnChange::speed_with
        double speed_now = 0;            ///< TurnChange::speed_now
    };

    Record& record(const PeerKey& peer);
    const Record* find(const PeerKey& peer) const;
    void take_all_back(TimePoint now, StepIndex step, bool are_some_left,
                       std::vector<Change>& changes);
    void judge(TimePoint now, StepIndex step, const std::vector<FleetMember>& fleet,
               std::vector<Change>& changes);
    static bool is_worth_asking(const Record& record);
    static bool is_long_out(const Record& record, TimePoint now, StepIndex step);
    void send_idle_away(TimePoint now, StepIndex step, const std::vector<FleetMember>& fleet,
                        std::vector<Change>& changes);
    void keep_idle_away(const std::vector<FleetMember>& fleet,
                        const std::vector<planning::Turn>& old,
                        std::vector<planning::Turn>& turns) const;
    std::set<PeerKey> ask_again(TimePoint now, StepIndex step, std::vector<Change>& changes);
    std::vector<planning::Turn> turns_back(const planning::FleetRequest& request,
                                           const std::vector<FleetMember>& fleet,
                                           const std::vector<planning::Turn>& best,
                                           const std::set<PeerKey>& peers) const;
    void apply(TimePoint now, StepIndex step, const std::vector<FleetMember>& fleet,
               const std::vector<planning::Turn>& turns, const std::set<PeerKey>& returning,
               std::vector<Change>& changes);
    void note_late(TimePoint now, StepIndex step);
    planning::FleetRequest request_for(const std::vector<FleetMember>& fleet) const;
    std::vector<planning::Turn> turns_of(const std::vector<FleetMember>& fleet) const;
    void take_back(const planning::FleetRequest& request, std::vector<planning::Turn>& turns,
                   planning::Prediction& now) const;
    void retire_late(const std::vector<FleetMember>& fleet, std::vector<planning::Turn>& turns,
                     double step_seconds) const;
    void move(Record& record, const planning::Turn& turn, TimePoint now, StepIndex step);
    Change change(const PeerKey& peer, Record& record, const planning::Turn& turn, TimePoint now,
                  StepIndex step);
    wire::TurnChange message_for(const Record& record) const;

    const RoundRules& rules_;
    Term term_;
    std::map<PeerKey, Record> records_;
    SpeedTrial trial_;
    SeenLinks links_;
    StepIndex chosen_at_;       ///< step of the last choice
    double round_seconds_ = 0;  ///< mean of the last undisturbed rounds; 0: there was none
};

}  // namespace dedloc::round
