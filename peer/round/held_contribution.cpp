// A record counts a contribution by its samples and their loss. One that counts others of this peer
// counts an earlier contribution: accepted in spite of a Cancel, or joined with by a former
// process.
#include "peer/round/held_contribution.hpp"

namespace dedloc::round {

bool HeldContribution::settle(const CommitLine* own, bool is_kept) {
    is_offered_ = false;
    const bool is_counted = own != nullptr && own->samples > Samples{0};
    if (!is_counted && is_kept) return true;
    const Encoder frozen = std::exchange(encoder_, {});
    if (!is_counted) return true;
    const Contribution& ours = frozen.contribution();
    const bool is_ours = own->samples == ours.samples && own->loss_sum == ours.loss_sum;
    is_ours ? feedback_.counted(frozen) : feedback_.forget();
    return is_ours;
}

}  // namespace dedloc::round
