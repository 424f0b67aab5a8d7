// The text of the status page. Texts of other peers (log lines) are untrusted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "boinc_app/page/status_page.hpp"
#include "peer/base/markup.hpp"
#include "peer/base/utc_text.hpp"

namespace dedloc::page {
namespace {

// The chart's drawing area, in the units of the SVG's view box.
constexpr double kLeft = 60, kRight = 780, kTop = 16, kBottom = 210;

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="5"><title>DeDLOC@home</title><style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 1.6rem }
.doing { font-size: 1.15rem } progress { width: 100% }
table { border-collapse: collapse } th, td { text-align: left; padding: .2rem 1rem .2rem 0;
vertical-align: top } td.number { text-align: right; font-variant-numeric: tabular-nums }
svg { width: 100%; height: auto } svg text { font-size: 13px; fill: currentColor }
polyline { fill: none; stroke: #1769aa; stroke-width: 2 } line { stroke: #888 }
@media (prefers-color-scheme: dark) { polyline { stroke: #7cc4ff } }
li { overflow-wrap: anywhere }
</style></head><body>
)";

constexpr const char* kShared = R"(<h2>What this computer shares</h2>
<p>It sends gradients and parameters of the model to the computers of other volunteers and receives
theirs, directly, so they see its IP address. The project sees your account and the speed of this
computer. Nothing else on this computer is read: the text comes from the project.</p>
</body></html>
)";

std::string in_words(std::chrono::seconds time) {
    if (time >= std::chrono::hours{1}) {
        return fmt::format("{} h {} min", time / std::chrono::hours{1},
                           time % std::chrono::hours{1} / std::chrono::minutes{1});
    }
    return fmt::format("{} min", time / std::chrono::minutes{1});
}

std::string in_bytes(Bytes bytes) {
    return fmt::format("{:.1f} MB", static_cast<double>(bytes.value()) / 1e6);
}

std::string row(std::string_view name, std::string_view value) {
    return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", name,
                       escape_markup(value));
}

std::string share_of(const SeenRound& round) {
    const double share = round.samples == 0
                             ? 0
                             : static_cast<double>(round.ours) / static_cast<double>(round.samples);
    return fmt::format("{:.1f} %: {} of {} samples", 100 * share, round.ours, round.samples);
}

std::string facts(const Picture& picture) {
    const History& history = picture.history;
    std::string out = "<table>\n" + row("Run", picture.run);
    out += row("Step of the run", fmt::format("{} of {}", picture.step, picture.steps));
    out += row("Computes on", picture.device);
    if (picture.trains) {
        out += row("Samples of this job that were counted", fmt::format("{}", picture.samples));
    }
    out += row("Gradients of other computers averaged here since this process began",
               in_bytes(picture.averaged));
    if (!history.rounds().empty()) {
        const SeenRound& last = history.rounds().back();
        if (picture.trains) out += row("Share of the last step", share_of(last));
        out += row("Loss of the last step", fmt::format("{:.4f}", last.loss));
    }
    if (const double rate = history.samples_per_second(); rate > 0) {
        out += row("Speed of the swarm", fmt::format("{:.1f} samples a second", rate));
    }
    out += row("Sent to other peers since this process began", in_bytes(picture.sent));
    out += row("Received", in_bytes(picture.received));
    if (picture.time_left) out += row("This job ends in", in_words(*picture.time_left));
    if (picture.credit) {
        out += row("Credit of your account",
                   fmt::format("{:.2f} when this task began, {:.2f} of it by this computer; what "
                               "this job has earned since is added within the hour",
                               picture.credit->account, picture.credit->host));
    }
    return out + "</table>\n";
}

/// The loss by step, as an SVG picture with a sentence for those who cannot see it.
std::string chart(const std::deque<SeenRound>& all) {
    std::vector<SeenRound> rounds;  // without losses that are no numbers
    std::copy_if(all.begin(), all.end(), std::back_inserter(rounds),
                 [](const SeenRound& round) { return std::isfinite(round.loss); });
    if (rounds.size() < 2) return "<p>The curve begins with the second step seen.</p>\n";
    const auto [low, high] =
        std::minmax_element(rounds.begin(), rounds.end(),
                            [](const SeenRound& a, const SeenRound& b) { return a.loss < b.loss; });
    const double first = static_cast<double>(rounds.front().step);
    const double last = static_cast<double>(rounds.back().step);
    const double span = std::max(high->loss - low->loss, 1e-9);
    std::string points;
    for (const SeenRound& round : rounds) {
        const double x = (static_cast<double>(round.step) - first) / (last - first);
        const double y = (round.loss - low->loss) / span;
        points += fmt::format("{:.1f},{:.1f} ", kLeft + x * (kRight - kLeft),
                              kBottom - y * (kBottom - kTop));
    }
    std::string out = fmt::format(
        R"(<svg viewBox="0 0 800 240" role="img"
aria-label="Loss by step: {:.4f} at step {}, {:.4f} at step {}">
<line x1="{left}" y1="{top}" x2="{left}" y2="{bottom}"/>
<line x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}"/>
<polyline points="{points}"/>)",
        rounds.front().loss, rounds.front().step, rounds.back().loss, rounds.back().step,
        fmt::arg("left", kLeft), fmt::arg("top", kTop), fmt::arg("bottom", kBottom),
        fmt::arg("right", kRight), fmt::arg("points", points));
    const auto label = [&](double x, double y, const char* anchor, const std::string& text) {
        out += fmt::format(R"(<text x="{}" y="{}" text-anchor="{}">{}</text>)", x, y, anchor, text);
    };
    label(kLeft - 6, kTop + 5, "end", fmt::format("{:.3f}", high->loss));
    label(kLeft - 6, kBottom, "end", fmt::format("{:.3f}", low->loss));
    label(kLeft, kBottom + 20, "start", fmt::format("step {}", rounds.front().step));
    label(kRight, kBottom + 20, "end", fmt::format("step {}", rounds.back().step));
    return out + "</svg>\n";
}

