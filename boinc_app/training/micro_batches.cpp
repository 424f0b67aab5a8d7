#include "boinc_app/training/micro_batches.hpp"

#include <algorithm>

#include "boinc_app/training/device_error.hpp"
#include "peer/base/check.hpp"
#include "peer/base/log.hpp"

namespace dedloc::training {

MicroBatches::MicroBatches(Replica& replica, std::uint64_t size, std::uint64_t unit)
    : replica_(replica), size_(size), unit_(unit) {
    DEDLOC_CHECK(unit >= 1, "a unit has at least one sample");
    DEDLOC_CHECK(size >= unit && size % unit == 0, "a micro-batch has whole units", size, unit);
}

std::optional<AddedSamples> MicroBatches::add(const PeerKey& peer, StepIndex step,
                                              std::uint64_t first, std::uint64_t limit,
                                              const IsInterrupted& is_interrupted,
                                              const formats::SharedWeights& weights) {
    DEDLOC_CHECK(limit >= unit_ && limit % unit_ == 0, "a micro-batch has whole units", limit);
    for (;;) {
        const std::uint64_t count = std::min(size_, limit);
        try {
            const auto loss = replica_.add_gradient(
                {.peer = peer, .step = step, .first = first, .count = count, .weights = weights},
                is_interrupted);
            if (!loss) return std::nullopt;
            return AddedSamples{.count = count, .loss_sum = *loss};
        } catch (const DeviceError& error) {
            if (error.failure() != DeviceFailure::kOutOfMemory || count == unit_) throw;
            size_ = count / unit_ / 2 * unit_;
            log_warning("{}: going on with micro-batches of {}", error.what(), size_);
        }
    }
}

}  // namespace dedloc::training
