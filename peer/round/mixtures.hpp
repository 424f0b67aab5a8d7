// The mixture of a run's sources at each step, as this peer knows it: the project's signed list,
// and which of its changes are void because a round was decided without them (core/mixtures.md).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "peer/wire/mixture.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::round {

/// Keeps the newest list. A value without threads or clock.
class Mixtures {
  public:
    /// `known`: the last list that a former process of this peer has kept; null: none.
    explicit Mixtures(SharedMixture known) : signed_(std::move(known)), in_force_(signed_) {}

    /// Takes a list that the project has signed. False, and nothing changes, unless its version is
    /// higher than that of the known one.
    [[nodiscard]] bool take(SharedMixture mixture);
    /// Compares with a decided round: changes that it should have been drawn by, but was not, are
    /// void from now on. True if there is such a change.
    bool compare(const CommitRecord& record);

    /// SignedMixture::version of the newest list; 0: none is known.
    std::uint64_t version() const { return signed_ ? signed_->version : 0; }
    /// The newest list as the project has signed it; null: none.
    const SharedMixture& as_signed() const { return signed_; }
    /// The same without void changes: what samples are drawn by. Its signature may not fit.
    const SharedMixture& in_force() const { return in_force_; }
    /// What CommitRecord::mixture of a round of this step has to be.
    std::optional<Digest> at(StepIndex step) const { return mixture_at(in_force_.get(), step); }

  private:
    SharedMixture signed_;
    SharedMixture in_force_;
};

}  // namespace dedloc::round
