#include "boinc_app/training/task.hpp"

#include <ATen/Parallel.h>

#include <cstring>

#include "peer/base/check.hpp"

namespace dedloc::training {

Random step_random(std::uint64_t run_seed, const PeerKey& peer, StepIndex step) {
    Random random{run_seed};
    for (std::size_t at = 0; at < peer.bytes.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, peer.bytes.data() + at, sizeof(word));
        random = random.split(word);
    }
    return random.split(step.value());
}

void set_compute_threads(unsigned count) {
    DEDLOC_CHECK(count >= 1, "at least one compute thread is needed");
    at::set_num_threads(static_cast<int>(count));
}

}  // namespace dedloc::training
