#include "project_server/accounts/preference_changes.hpp"

#include <fmt/format.h>

namespace dedloc::server {
namespace {

constexpr const char* kNoVenue = "There is no such venue.";
constexpr const char* kNoAccount = "There is no such account.";
constexpr const char* kTooLong = "These preferences are too long.";

}  // namespace

ProjectChoices read_choices(Database& database, std::int64_t user) {
    const auto row = database.query_one("select project_prefs from user where id = ?", {user});
    return row ? parse_choices(row->text("project_prefs")) : ProjectChoices{};
}

Refusal choose_jobs(Database& database, std::int64_t user, const std::string& venue,
                    const std::optional<JobPreferences>& jobs) {
    if (!is_venue(venue)) return kNoVenue;
    if (jobs && (jobs->resource_share < 0 || jobs->resource_share > kMaxShare)) {
        return fmt::format("The resource share is a number from 0 to {}.", kMaxShare);
    }
    return in_transaction(database, [&]() -> Refusal {
        const auto row =
            database.query_one("select project_prefs from user where id = ? for update", {user});
        if (!row) return kNoAccount;
        ProjectChoices choices = parse_choices(row->text("project_prefs"));
        if (venue.empty()) {
            choices.general = jobs.value_or(JobPreferences{});
        } else if (jobs) {
            choices.venues[venue] = *jobs;
        } else {
            choices.venues.erase(venue);
        }
        const std::string text = with_choices(row->text("project_prefs"), choices);
        if (text.size() > kMaxPreferences) return kTooLong;
        database.execute("update user set project_prefs = ? where id = ?", {text, user});
        return std::nullopt;
    });
}

ComputingChoices read_computing_choices(Database& database, std::int64_t user) {
    const auto row = database.query_one("select global_prefs from user where id = ?", {user});
    return row ? parse_computing_choices(row->text("global_prefs")) : ComputingChoices{};
}

Refusal choose_computing(Database& database, std::int64_t user, const std::string& venue,
                         const std::optional<ComputingValues>& values, std::int64_t now) {
    if (!is_venue(venue)) return kNoVenue;
    for (std::size_t i = 0; values && i < values->size(); ++i) {
        const auto& field = kComputingFields[i];
        if (!((*values)[i] >= field.min && (*values)[i] <= field.max)) {
            return fmt::format("{}: {} is a number from {} to {}.", field.group, field.label,
                               field.min, field.max);
        }
    }
    return in_transaction(database, [&]() -> Refusal {
        const auto row =
            database.query_one("select global_prefs from user where id = ? for update", {user});
        if (!row) return kNoAccount;
        const std::string text = with_computing(row->text("global_prefs"), venue, values, now);
        if (text.size() > kMaxPreferences) return kTooLong;
        database.execute("update user set global_prefs = ? where id = ?", {text, user});
        return std::nullopt;
    });
}

Refusal set_venue(Database& database, std::int64_t user, std::int64_t host,
                  const std::string& venue) {
    if (!is_venue(venue)) return kNoVenue;
    database.execute("update host set venue = ? where id = ? and userid = ?", {venue, host, user});
    return std::nullopt;
}

}  // namespace dedloc::server
