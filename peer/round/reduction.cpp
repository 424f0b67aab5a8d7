// follow() compares the new plan with the former one at three levels: another cut drops all slices,
// another sum id drops all averages, and everything else stays. Then counters and the scatter
// schedule are rebuilt from what is kept, chunks that are complete already are averaged, and chunks
// that came ahead of the plan are replayed. reduce() is the only place that sums; it always goes in
// member order. Pacing: release_of() turns a reducer's progress into the number of slices that all
// reducers together must have got before its next one.
#include "peer/round/reduction.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <variant>

#include "peer/base/check.hpp"

namespace dedloc::round {
namespace {

/// True if no other owner holds the buffer. All accesses by former owners have happened before.
bool is_ours_alone(const std::shared_ptr<FloatVector>& values) {
    if (values.use_count() != 1) return false;
    std::shared_ptr<FloatVector>{values}.reset();  // use_count() orders no memory, a release does
    return true;
}

}  // namespace

// --- plans -------------------------------------------------------------------

void Reduction::follow(const wire::Plan& plan, const Encoder& own) {
    const bool is_same_cut = plan_ && plan_->chunk_elements == plan.chunk_elements;
    const std::uint64_t sum_id = wire::sum_id_of(plan);
    const bool is_same_sum = is_same_cut && sum_id == sum_id_;
    std::vector<PeerKey> former;
    for (const std::uint32_t k : owner_) former.push_back(plan_->members[k].peer);
    own_index_ = wire::index_of(plan, self_);
    DEDLOC_CHECK(own_index_ < plan.members.size(), "a plan is followed by its members");
    DEDLOC_CHECK(plan.elements == elements_, "a plan is about the whole vector", plan.elements);
    const Samples samples = own.contribution().samples;
    DEDLOC_CHECK(plan.members[own_index_].samples == samples,
                 "the plan counts what was joined with", samples.value());
    forget_given(plan);
    own_ = own;
    receives_ = plan.members[own_index_].receives;
    sum_id_ = sum_id;
    plan_ = plan;
    assign(plan);
    if (!is_same_sum) is_moved_.assign(chunk_count(), false);
    for (std::uint32_t c = 0; is_same_sum && c < chunk_count(); ++c) {
        if (plan.members[owner_[c]].peer != former[c]) is_moved_[c] = true;
    }
    if (is_same_sum) forget_received();
    if (!is_same_cut) forget_chunks();
    if (!is_same_sum) {
        has_former_sum_ = !former.empty();
        forget_sums();
    }
    missing_ = unreduced_ = 0;
    for (std::uint32_t c = 0; c < chunk_count(); ++c) {
        if (has_average_[c]) continue;
        if (is_mine(c)) ++unreduced_;
        if (is_mine(c) || receives_) ++missing_;
    }
    schedule_scatter();
    count_slices();
    note_spent();
    for (std::uint32_t c = 0; c < chunk_count(); ++c) {
        if (!is_mine(c)) continue;
        reduce(c);
        // The chunk is new here: its former reducer may not have sent it to all receivers, and we
        // have not sent it to any.
        const bool is_new = c >= former.size() || former[c] != self_;
        if (has_average_[c] && is_new) is_offered_[c] = false;
        if (has_average_[c]) offer(c);
    }
    replay_early();
    const auto queries = std::exchange(queries_, {});
    for (const auto& [peer, query] : queries) {
        if (query.sum_id == sum_id_) send_again(peer, query);
    }
}

/// A member with a new contribution id has restarted since the last plan, or is new in this one: it
/// may not have the averages that we sent it.
void Reduction::forget_given(const wire::Plan& plan) {
    if (!plan_) return;
    for (const wire::PlanMember& member : plan.members) {
        const std::uint32_t former = wire::index_of(*plan_, member.peer);
        const bool is_same = former < plan_->members.size() &&
                             plan_->members[former].contribution_id == member.contribution_id;
        if (!is_same) gathered_.erase(member.peer);
    }
}

void Reduction::assign(const wire::Plan& plan) {
    contributors_.clear();
    weights_.clear();
    for (std::uint32_t k = 0; k < plan.members.size(); ++k) {
        if (plan.members[k].samples == Samples{0}) continue;
        contributors_.push_back(k);
        weights_.push_back(plan.members[k].samples.value());
    }
    DEDLOC_CHECK(!contributors_.empty(), "a round has samples");
    const std::uint64_t chunks = (elements_ + plan.chunk_elements - 1) / plan.chunk_elements;
    owner_.assign(chunks, 0);
    for (const wire::ChunkRange& range : plan.ranges) {
        for (std::uint32_t c = range.first_chunk; c < range.last_chunk; ++c) {
            owner_[c] = range.member.value();
        }
    }
    measure_windows(plan);
}

/// Counts, for each chunk, the slices that the plan wants and that are here already.
void Reduction::count_slices() {
    slices_here_.assign(owner_.size(), 0);
    slices_wanted_ = 0;
    for (const std::uint32_t k : contributors_) {
        if (k == own_index_) continue;
        ++slices_wanted_;
        const wire::PlanMember& member = plan_->members[k];
        const auto kept = kept_.find(member.peer);
        if (kept == kept_.end() || kept->second.contribution_id != member.contribution_id) continue;
        for (const auto& [chunk, slice] : kept->second.chunks) ++slices_here_[chunk];
    }
}

/// The plan has another cut: no slice of the former cut fits.
void Reduction::forget_chunks() {
    kept_.clear();
    is_freed_.assign(owner_.size(), false);
    scattered_to_.assign(owner_.size(), PeerKey{});
}

/// The plan has another sum id: slices are still valid, averages are not.
void Reduction::forget_sums() {
    has_average_.assign(owner_.size(), false);
    is_received_.assign(owner_.size(), false);
    exponents_.assign(owner_.size(), 0);
    is_offered_.assign(owner_.size(), false);
    reduced_.clear();
    gathered_.clear();
    answered_.clear();
    false_averages_.clear();
    // Every element is written before it is read: old numbers need not be cleared.
    if (!is_ours_alone(average_) || average_->size() != elements_) {
        average_ = std::make_shared<FloatVector>(elements_);
    }
    tree_ = state::GrowingTree(elements_);
}

/// A reducer passes on only what it has computed: the former reducer of a chunk may have sent us
/// another average than others. Contributors send the slices of such a chunk again.
void Reduction::forget_received() {
    bool has_any = false;
    for (std::uint32_t c = 0; c < chunk_count(); ++c) {
        if (!is_mine(c) || !has_average_[c] || !is_received_[c]) continue;
        has_average_[c] = is_received_[c] = false;
        has_any = true;
    }
    if (!has_any) return;
    has_dropped_ = true;
    if (!is_ours_alone(average_)) average_ = std::make_shared<FloatVector>(*average_);
    tree_ = state::GrowingTree(elements_);
    for (std::uint32_t c = 0; receives_ && c < chunk_count(); ++c) {
        if (has_average_[c]) tree_.add(first_of(c), size_of(c));
    }
}

void Reduction::schedule_scatter() {
    scatter_.clear();
    held_.clear();
    place_windows();
    scatter_chunks_ = scattered_ = 0;
    is_paced_ = true;
    if (own_.contribution().samples == Samples{0}) return;
    for (std::uint32_t c = 0; c < chunk_count(); ++c) {
        const PeerKey& reducer = plan_->members[owner_[c]].peer;
        if (is_mine(c) || scattered_to_[c] == reducer) continue;
        Scatter& scatter = scatter_[reducer];
        scatter.due.push_back(c);
        ++scatter.chunks;
        scatter.member = owner_[c];
        ++scatter_chunks_;
    }
}

/// How many slices must have been scattered, to all reducers, before this reducer gets its next
/// one: in proportion to its part, less one slice for each reducer. `turn` lets small parts take
/// turns, in another order at each sender. At least one reducer is always due: without the
/// subtraction releases exceed the mean progress by less than one slice of each reducer.
std::uint64_t Reduction::release_of(const Scatter& scatter) const {
    const std::uint64_t members = plan_->members.size();
    const std::uint64_t turn = (scatter.member + members - own_index_) % members;
    const std::uint64_t given = scatter.chunks - scatter.due.size();
    const std::uint64_t part =
        (given * members + turn) * scatter_chunks_ / (scatter.chunks * members);
    return part - std::min<std::uint64_t>(part, scatter_.size());
}

std::uint64_t Reduction::size_of(std::uint32_t chunk) const {
    return std::min<std::uint64_t>(plan_->chunk_elements, elements_ - first_of(chunk));
}

wire::Elements Reduction::own_slice(std::uint32_t chunk) const {
    return own_.piece(first_of(chunk), size_of(chunk));
}
std::span<float> Reduction::average_slice(std::uint32_t chunk) const {
    return std::span{*average_}.subspan(first_of(chunk), size_of(chunk));
}

// --- sending -----------------------------------------------------------------

bool Reduction::has_next(const PeerKey& to) const {
    if (!plan_) return false;
    if (const auto scatter = scatter_.find(to);
        scatter != scatter_.end() && !scatter->second.due.empty()) {
        return true;
    }
    const auto given = gathered_.find(to);
    if ((given == gathered_.end() ? 0 : given->second) >= reduced_.size()) return false;
    const std::uint32_t index = wire::index_of(*plan_, to);
    return index < plan_->members.size() && plan_->members[index].receives;
}

std::optional<Due> Reduction::next(const PeerKey& to) {
    if (!has_next(to)) return {};
    const auto scatter = scatter_.find(to);
    if (scatter != scatter_.end() && !scatter->second.due.empty()) {
        const std::uint64_t release = release_of(scatter->second);
        if (is_ahead(scatter->second)) {
            closed_.insert(to);
        } else if (is_released(release)) {
            const std::uint32_t chunk = scatter->second.due.front();
            scatter->second.due.pop_front();
            scattered_to_[chunk] = to;
            ++scattered_;
            return Due{wire::ChunkKind::kScatter, chunk};
        } else {
            held_.emplace(release, to);
        }
    }
    const std::uint32_t index = wire::index_of(*plan_, to);
    if (index == plan_->members.size() || !plan_->members[index].receives) return {};
    std::size_t& given = gathered_[to];
    if (given == reduced_.size()) return {};
    return Due{wire::ChunkKind::kGather, reduced_[given++]};
}

std::vector<PeerKey> Reduction::take_released() {
    std::vector<PeerKey> released;
    while (!held_.empty() && is_released(held_.begin()->first)) {
        released.push_back(held_.begin()->second);
        held_.erase(held_.begin());
    }
    return released;
}

wire::Chunk Reduction::body(const Due& due) const {
    const bool is_scatter = due.kind == wire::ChunkKind::kScatter;
    return {.kind = due.kind,
            .sum_id = is_scatter ? plan_->members[own_index_].contribution_id : sum_id_,
            .chunk = due.chunk,
            .chunk_elements = plan_->chunk_elements,
            .elements = is_scatter ? own_slice(due.chunk)
                                   : encode(codec_, average_, average_slice(due.chunk),
                                            exponents_[due.chunk])};
}

std::vector<Reduction::Part> Reduction::parts_of_others() const {
    std::vector<Part> parts;
    for (std::uint32_t c = 0; c < chunk_count(); ++c) {
        if (is_mine(c) || is_moved_[c]) continue;
        const PeerKey& reducer = plan_->members[owner_[c]].peer;
        const bool continues = !parts.empty() && parts.back().reducer == reducer &&
                               parts.back().first + parts.back().elements == first_of(c);
        if (!continues) {
            parts.push_back({.reducer = reducer, .first = first_of(c), .elements = 0});
        }
        parts.back().elements += size_of(c);
    }
    return parts;
}

bool Reduction::has_due_chunks() const {
    if (!plan_) return false;
    return std::any_of(
        plan_->members.begin(), plan_->members.end(),
        [&](const wire::PlanMember& m) { return m.peer != self_ && has_next(m.peer); });
}

// --- receiving ---------------------------------------------------------------

Reduction::Taken Reduction::take(const PeerKey& from, wire::Chunk chunk) {
    if (from == self_) return Taken::kNothing;  // our own chunk, sent back
    if (codec_of(chunk.elements) != codec_) return Taken::kNothing;
    const bool fits = plan_ && chunk.chunk_elements == plan_->chunk_elements &&
                      chunk.chunk < chunk_count() &&
                      count_of(chunk.elements) == size_of(chunk.chunk) &&
                      wire::index_of(*plan_, from) < plan_->members.size();
    Taken taken = Taken::kEarly;
    if (fits) {
        const bool is_slice = chunk.kind == wire::ChunkKind::kScatter;
        taken = is_slice ? place_slice(from, chunk) : place_average(from, chunk);
    }
    if (taken == Taken::kEarly) keep_early(from, std::move(chunk));
    return taken;
}

/// kEarly if the slice may belong to a plan that has not arrived yet.
Reduction::Taken Reduction::place_slice(const PeerKey& from, wire::Chunk& chunk) {
    const wire::PlanMember& member = plan_->members[wire::index_of(*plan_, from)];
    if (member.samples == Samples{0} || chunk.sum_id != member.contribution_id ||
        !is_mine(chunk.chunk)) {
        return Taken::kEarly;
    }
    const auto refused = refused_.find(from);
    if (refused != refused_.end() && refused->second == member.contribution_id) {
        return Taken::kNothing;
    }
    if (!is_as_joined(chunk.elements, member.exponent) || !is_summable(chunk.elements)) {
        refused_[from] = member.contribution_id;
        kept_.erase(from);
        count_slices();
        return Taken::kNothing;
    }
    Kept& kept = kept_[from];
    if (kept.contribution_id != member.contribution_id)
        kept = {.contribution_id = member.contribution_id, .chunks = {}};
    const std::uint32_t index = chunk.chunk;
    if (has_average_[index] && is_freed_[index]) return Taken::kNothing;
    const bool is_new = kept.chunks.try_emplace(index, std::move(chunk.elements)).second;
    if (!is_new) return Taken::kNothing;
    ++slices_here_[index];
    reduce(index);
    return Taken::kPlaced;
}

/// kEarly if the average may belong to a plan that has not arrived yet. Only the chunk's reducer
/// may send it.
Reduction::Taken Reduction::place_average(const PeerKey& from, const wire::Chunk& chunk) {
    if (chunk.sum_id != sum_id_ || plan_->members[owner_[chunk.chunk]].peer != from) {
        return Taken::kEarly;
    }
    if (has_average_[chunk.chunk] || is_mine(chunk.chunk) || !receives_) return Taken::kNothing;
    // The average of contributions that reducers accept is finite.
    if (!decode(chunk.elements, average_slice(chunk.chunk))) {
        false_averages_.insert(from);
        return Taken::kNothing;
    }
    if (const auto* halves = std::get_if<wire::Halves>(&chunk.elements)) {
        exponents_[chunk.chunk] = halves->exponent;
    }
    is_received_[chunk.chunk] = true;
    has_become_known(chunk.chunk);
    return Taken::kPlaced;
}

void Reduction::link_lost(const PeerKey& peer) {
    gathered_.erase(peer);
    forget_early(peer);
    if (!plan_ || scattered_to_.empty()) return;
    std::replace(scattered_to_.begin(), scattered_to_.end(), peer, PeerKey{});
    schedule_scatter();
}

/// Averages the chunk once all of its slices are here.
void Reduction::reduce(std::uint32_t chunk) {
    if (has_average_[chunk] || slices_here_[chunk] < slices_wanted_) return;
    std::vector<wire::Elements> slices;
    slices.reserve(contributors_.size());
    for (const std::uint32_t k : contributors_) {
        const bool is_own = k == own_index_;
        slices.push_back(is_own ? own_slice(chunk)
                                : kept_.at(plan_->members[k].peer).chunks.at(chunk));
    }
    exponents_[chunk] = average_of(slices, weights_, average_slice(chunk));
    --unreduced_;
    has_become_known(chunk);
    offer(chunk);
    has_spent(chunk);
}

/// Books a chunk of the average that was received or computed.
void Reduction::has_become_known(std::uint32_t chunk) {
    has_average_[chunk] = true;
    --missing_;
    if (receives_) tree_.add(first_of(chunk), size_of(chunk));
    open_window(chunk);
}

void Reduction::offer(std::uint32_t chunk) {
    if (is_offered_[chunk]) return;
    is_offered_[chunk] = true;
    reduced_.push_back(chunk);
}

// --- progress ----------------------------------------------------------------

SharedFloats Reduction::average() const {
    DEDLOC_CHECK(is_complete() && receives_, "the average is whole", missing_);
    return average_;
}

bool Reduction::work_ahead() {
    return average_ && tree_.digest_some(*average_);
}

Digest Reduction::digest(const kernels::Workers& workers) {
    DEDLOC_CHECK(is_complete() && receives_, "the average is whole", missing_);
    return tree_.root(*average_, workers);
}

std::vector<std::uint32_t> Reduction::refused_senders() const {
    std::vector<std::uint32_t> senders;
    if (refused_.empty()) return senders;
    for (const std::uint32_t k : contributors_) {
        const auto refused = refused_.find(plan_->members[k].peer);
        const bool is_refused =
            refused != refused_.end() && refused->second == plan_->members[k].contribution_id;
        if (is_refused) senders.push_back(k);
    }
    return senders;
}

std::vector<std::uint32_t> Reduction::refused_reducers() const {
    std::vector<std::uint32_t> reducers;
    for (const PeerKey& peer : false_averages_) {
        const std::uint32_t k = wire::index_of(*plan_, peer);
        if (k < plan_->members.size()) reducers.push_back(k);
    }
    return reducers;
}

std::vector<std::uint32_t> Reduction::missing_reducers() const {
    std::vector<std::uint32_t> missing;
    if (!plan_ || missing_ == unreduced_) return missing;
    for (std::uint32_t c = 0; c < chunk_count(); ++c) {
        if (!has_average_[c] && !is_mine(c)) missing.push_back(owner_[c]);
    }
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    return missing;
}

void Reduction::check_invariants() const {
    if (!plan_) return;
    std::uint64_t kept_slices = 0;
    for (const std::uint32_t k : contributors_) {
        const auto kept = kept_.find(plan_->members[k].peer);
        if (kept == kept_.end() ||
            kept->second.contribution_id != plan_->members[k].contribution_id)
            continue;
        kept_slices += kept->second.chunks.size();
    }
    const auto counted =
        std::accumulate(slices_here_.begin(), slices_here_.end(), std::uint64_t{0});
    DEDLOC_CHECK(counted == kept_slices, "every slice that is kept is counted", counted,
                 kept_slices);
    DEDLOC_CHECK(spent_bytes_ <= kept_bytes_, "slices of averaged chunks are bounded",
                 spent_bytes_);
    DEDLOC_CHECK(unreduced_ <= missing_, "chunks reduced here are part of the average", missing_);
    check_early();
}

}  // namespace dedloc::round
