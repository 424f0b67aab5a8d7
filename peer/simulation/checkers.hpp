// What must hold in a swarm after every event, whatever fails. Told of what every peer does, it
// knows more than any of them: all contributions, all decisions, all states.
//
//   one record      of a generation and step there is one, over the whole swarm and for ever; once
//                   a newer generation has begun, an old one decides only what is void in that
//   proven          every certificate shown holds a majority of the generation's voters
//   counted once    a line is a contribution that its peer froze, on that state, and each is in one
//                   record at most; Σ weights = Σ samples, for the average is computed again
//   nobody alone    a state changes by the average of a decided record, or by loading a state that
//                   follows from decided records
//   equal states    one digest at one generation and step
//
// Of hostile peers only what is decided counts: a line of one that it has not frozen is within the
// cap of its device, and an average is not computed again where one has sent garbage for it.
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

/// Something that must never happen has happened.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A decided round, with what was averaged. Lines without samples have no contribution.
struct Round {
    CommitRecord record;
    Digest digest;                      ///< of the record
    std::vector<Frozen> contributions;  ///< of the lines with samples, in their order
    bool is_claimed = false;  ///< a hostile peer's line is not what it froze: it has none here
};

/// The average of these contributions, given as sums of N elements, as everybody has it in the end.
FloatVector average_of(Codec codec, const std::vector<Frozen>& contributions);

class Checkers {
  public:
    struct Settings {
        RunId run;
        PeerKey project;
        PeerKey backbone;
        std::function<UpdateScalars(StepIndex)> scalars_of;
        Codec codec = Codec::kFp32;
        Samples target_batch;
        bool computes_averages = true;  ///< false: saves time and memory in large worlds
    };
    explicit Checkers(Settings settings);

    void frozen(const PeerKey& peer, const Frozen& frozen, bool is_tainted);
    /// Its peer adds this to what it has just been given; null: nothing.
    void amended(const PeerKey& peer, const event::ContributionFrozen& frozen,
                 const SharedFloats& residual);
    void generation_signed(const SignedGeneration& generation);
    /// Does not keep to the protocol; its device computes so many samples a second at most.
    void set_hostile(const PeerKey& peer, std::uint64_t max_samples_per_second);
    /// A hostile peer has sent garbage for averages of the round of this step.
    void distrust_average(StepIndex step) { distrusted_.insert(step); }
    std::size_t distrusted_averages() const { return distrusted_.size(); }

    // What a peer does. `generation` is the one it was last told of. All throw Violation.
    /// `jumps`: by how much clocks have jumped so far.
    void committed(const action::Committed& committed, TimePoint now, Duration jumps);
    void generation_begun(const SignedGeneration& generation);
    void applies(std::uint64_t generation, const action::Apply& apply);
    void loads(std::uint64_t generation, const action::Load& load);
    void reached(std::uint64_t generation, StepIndex step, const Digest& digest);

    /// The rounds that hold, oldest first: of the newest generation back to the first.
    std::vector<Round> history() const;
    std::uint64_t generation() const { return newest_begun_; }
    std::uint64_t record_count() const { return rounds_.size(); }
    /// Of a generation that is known to be signed.
    std::vector<PeerKey> voters_of(std::uint64_t generation) const {
        return begin_of(generation).voters;
    }
    /// The state after the newest record that holds; 0 before the first.
    StepIndex newest_step() const { return newest_step_; }

  private:
    using Place = std::pair<std::uint64_t, StepIndex>;  ///< generation and step
    struct Made {
        Frozen frozen;
        bool is_tainted = false;
        std::vector<Place> used_in;
    };

    void check_first(const CommitRecord& record, Round& round);
    void check_claim(const CommitRecord& record, const CommitLine& line, TimePoint now,
                     Duration jumps) const;
    const Frozen* used_contribution(const CommitRecord& record, const CommitLine& line);
    void check_average(const Round& round) const;
    void check_certificate(const CommitRecord& record, const Digest& digest,
                           const Certificate& certificate);
    GenerationRecord begin_of(std::uint64_t generation) const;
    const Round* round_at(std::uint64_t generation, StepIndex step) const;
    const Digest* state_at(std::uint64_t generation, StepIndex step) const;
    bool is_void(const Place& place, std::uint64_t by_generation) const;

    const Settings settings_;
    std::map<std::uint64_t, SignedGeneration> signed_;
    std::set<std::uint64_t> begun_;  ///< of these: a backbone drops those that come too late
    std::uint64_t newest_begun_ = 0;
    StepIndex newest_step_;
    std::map<Place, Round> rounds_;
    std::map<Place, Digest> states_;
    std::map<std::pair<PeerKey, StepIndex>, std::vector<Made>> made_;
    std::set<Digest> proven_;                   ///< certificates
    std::map<PeerKey, std::uint64_t> hostile_;  ///< samples a second
    std::set<StepIndex> distrusted_;
    std::map<StepIndex, TimePoint> decided_at_;  ///< first
};

}  // namespace dedloc::simulation
