// Reduction under plans and amendments, without a network.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/round/plan_maker.hpp"
#include "peer/round/reduction.hpp"
#include "peer/round/relays.hpp"
#include "peer/state/average_tree.hpp"
#include "tests/kernels/slow_codec.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

PeerKey key_of(std::size_t k) {
    PeerKey key;
    key.bytes.fill(static_cast<std::byte>(k + 1));
    return key;
}

/// x ÷ scale to the nearest number of binary16, ties to even, by the definition.
double rounded(double x, double scale) {
    const double units = std::abs(x / scale);
    int power = 0;
    (void)std::frexp(units, &power);  // units is below 2^power
    const double step = std::ldexp(1.0, std::max(power - 11, -24));
    return std::copysign(std::min(std::nearbyint(units / step) * step, 65'504.0) * scale, x);
}

/// The smallest power of two that is above x, or at least x.
double power_above(double x) {
    int power = 0;
    (void)std::frexp(x, &power);
    return std::ldexp(1.0, power);
}
double power_from(double x) {
    return power_above(x) / 2 == x ? x : power_above(x);
}

/// A round of a few members in memory; chunks are delivered in random order, some twice.
class Exchange {
  public:
    Exchange(std::uint64_t seed, std::uint64_t elements, std::size_t members,
             Codec codec = Codec::kFp32)
        : random_(seed),
          rules_({.elements = elements, .target_batch = {}, .last_step = {}, .codec = codec}) {
        for (std::size_t k = 0; k < members; ++k) add(k);
        const auto planned =
            make_plan(rules_, {.number = 1, .coordinator = key_of(0)}, 1, {}, seats_, Veterans{});
        REQUIRE(planned);
        follow(planned->plan);
    }

    void follow(const wire::Plan& plan) {
        plan_ = plan;
        for (const wire::PlanMember& member : plan.members) {
            reductions_
                .try_emplace(member.peer, rules_.elements, rules_.codec, member.peer, old_average())
                .first->second.follow(plan, contributions_.at(member.peer));
        }
    }

    /// Removes members; their chunks in flight are lost.
    bool amend(const std::set<PeerKey>& gone, const std::set<PeerKey>& demoted) {
        const auto amended = amend_plan(rules_, plan_, seats_, gone, demoted, Veterans{});
        if (!amended) return false;
        for (const PeerKey& peer : gone) {
            reductions_.erase(peer);
            seats_.erase(peer);
        }
        std::erase_if(flying_, [&](const Flight& flight) {
            return gone.contains(flight.from) || gone.contains(flight.to);
        });
        follow(*amended);
        return true;
    }

    /// Sends or delivers one chunk. False if there is none to move.
    bool move() {
        if (random_.below(2) == 0 && launch()) return true;
        if (land()) return true;
        return launch();
    }

    void finish() {
        while (move()) {
        }
    }

    void require_reference() {
        const FloatVector mean = reference();
        for (const SharedFloats& held : held_) {
            REQUIRE(std::ranges::count(*held, kOld) == static_cast<std::ptrdiff_t>(held->size()));
        }
        for (const wire::PlanMember& member : plan_.members) {
            Reduction& reduction = reductions_.at(member.peer);
            reduction.check_invariants();
            REQUIRE(reduction.is_reduced());
            REQUIRE(reduction.is_complete());
            REQUIRE(reduction.missing_senders().empty());
            REQUIRE(reduction.missing_reducers().empty());
            if (!member.receives) continue;
            REQUIRE(*reduction.average() == mean);
            REQUIRE(reduction.digest() == state::average_digest(mean));
        }
    }

    /// The mean that every receiver should get, element by element.
    FloatVector reference() const {
        FloatVector mean(rules_.elements);
        std::uint64_t samples = 0;
        double scales = 0;
        bool is_first = true;
        for (const wire::PlanMember& member : plan_.members) {
            if (member.samples == Samples{0}) continue;
            samples += member.samples.value();
            const FloatVector& sum = *contributions_.at(member.peer).contribution().sum;
            double squares = 0;
            for (const float x : sum) squares += double{x} * double{x};
            const double scale = power_above(std::sqrt(squares)) / 32'768;
            scales += scale;
            FloatVector sent = sum;
            if (residuals_.contains(member.peer)) {
                const FloatVector& owed = *residuals_.at(member.peer);
                for (std::size_t i = 0; i < sent.size(); ++i) sent[i] += owed[i];
            }
            round_all(sent, scale);
            for (std::size_t i = 0; i < mean.size(); ++i) {
                mean[i] = is_first ? sent[i] : mean[i] + sent[i];
            }
            is_first = false;
        }
        const auto divisor = static_cast<float>(samples);
        const double scale = power_from(scales / static_cast<double>(samples));
        for (float& x : mean) x = x / divisor;
        round_all(mean, scale);
        return mean;
    }
    /// Rounds as the codec does; only fp16 uses the scale.
    void round_all(FloatVector& values, double scale) const {
        if (rules_.codec == Codec::kInt8) {
            values = tests::slow::from_int8(tests::slow::to_int8(values));
        }
        for (float& x : values) {
            if (rules_.codec == Codec::kFp16) x = static_cast<float>(rounded(x, scale));
            if (rules_.codec == Codec::kBf16) {
                x = static_cast<float>(tests::slow::bfloat16_value(tests::slow::bfloat16_bits(x)));
            }
        }
    }

    Reduction& reduction(const PeerKey& peer) { return reductions_.at(peer); }
    const wire::Plan& plan() const { return plan_; }
    std::uint64_t moved() const { return moved_; }

  private:
    static constexpr float kOld = 1e30F;

    /// A used buffer; some still have another owner.
    std::shared_ptr<FloatVector> old_average() {
        auto room = std::make_shared<FloatVector>(rules_.elements, kOld);
        if (random_.below(2) == 0) held_.push_back(room);
        return room;
    }

    struct Flight {
        PeerKey from, to;
        wire::Chunk chunk;
    };

    void add(std::size_t k) {
        // Contributors, aggregators that do not receive, and a member that cannot be dialled.
        const Samples samples{k == 0 ? 8 : random_.below(3) * 8};
        const bool receives = k == 0 || samples > Samples{0} || random_.below(2) == 0;
        const bool is_reachable = k == 0 || random_.below(4) != 0;
        wire::Join join{.term = {},
                        .contribution_id = static_cast<std::uint32_t>(random_.below(3)),
                        .samples = samples,
                        .receives = receives,
                        .state = {},
                        .upload = Bandwidth{100'000 * (1 + random_.below(50))},
                        .download = Bandwidth{100'000 * (1 + random_.below(50))}};
        seats_[key_of(k)] = {
            .join = join,
            .endpoint = {"10.0.0.1", static_cast<std::uint16_t>(is_reachable ? 1 + k : 0)}};
        auto sum = std::make_shared<FloatVector>(rules_.elements);
        for (float& x : *sum) x = static_cast<float>(random_.uniform() - 0.5) * 1e3f;
        if (samples == Samples{0}) sum = nullptr;
        // Some have a residual from earlier rounds.
        if (sum && rules_.codec != Codec::kFp32 && k % 2 == 0) {
            auto residual = std::make_shared<FloatVector>(rules_.elements);
            for (float& x : *residual) x = static_cast<float>(random_.uniform() - 0.5);
            residuals_[key_of(k)] = std::move(residual);
        }
        const Contribution contribution{
            .samples = samples, .loss_sum = 0, .is_finite = true, .sum = std::move(sum)};
        contributions_[key_of(k)] = Encoder{rules_.codec, contribution, residuals_[key_of(k)]};
        seats_[key_of(k)].join->exponent = contributions_[key_of(k)].exponent();
        if (residuals_[key_of(k)] == nullptr) residuals_.erase(key_of(k));
    }

    bool launch() {
        std::vector<std::pair<PeerKey, PeerKey>> pairs;
        for (const auto& [from, reduction] : reductions_) {
            for (const auto& [to, other] : reductions_) {
                if (from != to && reduction.has_next(to)) pairs.emplace_back(from, to);
            }
        }
        if (pairs.empty()) return false;
        // Pacing may hold back some reducers, but never all.
        while (!pairs.empty()) {
            std::swap(pairs[random_.below(pairs.size())], pairs.back());
            const auto [from, to] = pairs.back();
            pairs.pop_back();
            const auto due = reductions_.at(from).next(to);
            if (!due) continue;
            flying_.push_back({from, to, reductions_.at(from).body(*due)});
            return true;
        }
        FAIL("deadlock: no chunk can be sent");
        return false;
    }

    bool land() {
        if (flying_.empty()) return false;
        std::swap(flying_[random_.below(flying_.size())], flying_.back());
        const Flight flight = flying_.back();
        if (random_.below(8) != 0) flying_.pop_back();
        reductions_.at(flight.to).take(flight.from, flight.chunk);
        ++moved_;
        return true;
    }

    std::vector<SharedFloats> held_;  ///< averages of others
    Random random_;
    const RoundRules rules_;
    std::map<PeerKey, Seat> seats_;
    std::map<PeerKey, Encoder> contributions_;
    std::map<PeerKey, SharedFloats> residuals_;  ///< members with a residual
    std::map<PeerKey, Reduction> reductions_;
    wire::Plan plan_;
    std::vector<Flight> flying_;
    std::uint64_t moved_ = 0;
};

}  // namespace

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
            if (victim == key_of(0)) continue;
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
            if (member.samples != Samples{0} || member.peer == key_of(0)) continue;
            exchange.finish();
            const auto before = exchange.plan();
            REQUIRE(exchange.amend({member.peer}, {}));
            REQUIRE(wire::sum_id_of(before) == wire::sum_id_of(exchange.plan()));
            // Members that had the whole average still have it.
            for (const wire::PlanMember& left : exchange.plan().members) {
                if (left.receives) REQUIRE(exchange.reduction(left.peer).is_complete());
            }
        }
    }
}

TEST_CASE("invalid chunks never become part of an average", "[averaging]") {
    Exchange exchange{7, 3'000, 4};
    const wire::Plan plan = exchange.plan();
    Reduction& member = exchange.reduction(key_of(0));
    const wire::Chunk good{.phase = wire::Phase::kGather,
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
        member.take(key_of(1), std::move(chunk));
        member.take(key_of(9), good);  // no member
    };
    give([](auto& c) { c.sum_id ^= 1; });
    give([](auto& c) { c.chunk_elements /= 2; });
    give([](auto& c) { c.chunk = 1u << 20; });
    give([](auto& c) { c.elements = FloatVector(1); });
    give([](auto& c) { c.phase = wire::Phase::kScatter; });
    // The member's own contribution, sent back to it.
    for (std::uint32_t c = 0; c * plan.chunk_elements < 3'000; ++c) {
        wire::Chunk own = good;
        own.phase = wire::Phase::kScatter;
        own.sum_id = plan.members[wire::index_of(plan, key_of(0))].contribution_id;
        own.chunk = c;
        own.elements = numbers_of(c);
        member.take(key_of(0), std::move(own));
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

TEST_CASE("an average that is assembled piece by piece has the digest of the whole vector",
          "[averaging]") {
    Random random{3};
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
        REQUIRE(tree.root(all) == state::average_digest(all));
        REQUIRE(tree.root(all) == state::average_digest(all));
    }
}

TEST_CASE("a contribution goes to all its reducers in proportion to their parts", "[averaging]") {
    constexpr std::uint32_t kChunks = 400;
    constexpr std::uint32_t kLarge = 340;
    const std::uint64_t elements = kChunks * 16;
    wire::Plan plan;
    plan.term = {.number = 1, .coordinator = key_of(0)};
    plan.attempt = 1;
    plan.elements = elements;
    plan.chunk_elements = 16;
    std::vector<std::uint32_t> parts{10, kLarge, 10, 10, 10, 10, 10};
    std::uint32_t next = 0;
    for (std::uint32_t k = 0; k < parts.size(); ++k) {
        plan.members.push_back({.peer = key_of(k),
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
    Reduction sender{elements, Codec::kFp32, key_of(0)};
    sender.follow(plan, Encoder{Codec::kFp32, own, nullptr});
    // No reducer gets further ahead of its proportional part than one chunk for each reducer.
    std::vector<std::uint32_t> given(parts.size(), 0);
    std::uint32_t all = 0;
    const auto ask = [&](std::uint32_t k) {
        const bool is_given = sender.next(key_of(k)).has_value();
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
        CHECK(sender.take_released() == std::vector{key_of(2)});
        while (ask(2)) {
        }
        CHECK(given[2] == parts[2]);
    }
}
