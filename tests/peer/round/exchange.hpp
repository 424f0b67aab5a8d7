// An all-reduce of a few members in memory, under plans and amendments.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/round/plan_maker.hpp"
#include "peer/round/reduction.hpp"
#include "peer/round/relays.hpp"
#include "peer/state/average_tree.hpp"
#include "tests/kernels/slow_codec.hpp"
#include "tests/peer/state/average_digest.hpp"

namespace dedloc::round {

inline PeerKey peer_key(std::size_t k) {
    PeerKey key;
    key.bytes.fill(static_cast<std::byte>(k + 1));
    return key;
}

/// x ÷ scale to the nearest number of binary16, ties to even, by the definition.
inline double rounded(double x, double scale) {
    const double units = std::abs(x / scale);
    int power = 0;
    (void)std::frexp(units, &power);  // units is below 2^power
    const double step = std::ldexp(1.0, std::max(power - 11, -24));
    return std::copysign(std::min(std::nearbyint(units / step) * step, 65'504.0) * scale, x);
}

/// The smallest power of two that is above x, or at least x.
inline double power_above(double x) {
    int power = 0;
    (void)std::frexp(x, &power);
    return std::ldexp(1.0, power);
}
inline double power_from(double x) {
    return power_above(x) / 2 == x ? x : power_above(x);
}

/// A round of a few members in memory; chunks are delivered in random order, some twice.
class Exchange {
  public:
    Exchange(std::uint64_t seed, std::uint64_t elements, std::size_t members,
             Codec codec = Codec::kFp32, std::optional<std::uint64_t> kept_bytes = {},
             std::optional<std::uint64_t> min_window = {})
        : random_(seed),
          rules_({.elements = elements, .target_batch = {}, .last_step = {}, .codec = codec}),
          kept_bytes_(kept_bytes.value_or(any_limit())),
          min_window_(min_window.value_or(any_limit())) {
        for (std::size_t k = 0; k < members; ++k) add(k);
        const auto planned = make_plan(rules_, {.number = 1, .coordinator = peer_key(0)}, 1, {},
                                       callees_, Veterans{});
        REQUIRE(planned);
        follow(planned->plan);
    }

    void follow(const wire::Plan& plan) {
        plan_ = plan;
        std::vector<wire::PlanMember> members = plan.members;
        while (!members.empty()) {
            std::swap(members[random_.below(members.size())], members.back());
            const PeerKey peer = members.back().peer;
            members.pop_back();
            Reduction& reduction = reductions_
                                       .try_emplace(peer, rules_.elements, rules_.codec, peer,
                                                    kept_bytes_, old_average(), min_window_)
                                       .first->second;
            reduction.follow(plan, contributions_.at(peer));
            for (auto& [to, query] : reduction.take_queries()) {
                asked_.push_back({peer, to, std::move(query)});
            }
            // Some queries come before the plan.
            if (random_.below(2) == 0) deliver_queries();
        }
    }

    /// Removes members; their chunks in flight are lost.
    bool amend(const std::set<PeerKey>& gone, const std::set<PeerKey>& demoted) {
        const auto amended = amend_plan(rules_, plan_, callees_, gone, demoted, Veterans{});
        if (!amended) return false;
        for (const PeerKey& peer : gone) {
            reductions_.erase(peer);
            callees_.erase(peer);
        }
        std::erase_if(flying_, [&](const Flight& flight) {
            return gone.contains(flight.from) || gone.contains(flight.to);
        });
        follow(*amended);
        return true;
    }

    /// Sends or delivers one chunk. False if there is none to move.
    bool move() {
        deliver_queries();
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
    std::size_t queries() const { return query_count_; }

  private:
    /// Nothing, a few chunks, or all.
    std::uint64_t any_limit() {
        const std::uint64_t limits[] = {0, 1 + random_.below(40'000), std::uint64_t{1} << 40};
        return limits[random_.below(std::size(limits))];
    }
    void deliver_queries() {
        for (const Asked& asked : std::exchange(asked_, {})) {
            ++query_count_;
            if (!reductions_.contains(asked.to)) continue;
            reductions_.at(asked.to).send_again(asked.from, asked.query);
        }
    }

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

    struct Asked {
        PeerKey from, to;
        wire::SliceQuery query;
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
        callees_[peer_key(k)] = {
            .join = join,
            .endpoint = {"10.0.0.1", static_cast<std::uint16_t>(is_reachable ? 1 + k : 0)}};
        auto sum = std::make_shared<FloatVector>(rules_.elements);
        for (float& x : *sum) x = static_cast<float>(random_.uniform() - 0.5) * 1e3f;
        if (samples == Samples{0}) sum = nullptr;
        // Some have a residual from earlier rounds.
        if (sum && rules_.codec != Codec::kFp32 && k % 2 == 0) {
            auto residual = std::make_shared<FloatVector>(rules_.elements);
            for (float& x : *residual) x = static_cast<float>(random_.uniform() - 0.5);
            residuals_[peer_key(k)] = std::move(residual);
        }
        const Contribution contribution{
            .samples = samples, .loss_sum = 0, .is_finite = true, .sum = std::move(sum)};
        contributions_[peer_key(k)] = Encoder{rules_.codec, contribution, residuals_[peer_key(k)]};
        callees_[peer_key(k)].join->exponent = contributions_[peer_key(k)].exponent();
        if (residuals_[peer_key(k)] == nullptr) residuals_.erase(peer_key(k));
    }

    bool launch() {
        std::vector<std::pair<PeerKey, PeerKey>> pairs;
        for (const auto& [from, reduction] : reductions_) {
            for (const auto& [to, other] : reductions_) {
                if (from != to && reduction.has_next(to)) pairs.emplace_back(from, to);
            }
        }
        if (pairs.empty()) return false;
        // Pacing may hold back some reducers, but never all. Windows may, while averages are on
        // their way.
        while (!pairs.empty()) {
            std::swap(pairs[random_.below(pairs.size())], pairs.back());
            const auto [from, to] = pairs.back();
            pairs.pop_back();
            const auto due = reductions_.at(from).next(to);
            if (!due) continue;
            flying_.push_back({from, to, reductions_.at(from).body(*due)});
            return true;
        }
        if (flying_.empty()) FAIL("deadlock: no chunk can be sent");
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
    const std::uint64_t kept_bytes_;
    const std::uint64_t min_window_;
    std::vector<Asked> asked_;  ///< queries on their way
    std::size_t query_count_ = 0;
    std::map<PeerKey, Callee> callees_;
    std::map<PeerKey, Encoder> contributions_;
    std::map<PeerKey, SharedFloats> residuals_;  ///< members with a residual
    std::map<PeerKey, Reduction> reductions_;
    wire::Plan plan_;
    std::vector<Flight> flying_;
    std::uint64_t moved_ = 0;
};

}  // namespace dedloc::round
