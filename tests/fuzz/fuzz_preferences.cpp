// Preferences of an account, from clients, account managers and web pages: a byte that chooses the
// venue and a value, then the text that is stored, kBetween, and the text that a manager sends.
// pugixml judges what is written.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/check.hpp"
#include "project_server/accounts/computing_choices.hpp"
#include "project_server/accounts/job_preferences.hpp"
#include "project_server/scheduler/preferences.hpp"
#include "project_server/xml/xml_text.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

using namespace dedloc::server;

constexpr std::string_view kBetween = "\n%%\n";
constexpr std::array<const char*, 4> kParts{"", "home", "school", "work"};
/// The bytes that writing adds: values and tags of four parts, besides what six-fold escapes do.
constexpr std::size_t kAdded = 32'768;

/// What any reader of XML, BOINC's among them, finds in `text`.
server::XmlText read(const std::string& text, const char* root, std::size_t before) {
    DEDLOC_CHECK(text.size() <= 4 * 6 * before + kAdded, "what is written is bounded", text.size());
    const std::string end = fmt::format("\n</{}>", root);
    DEDLOC_CHECK(text.ends_with(end) || text.ends_with(end + '\n'),
                 "a client finds the end at the start of a line", text);
    return server::XmlText{text, "what is written", root};
}

void check_jobs(std::string_view text, const std::string& venue, unsigned choice) {
    ProjectChoices choices = parse_choices(text);
    for (const char* const part : kParts) {
        const auto own = choices.venues.find(part);
        const JobPreferences& jobs = own == choices.venues.end() ? choices.general : own->second;
        const auto followed = parse_project_preferences(text, part);
        DEDLOC_CHECK(jobs.uses_processor == followed.allows_cpu &&
                         jobs.uses_nvidia_gpu == followed.allows_nvidia,
                     "the page shows what the scheduler follows", part);
        DEDLOC_CHECK(jobs.resource_share >= 0 && jobs.resource_share <= kMaxShare, "a share");
    }
    if (!venue.empty()) choices.venues[venue].resource_share = static_cast<int>(choice);
    const std::string written = with_choices(text, choices);
    (void)read(written, "project_preferences", text.size());
    DEDLOC_CHECK(parse_choices(written) == choices, "choices survive writing", written);
    DEDLOC_CHECK(with_choices(written, choices) == written, "the rest stays", written);
}

void check_computing(std::string_view text, const std::string& venue, unsigned choice) {
    ComputingChoices choices = parse_computing_choices(text);
    for (const auto& [name, values] : choices.venues) {
        DEDLOC_CHECK(is_venue(name) && !name.empty(), "a venue", name);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto& field = kComputingFields[i];
            DEDLOC_CHECK(values[i] >= field.min && values[i] <= field.max, "a value", values[i]);
        }
    }
    ComputingValues values = usual_computing();
    const auto& field = kComputingFields[choice % values.size()];
    values[choice % values.size()] = field.max;
    const std::optional<ComputingValues> wanted =
        choice % 5 == 0 ? std::nullopt : std::optional{values};
    const auto before = parse_computing_preferences(text).modified;
    constexpr std::int64_t kNow = 1'800'000'000;
    const std::string written = with_computing(text, venue, wanted, kNow);
    (void)read(written, "global_preferences", text.size());
    if (venue.empty()) choices.general = wanted.value_or(usual_computing());
    if (!venue.empty() && wanted) choices.venues[venue] = *wanted;
    if (!wanted) choices.venues.erase(venue);
    DEDLOC_CHECK(parse_computing_choices(written) == choices, "choices survive writing", written);
    const auto after = parse_computing_preferences(written);
    DEDLOC_CHECK(after.modified >= kNow && (after.modified > before || before > 4e9),
                 "what is written is newer than what clients have", after.modified, before);
    DEDLOC_CHECK(after.cpu_fraction > 0 && after.cpu_fraction <= 1 && after.ram_fraction() > 0 &&
                     after.ram_fraction() <= 1,
                 "fractions are fractions");
    const std::string again = with_computing(written, venue, wanted, kNow);
    const auto rest = [](const std::string& xml) { return xml.substr(xml.find("</mod_time>")); };
    DEDLOC_CHECK(rest(again) == rest(written), "the rest stays", again);
}

void check_manager(std::string_view sent, std::string_view stored) {
    for (const char* const root : {"project_preferences", "global_preferences"}) {
        const auto text = managed_preferences(sent, root, stored);
        if (!text) continue;
        DEDLOC_CHECK(text->size() <= kMaxPreferences, "a column holds them", text->size());
        const auto xml = read(*text, root, sent.size() + stored.size());
        for (const auto& child : xml.children({root})) {
            DEDLOC_CHECK(child.fields.empty() || child.name == "project_specific",
                         "a manager writes flat elements", child.name);
        }
    }
}

}  // namespace

void fuzz_preferences(std::span<const std::byte> input) {
    if (input.empty()) return;
    const auto choice = std::to_integer<unsigned>(input[0]);
    const std::string venue = kParts[choice % kParts.size()];
    std::string_view text{reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1};
    std::string_view sent;
    if (const auto mark = text.find(kBetween); mark != std::string_view::npos) {
        sent = text.substr(mark + kBetween.size());
        text = text.substr(0, mark);
    }
    check_jobs(text, venue, choice);
    check_computing(text, venue, choice);
    check_manager(sent, text);
}

}  // namespace dedloc::fuzz
