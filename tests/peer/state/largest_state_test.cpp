// A donor of the largest state, 2³² elements in three vectors. Its bytes are accounted: none of the
// 48 GiB exist.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "kernels/digest.hpp"
#include "peer/state/donor.hpp"
#include "peer/state/leaf_list.hpp"
#include "peer/state/model_state.hpp"
#include "peer/wire/message_codec.hpp"

namespace {

using namespace dedloc;

const StepIndex kHeldStep{5};
const PeerKey kReader{{std::byte{101}}};
constexpr std::uint64_t kBytes = std::uint64_t{48} << 30;

/// Makes the bytes when they are read: zeros, but for numbers at the beginning of a few leaves.
class AccountedBytes final : public StableBytes {
  public:
    std::uint64_t size() const override { return kBytes; }
    void read(std::uint64_t first, std::span<std::byte> into) const override {
        REQUIRE(first % wire::kLeafBytes == 0);
        REQUIRE(into.size() == wire::kLeafBytes);
        bytes_read += into.size();
        fill(first / wire::kLeafBytes, into);
    }
    static std::vector<Digest> leaves() {
        Buffer leaf(wire::kLeafBytes);
        std::vector<Digest> leaves(kBytes / wire::kLeafBytes);
        for (std::uint64_t i = 0; i < leaves.size(); ++i) {
            const bool is_plain = i > 1 && i % kMarked != 0;
            if (!is_plain) fill(i, leaf);
            leaves[i] = is_plain ? leaves[1] : Digest{kernels::leaf_digest(leaf)};
        }
        return leaves;
    }

    mutable std::uint64_t bytes_read = 0;

  private:
    static constexpr std::uint64_t kMarked = 8'192;
    static void fill(std::uint64_t leaf, std::span<std::byte> into) {
        std::ranges::fill(into, std::byte{0});
        const std::uint64_t mark = leaf + 1;
        if (leaf % kMarked == 0) std::memcpy(into.data(), &mark, sizeof(mark));
    }
};

struct LargestDonor {
    LargestDonor() {
        rules.elements = wire::kMaxElements;
        donor.begin(0);
        own = {.has_state = true, .generation = 0, .step = kHeldStep, .state = taken.digest};
        const StateCertificate proof{.generation = 0,
                                     .step = kHeldStep,
                                     .record = {},
                                     .state = taken.digest,
                                     .votes = {{.voter = {}, .signature = {}}}};
        donor.certified(now, proof, own, out);
    }
    wire::StateOffer offer() {
        donor.queried(now, kReader, 0, kHeldStep, {.has_state = false}, own, out);
        donor.snapshot_taken(now, taken, own, out);
        REQUIRE(out.messages.size() == 1);
        return std::get<wire::StateOffer>(out.messages.front().body);
    }
    Buffer leaf(const Digest& root, std::uint32_t index) {
        donor.requested(now, kReader, {.root = root, .leaf = index});
        return donor.next(now, kReader)->data;
    }

    RoundRules rules;
    const kernels::ThisThread workers;
    const std::shared_ptr<const AccountedBytes> bytes = std::make_shared<AccountedBytes>();
    const std::vector<Digest> leaves = AccountedBytes::leaves();
    const event::SnapshotTaken taken{.step = kHeldStep,
                                     .digest = state::state_digest(kHeldStep, leaves, kBytes),
                                     .bytes = bytes,
                                     .leaves = leaves};
    state::Donor donor{rules, workers};
    state::Own own;
    TimePoint now{};
    Outbox out;
};

}  // namespace

TEST_CASE("the largest state is given leaf by leaf, without a copy of it", "[state]") {
    LargestDonor world;
    const wire::StateOffer offer = world.offer();
    wire::Message message;
    message.step = kHeldStep;
    message.body = offer;
    REQUIRE(wire::is_within_bounds(message));
    CHECK(offer.bytes == kBytes);
    CHECK(offer.leaves.size() == 24);
    CHECK(world.bytes->bytes_read == 0);
    // The asker fetches the list, whose digests lead to the certified state.
    const Digest list = state::list_root(offer.leaves, wire::kMaxLeaves);
    Buffer digests;
    for (std::uint32_t page = 0; page < 24; ++page) {
        const Buffer data = world.leaf(list, page);
        CHECK(Digest{kernels::leaf_digest(data)} == offer.leaves[page]);
        digests.insert(digests.end(), data.begin(), data.end());
    }
    CHECK(world.leaf(list, 24).empty());
    const std::vector<Digest> leaves = state::digests_in(digests);
    CHECK(state::state_digest(kHeldStep, leaves, offer.bytes) == world.taken.digest);
    CHECK(world.bytes->bytes_read == 0);
    for (const std::uint32_t leaf : {0u, 1u, 8'192u, 24'576u, 196'607u}) {
        CHECK(Digest{kernels::leaf_digest(world.leaf(world.taken.digest, leaf))} == leaves[leaf]);
    }
    CHECK(world.leaf(world.taken.digest, 196'608).empty());
    CHECK(world.bytes->bytes_read == 5 * wire::kLeafBytes);
}
