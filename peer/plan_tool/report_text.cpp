// Writes the report as text: a table of the members, then a sentence for each result. Long lists of
// names are shortened.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "peer/plan_tool/report.hpp"

namespace dedloc::plan {
namespace {

using planning::MemberLoad;
using Text = std::back_insert_iterator<std::string>;

double megabits(Bandwidth bandwidth) {
    return static_cast<double>(bandwidth.value()) / 125'000;
}
double megabytes(Bytes bytes) {
    return static_cast<double>(bytes.value()) / 1e6;
}
double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

/// "a, b, c and 5 more".
template <class Names>
std::string some_of(const Names& names) {
    constexpr std::size_t kShown = 6;
    std::string text;
    const std::size_t shown = names.size() <= kShown + 1 ? names.size() : kShown;
    for (std::size_t k = 0; k < shown; ++k) {
        const bool is_last = k + 1 == names.size();
        text += (k == 0 ? "" : is_last ? " and " : ", ") + names[k];
    }
    if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
    return text;
}

void print_members(Text out, const Fleet& fleet, const Report& report) {
    const planning::PlanRequest& round = fleet.training.round;
    const planning::VectorSize size = planning::size_of(round);
    const double transfer = seconds_of(report.plan.forecast.transfer);
    std::size_t width = 4;
    for (const std::string& name : fleet.names) width = std::max(width, name.size());
    fmt::format_to(out, "{:<{}}  {:>9} {:>9}  {:>7} {:>7}  {:>10} {:>10}  {:>5} {:>5}  {}\n",
                   "peer", width, "up Mbit/s", "down", "share", "chunks", "sends MB", "gets MB",
                   "up", "down", "limit");
    for (std::size_t k = 0; k < fleet.names.size(); ++k) {
        const MemberLoad& load = report.plan.forecast.loads[k];
        fmt::format_to(out,
                       "{:<{}}  {:>9.6g} {:>9.6g}  {:>5.1f} % {:>7}  {:>10.2f} {:>10.2f}  {:>3.0f} "
                       "% {:>3.0f} %  {}\n",
                       fleet.names[k], width, megabits(load.link.upload),
                       megabits(load.link.download), percent(load.chunks, size.chunks), load.chunks,
                       megabytes(load.sent), megabytes(load.received),
                       percent(seconds_of(load.sending), transfer),
                       percent(seconds_of(load.receiving), transfer),
                       load.limit == planning::Limit::kNone ? "-" : name_of(load.limit));
    }
}

void print_limits(Text out, const Fleet& fleet, const Report& report) {
    std::vector<std::string> own;
    std::vector<std::string> others;
    for (std::size_t k = 0; k < fleet.names.size(); ++k) {
        const MemberLoad& load = report.plan.forecast.loads[k];
        if (load.limit == planning::Limit::kNone) continue;
        (load.chunks == 0 ? own : others)
            .push_back(fmt::format("{} ({})", fleet.names[k], name_of(load.limit)));
    }
    if (!own.empty()) {
        fmt::format_to(out, "No plan is faster than what {} must send and receive {}.\n",
                       some_of(own), own.size() == 1 ? "itself" : "themselves");
    } else if (others.size() == fleet.names.size() && others.size() > 1) {
        fmt::format_to(out, "Every link is as full as every other: only more bandwidth helps.\n");
    } else if (!others.empty()) {
        fmt::format_to(out, "The links of {} are full.\n", some_of(others));
    }
}

void print_comparison(Text out, const Fleet& fleet, const Report& report) {
    const double best = seconds_of(report.plan.optimum);
    const auto times = [&](const planning::SharePlan& plan) {
        const double time = seconds_of(plan.forecast.transfer);
        return best > 0 ? fmt::format("{:.4g} s ({:.2f} x T*)", time, time / best)
                        : fmt::format("{:.4g} s", time);
    };
    fmt::format_to(out, "Equal shares would take {}, a parameter server on {} {}.\n",
                   times(report.equal), server_of(fleet, report), times(report.server));
    bool is_any_better = false;
    for (const AggregatorAdvice& advice : report.aggregators) {
        const double time = seconds_of(advice.optimum);
        if (!(time < 0.99 * best)) continue;
        is_any_better = true;
        fmt::format_to(
            out, "Another aggregator with {} Mbit/s would make it {:.4g} s ({:.0f} % less).\n",
            advice.mbit, time, percent(best - time, best));
    }
    if (!is_any_better) fmt::format_to(out, "Another aggregator would not make it faster.\n");
}

void print_training(Text out, const Fleet& fleet, const TrainingAdvice& training) {
    const planning::Pace& pace = training.pace;
    fmt::format_to(
        out,
        "A step of {} samples takes {:.4g} s: {:.4g} s of computing and a round of {:.4g} s.\n",
        fleet.training.target_batch, pace.step_seconds(), pace.computing_seconds,
        pace.round_seconds);
    std::vector<std::string> dropped;
    for (const PeerIndex k : training.choice.dropped) dropped.push_back(fleet.names[k.value()]);
    if (dropped.empty()) {
        fmt::format_to(out, "Fewer trainers would not make it shorter.\n");
    } else {
        const double saved = pace.step_seconds() - training.choice.pace.step_seconds();
        fmt::format_to(out, "If {} did not compute, it would take {:.4g} s ({:.0f} % less).\n",
                       some_of(dropped), training.choice.pace.step_seconds(),
                       percent(saved, pace.step_seconds()));
    }
    const double share = percent(pace.computing_seconds, pace.step_seconds());
    fmt::format_to(out, "{:.0f} % of the time is computing", share);
    if (training.batch_for_90_percent > fleet.training.target_batch) {
        fmt::format_to(out, "; with a target batch of {} it would be 90 %",
                       training.batch_for_90_percent);
    }
    fmt::format_to(out, ".\n");
}

/// The peers with this turn, and one of their turns.
struct Group {
    std::vector<std::string> names;
    planning::Turn turn;
};

Group group_of(const Fleet& fleet, const planning::TurnChoice& chosen, TurnKind kind) {
    Group group;
    for (std::size_t k = 0; k < chosen.turns.size(); ++k) {
        if (chosen.turns[k].kind != kind) continue;
        group.names.push_back(fleet.names[k]);
        group.turn = chosen.turns[k];
    }
    return group;
}

void print_turns(Text out, const Fleet& fleet, const planning::TurnChoice& chosen) {
    const auto speed = [](const planning::Prediction& prediction) {
        return fmt::format(
            "{:.4g} samples/s (a step of {:.4g} s, of which {:.4g} s wait for "
            "micro-batches and {:.4g} s are the round)",
            prediction.samples_per_second, prediction.step_seconds, prediction.wait_seconds,
            prediction.round_seconds);
    };
    fmt::format_to(out, "With all trainers in every round the swarm computes {}.\n",
                   speed(chosen.all));
    const auto print = [&](TurnKind kind, const std::string& what) {
        const Group group = group_of(fleet, chosen, kind);
        if (!group.names.empty()) {
            fmt::format_to(out, "The coordinator would {}.\n",
                           fmt::format(fmt::runtime(what), some_of(group.names), group.turn.every));
        }
    };
    print(TurnKind::kSomeRounds,
          "call {0} to one round in {1}, with the samples of all of them: the link makes a round "
          "longer than the samples of one step are worth");
    print(TurnKind::kWhenDone,
          "call {0} when a micro-batch is done, about one round in {1}: the others would wait for "
          "longer than its samples are worth");
    print(TurnKind::kReduceOnly,
          "have {0} only reduce: samples would be too old after a micro-batch, and the link "
          "shortens the round");
    print(TurnKind::kRest, "let {0} rest: what it costs the others is more than it computes");
    const bool is_any = std::ranges::any_of(chosen.turns, [](const planning::Turn& turn) {
        return turn.kind != TurnKind::kEveryRound;
    });
    if (is_any) {
        fmt::format_to(out, "Then it computes {}.\n", speed(chosen.chosen));
    } else {
        fmt::format_to(out, "The coordinator would leave out none of them.\n");
    }
}

void print_simulated(Text out, const Report::Simulated& simulated) {
    const SimulatedRounds& played = simulated.played;
    const SimulatedRound& round = played.rounds.front();
    const double best = seconds_of(played.plan.optimum);
    const auto line = [&](const char* what, double time) {
        fmt::format_to(out, "  {:<44} {:>9.4g} s {:>6.2f} x T*\n", what, time,
                       best > 0 ? time / best : 1);
    };
    fmt::format_to(
        out,
        "\nA simulated round of the protocol, with a backbone that receives as well, fp32 "
        "frames and {:.4g} s of latency:\n",
        seconds_of(played.request.latency));
    line("T* of these members", best);
    line("simulated, until all have the average", seconds_of(round.moved));
    line("simulated, until all have taken the step", seconds_of(round.committed));
    line("equal shares, by the model", seconds_of(simulated.equal.forecast.transfer));
    line("a parameter server, by the model", seconds_of(simulated.server.forecast.transfer));
}

}  // namespace

std::string text_of(const Fleet& fleet, const Report& report) {
    const planning::PlanRequest& round = fleet.training.round;
    const planning::VectorSize size = planning::size_of(round);
    const planning::Traffic traffic = planning::traffic_of(round);
    std::string text;
    const Text out{text};
    fmt::format_to(out,
                   "{} elements in {} chunks of {}: a contribution has {:.2f} MB ({}), an average "
                   "{:.2f} MB ({}).\n",
                   round.elements, size.chunks, round.chunk_elements,
                   megabytes(Bytes{size.contribution_bytes}), fleet.codec,
                   megabytes(Bytes{size.average_bytes}), fleet.average_codec);
    fmt::format_to(out, "{} peers: {} contribute, {} receive the average, {} reduce.\n\n",
                   fleet.names.size(), traffic.contributors, traffic.receivers,
                   report.plan.ranges.size());
    print_members(out, fleet, report);
    fmt::format_to(out,
                   "\nT* = {:.4g} s: no plan moves the data faster. In whole chunks: {:.4g} s.\n",
                   seconds_of(report.plan.optimum), seconds_of(report.plan.forecast.transfer));
    if (round.latency.count() > 0) {
        fmt::format_to(out, "With {:.4g} s of latency either way a round takes {:.4g} s.\n",
                       seconds_of(round.latency), seconds_of(report.plan.forecast.round));
    }
    print_limits(out, fleet, report);
    print_comparison(out, fleet, report);
    if (report.training) {
        print_training(out, fleet, *report.training);
        print_turns(out, fleet, report.training->turns);
    }
    if (report.simulated) print_simulated(out, *report.simulated);
    return text;
}

}  // namespace dedloc::plan
