// Every candidate is a list of turns, and predict() compares them. T* is by far the most expensive
// part, and depends only on the trainers that are left out for their links: it is computed once for
// each such set. Numbers of left-out trainers grow by half from 4 on, so a large fleet needs few
// plans.
#include "peer/planning/turns.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "peer/base/check.hpp"
#include "peer/planning/planner.hpp"

namespace dedloc::planning {
namespace {

constexpr std::uint32_t kMaxSteps = wire::kMaxStaleSteps;

/// Samples of earlier states are worth less: a choice with some must be faster by that factor.
constexpr double kGainOfOld = 1.02;

bool computes(TurnKind kind) {
    return kind < TurnKind::kReduceOnly;
}

/// T* and two latencies with these members.
std::optional<double> round_seconds(const PlanRequest& request) {
    const auto plan = plan_shares(request);
    if (!plan) return std::nullopt;
    const Duration ways = plan->optimum.count() > 0 ? 2 * request.latency : Duration{0};
    return seconds_of(plan->optimum + ways);
}

/// The round with the members of these turns; with those of some rounds, or without them.
PlanRequest round_of(const FleetRequest& request, const std::vector<Turn>& turns, bool with_some) {
    PlanRequest round = request.round;
    for (std::size_t k = 0; k < turns.size(); ++k) {
        Member& member = round.members[k];
        const TurnKind kind = turns[k].kind;
        if (!member.contributes) continue;
        if (kind == TurnKind::kReduceOnly) member.contributes = false;
        const bool is_out =
            kind == TurnKind::kRest || (kind == TurnKind::kSomeRounds && !with_some);
        if (is_out) member.contributes = member.receives = member.is_reachable = false;
    }
    return round;
}

/// Durations of a round with and without the members of some rounds.
struct Rounds {
    double with = 0;
    double without = 0;
};

std::optional<Rounds> rounds_of(const FleetRequest& request, const std::vector<Turn>& turns) {
    const auto without = round_seconds(round_of(request, turns, false));
    if (!without) return std::nullopt;
    const bool are_some = std::ranges::any_of(
        turns, [](const Turn& turn) { return turn.kind == TurnKind::kSomeRounds; });
    if (!are_some) return Rounds{.with = *without, .without = *without};
    const auto with = round_seconds(round_of(request, turns, true));
    if (!with) return std::nullopt;
    return Rounds{.with = std::max(*with, *without), .without = *without};
}

/// Fleet with all numbers that the search needs more than once.
class Model {
  public:
    explicit Model(const FleetRequest& request)
        : request_(request), links_(known_links(request.round)), size_(size_of(request.round)) {}

    std::uint32_t count() const { return static_cast<std::uint32_t>(links_.size()); }
    bool is_trainer(std::uint32_t k) const {
        return request_.round.members[k].contributes && rate(k) > 0;
    }
    double rate(std::uint32_t k) const { return request_.samples_per_second[k]; }
    double micro_batch(std::uint32_t k) const { return request_.micro_batch_seconds[k]; }
    /// Twice the median of a quantity of all trainers.
    template <class Quantity>
    double twice_median(Quantity quantity) const {
        std::vector<double> values;
        for (std::uint32_t k = 0; k < count(); ++k) {
            if (is_trainer(k)) values.push_back(quantity(k));
        }
        if (values.empty()) return 0;
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
        std::ranges::nth_element(values, middle);
        return 2 * *middle;
    }
    /// Time of the member's own contribution and average on its link.
    double own_traffic(std::uint32_t k) const { return std::max(sending(k), receiving(k)); }
    double receiving(std::uint32_t k) const {
        return static_cast<double>(size_.average_bytes) /
               static_cast<double>(links_[k].download.value());
    }

    /// The prediction for these turns if rounds take that long. `turns` of kWhenDone get the number
    /// of rounds that they need. Nothing if no trainer is in every round.
    std::optional<Prediction> predict(std::vector<Turn>& turns, const Rounds& rounds) const;

  private:
    double sending(std::uint32_t k) const {
        return static_cast<double>(size_.contribution_bytes) /
               static_cast<double>(links_[k].upload.value());
    }
    double wait_for(const std::vector<Turn>& turns) const;

