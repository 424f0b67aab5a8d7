// Speeds are kept as two sums, samples counted and samples predicted for the same time, so members
// that come and go change both. After 4 kRounds rounds both are halved: old rounds count less.
#include "peer/round/speed_trial.hpp"

#include <algorithm>
#include <utility>

namespace dedloc::round {

void SpeedTrial::reset() {
    is_under_way_ = false;
    former_.clear();
    speed_ = {};
    quiet_ = 0;
    predicted_ = 0;
}

void SpeedTrial::on_decision(double samples, double seconds, bool is_disturbed) {
    if (is_disturbed) {
        quiet_ = 0;
        disturbed_ += is_under_way_ ? 1 : 0;
        return;
    }
    quiet_ = std::min(quiet_ + 1, kRounds);
    if (std::exchange(is_first_, false) || predicted_ <= 0 || seconds <= 0) return;
    if (speed_.rounds >= 4 * kRounds) speed_ = speed_.halved();
    speed_.samples += samples;
    speed_.expected += predicted_ * seconds;
    ++speed_.rounds;
}

bool SpeedTrial::may_choose(StepIndex step) const {
    return !is_under_way_ && quiet_ >= kRounds && speed_.rounds >= kRounds && step >= calm_until_;
}

void SpeedTrial::begin(Turns former) {
    former_ = std::move(former);
    is_under_way_ = is_first_ = true;
    disturbed_ = 0;
    before_ = speed_.quotient();
    speed_ = {};
}

SpeedTrial::Verdict SpeedTrial::judge(StepIndex step, double former, double now) {
    if (!is_under_way_) return Verdict::kNone;
    const double measured = speed_.quotient() * now;
    const double before = before_ * former;
    const bool is_whole = speed_.rounds >= kRounds;
    const bool is_much_slower = speed_.rounds > 0 && measured < before / 2;
    if (!is_whole && !is_much_slower && disturbed_ < kDisturbed) return Verdict::kNone;
    is_under_way_ = false;
    if (is_whole && measured >= before) {
        hesitation_ = std::max(hesitation_ / 2, kHesitation);
        former_.clear();
        return Verdict::kKeep;
    }
    calm_until_ = StepIndex{step.value() + hesitation_};
    hesitation_ = std::min(2 * hesitation_, kMaxHesitation);
    speed_ = {};
    return Verdict::kTakeBack;
}

}  // namespace dedloc::round
