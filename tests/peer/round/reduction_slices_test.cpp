// Slices that a reducer frees, and asks for again.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/peer/round/exchange.hpp"

using namespace dedloc;
using namespace dedloc::round;

TEST_CASE("slices of averaged chunks are freed beyond the limit", "[averaging]") {
    // Member 0 reduces everything: a slice of each of the others for each chunk.
    for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{100'000}}) {
        Exchange exchange{5, 200'000, 6, Codec::kFp32, limit};
        exchange.finish();
        exchange.require_reference();
        std::uint64_t kept = 0;
        for (const wire::PlanMember& member : exchange.plan().members) {
            const Reduction& reduction = exchange.reduction(member.peer);
            CHECK(reduction.slice_bytes() == reduction.spent_bytes());
            CHECK(reduction.spent_bytes() <= limit);
            kept += reduction.spent_bytes();
        }
        CHECK((kept > 0) == (limit > 0));
        CHECK(exchange.queries() == 0);
    }
}

TEST_CASE("freed slices come again when the sum changes, once", "[averaging]") {
    Exchange exchange{5, 200'000, 6, Codec::kFp32, 0};
    exchange.finish();
    const auto contributor = [&](std::size_t n) {
        const auto& members = exchange.plan().members;
        std::vector<PeerKey> all;
        for (const auto& member : members) {
            if (member.samples > Samples{0}) all.push_back(member.peer);
        }
        REQUIRE(all.size() > n);
        return all[n];
    };
    PeerKey reducer;
    for (const wire::ChunkRange& range : exchange.plan().ranges) {
        const PeerKey& peer = exchange.plan().members[range.member.value()].peer;
        if (peer != contributor(1)) reducer = peer;
    }
    REQUIRE(reducer != PeerKey{});
    const auto ask = [&] {
        exchange.reduction(contributor(1))
            .send_again(reducer, {.sum_id = wire::sum_id_of(exchange.plan()),
                                  .chunk_elements = exchange.plan().chunk_elements,
                                  .chunks = {{.first_chunk = 0, .last_chunk = 4'000'000}}});
        return exchange.reduction(contributor(1)).has_next(reducer);
    };
    CHECK_FALSE(ask());  // no sum was replaced
    const std::uint64_t moved = exchange.moved();
    REQUIRE(exchange.amend({contributor(2)}, {}));
    exchange.finish();
    exchange.require_reference();
    CHECK(exchange.queries() > 0);
    CHECK(exchange.moved() > moved);
    CHECK_FALSE(ask());  // answered already
}
