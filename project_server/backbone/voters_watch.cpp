#include "project_server/backbone/voters_watch.hpp"

#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/events.hpp"

namespace dedloc::backbone {
namespace {

constexpr std::chrono::seconds kTellAgainAfter{10};

}  // namespace

VotersWatch::VotersWatch(std::filesystem::path file, const Head& now, EventSink events)
    : file_(std::move(file)),
      events_(std::move(events)),
      generation_(now.generation),
      voters_(now.voters) {}

void VotersWatch::begun(const GenerationRecord& generation) {
    const std::lock_guard lock{mutex_};
    generation_ = generation.generation;
    voters_ = generation.voters;
}

bool VotersWatch::is_reached(const std::vector<PeerKey>& keys, std::uint64_t min_generation) const {
    const std::lock_guard lock{mutex_};
    return keys == voters_ && generation_ >= min_generation;
}

void VotersWatch::poll(Clock::time_point now) {
    std::optional<WantedVoters> wanted;
    try {
        wanted = read_voters(file_);
        fault_.clear();
    } catch (const Error& error) {
        if (fault_ != error.what()) log_error("{}; the voters do not change", error.what());
        fault_ = error.what();
        return;
    }
    if (!wanted) return;
    const std::vector<PeerKey> keys = keys_of(*wanted);
    const bool is_news = told_ != wanted;
    if (is_reached(keys, wanted->min_generation)) {
        // Tell the protocol only if this withdraws an earlier wish.
        if (!told_ || !is_news) return;
    } else if (!is_news && now < tell_again_) {
        return;
    }
    told_ = wanted;
    tell_again_ = now + kTellAgainAfter;
    events_(event::VotersWanted{.voters = keys, .min_generation = wanted->min_generation});
}

}  // namespace dedloc::backbone
