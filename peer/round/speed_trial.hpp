// What a choice of trainers brings, measured in decided rounds.
//
// A choice rests on a model of rates that were measured before it. So the swarm's speed under the
// new turns is compared with its speed before them, and the choice is taken back if it has made
// the swarm slower.
//
// Speed      Samples of decided rounds over the time that they took, divided by the model's
//            prediction for the same turns. Members may come and go during a trial: the model says
//            what that changes, and the quotient says how far the model can be believed.
// Disturbed  A round with a cancelled attempt, an amendment or lost members is not counted. No
//            choice is made before kRounds others follow one another, and a choice whose trial has
//            kDisturbed such rounds is taken back: it rests on rates of links that fail.
// Hesitation After a choice was taken back none is made for kHesitation rounds, then for twice as
//            many each time, up to kMaxHesitation. One that proves good halves that.
// Liars      A liar that makes a wrong choice look right to the model costs the swarm at most the
//            rounds of a trial, ever more rarely.
#pragma once

#include <cstdint>
#include <map>

#include "peer/planning/turns.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::round {

/// Measures the swarm's speed and judges choices. Belongs to the coordinator.
class SpeedTrial {
  public:
    /// Rounds that are measured before and after a choice.
    static constexpr std::uint32_t kRounds = 4;
    /// Disturbed rounds of a trial after which the choice is taken back.
    static constexpr std::uint32_t kDisturbed = 2;
    /// Rounds without a choice after the first one that was taken back.
    static constexpr std::uint64_t kHesitation = 8;
    /// Most rounds without a choice.
    static constexpr std::uint64_t kMaxHesitation = 512;

    /// Turns before a choice.
    using Turns = std::map<PeerKey, planning::Turn>;
    /// What a trial says so far.
    enum class Verdict : std::uint8_t {
        kNone,      ///< no trial is under way, or it has not seen enough rounds
        kKeep,      ///< the swarm is no slower
        kTakeBack,  ///< the swarm is slower, or was disturbed while it was measured
    };

    /// All trainers have the turn of every round again, as in a new term: no trial is under way.
    void reset();
    /// The model's samples per second for the present turns; 0: none. Counts for the next rounds.
    void expect(double samples_per_second) { predicted_ = samples_per_second; }
    /// A round was decided that counts `samples` and took `seconds` from the round before.
    void on_decision(double samples, double seconds, bool is_disturbed);
    /// Whether trainers may lose the turn of every round at this step.
    bool may_choose(StepIndex step) const;
    /// Whether a choice is on trial.
    bool is_under_way() const { return is_under_way_; }
    /// Trainers change their turns: a trial begins. `former`: their turns before.
    void begin(Turns former);
    /// The turns before the choice on trial; empty: there is none.
    const Turns& former() const { return former_; }
    /// Compares the speed under the present turns with that before. `former` and `now`: the
    /// model's samples per second for both, with the present members. A verdict ends the trial.
    Verdict judge(StepIndex step, double former, double now);

  private:
    struct Speed {
        double samples = 0;
        double expected = 0;  ///< samples that the model predicted for the same time
        std::uint32_t rounds = 0;

        double quotient() const { return expected > 0 ? samples / expected : 0; }
        Speed halved() const { return {samples / 2, expected / 2, rounds / 2}; }
    };

    Speed speed_;           ///< under the present turns
    double before_ = 0;     ///< quotient before the choice on trial
    double predicted_ = 0;  ///< for the present turns
    bool is_under_way_ = false;
    bool is_first_ = false;        ///< the next round began under other turns
    std::uint32_t disturbed_ = 0;  ///< disturbed rounds of the trial
    std::uint32_t quiet_ = 0;      ///< rounds since the last disturbed one, at most kRounds
    Turns former_;
    StepIndex calm_until_;
    std::uint64_t hesitation_ = kHesitation;
};

}  // namespace dedloc::round
