// All functions are pure: they turn one RunStatus into lines or JSON, so watching and logging show
// the same figures. The bar and the curve fill the width of the terminal within bounds. The curve
// shows the last losses, one for each character, on a scale from the lowest to the highest loss of
// all steps. reported_steps() searches from the end for a step with reported digests, because
// earlier steps may never get any.
#include "project_server/cli/run_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "peer/formats/figures.hpp"
#include "project_server/views/held_out.hpp"

namespace dedloc::cli {
namespace {

double rate_of(const server::StepLine& step) {
    return step.seconds > 0 ? static_cast<double>(step.samples) / step.seconds : 0;
}

std::string bar(double share, std::size_t width) {
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
    std::string text;
    for (std::size_t at = 0; at < width; ++at) text += at < filled ? "█" : "░";
    return text;
}

/// The state, and how much of the next step is computed.
std::string state_text(const server::RunStatus& status) {
    if (status.state == "finished") return status.state;
    if (!status.is_live) return status.state + ", its backbone does not answer";
    return fmt::format("{}, {} of {} samples of step {}", status.state, status.samples,
                       status.target_batch,
                       status.lines.empty() ? 1 : status.lines.back().step + 1);
}

/// The last `width` losses as block characters of eight heights.
std::string curve(const std::vector<server::StepLine>& steps, std::size_t width) {
    static constexpr std::array<const char*, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (steps.empty()) return {};
    const auto [lowest, highest] = std::ranges::minmax_element(steps, {}, &server::StepLine::loss);
    const double range = std::max(highest->loss - lowest->loss, 1e-9);
    const std::size_t first = steps.size() > width ? steps.size() - width : 0;
    std::string text;
    for (std::size_t at = first; at < steps.size(); ++at) {
        text += kHeights[static_cast<std::size_t>((steps[at].loss - lowest->loss) / range * 7.999)];
    }
    return text;
}

/// "wiki 23.0 %, web 77.0 %".
std::string shares_text(const server::RunStatus& status, const std::vector<double>& shares) {
    std::string text;
    for (std::size_t i = 0; i < shares.size() && i < status.sources.size(); ++i) {
        text += fmt::format("{}{} {:.1f} %", i == 0 ? "" : ", ", status.sources[i].name,
                            100 * shares[i]);
    }
    return text;
}

/// What the samples of the last step were drawn from, and the changes to come.
std::vector<std::string> source_lines(const server::RunStatus& status) {
    if (status.sources.empty()) return {};
    std::vector<double> now;
    for (const auto& source : status.sources) now.push_back(source.share);
    std::vector<std::string> lines{"  samples from " + shares_text(status, now)};
    const std::uint64_t done = status.lines.empty() ? 0 : status.lines.back().step;
    for (const auto& change : status.mixtures) {
        if (!change.is_in_force) {
            lines.push_back(fmt::format(
                "  the change of the mixture from step {} came too late and is void", change.from));
        } else if (change.from >= done) {
            lines.push_back(fmt::format("  from step {} on: {}", change.from,
                                        shares_text(status, change.shares)));
        }
    }
    return lines;
}

json::Value::List mixtures_data(const server::RunStatus& status) {
    json::Value::List rows;
    for (const auto& change : status.mixtures) {
        json::Value row;
        row.set("from_step", change.from)
            .set("shares", json::Value::List(change.shares.begin(), change.shares.end()))
            .set("in_force", change.is_in_force);
        rows.push_back(std::move(row));
    }
    return rows;
}

json::Value::List sources_data(const server::RunStatus& status) {
    json::Value::List rows;
    for (const auto& source : status.sources) {
        json::Value row;
        row.set("name", source.name).set("share", source.share).set("licence", source.licence);
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace

std::span<const server::StepLine> reported_steps(const server::RunStatus& status) {
    if (status.state == "finished") return status.lines;
    const auto last =
        std::ranges::find_if(status.lines.rbegin(), status.lines.rend(),
                             [](const server::StepLine& step) { return step.equal_digests > 0; });
    return {status.lines.begin(), last.base()};
}

std::string step_line(const server::RunStatus& status, const server::StepLine& step) {
    return fmt::format(
        "step {:>5}/{}  loss {:.4f}  {:.0f} samples in {:.2f} s ({:.0f}/s)  {} members, {}",
        step.step, status.steps, step.loss, static_cast<double>(step.samples), step.seconds,
        rate_of(step), step.members,
        step.equal_digests == 0 ? "no digest reported"
                                : fmt::format("{} equal digests", step.equal_digests));
}

std::vector<std::string> terminal_view(const server::RunStatus& status,
                                       const std::vector<server::StepLine>& steps,
                                       std::size_t columns) {
    const std::size_t width = std::clamp<std::size_t>(columns, 40, 100) - 4;
    if (steps.empty()) {
        return {fmt::format("run {}: {}, waiting for the first step ({} peers)", status.name,
                            state_text(status), status.peers)};
    }
    const auto& last = steps.back();
    const double share = static_cast<double>(last.step) / static_cast<double>(status.steps);
    std::vector<std::string> lines{
        fmt::format("run {}: {}", status.name, state_text(status)),
        "  " + bar(std::min(share, 1.0), width),
        fmt::format("  step {}/{}   loss {:.4f} (first {:.4f})   {:.0f} samples/s   {} peers",
                    last.step, status.steps, last.loss, steps.front().loss, rate_of(last),
                    status.peers)};
    if (!status.held_out.empty())
        lines.push_back("  " + held_out_line(status.held_out.back(), status.architecture));
    for (std::string& line : source_lines(status)) lines.push_back(std::move(line));
    lines.push_back("  " + curve(steps, width));
    return lines;
}

std::string headline_clause(const server::EvaluationRow& row, std::string_view architecture) {
    const std::string figures =
        formats::figures_text(architecture, row.figures, formats::FigurePlace::kHeadline);
    std::string sources;
    for (const auto& source : formats::source_losses(row.figures)) {
        sources +=
            fmt::format("{}{} {:.4f}", sources.empty() ? "; " : ", ", source.source, source.loss);
    }
    return (figures.empty() ? figures : "; " + figures) + sources;
}

std::string held_out_line(const server::EvaluationRow& row, std::string_view architecture) {
    return fmt::format("held-out loss {:.4f} ± {:.4f} at step {}{}", row.loss, row.loss_error,
                       row.step, headline_clause(row, architecture));
}

std::string step_json(const server::StepLine& step) {
    json::Value data;
    data.set("step", step.step)
        .set("samples", step.samples)
        .set("members", step.members)
        .set("equal_digests", step.equal_digests)
        .set("loss", step.loss)
        .set("seconds", step.seconds);
    return json::write(data);
}

json::Value::List held_out_data(const server::RunStatus& status) {
    json::Value::List rows;
    for (const auto& row : status.held_out) {
        rows.push_back(server::held_out_data(row, status.architecture));
    }
    return rows;
}

std::string status_json(const server::RunStatus& status) {
    json::Value::List losses;
    for (const auto& line : status.lines) losses.emplace_back(line.loss);
    json::Value data;
    data.set("name", status.name)
        .set("state", status.state)
        .set("step", status.lines.empty() ? 0 : status.lines.back().step)
        .set("steps", status.steps)
        .set("live", status.is_live)
        .set("samples", status.samples)
        .set("peers", status.peers)
        .set("samples_per_second", status.samples_per_second)
        .set("final_digest", status.final_digest)
        .set("losses", std::move(losses))
        .set("held_out", held_out_data(status));
    if (!status.sources.empty()) {
        data.set("sources", sources_data(status)).set("mixtures", mixtures_data(status));
    }
    return json::write(data);
}

}  // namespace dedloc::cli
