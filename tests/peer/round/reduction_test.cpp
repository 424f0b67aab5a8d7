// Reduction under plans and amendments, without a network.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <vector>

#include "kernels/thread_workers.hpp"
#include "peer/base/random.hpp"
#include "peer/round/reduction.hpp"
#include "tests/peer/round/exchange.hpp"
#include "tests/peer/state/average_digest.hpp"

using namespace dedloc;
using namespace dedloc::round;

TEST_CASE("an all-reduce sums in member order in any order of arrival", "[averaging][property]") {
    const Codec codec = GENERATE(Codec::kFp32, Codec::kFp16, Codec::kBf16, Codec::kInt8);
    Random random{2};
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        INFO("seed " << seed << " " << name_of(codec));
        Exchange exchange{seed, 1 + random.below(seed % 10 == 0 ? 200'000 : 5'000),
                          1 + random.below(6), codec};
        exchange.finish();
        exchange.require_reference();
    }
}

TEST_CASE("a plan amended at any moment ends with the mean of the remaining contributors",
          "[averaging][property]") {
    const Codec codec = GENERATE(Codec::kFp32, Codec::kFp16, Codec::kBf16, Codec::kInt8);
    Random random{3};
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        INFO("seed " << seed << " " << name_of(codec));
        Exchange exchange{seed, 1 + random.below(5'000), 3 + random.below(4), codec};
        for (int amendment = 0; amendment < 2; ++amendment) {
            const auto moves = random.below(200);
            for (std::uint64_t i = 0; i < moves; ++i) exchange.move();
            const auto& members = exchange.plan().members;
            const PeerKey victim = members[random.below(members.size())].peer;
            if (victim == peer_key(0)) continue;
            const bool is_lost = random.below(2) == 0;
            exchange.amend(is_lost ? std::set{victim} : std::set<PeerKey>{},
                           is_lost ? std::set<PeerKey>{} : std::set{victim});
        }
        exchange.finish();
        exchange.require_reference();
    }
}

TEST_CASE("after a lost link all chunks are sent again and none counts twice",
          "[averaging][property]") {
    const Codec codec = GENERATE(Codec::kFp32, Codec::kFp16, Codec::kBf16, Codec::kInt8);
    Random random{4};
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        INFO("seed " << seed << " " << name_of(codec));
        Exchange exchange{seed, 1 + random.below(3'000), 2 + random.below(4), codec};
        const auto moves = random.below(100);
        for (std::uint64_t i = 0; i < moves; ++i) exchange.move();
        const auto& members = exchange.plan().members;
        const PeerKey one = members[random.below(members.size())].peer;
        for (const wire::PlanMember& member : members) {
            exchange.reduction(member.peer).link_lost(one);
        }
        exchange.finish();
        exchange.require_reference();
    }
}

TEST_CASE("moving the chunks of a lost aggregator keeps every average that has arrived",
          "[averaging]") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        INFO("seed " << seed);
        Exchange exchange{seed, 20'000, 6};
        for (const wire::PlanMember& member : std::vector(exchange.plan().members)) {
            if (member.samples != Samples{0} || member.peer == peer_key(0)) continue;
            exchange.finish();
            const auto before = exchange.plan();
            REQUIRE(exchange.amend({member.peer}, {}));
            REQUIRE(wire::sum_id_of(before) == wire::sum_id_of(exchange.plan()));
            // Members that had the whole average still have it, but for chunks that they reduce
            // now: the former reducer may have sent them another average than others.
            const auto reducers_of = [](const wire::Plan& plan) {
                std::map<std::uint32_t, PeerKey> reducers;
                for (const wire::ChunkRange& range : plan.ranges) {
                    for (std::uint32_t c = range.first_chunk; c < range.last_chunk; ++c) {
                        reducers.emplace(c, plan.members[range.member.value()].peer);
                    }
                }
                return reducers;
            };
            const auto old = reducers_of(before);
            std::set<PeerKey> news;
            for (const auto& [chunk, reducer] : reducers_of(exchange.plan())) {
                if (old.at(chunk) != reducer) news.insert(reducer);
            }
            for (const wire::PlanMember& left : exchange.plan().members) {
                if (!left.receives) continue;
                REQUIRE(exchange.reduction(left.peer).is_complete() == !news.contains(left.peer));
            }
            exchange.finish();
            exchange.require_reference();
        }
    }
}

TEST_CASE("invalid chunks never become part of an average", "[averaging]") {
    Exchange exchange{7, 3'000, 4};
    const wire::Plan plan = exchange.plan();
    Reduction& member = exchange.reduction(peer_key(0));
    const wire::Chunk good{.kind = wire::ChunkKind::kGather,
                           .sum_id = wire::sum_id_of(plan),
                           .chunk = 0,
                           .chunk_elements = plan.chunk_elements,
                           .elements = FloatVector(plan.chunk_elements, 1e9f)};
    const auto numbers_of = [&](std::uint32_t chunk) {
        const std::size_t rest = 3'000 - std::size_t{chunk} * plan.chunk_elements;
        return FloatVector(std::min<std::size_t>(plan.chunk_elements, rest), 1e9f);
    };
    const auto give = [&](auto change) {
        wire::Chunk chunk = good;
        change(chunk);
        member.take(peer_key(1), std::move(chunk));
        member.take(peer_key(9), good);  // no member
    };
    give([](auto& c) { c.sum_id ^= 1; });
    give([](auto& c) { c.chunk_elements /= 2; });
    give([](auto& c) { c.chunk = 1u << 20; });
    give([](auto& c) { c.elements = FloatVector(1); });
    give([](auto& c) { c.kind = wire::ChunkKind::kScatter; });
    // The member's own contribution, sent back to it.
    for (std::uint32_t c = 0; c * plan.chunk_elements < 3'000; ++c) {
        wire::Chunk own = good;
        own.kind = wire::ChunkKind::kScatter;
        own.sum_id = plan.members[wire::index_of(plan, peer_key(0))].contribution_id;
        own.chunk = c;
        own.elements = numbers_of(c);
        member.take(peer_key(0), std::move(own));
    }
    // Averages from a member that does not reduce them, and from the reducer in another codec.
    for (const wire::ChunkRange& range : plan.ranges) {
        for (std::uint32_t c = range.first_chunk; c < range.last_chunk; ++c) {
            wire::Chunk rounded = good;
            rounded.chunk = c;
            rounded.elements = wire::Halves{
                .bits = std::vector<std::uint16_t>(numbers_of(c).size(), 0x7bff), .exponent = 127};
            member.take(plan.members[range.member.value()].peer, std::move(rounded));
        }
        for (std::size_t k = 1; k < plan.members.size(); ++k) {
            if (plan.members[k].peer == plan.members[range.member.value()].peer) continue;
            for (std::uint32_t c = range.first_chunk; c < range.last_chunk; ++c) {
                wire::Chunk forged = good;
                forged.chunk = c;
                forged.elements = numbers_of(c);
                member.take(plan.members[k].peer, std::move(forged));
            }
        }
    }
    exchange.finish();
    exchange.require_reference();
}

TEST_CASE("a sender of chunks of more sums than there can be plans is a flooder", "[averaging]") {
    Exchange exchange{7, 3'000, 4};
    const wire::Plan plan = exchange.plan();
    Reduction& member = exchange.reduction(peer_key(0));
    wire::Chunk chunk{.kind = wire::ChunkKind::kGather,
                      .sum_id = 0,
                      .chunk = 0,
                      .chunk_elements = plan.chunk_elements,
                      .elements = FloatVector(plan.chunk_elements)};
    for (std::uint64_t n = 0; n < Reduction::kMaxUnknownSums; ++n) {
        ++chunk.sum_id;
        for (int repeated = 0; repeated < 3; ++repeated) member.take(peer_key(1), chunk);
    }
    CHECK(member.flooders().empty());
    exchange.follow(plan);  // they are looked at again, and are still as many
    CHECK(member.flooders().empty());
    ++chunk.sum_id;
    member.take(peer_key(1), chunk);
    CHECK(member.flooders() == std::set{peer_key(1)});
    exchange.finish();
    exchange.require_reference();
}

TEST_CASE("an average that is assembled piece by piece has the digest of the whole vector",
          "[averaging]") {
    Random random{3};
    const kernels::ThreadWorkers threads{3};
    for (const std::uint64_t elements :
         {1u, 65'535u, 65'536u, 65'537u, 200'000u, 262'144u, 1'500'000u}) {
        FloatVector all(elements);
        for (float& x : all) x = static_cast<float>(random.near_normal());
        std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
        for (std::uint64_t first = 0; first < elements;) {
            const std::uint64_t count = std::min(1 + random.below(100'000), elements - first);
            pieces.emplace_back(first, count);
            first += count;
        }
        for (std::size_t i = pieces.size(); i > 1; --i) {
            std::swap(pieces[i - 1], pieces[random.below(i)]);
        }
        state::GrowingTree tree(elements);
        INFO(elements);
        for (const auto& [first, count] : pieces) {
            tree.add(first, count);
            if (random.below(3) == 0) {
                while (tree.digest_some(all)) {
                }
            }
        }
        REQUIRE(tree.root(all, threads) == state::average_digest(all));
        REQUIRE(tree.root(all) == state::average_digest(all));
    }
}

TEST_CASE("a contribution goes to all its reducers in proportion to their parts", "[averaging]") {
    constexpr std::uint32_t kChunks = 400;
    constexpr std::uint32_t kLarge = 340;
    const std::uint64_t elements = kChunks * 16;
    wire::Plan plan;
    plan.term = {.number = 1, .coordinator = peer_key(0)};
    plan.attempt = 1;
    plan.elements = elements;
    plan.chunk_elements = 16;
    std::vector<std::uint32_t> parts{10, kLarge, 10, 10, 10, 10, 10};
    std::uint32_t next = 0;
    for (std::uint32_t k = 0; k < parts.size(); ++k) {
        plan.members.push_back({.peer = peer_key(k),
                                .samples = Samples{1},
                                .loss_sum = 0,
                                .contribution_id = 1,
                                .receives = true});
        plan.ranges.push_back({PeerIndex{k}, next, next + parts[k]});
        next += parts[k];
    }
    const Contribution own{.samples = Samples{1},
                           .loss_sum = 0,
                           .is_finite = true,
                           .sum = std::make_shared<FloatVector>(elements, 1.0f)};
    Reduction sender{elements, Codec::kFp32, peer_key(0), 0};
    sender.follow(plan, Encoder{Codec::kFp32, own, nullptr});
    // No reducer gets further ahead of its proportional part than one chunk for each reducer.
    std::vector<std::uint32_t> given(parts.size(), 0);
    std::uint32_t all = 0;
    const auto ask = [&](std::uint32_t k) {
        const bool is_given = sender.next(peer_key(k)).has_value();
        given[k] += is_given ? 1 : 0;
        all += is_given ? 1 : 0;
        return is_given;
    };
    SECTION("small parts ask without limit, the large one asks for a chunk at a time") {
        while (given[1] < kLarge) {
            REQUIRE(ask(1));
            for (std::uint32_t k = 2; k < parts.size(); ++k) {
                while (ask(k)) {
                }
                if (given[k] == 0) continue;
                CHECK((given[k] - 1) * (kChunks - parts[0]) <= (all + parts.size()) * parts[k]);
            }
        }
        for (std::uint32_t k = 2; k < parts.size(); ++k) CHECK(given[k] >= parts[k] - 1);
    }
    SECTION("a held reducer is released when its turn has come") {
        while (ask(2)) {
        }
        CHECK(sender.holds_back());
        CHECK(sender.take_released().empty());
        while (sender.take_released().empty()) REQUIRE(ask(1));
        CHECK(ask(2));
    }
    SECTION("if the large part takes nothing, release_all() frees the others") {
        while (ask(2)) {
        }
        CHECK(given[2] < parts[2]);
        sender.release_all();
        CHECK(sender.take_released() == std::vector{peer_key(2)});
        while (ask(2)) {
        }
        CHECK(given[2] == parts[2]);
    }
}
