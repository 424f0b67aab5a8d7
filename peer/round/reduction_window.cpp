// Windows: how far a contributor's slices may be ahead. A reducer can average a chunk only when the
// slowest contributor has sent its slice, and keeps the others' slices until then. No message tells
// a contributor where the slowest one is: it knows from the averages that come back. It sends a
// reducer the slices of `window_` chunks, beginning with the first one whose average it lacks.
//
// The chunk that a reducer averages next is in all windows, or will be once the averages before it
// have arrived, so windows delay no chunk for ever. They are measured in places and not in slices
// on their way: after an amendment with another sum, slices of later chunks may have been sent
// already while earlier ones are asked for again. A contributor knows fewer averages than the
// reducer, so the reducer keeps at most a window of each beyond its first chunk that is not
// averaged.
#include <algorithm>

#include "peer/planning/request.hpp"
#include "peer/round/reduction.hpp"

namespace dedloc::round {
namespace {

/// Chunks in a window at least: one arrives while another one is averaged.
constexpr std::uint64_t kMinChunks = 2;
/// More than a plan has.
constexpr std::uint64_t kMaxWindowChunks = std::uint64_t{1} << 31;

}  // namespace

std::uint32_t Reduction::window_of(const wire::Plan& plan, Codec codec, std::uint64_t kept_bytes,
                                   std::uint64_t min_window) {
    const auto contributors = static_cast<std::uint64_t>(std::ranges::count_if(
        plan.members, [](const wire::PlanMember& m) { return m.samples > Samples{0}; }));
    const std::uint64_t chunk = planning::on_the_wire(codec).bytes_of(plan.chunk_elements);
    const std::uint64_t share = kept_bytes / std::max<std::uint64_t>(contributors, 1);
    const std::uint64_t chunks = std::max(min_window, share) / std::max<std::uint64_t>(chunk, 1);
    return static_cast<std::uint32_t>(std::clamp(chunks, kMinChunks, kMaxWindowChunks));
}

/// After owner_ has been set.
void Reduction::measure_windows(const wire::Plan& plan) {
    window_ = window_of(plan, codec_, kept_bytes_, min_window_);
    rank_.assign(owner_.size(), 0);
    parts_.assign(plan.members.size(), {});
    open_.assign(plan.members.size(), 0);
    for (std::uint32_t c = 0; c < chunk_count(); ++c) {
        std::vector<std::uint32_t>& part = parts_[owner_[c]];
        rank_[c] = static_cast<std::uint32_t>(part.size());
        part.push_back(c);
    }
}

/// After has_average_ has been set: where each member's window begins.
void Reduction::place_windows() {
    closed_.clear();
    opened_.clear();
    for (std::uint32_t k = 0; k < parts_.size(); ++k) advance_open(k);
}

void Reduction::advance_open(std::uint32_t member) {
    const std::vector<std::uint32_t>& part = parts_[member];
    std::uint32_t& open = open_[member];
    while (open < part.size() && has_average_[part[open]]) ++open;
}

std::uint32_t Reduction::part_chunks() const {
    return plan_ ? static_cast<std::uint32_t>(parts_[own_index_].size()) : 0;
}

/// Whether the reducer's next slice is beyond its window. A member that does not receive hears of
/// no averages and has no windows.
bool Reduction::is_ahead(const Scatter& scatter) const {
    return receives_ && rank_[scatter.due.front()] >= open_[scatter.member] + window_;
}

/// The average of this chunk is here.
void Reduction::open_window(std::uint32_t chunk) {
    const std::uint32_t reducer = owner_[chunk];
    advance_open(reducer);
    const PeerKey& peer = plan_->members[reducer].peer;
    if (closed_.empty() || !closed_.contains(peer) || is_ahead(scatter_.at(peer))) return;
    closed_.erase(peer);
    opened_.push_back(peer);
}

std::vector<std::uint32_t> Reduction::missing_senders() const {
    return senders_without(window_);
}

std::vector<std::uint32_t> Reduction::slowest_senders() const {
    // If most lack some slices of the window, all are about equally slow.
    const bool are_most = 2 * missing_senders().size() > contributors_.size();
    return are_most ? std::vector<std::uint32_t>{} : senders_without(1);
}

/// Contributors of which a slice of the next so many chunks is not here.
std::vector<std::uint32_t> Reduction::senders_without(std::size_t chunks) const {
    std::vector<std::uint32_t> missing;
    if (!plan_ || unreduced_ == 0) return missing;
    std::vector<std::uint32_t> wanted;
    for (const std::uint32_t c : parts_[own_index_]) {
        if (wanted.size() == chunks) break;
        if (!has_average_[c]) wanted.push_back(c);
    }
    for (const std::uint32_t k : contributors_) {
        if (k == own_index_) continue;
        const wire::PlanMember& member = plan_->members[k];
        const auto kept = kept_.find(member.peer);
        const bool has_some =
            kept != kept_.end() && kept->second.contribution_id == member.contribution_id;
        const auto is_missing = [&](std::uint32_t c) {
            return !has_some || !kept->second.chunks.contains(c);
        };
        if (std::ranges::any_of(wanted, is_missing)) missing.push_back(k);
    }
    return missing;
}

}  // namespace dedloc::round
