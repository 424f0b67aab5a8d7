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

}  // namespace

LedgerHistory::LedgerHistory(std::filesystem::path path, const LedgerOwner& owner)
    : path_(std::move(path)), owner_(owner), end_(genesis(owner.run, owner.backbone)) {}

void LedgerHistory::take(const LedgerRecord& record, const LedgerReader::Place& after) {
    if (std::holds_alternative<LedgerSettled>(record)) return;
    if (std::holds_alternative<StateCertificate>(record)) return;
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

bool LedgerHistory::is_void(const CommitRecord& record) const {
    return std::ranges::any_of(generations_, [&](const GenerationRecord& later) {
        return later.generation > record.generation && later.step <= record.step;
    });
}

/// The last remembered place at or before that step. Requires reader_.
const LedgerReader::Place& LedgerHistory::place_before(std::uint64_t generation,
                                                       StepIndex step) const {
    const std::tuple wanted{generation, step};
    const auto next = std::ranges::upper_bound(places_, wanted, {}, order_of);
    const LedgerReader::Place* nearest = next == places_.begin() ? nullptr : &*std::prev(next);
    const bool is_last_nearer =
        last_ && order_of(*last_) <= wanted && (!nearest || order_of(*nearest) <= order_of(*last_));
    return is_last_nearer ? *last_ : *nearest;
}

std::vector<ledger::Entry> LedgerHistory::read(std::uint64_t generation, StepIndex step,
                                               std::size_t max_entries) {
    std::vector<ledger::Entry> entries;
    if (std::tuple{generation, step} >= std::tuple{end_.generation, end_.step}) return entries;
    if (!reader_) {
        reader_.emplace(path_, owner_);
        places_.insert(places_.begin(), reader_->place());
    }
    reader_->return_to(place_before(generation, step));
    while (entries.size() < max_entries) {
        const auto record = reader_->next();
        if (!record) break;
        if (const auto* const commit = std::get_if<LedgerCommit>(&*record)) {
            const CommitRecord& decided = commit->decision.record;
            const bool is_before = decided.generation < generation ||
                                   (decided.generation == generation && decided.step < step);
            if (is_before || is_void(decided)) continue;
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
