#include "boinc_app/training/micro_batches.hpp"

#include <algorithm>

#include "boinc_app/training/device_error.hpp"
#include "peer/base/check.hpp"
#include "peer/base/log.hpp"

namespace dedloc::training {

MicroBatches::MicroBatches(const Sampler& sampler, Replica& replica, std::uint64_t size)
    : sampler_(sampler), replica_(replica), size_(size) {
    DEDLOC_CHECK(size >= 1, "a micro-batch has at least one sample");
}

std::optional<AddedSamples> MicroBatches::add(const Random& step, std::uint64_t first,
                                              std::uint64_t limit,
                                              const IsInterrupted& is_interrupted) {
    DEDLOC_CHECK(limit >= 1, "a micro-batch has at least one sample");
    for (;;) {
        const std::uint64_t count = std::min(size_, limit);
        const MicroBatch batch = sampler_.draw(step, first, static_cast<std::size_t>(count));
        try {
            const auto loss = replica_.add_gradient(batch, is_interrupted);
            if (!loss) return std::nullopt;
            return AddedSamples{.count = count, .loss_sum = *loss};
        } catch (const DeviceError& error) {
            if (error.failure() != DeviceFailure::kOutOfMemory || count == 1) throw;
            size_ = count / 2;
            log_warning("{}: going on with micro-batches of {}", error.what(), size_);
        }
    }
}

}  // namespace dedloc::training
