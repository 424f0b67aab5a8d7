// Every candidate is one plan_shares() of the request without some trainers. AdviceSearch keeps the
// best candidate seen. The three drop orders cover the three causes of a long round; single changes
// afterwards repair the choices that no order hits.
#include "peer/planning/advice.hpp"

#include <algorithm>
#include <chrono>

#include "peer/base/check.hpp"

namespace dedloc::planning {
namespace {

double speed_of(const TrainingRequest& request) {
    double speed = 0;
    for (std::size_t k = 0; k < request.round.members.size(); ++k) {
        if (request.round.members[k].contributes) speed += request.samples_per_second[k];
    }
    return speed;
}

/// Order in which trainers are dropped.
enum class DropOrder : std::uint8_t {
    kByBandwidth,           ///< best where a slow member's own traffic sets T*
    kByBandwidthPerSample,  ///< best where fast trainers have slow links
    kBySamples,             ///< best where the total traffic sets T*
};

std::vector<std::uint32_t> trainers_by(DropOrder order, const TrainingRequest& request) {
    const std::vector<LinkSpeed> links = known_links(request.round);
    std::vector<std::uint32_t> trainers;
    for (std::uint32_t k = 0; k < links.size(); ++k) {
        if (request.round.members[k].contributes) trainers.push_back(k);
    }
    const auto bandwidth = [&](std::uint32_t k) {
        return static_cast<double>(std::min(links[k].upload, links[k].download).value());
    };
    const auto& samples = request.samples_per_second;
    std::stable_sort(trainers.begin(), trainers.end(), [&](std::uint32_t a, std::uint32_t b) {
        if (order == DropOrder::kByBandwidth) return bandwidth(a) < bandwidth(b);
        if (order == DropOrder::kBySamples) return samples[a] < samples[b];
        return bandwidth(a) * samples[b] < bandwidth(b) * samples[a];
    });
    return trainers;
}

/// Tries choices and keeps the best one.
class AdviceSearch {
  public:
    AdviceSearch(const TrainingRequest& request, const Pace& all)
        : request_(request), best_is_dropped_(request.round.members.size()), best_pace_(all) {}

    /// Drops the first k trainers, for every k.
    void try_without_first(const std::vector<std::uint32_t>& trainers) {
        std::vector<bool> is_dropped(best_is_dropped_.size());
        for (const std::uint32_t trainer : trainers) {
            is_dropped[trainer] = true;
            try_without(is_dropped);
        }
    }
    /// Drops all trainers but one, for each trainer.
    void try_alone(const std::vector<std::uint32_t>& trainers) {
        std::vector<bool> is_dropped(best_is_dropped_.size());
        for (const std::uint32_t trainer : trainers) is_dropped[trainer] = true;
        for (const std::uint32_t trainer : trainers) {
            is_dropped[trainer] = false;
            try_without(is_dropped);
            is_dropped[trainer] = true;
        }
    }
    /// Drops or takes back each single trainer from the best choice so far. True if that found a
    /// better one.
    bool try_changing_one(const std::vector<std::uint32_t>& trainers) {
        bool is_better = false;
        for (const std::uint32_t trainer : trainers) {
            std::vector<bool> is_dropped = best_is_dropped_;
            is_dropped[trainer] = !is_dropped[trainer];
            is_better |= try_without(is_dropped);
        }
        return is_better;
    }

    TrainerChoice best() const {
        TrainerChoice choice{.dropped = {}, .pace = best_pace_};
        for (std::uint32_t k = 0; k < best_is_dropped_.size(); ++k) {
            if (best_is_dropped_[k]) choice.dropped.push_back(PeerIndex{k});
        }
        return choice;
    }

  private:
    bool try_without(const std::vector<bool>& is_dropped) {
        TrainingRequest fewer = request_;
        for (std::size_t k = 0; k < is_dropped.size(); ++k) {
            if (!is_dropped[k]) continue;
            fewer.round.members[k].contributes = false;
            fewer.round.members[k].receives = false;
        }
        const auto pace = pace_of(fewer);
        if (!pace || pace->step_seconds() >= best_pace_.step_seconds()) return false;
        best_pace_ = *pace;
        best_is_dropped_ = is_dropped;
        return true;
    }

    const TrainingRequest& request_;
    std::vector<bool> best_is_dropped_;
    Pace best_pace_;
};

}  // namespace

std::optional<Pace> pace_of(const TrainingRequest& request) {
    DEDLOC_CHECK(request.samples_per_second.size() == request.round.members.size(),
                 "there is one speed for each member", request.samples_per_second.size());
    DEDLOC_CHECK(request.target_batch > 0, "a target batch has samples");
    const double speed = speed_of(request);
    if (!(speed > 0)) return std::nullopt;
    const auto plan = plan_shares(request.round);
    if (!plan) return std::nullopt;
    const Duration ways = plan->optimum.count() > 0 ? 2 * request.round.latency : Duration{0};
    return Pace{.computing_seconds = static_cast<double>(request.target_batch) / speed,
                .round_seconds = seconds_of(plan->optimum + ways)};
}

std::optional<TrainerChoice> choose_trainers(const TrainingRequest& request) {
    const auto all = pace_of(request);
    if (!all) return std::nullopt;
    AdviceSearch search{request, *all};
    for (const DropOrder order :
         {DropOrder::kByBandwidth, DropOrder::kByBandwidthPerSample, DropOrder::kBySamples}) {
        search.try_without_first(trainers_by(order, request));
    }
    const std::vector<std::uint32_t> trainers = trainers_by(DropOrder::kByBandwidth, request);
    search.try_alone(trainers);
    constexpr int kMaxPasses = 4;
    for (int pass = 0; pass < kMaxPasses && search.try_changing_one(trainers); ++pass) continue;
    return search.best();
}

Duration optimum_with_aggregator(const PlanRequest& request, const LinkSpeed& link) {
    PlanRequest more = request;
    more.members.push_back({.upload = link.upload,
                            .download = link.download,
                            .contributes = false,
                            .receives = false,
                            .is_reachable = true});
    return plan_shares(more).value().optimum;
}

std::optional<std::uint64_t> batch_for(const TrainingRequest& request, double share) {
    DEDLOC_CHECK(share >= 0 && share < 1, "a share of time is below 1", share);
    const auto pace = pace_of(request);
    if (!pace) return std::nullopt;
    const double samples = speed_of(request) * pace->round_seconds * share / (1 - share);
    constexpr auto kMax = static_cast<double>(wire::kMaxSamples);
    return static_cast<std::uint64_t>(std::min(samples, kMax - 1)) + 1;
}

}  // namespace dedloc::planning