    const FleetRequest& request_;
    const std::vector<LinkSpeed> links_;
    const VectorSize size_;
};

/// Expected time until the last member has finished its micro-batch: with k of equal length m it is
/// m · k / (k + 1), and the trainers with at least that length make it that long or longer.
double Model::wait_for(const std::vector<Turn>& turns) const {
    std::vector<double> lengths;
    for (std::uint32_t k = 0; k < count(); ++k) {
        if (is_trainer(k) && computes(turns[k].kind) && turns[k].kind != TurnKind::kWhenDone) {
            lengths.push_back(micro_batch(k));
        }
    }
    std::ranges::sort(lengths, std::greater{});
    double wait = 0;
    for (std::size_t k = 0; k < lengths.size(); ++k) {
        const auto longer = static_cast<double>(k + 1);
        wait = std::max(wait, lengths[k] * longer / (longer + 1));
    }
    return wait;
}

std::optional<Prediction> Model::predict(std::vector<Turn>& turns, const Rounds& rounds) const {
    double rate_of_all = 0;  // sum over the trainers in every round
    double finishing = 0;    // samples of micro-batches that are finished after the Call
    std::uint32_t every = 1;
    for (std::uint32_t k = 0; k < count(); ++k) {
        if (!is_trainer(k)) continue;
        if (turns[k].kind == TurnKind::kEveryRound) {
            rate_of_all += rate(k);
            finishing += rate(k) * micro_batch(k) / 2;
        }
        if (turns[k].kind == TurnKind::kSomeRounds) every = turns[k].every;
    }
    if (!(rate_of_all > 0)) return std::nullopt;
    const double wait = wait_for(turns);
    const double transfer = rounds.without + (rounds.with - rounds.without) / every;
    const auto batch = static_cast<double>(request_.target_batch);
    const double computing = batch / rate_of_all;
    const double step =
        request_.overlaps ? std::max(computing, transfer + 2 * wait) : computing + wait + transfer;
    double samples = batch + finishing;
    if (request_.overlaps) {
        // Trainers compute on during the round, each up to a target batch.
        samples = 0;
        for (std::uint32_t k = 0; k < count(); ++k) {
            if (!is_trainer(k) || turns[k].kind != TurnKind::kEveryRound) continue;
            samples += std::min(rate(k) * step, batch);
        }
    }
    for (std::uint32_t k = 0; k < count(); ++k) {
        if (!is_trainer(k)) continue;
        if (turns[k].kind == TurnKind::kSomeRounds) {
            // It computes while it neither is in a round nor loads the averages of the others.
            const double busy = (rounds.with + (every - 1) * receiving(k)) / every;
            samples += rate(k) * std::max(0.0, step - busy);
        } else if (turns[k].kind == TurnKind::kWhenDone) {
            // It is called at the first Call after its micro-batch, then takes the average.
            const double cycle = std::max(1.0, std::ceil((micro_batch(k) + transfer) / step));
            turns[k].every = static_cast<std::uint32_t>(std::min(cycle, 1e6));
            samples += rate(k) * micro_batch(k) / cycle;
        }
    }
    return Prediction{.samples_per_second = samples / step,
                      .step_seconds = step,
                      .round_seconds = transfer,
                      .wait_seconds = wait};
}

/// Tries choices and keeps the best one.
class ChoiceSearch {
  public:
    ChoiceSearch(const FleetRequest& request, const Model& model, TurnChoice all)
        : request_(request),
          model_(model),
          long_(model.twice_median([&](std::uint32_t k) { return model.micro_batch(k); })),
          best_(std::move(all)) {}

    /// Leaves out the first trainers of the list, in growing numbers.
    void try_without_first(const std::vector<std::uint32_t>& slowest) {
        for (std::size_t k = 0; k <= slowest.size(); k = next(k)) try_without(slowest, k);
    }
    const TurnChoice& best() const { return best_; }

  private:
    static std::size_t next(std::size_t k) { return k < 4 ? k + 1 : k + k / 2; }

    void try_without(const std::vector<std::uint32_t>& slowest, std::size_t count) {
        std::vector<Turn> turns(model_.count());
        for (std::size_t k = 0; k < count; ++k) turns[slowest[k]] = {TurnKind::kRest, 1};
        const auto rounds = rounds_of(request_, turns);
        if (!rounds) return;
        try_waits(turns, *rounds);
        if (count == 0) return;
        for (std::size_t k = 0; k < count; ++k) {
            turns[slowest[k]] = {TurnKind::kSomeRounds, kMaxSteps};
        }
        const auto some = rounds_of(request_, turns);
        if (!some || !follow(slowest, count, *some)) return;
        for (std::uint32_t every = 2; every <= kMaxSteps; ++every) {
            for (std::size_t k = 0; k < count; ++k) turns[slowest[k]].every = every;
            try_waits(turns, *some);
        }
    }

    /// Whether these trainers can load each average before the next one, with a tenth to spare.
    bool follow(const std::vector<std::uint32_t>& slowest, std::size_t count,
                const Rounds& rounds) const {
        const double step = best_.chosen.step_seconds > 0 ? best_.chosen.step_seconds : 0;
        return std::all_of(slowest.begin(), slowest.begin() + static_cast<std::ptrdiff_t>(count),
                           [&](std::uint32_t k) {
                               return model_.receiving(k) <= 0.9 * std::max(step, rounds.without);
                           });
    }

