// A row for each attack of attack_test.cpp, and for those that nothing stops yet, in worlds that
// last 600 s, with a crowd 180 s. DEDLOC_SEEDS=10 makes the figures ranges over ten seeds;
// DEDLOC_ATTACK=drip selects an attack.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/attack.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace std::chrono_literals;
using hostile::Misbehaviour;

namespace {

/// A misbehaviour, and the voters of its run.
struct Line {
    Misbehaviour misbehaviour;
    std::size_t voters = 1;
};
/// Nothing stops the last four yet.
constexpr std::array kLines{Line{Misbehaviour::kSplitAverage},
                            Line{Misbehaviour::kSplitAverage, 3},
                            Line{Misbehaviour::kFalseProposal, 3},
                            Line{Misbehaviour::kLoneReady},
                            Line{Misbehaviour::kDrip},
                            Line{Misbehaviour::kNanAverage},
                            Line{Misbehaviour::kPurge},
                            Line{Misbehaviour::kHelloStorm},
                            Line{Misbehaviour::kFalseVotes},
                            Line{Misbehaviour::kSlowClaim},
                            Line{Misbehaviour::kLateReady},
                            Line{Misbehaviour::kEarlyFlood},
                            Line{Misbehaviour::kHeartbeatStorm},
                            Line{Misbehaviour::kKeySquat},
                            Line{Misbehaviour::kPulse},
                            Line{Misbehaviour::kTrickle},
                            Line{Misbehaviour::kLateJoin},
                            Line{Misbehaviour::kNoShow},
                            Line{Misbehaviour::kHangUp},
                            Line{Misbehaviour::kGarbageAverage},
                            Line{Misbehaviour::kEquivocation},
                            Line{Misbehaviour::kNegativeGradient},
                            Line{Misbehaviour::kGhostSamples}};

/// A figure of the run with liars and of the run without, of each seed.
struct Column {
    std::vector<double> with, without;
    void add(double figure, double clean) {
        with.push_back(figure);
        without.push_back(clean);
    }
    std::string text(int digits) const {
        return range(with, digits) + ", " + range(without, digits);
    }
    static std::string range(const std::vector<double>& figures, int digits) {
        const auto [min, max] = std::ranges::minmax(figures);
        const std::string low = fmt::format("{:.{}f}", min, digits);
        const std::string high = fmt::format("{:.{}f}", max, digits);
        return low == high ? low : low + "–" + high;
    }
};

/// The figures with so many liars, or why there are none.
std::string figures_of(const Attack& attack, std::size_t liars) {
    Column known, speed, loss, accused;
    std::vector<double> percent;
    for (const auto seed : seeds_or_more(1)) {
        const Outcome& clean = without_liars(seed, attack, liars);
        try {
            const Outcome outcome = outcome_of(seed, attack, liars);
            known.add(outcome.known_after, clean.known_after);
            speed.add(outcome.steps_a_minute, clean.steps_a_minute);
            loss.add(outcome.loss, clean.loss);
            percent.push_back(100 * outcome.liars_part);
            accused.add(static_cast<double>(outcome.liars), static_cast<double>(outcome.honest));
        } catch (const simulation::Violation& violation) {
            const std::string what = violation.what();
            return fmt::format("seed {}: {}", seed, what.substr(0, what.find('\n')));
        }
    }
    return fmt::format("{} | {} | {} | {} | {}", known.text(0), speed.text(1), loss.text(2),
                       Column::range(percent, 0), accused.text(0));
}

}  // namespace

TEST_CASE("a table of what attacks cost", "[.table]") {
    fmt::print(
        "| attack | liars | voters | step {} after s: with, without | then steps a minute | "
        "held-out loss | % of samples | accused: liars, others |\n"
        "|---|---|---|---|---|---|---|---|\n",
        kKnown.value());
    const char* chosen = std::getenv("DEDLOC_ATTACK");
    for (const Line& line : kLines) {
        const std::string_view name = name_of(line.misbehaviour);
        if (chosen != nullptr && name != chosen) continue;
        Attack attack{.misbehaviour = line.misbehaviour, .voters = line.voters};
        attack.end = attack.is_crowd() ? 180s : 600s;
        for (const std::size_t liars : attack.liars()) {
            fmt::print("| {} | {} | {} | {} |\n", name, liars, line.voters,
                       figures_of(attack, liars));
            std::fflush(stdout);
        }
    }
}
