#include "project_server/backbone/ledger_history.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

namespace dedloc::backbone {
namespace {

auto order_of(const LedgerReader::Place& place) {
    const Head& head = place.codec.head();
    return std::tuple{head.generation, head.step};
}

/// Whether a later generation of the list begins at or before that step.
bool is_void(const CommitRecord& record, std::span<const GenerationRecord> generations) {
    return std::ranges::any_of(generations, [&](const GenerationRecord& later) {
        return later.generation > record.generation && later.step <= record.step;
    });
}

/// Whether the record belongs to the history that ends there.
bool is_before(const LedgerRecord& record, const Head& end) {
    if (const auto* const commit = std::get_if<LedgerCommit>(&record)) {
        const CommitRecord& decided = commit->decision.record;
        return std::tuple{decided.generation, decided.step} < std::tuple{end.generation, end.step};
    }
    const auto* const begun = std::get_if<SignedGeneration>(&record);
    return begun == nullptr || begun->record.generation <= end.generation;
}

}  // namespace

LedgerHistory::LedgerHistory(std::filesystem::path path, const LedgerOwner& owner)
    : path_(std::move(path)), owner_(owner), end_(genesis(owner.run, owner.backbone)) {}

void LedgerHistory::take(const LedgerRecord& record, const LedgerReader::Place& after) {
    if (std::holds_alternative<LedgerSettled>(record)) return;
    if (std::holds_alternative<StateCertificate>(record)) return;
    const std::lock_guard lock{mutex_};
    if (const auto* const begun = std::get_if<SignedGeneration>(&record)) {
        generations_.push_back(begun->record);
    }
    end_ = after.codec.head();
    if (++since_place_ < distance_) return;
    since_place_ = 0;
    places_.push_back(after);
    if (places_.size() < kMaxPlaces) return;
    for (std::size_t i = 1; 2 * i < places_.size(); ++i) places_[i] = std::move(places_[2 * i]);
    places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(places_.size() / 2), places_.end());
    distance_ *= 2;
}

/// From the last place at or before that step; nothing if the ledger ends there or before. Requires
/// first_.
std::optional<LedgerHistory::Start> LedgerHistory::start_of(std::uint64_t generation,
                                                            StepIndex step) const {
    const std::tuple wanted{generation, step};
    const std::lock_guard lock{mutex_};
    if (wanted >= std::tuple{end_.generation, end_.step}) return std::nullopt;
    const auto next = std::ranges::upper_bound(places_, wanted, {}, order_of);
    const LedgerReader::Place* nearest = next == places_.begin() ? &*first_ : &*std::prev(next);
    if (last_ && order_of(*last_) <= wanted && order_of(*nearest) <= order_of(*last_)) {
        nearest = &*last_;
    }
    return Start{.place = *nearest, .generations = generations_, .end = end_};
}

std::vector<ledger::Entry> LedgerHistory::read(std::uint64_t generation, StepIndex step,
                                               std::size_t max_entries) {
    if (!reader_) first_ = reader_.emplace(path_, owner_).place();
    std::vector<ledger::Entry> entries;
    const auto start = start_of(generation, step);
    if (!start) return entries;
    reader_->return_to(start->place);
    while (entries.size() < max_entries) {
        const auto record = reader_->next();
        if (!record || !is_before(*record, start->end)) break;
        if (const auto* const commit = std::get_if<LedgerCommit>(&*record)) {
            const CommitRecord& decided = commit->decision.record;
            const bool is_known =
                std::tuple{decided.generation, decided.step} < std::tuple{generation, step};
            if (is_known || is_void(decided, start->generations)) continue;
            const bool is_gap = entries.empty() && decided.step != step;
            if (is_gap) break;
            entries.emplace_back(commit->decision);
        } else if (const auto* const begun = std::get_if<SignedGeneration>(&*record)) {
            if (begun->record.generation > generation) entries.emplace_back(*begun);
        }
    }
    last_ = reader_->place();
    return entries;
}

}  // namespace dedloc::backbone
