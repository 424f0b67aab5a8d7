// The list without void changes follows from the signed list and the last record that contradicts
// it; nothing else is remembered, so a peer that starts again comes to the same.
#include "peer/round/mixtures.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dedloc::round {

bool Mixtures::take(SharedMixture mixture) {
    if (mixture == nullptr || mixture->version <= version()) return false;
    signed_ = std::move(mixture);
    in_force_ = signed_;
    return true;
}

/// The record names the change that its round was drawn by. Later changes up to its step came too
/// late; all others are in force, also one that was void after a step that comes again now. A
/// record that names an unknown change says that this peer lacks a newer list: nothing changes.
bool Mixtures::compare(const CommitRecord& record) {
    if (signed_ == nullptr || at(record.step) == record.mixture) return false;
    const auto& changes = signed_->changes;
    auto later = changes.begin();
    if (record.mixture) {
        later = std::ranges::find_if(changes, [&](const MixtureChange& change) {
            return digest_of(change) == *record.mixture;
        });
        if (later == changes.end()) return false;
        ++later;
    }
    SignedMixture rest = *signed_;
    rest.changes.assign(changes.begin(), later);
    std::copy_if(later, changes.end(), std::back_inserter(rest.changes),
                 [&](const MixtureChange& change) { return change.from > record.step; });
    if (rest.changes == in_force_->changes) return false;
    in_force_ = std::make_shared<const SignedMixture>(std::move(rest));
    return true;
}

}  // namespace dedloc::round
