// Presences come by computer and begin, so the sessions are found in one pass: a presence that
// begins before the session's end and kPresenceGap belongs to it, and may end before it. Names that
// clients have reported are bounded in number here; what shows them escapes them.
#include "project_server/views/run_story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace dedloc::server {
namespace {

/// What is counted of one device, version or country.
struct Tally {
    std::set<std::int64_t> hosts{};
    std::set<std::int64_t> users{};
    double seconds = 0;
    std::uint64_t samples = 0;

    void add(const Presence& presence) {
        if (presence.host != 0) hosts.insert(presence.host);
        users.insert(presence.user);
        seconds += static_cast<double>(presence.ended - presence.began);
        samples += presence.samples;
    }
    void add(const Tally& other) {
        hosts.insert(other.hosts.begin(), other.hosts.end());
        users.insert(other.users.begin(), other.users.end());
        seconds += other.seconds;
        samples += other.samples;
    }
};
using Tallies = std::map<std::string, Tally>;

StoryShare share_of(const std::string& name, const Tally& tally) {
    return {.name = name,
            .computers = std::ssize(tally.hosts),
            .volunteers = std::ssize(tally.users),
            .seconds = tally.seconds,
            .samples = tally.samples};
}

/// The first kMaxShares by device time, and all others together.
std::vector<StoryShare> shares_of(const Tallies& tallies) {
    std::vector<const Tallies::value_type*> order;
    for (const auto& entry : tallies) order.push_back(&entry);
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [](const auto* entry) { return entry->second.seconds; });
    std::vector<StoryShare> shares;
    Tally others;
    for (std::size_t at = 0; at < order.size(); ++at) {
        const auto& [name, tally] = *order[at];
        at < kMaxShares ? shares.push_back(share_of(name, tally)) : others.add(tally);
    }
    if (order.size() > kMaxShares) shares.push_back(share_of("others", others));
    return shares;
}

/// Countries of the accounts that have contributed and gave one. BOINC's site offers "None" and
/// "International", which are none.
std::unordered_map<std::int64_t, std::string> countries_of(Database& database, std::int64_t run) {
    std::unordered_map<std::int64_t, std::string> countries;
    for (const Row& row : database.query(
             "select id, country from user where country not in ('', 'None', 'International') and "
             "id in (select userid from dedloc_presence where runid = ?)",
             {run})) {
        countries[row.integer("id")] = row.text("country");
    }
    return countries;
}

/// Number, mean and longest of the sessions.
void add_sessions(RunStory& story, const std::vector<Presence>& presences) {
    double sum = 0;
    for (const ComputerSession& session : sessions_of(presences)) {
        const auto length = static_cast<double>(session.ended - session.began);
        ++story.sessions;
        sum += length;
        story.longest_session = std::max(story.longest_session, length);
    }
    if (story.sessions > 0) story.mean_session = sum / static_cast<double>(story.sessions);
}

json::Value::List share_list(const std::vector<StoryShare>& shares) {
    json::Value::List list;
    for (const StoryShare& share : shares) {
        json::Value data;
        data.set("name", share.name)
            .set("computers", share.computers)
            .set("volunteers", share.volunteers)
            .set("device_seconds", share.seconds)
            .set("samples", share.samples);
        list.push_back(std::move(data));
    }
    return list;
}

}  // namespace

std::vector<ComputerSession> sessions_of(const std::vector<Presence>& presences) {
    std::vector<ComputerSession> sessions;
    for (const Presence& presence : presences) {
        const bool continues = !sessions.empty() && presence.host != 0 &&
                               sessions.back().host == presence.host &&
                               presence.began - sessions.back().ended <= kPresenceGap;
        if (continues) {
            sessions.back().ended = std::max(sessions.back().ended, presence.ended);
            continue;
        }
        sessions.push_back({.host = presence.host,
                            .user = presence.user,
                            .began = presence.began,
                            .ended = presence.ended});
    }
    return sessions;
}

std::string version_name(std::int64_t version, const std::string& plan_class) {
    if (version == 0) return "unknown";
    const std::string number = fmt::format("{}.{:02}", version / 100, version % 100);
    return plan_class.empty() ? number : number + ' ' + plan_class;
}

RunStory read_story(Database& database, std::int64_t run) {
    const std::vector<Presence> presences = read_presences(database, run);
    const auto countries = countries_of(database, run);
    RunStory story;
    Tally all;
    std::set<std::string> keys;
    Tallies devices;
    Tallies versions;
    Tallies by_country;
    for (const Presence& presence : presences) {
        story.began = story.began == 0 ? presence.began : std::min(story.began, presence.began);
        story.ended = std::max(story.ended, presence.ended);
        story.contributions += presence.contributions;
        story.reduced_bytes += presence.reduced_bytes;
        keys.insert(presence.key);
        all.add(presence);
        devices[presence.device.empty() ? "unknown" : presence.device].add(presence);
        versions[version_name(presence.version, presence.plan_class)].add(presence);
        const auto country = countries.find(presence.user);
        if (country != countries.end()) by_country[country->second].add(presence);
    }
    story.volunteers = std::ssize(all.users);
    story.computers = std::ssize(all.hosts);
    story.peers = std::ssize(keys);
    story.device_seconds = all.seconds;
    story.samples = all.samples;
    story.devices = shares_of(devices);
    story.versions = shares_of(versions);
    story.countries = shares_of(by_country);
    add_sessions(story, presences);
    return story;
}

json::Value story_data(const RunStory& story) {
    json::Value data;
    return data.set("volunteers", story.volunteers)
        .set("computers", story.computers)
        .set("peers", story.peers)
        .set("sessions", story.sessions)
        .set("mean_session_seconds", story.mean_session)
        .set("longest_session_seconds", story.longest_session)
        .set("device_seconds", story.device_seconds)
        .set("contributions", story.contributions)
        .set("samples", story.samples)
        .set("reduced_bytes", story.reduced_bytes)
        .set("began_at", story.began)
        .set("ended_at", story.ended)
        .set("devices", share_list(story.devices))
        .set("versions", share_list(story.versions))
        .set("countries", share_list(story.countries));
}

}  // namespace dedloc::server
