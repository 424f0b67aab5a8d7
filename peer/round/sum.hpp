// The sum of gradients that the trainer adds to, and that is not frozen yet. With overlap, and for
// trainers that are not in every round, it may outlive the state on which it began.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "peer/base/units.hpp"

namespace dedloc::round {

/// What a member knows of its trainer's sum.
class Sum {
  public:
    /// The trainer computes on this state: begins a sum if there is none. False: it goes on.
    bool begin(StepIndex step) {
        if (began_at_) return false;
        began_at_ = step;
        return true;
    }
    /// The sum is frozen, or gone: the next one begins anew.
    void end() { began_at_.reset(); }
    /// The trainer has dropped it with all its samples.
    void drop() {
        began_at_.reset();
        ahead_ = Samples{0};
    }
    /// The member works on, or stops: the samples are counted as those of its round, or kept here.
    void keep(Samples samples) { ahead_ = samples; }
    /// Takes the samples that were kept.
    Samples take() { return std::exchange(ahead_, Samples{0}); }

    /// Whether there is a sum.
    bool is_begun() const { return began_at_.has_value(); }
    /// The state of its first samples; nothing: there is none.
    const std::optional<StepIndex>& began_at() const { return began_at_; }
    /// Whether its first samples are more than `steps` older than `head`.
    bool is_older_than(std::uint64_t steps, StepIndex head) const {
        return began_at_ && head.value() > began_at_->value() + steps;
    }

  private:
    std::optional<StepIndex> began_at_;
    Samples ahead_;  ///< its samples, while the member does not work
};

}  // namespace dedloc::round