    /// Calls the trainers with the longest micro-batches when they are done, in growing numbers.
    void try_waits(std::vector<Turn> turns, const Rounds& rounds) {
        std::vector<std::uint32_t> longest;
        for (std::uint32_t k = 0; k < model_.count(); ++k) {
            const bool may_wait = turns[k].kind == TurnKind::kEveryRound;
            const bool is_long = model_.micro_batch(k) > 0 && model_.micro_batch(k) >= long_;
            if (model_.is_trainer(k) && may_wait && is_long) longest.push_back(k);
        }
        std::ranges::stable_sort(longest, std::greater{},
                                 [&](std::uint32_t k) { return model_.micro_batch(k); });
        consider(turns, rounds);
        std::size_t changed = 0;
        for (std::size_t count = 1; count <= longest.size(); count = next(count)) {
            for (; changed < count; ++changed) {
                turns[longest[changed]].kind = TurnKind::kWhenDone;
            }
            consider(turns, rounds);
        }
    }

    void consider(std::vector<Turn> turns, const Rounds& rounds) {
        const auto first = model_.predict(turns, rounds);
        if (!first) return;
        // What is too old does not count: such a trainer need not compute.
        bool is_any_late = false;
        for (Turn& turn : turns) {
            const bool is_late = turn.kind == TurnKind::kWhenDone && turn.every > kMaxSteps;
            if (is_late) turn = {TurnKind::kReduceOnly, 1};
            is_any_late = is_any_late || is_late;
        }
        const auto prediction = is_any_late ? model_.predict(turns, rounds) : first;
        if (!prediction) return;
        // Ties go to the candidate before: the one with more trainers in every round.
        const bool is_any_old = std::ranges::any_of(turns, [](const Turn& turn) {
            return turn.kind == TurnKind::kSomeRounds || turn.kind == TurnKind::kWhenDone;
        });
        const double gain = is_any_old ? kGainOfOld : 1 + 1e-9;
        if (prediction->samples_per_second <= best_.chosen.samples_per_second * gain) return;
        best_.turns = std::move(turns);
        best_.chosen = *prediction;
    }

    const FleetRequest& request_;
    const Model& model_;
    const double long_;  ///< shortest micro-batch that is long in this fleet
    TurnChoice best_;
};

/// Members that only reduce do so if that shortens the round; otherwise they rest.
void rest_if_no_help(const FleetRequest& request, const Model& model, TurnChoice& chosen) {
    std::vector<Turn> resting = chosen.turns;
    bool is_any = false;
    for (Turn& turn : resting) {
        if (turn.kind != TurnKind::kReduceOnly) continue;
        turn = {TurnKind::kRest, 1};
        is_any = true;
    }
    if (!is_any) return;
    const auto with = rounds_of(request, chosen.turns);
    const auto without = rounds_of(request, resting);
    if (!with || !without) return;
    constexpr double kGain = 0.98;
    if (with->without > kGain * without->without) chosen.turns = std::move(resting);
    auto turns = chosen.turns;
    const auto prediction =
        model.predict(turns, with->without > kGain * without->without ? *without : *with);
    if (prediction) chosen.chosen = *prediction;
}

void check(const FleetRequest& request) {
    const std::size_t count = request.round.members.size();
    DEDLOC_CHECK(request.samples_per_second.size() == count, "there is one speed for each member");
    DEDLOC_CHECK(request.micro_batch_seconds.size() == count,
                 "there is one micro-batch time for each member");
    DEDLOC_CHECK(request.target_batch > 0, "a target batch has samples");
}

}  // namespace

std::optional<Prediction> predict(const FleetRequest& request, const std::vector<Turn>& turns) {
    check(request);
    DEDLOC_CHECK(turns.size() == request.round.members.size(), "there is one turn for each member");
    const Model model{request};
    const auto rounds = rounds_of(request, turns);
    if (!rounds) return std::nullopt;
    std::vector<Turn> copy = turns;
    return model.predict(copy, *rounds);
}

std::optional<TurnChoice> choose_turns(const FleetRequest& request) {
    const std::vector<Turn> everyone(request.round.members.size());
    const auto all = predict(request, everyone);
    if (!all) return std::nullopt;
    const Model model{request};
    std::vector<std::uint32_t> trainers;
    for (std::uint32_t k = 0; k < model.count(); ++k) {
        if (model.is_trainer(k)) trainers.push_back(k);
    }
    ChoiceSearch search{request, model, {.turns = everyone, .chosen = *all, .all = *all}};
    std::ranges::stable_sort(trainers, std::greater{},
                             [&](std::uint32_t k) { return model.own_traffic(k); });
    const double slow = model.twice_median([&](std::uint32_t k) { return model.own_traffic(k); });
    std::erase_if(trainers, [&](std::uint32_t k) { return model.own_traffic(k) < slow; });
    search.try_without_first(trainers);
    std::ranges::stable_sort(trainers, std::greater{},
                             [&](std::uint32_t k) { return model.own_traffic(k) / model.rate(k); });
    search.try_without_first(trainers);
    TurnChoice chosen = search.best();
    rest_if_no_help(request, model, chosen);
    return chosen;
}

}  // namespace dedloc::planning
