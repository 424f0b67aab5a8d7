#include "boinc_app/training/loss_scale.hpp"

#include <algorithm>

namespace dedloc::training {

bool LossScale::accept(bool is_finite) {
    if (!is_finite) {
        finite_ = 0;
        if (value_ <= 1) return true;
        value_ /= 2;
        return false;
    }
    if (++finite_ == kGrowthPeriod) {
        finite_ = 0;
        value_ = std::min(2 * value_, kMax);
    }
    return true;
}

}  // namespace dedloc::training
