// The invariants of a swarm, checked after every event, whatever fails. The checkers see every
// peer's actions, so they know all contributions, decisions and states.
//
//   one record      There is at most one record for each generation and step, over the whole swarm
//                   and for ever. Once a newer generation has begun, an older one decides only
//                   steps whose records are void in the newer one.
//   proven          Every certificate holds valid votes of a majority of the generation's voters.
//   counted once    Each line of a record is a contribution that its peer froze on that state. Each
//                   contribution, and each sample, is in one record at most. The average is
//                   recomputed from these contributions, so the weights add up to the samples.
//   no lone steps   A state changes only by the average of a decided record, or by loading a state
//                   that follows from decided records.
//   equal states    There is one digest for each generation and step.
//
// Hostile peers are checked less: a line that such a peer has not frozen must be within its
// device's sample limit, and an average for which it has sent garbage is not recomputed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "peer/events.hpp"
#include "peer/simulation/virtual_trainer.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::simulation {

/// Thrown when an invariant is violated; its text says which one.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A decided round and what was averaged in it.
struct Round {
    CommitRecord record;                ///< what was decided
    Digest digest;                      ///< digest of the record
    std::vector<Frozen> contributions;  ///< one for each line with samples, in the same order
    bool is_claimed = false;  ///< a hostile peer's line has no contribution here: it did not freeze
                              ///< what it claims
};

/// The average that all peers must compute from these contributions. Their sums have N elements.
FloatVector average_of(Codec codec, const std::vector<Frozen>& contributions);

/// Checks one world's swarm. The world reports everything that its peers and trainers do.
class Checkers {
  public:
    /// What all peers of the run agree on.
    struct Settings {
        RunId run;                                           ///< the run
        PeerKey project;                                     ///< signs generations
        PeerKey backbone;                                    ///< the only voter of generation 0
        std::function<UpdateScalars(StepIndex)> scalars_of;  ///< scalars of each step's update
        Codec codec = Codec::kFp32;                          ///< codec of contributions
        Samples target_batch;                                ///< samples of a round
        bool overlaps = false;  ///< samples may be computed on the state before their round's
        bool computes_averages = true;  ///< false: saves time and memory in large worlds
    };
    explicit Checkers(Settings settings);

    /// A trainer has frozen a contribution. `is_tainted`: its state has a flipped bit.
    void frozen(const PeerKey& peer, const Frozen& frozen, bool is_tainted);
    /// The peer will add `residual` to the contribution that it is about to be given; null:
    /// nothing.
    void amended(const PeerKey& peer, const event::ContributionFrozen& frozen,
                 const SharedFloats& residual);
    /// The project has signed this generation. Throws Violation if it has signed another one of
    /// the same number.
    void generation_signed(const SignedGeneration& generation);
    /// The peer is told this turn. In other turns than that of every round, and for as many steps
    /// afterwards as samples count, its samples may be of earlier states.
    void has_turn(const PeerKey& peer, TurnKind kind);
    /// The peer is hostile; its device computes at most this many samples per second.
    void set_hostile(const PeerKey& peer, std::uint64_t max_samples_per_second);
    /// A hostile peer has sent garbage averages in the round of this step.
    void distrust_average(StepIndex step) { distrusted_.insert(step); }
    /// Number of steps whose average is not recomputed for that reason.
    std::size_t distrusted_averages() const { return distrusted_.size(); }

    // A peer's actions. `generation` is the generation that the peer was last told of. All throw
    // Violation.
    /// A peer reports a decided round. `jumps` is the sum of all jumps of clocks so far.
    void committed(const action::Committed& committed, TimePoint now, Duration jumps);
    /// A peer enters a generation.
    void generation_begun(const SignedGeneration& generation);
    /// A peer applies an average to its state.
    void applies(std::uint64_t generation, const action::Apply& apply);
    /// A peer loads a state.
    void loads(std::uint64_t generation, const action::Load& load);
    /// A trainer without a flipped bit has reached a state.
    void reached(std::uint64_t generation, StepIndex step, const Digest& digest);

    /// All rounds that are not void in the newest generation, oldest first. Copies them: a
    /// condition that is asked at every event takes newest_step() or newest_round().
    std::vector<Round> history() const;
    /// The last one of them; null before the first.
    const Round* newest_round() const;
    /// The newest generation that has begun.
    std::uint64_t generation() const { return newest_begun_; }
    /// Number of records so far, including void ones.
    std::uint64_t record_count() const { return rounds_.size(); }
    /// The voters of a generation. Throws Violation if the project has not signed it.
    std::vector<PeerKey> voters_of(std::uint64_t generation) const {
        return begin_of(generation).voters;
    }
    /// The step of the state after the newest record that is not void; 0 before the first.
    StepIndex newest_step() const { return newest_step_; }

  private:
    using Place = std::pair<std::uint64_t, StepIndex>;  ///< generation and step
    /// A frozen contribution.
    struct Made {
        Frozen frozen;
        bool is_tainted = false;
        std::vector<Place> used_in;  ///< the records that count it; all but one are void
    };
    /// Samples that a record counts.
    struct Counted {
        std::uint64_t end = 0;  ///< number after the last sample
        Place place;            ///< the record
    };

    void check_first(const CommitRecord& record, Round& round);
    TimePoint computed_since(const CommitRecord& record, const CommitLine& line) const;
    void check_claim(const CommitRecord& record, const CommitLine& line, TimePoint now,
                     Duration jumps) const;
    std::uint64_t max_age(const PeerKey& peer, StepIndex step) const;
    Made* made_for(const CommitRecord& record, const CommitLine& line);
    const Frozen* used_contribution(const CommitRecord& record, const CommitLine& line);
    void count_samples(const CommitRecord& record, const Frozen& frozen, const CommitLine& line);
    void check_average(const Round& round) const;
    void check_certificate(const CommitRecord& record, const Digest& digest,
                           const Certificate& certificate);
    GenerationRecord begin_of(std::uint64_t generation) const;
    const Round* round_at(std::uint64_t generation, StepIndex step) const;
    const Digest* state_at(std::uint64_t generation, StepIndex step) const;
    bool is_void(const Place& place, std::uint64_t by_generation) const;

    const Settings settings_;
    std::map<std::uint64_t, SignedGeneration> signed_;
    std::set<std::uint64_t> begun_;  ///< signed generations that a peer has entered; a backbone
                                     ///< drops a generation that arrives too late
    std::uint64_t newest_begun_ = 0;
    StepIndex newest_step_;
    std::map<Place, Round> rounds_;
    std::map<Place, Digest> states_;
    std::map<std::pair<PeerKey, StepIndex>, std::vector<Made>> made_;
    /// The counted samples of each peer, by the number of the first sample.
    std::map<PeerKey, std::map<std::uint64_t, Counted>> counted_;
    std::set<Digest> proven_;                    ///< digests of verified certificates
    std::map<PeerKey, std::uint64_t> hostile_;   ///< max. samples per second
    std::map<PeerKey, StepIndex> holds_until_;   ///< up to there samples may be old
    std::set<StepIndex> distrusted_;             ///< steps whose average is not recomputed
    std::map<StepIndex, TimePoint> decided_at_;  ///< first decision of each step
    std::map<PeerKey, StepIndex> last_counted_;  ///< step of the last record with its samples
};

}  // namespace dedloc::simulation
