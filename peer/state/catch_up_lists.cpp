// CatchUp's lists of leaf digests (leaf_list.hpp). A list is downloaded as any other array, from
// all donors that offer the same pages. Only when it is complete can its root be compared with the
// certified or decided one, so donors can cost a peer one list before they are dropped. One list is
// fetched at a time: 32 bytes for each leaf of this run's own state or average.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "kernels/digest.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/state/catch_up.hpp"
#include "peer/state/leaf_list.hpp"
#include "peer/state/model_state.hpp"

namespace dedloc::state {

bool CatchUp::has_pages(const std::vector<Digest>& offered, std::uint64_t bytes) {
    const std::uint64_t leaves = kernels::leaf_count(bytes);
    return offered.size() != leaves && offered.size() == page_count(leaves);
}

void CatchUp::list_first(TimePoint now, const PeerKey& from, StepIndex step, wire::Body offer,
                         const std::vector<Digest>& pages, std::uint64_t bytes) {
    const std::uint64_t leaves = kernels::leaf_count(bytes);
    const Digest root = list_root(pages, leaves);
    if (download_ && list_ == root && download_->tree().step == step) {
        download_->add_donor(now, from);
        if (bytes_) givers_.insert(from);
        return;
    }
    const bool is_same =
        listing_ && listing_->step == step && listing_->download.tree().root == root;
    if (!is_same) {
        if (has_donors()) return;
        const auto buffer = std::make_shared<Buffer>(static_cast<std::size_t>(list_bytes(leaves)));
        Tree tree{.step = step, .root = root, .leaves = pages, .bytes = buffer->size()};
        listing_.emplace(Listing{.step = step,
                                 .offer = std::move(offer),
                                 .bytes = buffer,
                                 .download = Download{std::move(tree), *buffer, leaf_time_}});
    }
    listing_->download.add_donor(now, from);
}

void CatchUp::drop_from_list(const PeerKey& donor) {
    if (!listing_) return;
    listing_->download.drop_donor(donor);
    if (listing_->download.donor_count() == 0) listing_.reset();
}

void CatchUp::lie_in_list(TimePoint now, const PeerKey& donor, StepIndex step, Outbox& out) {
    out.note(donor.brief() + " offers leaf digests of step " + std::to_string(step.value()) +
             " that are not those of the decided state or average; this donor is dropped");
    liars_.insert(donor);
    lied_at_ = now;
    drop_from_list(donor);
}

void CatchUp::received_page(TimePoint now, const PeerKey& from, const wire::Leaf& page,
                            Outbox& out) {
    const Download::Outcome outcome = listing_->download.received(now, from, page.leaf, page.data);
    leaf_time_ = listing_->download.leaf_time();
    if (outcome == Download::Outcome::kVerified) {
        ++progress_;
        pace_.received(now, page.data.size());
    }
    if (outcome == Download::Outcome::kLie) lie_in_list(now, from, listing_->step, out);
    if (outcome == Download::Outcome::kGone) drop_from_list(from);
    if (listing_ && listing_->download.is_complete()) finish_list(now, out);
    go_on(now, out);
    without_donors(now, out);
}

void CatchUp::finish_list(TimePoint now, Outbox& out) {
    const Listing listing = *std::exchange(listing_, std::nullopt);
    const std::vector<Digest> leaves = digests_in(*listing.bytes);
    const std::vector<PeerKey> donors = listing.download.donors();
    const auto refuse = [&] {
        for (const PeerKey& donor : donors) lie_in_list(now, donor, listing.step, out);
    };
    if (const auto* round = std::get_if<wire::RoundOffer>(&listing.offer)) {
        wire::RoundOffer offer = *round;
        offer.leaves = leaves;
        if (!is_usable(offer)) return refuse();
        for (const PeerKey& donor : donors) offered(now, donor, listing.step, offer, out);
        if (round_) list_ = listing.download.tree().root;
        return;
    }
    if (!is_news(listing.step) || donors.empty()) return;
    Offer offer{.at = now,
                .step = listing.step,
                .state = std::get<wire::StateOffer>(listing.offer),
                .root = {},
                .list = listing.download.tree().root};
    offer.state.leaves = leaves;
    offer.root = state_digest(listing.step, leaves, offer.state.bytes);
    if (!is_proven(donors.front(), offer, out)) return refuse();
    for (const PeerKey& donor : donors) {
        if (offers_.size() < kMaxOffers) offers_.insert_or_assign(donor, offer);
    }
    if (mode_ == Mode::kState) choose_state(now, out);
}

}  // namespace dedloc::state
