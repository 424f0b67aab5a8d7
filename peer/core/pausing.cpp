// A run is paused and resumed by a counter that only rises: odd while it is paused. The project
// raises it at the run's own backbone, which keeps it on its disk; heartbeats carry it, and every
// peer takes the highest that a voter or the run's own backbone names. So messages may be lost,
// late or repeated, and a voter that was away learns it from any other. While the run is paused no
// coordinator calls a round, and trainers stop and keep their sums.
#include "peer/core/core.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc {

void Peer::Core::on(const event::PauseWanted& event) {
    const bool changes = event.is_paused != is_paused_at(pause_count_);
    if (!config_.may_begin_generations || !changes || pause_count_ >= wire::kMaxPauseCount) return;
    set_pause_count(pause_count_ + 1);
}

void Peer::Core::hear_pause(const PeerKey& from, std::uint64_t pause_count) {
    const bool is_trusted = voter_.is_voter(from) || from == config_.backbone;
    if (is_trusted && pause_count > pause_count_) set_pause_count(pause_count);
}

void Peer::Core::set_pause_count(std::uint64_t pause_count) {
    pause_count_ = pause_count;
    const bool is_paused = is_paused_at(pause_count);
    out_.act(action::PauseChanged{pause_count});
    out_.note(is_paused ? "the run is paused" : "the run is not paused any more");
    member_.set_paused(is_paused, out_);
    coordinator_.set_paused(now_, is_paused);
}

}  // namespace dedloc
