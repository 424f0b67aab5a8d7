// Numbers only rise, also when an answer never comes: an old answer that arrives late is then of a
// lower number than the next one, which replaces it everywhere. A project restored from a backup
// does not know which numbers it has signed since, so it asks for a minimum beyond all of them.
#include "peer/core/generation_request.hpp"

#include <algorithm>
#include <utility>

namespace dedloc {
namespace {

/// Failure timeouts without the state of the head. Until then members may come back with it.
constexpr int kStuckLimit = 12;

}  // namespace

void GenerationRequest::want(std::vector<PeerKey> voters, std::uint64_t min_generation,
                             TimePoint now) {
    voters_ = std::move(voters);
    min_generation_ = min_generation;
    next_ = now;
}

void GenerationRequest::watch(TimePoint now, bool is_coming) {
    stuck_since_ = is_coming ? kNever : std::min(stuck_since_, now);
}

bool GenerationRequest::is_stuck(TimePoint now) const {
    return stuck_since_ != kNever && now >= stuck_since_ + kStuckLimit * timeout_;
}

std::uint64_t GenerationRequest::ask(TimePoint now, std::uint64_t current) {
    next_ = pause_until_ = now + timeout_;
    last_asked_ = std::max(std::max(last_asked_, current) + 1, min_generation_);
    return last_asked_;
}

}  // namespace dedloc