std::string swarm(const std::vector<SeenMember>& members) {
    std::string out =
        "<table><thead><tr><th scope=\"col\">Peer</th>"
        "<th scope=\"col\">Samples</th></tr></thead><tbody>\n";
    for (const SeenMember& member : members) {
        out += fmt::format("<tr><td>{}{}</td><td class=\"number\">{}</td></tr>\n", member.peer,
                           member.is_us ? " (this computer)" : "", member.samples);
    }
    return out + "</tbody></table>\n";
}

std::string events(const std::deque<SeenEvent>& events) {
    std::string out = "<ul>\n";
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
        out += fmt::format("<li><time>{}</time> UTC: {}</li>\n",
                           utc_text(std::chrono::system_clock::to_time_t(event->when), "%H:%M:%S"),
                           escape_markup(event->line));
    }
    return out + "</ul>\n";
}

}  // namespace

std::string status_html(const Picture& picture) {
    const History& history = picture.history;
    std::string out = kHead;
    out += "<h1>DeDLOC@home on this computer</h1>\n";
    out += fmt::format("<p class=\"doing\">{}</p>\n", escape_markup(picture.doing));
    out += fmt::format(
        "<p><label>Progress of this job: {:.1f} % "
        "<progress max=\"1\" value=\"{:.4f}\"></progress></label></p>\n",
        100 * picture.progress, picture.progress);
    out += facts(picture);
    out += "<h2>Loss of the model</h2>\n" + chart(history.rounds());
    if (!history.members().empty()) {
        out += fmt::format("<h2>Members of the last step ({})</h2>\n",
                           history.rounds().back().members);
        out += swarm(history.members());
    }
    if (!history.events().empty()) out += "<h2>Events</h2>\n" + events(history.events());
    return out + kShared;
}

}  // namespace dedloc::page
