// Activity reads what the database has of a run, one statement for each table, and counts in
// memory: samples by key and hour, then keys by owner, version and device. Sessions are those of
// computers, from all presences of the run, since one that began long ago may have gone on until
// now. Names are looked up by id at the end, so a deleted account has none.
#include "project_server/views/activity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/job_states.hpp"
#include "project_server/database/presence.hpp"
#include "project_server/database/states.hpp"
#include "project_server/views/held_out.hpp"
#include "project_server/views/old_versions.hpp"
#include "project_server/views/run_story.hpp"
#include "project_server/views/runs.hpp"

namespace dedloc::server {
namespace {

constexpr std::int64_t kSecondsOfHour = 3600;

using Names = std::unordered_map<std::int64_t, std::string>;

Names names_in(Database& database, std::string_view sql) {
    Names names;
    for (const Row& row : database.query(sql)) names[row.integer("id")] = row.text("name");
    return names;
}

std::string name_in(const Names& names, std::int64_t id) {
    const auto found = names.find(id);
    return found == names.end() ? std::string{} : found->second;
}

/// A peer in these hours.
struct PeerHours {
    std::string key{};
    std::int64_t user = 0;
    std::int64_t host = 0;
    std::string device{};
    std::string version{};
    bool is_here = false;
    std::int64_t joined = 0;
    std::int64_t left = 0;
    double present = 0;  ///< seconds in these hours
    std::string job{};
    std::vector<double> samples;  ///< one number for each hour

    double all_samples() const {
        double sum = 0;
        for (const double hour : samples) sum += hour;
        return sum;
    }
};

/// A failed job.
struct FailedJob {
    std::int64_t at = 0;
    std::int64_t user = 0;
    std::int64_t host = 0;
    std::string version{};
    std::string what{};
    std::int64_t exit_status = 0;
};

/// What some peers did together.
struct Group {
    std::set<std::int64_t> hosts{};
    std::int64_t peers = 0;
    std::int64_t failed = 0;
    double present = 0;
    std::vector<double> samples;

    explicit Group(std::size_t hours = 0) : samples(hours) {}
    void add(const PeerHours& peer) {
        if (peer.host != 0) hosts.insert(peer.host);
        ++peers;
        present += peer.present;
        for (std::size_t at = 0; at < samples.size(); ++at) samples[at] += peer.samples[at];
    }
    double all_samples() const {
        double sum = 0;
        for (const double hour : samples) sum += hour;
        return sum;
    }
};

json::Value::List whole_numbers(const std::vector<double>& numbers) {
    json::Value::List list;
    for (const double number : numbers) list.emplace_back(static_cast<std::int64_t>(number));
    return list;
}

/// The entries with the most samples, at most kMaxListed.
template <class Entries>
auto most_samples_first(const Entries& entries) {
    std::vector<const typename Entries::value_type*> order;
    for (const auto& entry : entries) order.push_back(&entry);
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [](const auto* entry) { return entry->second.all_samples(); });
    if (order.size() > kMaxListed) order.resize(kMaxListed);
    return order;
}

/// Reads and counts for one answer.
class Activity {
  public:
    Activity(Database& database, const ActivityChoice& choice)
        : database_(database),
          run_(read_run(database, choice.run)),
          hours_(static_cast<std::size_t>(std::clamp(choice.hours, 1, kMaxActivityHours))),
          now_(static_cast<std::int64_t>(choice.now)),
          since_(now_ - static_cast<std::int64_t>(hours_) * kSecondsOfHour) {}

    json::Value answer() {
        read_peers_of_presences();
        read_seats();
        read_samples();
        read_jobs();
        read_failures();
        users_ = names_in(database_,
                          "select id, name from user where id in (select userid from "
                          "dedloc_ticket union select userid from dedloc_presence)");
        hosts_ = names_in(database_,
                          "select id, domain_name as name from host where id in (select "
                          "hostid from dedloc_ticket union select hostid from "
                          "dedloc_presence)");
        json::Value data;
        add_totals(data);
        data.set("held_out", held_out())
            .set("timeline", timeline())
            .set("by_user", by_user())
            .set("by_peer", by_peer())
            .set("by_version", by_text("version", &PeerHours::version))
            .set("by_device", by_text("device", &PeerHours::device))
            .set("old", old_version_list(read_old_versions(database_)))
            .set("failures", failures());
        return data;
    }

  private:
    /// The hour of a moment; nothing outside of these hours.
    std::optional<std::size_t> hour_of(std::int64_t moment) const {
        if (moment < since_ || moment > now_) return std::nullopt;
        return std::min(static_cast<std::size_t>((moment - since_) / kSecondsOfHour), hours_ - 1);
    }
    PeerHours& peer_of(const std::string& key, std::int64_t user, std::int64_t host) {
        PeerHours& peer = peers_[key];
        if (peer.samples.empty()) {
            peer.key = key;
            peer.user = user;
            peer.host = host;
            peer.samples.resize(hours_);
        }
        return peer;
    }
    /// Seconds to which rates refer: since the first peer came, if that was in these hours.
    double seconds() const {
        const std::int64_t first = first_ == 0 ? since_ : std::max(since_, first_);
        return static_cast<double>(std::max<std::int64_t>(now_ - first, 1));
    }
    bool has_left(std::int64_t ended) const { return now_ - ended > kPresenceGap; }

    void read_peers_of_presences();
    void read_seats();
    void read_samples();
    void read_jobs();
    void read_failures();
    void add_totals(json::Value& data) const;
    json::Value::List held_out() const;
    json::Value::List timeline() const;
    json::Value::List by_user() const;
    json::Value::List by_peer() const;
    json::Value::List by_text(const char* field, std::string PeerHours::*text) const;
    json::Value::List failures() const;

    Database& database_;
    const RunView run_;
    const std::size_t hours_;
    const std::int64_t now_;
    const std::int64_t since_;
    std::int64_t first_ = 0;  ///< begin of the run's first presence; 0: none
    std::vector<ComputerSession> sessions_{};
    std::map<std::string, PeerHours> peers_{};
    std::vector<FailedJob> failed_{};
    std::int64_t aborted_ = 0;  ///< jobs that their volunteers have aborted
    Names users_{};
    Names hosts_{};
};

void Activity::read_peers_of_presences() {
    const std::vector<Presence> presences = read_presences(database_, run_.id);
    for (const Presence& presence : presences) {
        first_ = first_ == 0 ? presence.began : std::min(first_, presence.began);
        if (presence.ended < since_) continue;
        PeerHours& peer = peer_of(presence.key, presence.user, presence.host);
        peer.device = presence.device;
        peer.version = version_name(presence.version, presence.plan_class);
        if (presence.began >= peer.joined) {
            peer.joined = presence.began;
            peer.left = presence.ended;
        }
        peer.present += static_cast<double>(presence.ended - std::max(presence.began, since_));
    }
    for (const ComputerSession& session : sessions_of(presences)) {
        if (session.ended >= since_) sessions_.push_back(session);
    }
}

/// Adds peers that have not contributed yet, and says who is here. What the seats of a backbone
/// that has died say is old.
void Activity::read_seats() {
    for (const Row& row : database_.query(
             "select s.peer_key, s.state, s.first_seen, s.last_seen, t.userid, t.hostid from "
             "dedloc_seat s join dedloc_ticket t on t.runid = s.runid and t.peer_key = s.peer_key "
             "where s.runid = ? and s.last_seen >= ? and t.userid <> 0",
             {run_.id, since_})) {
        const auto last = static_cast<std::int64_t>(row.real("last_seen"));
        const std::string state = row.text("state");
        PeerHours& peer =
            peer_of(row.text("peer_key"), row.integer("userid"), row.integer("hostid"));
        peer.is_here = (state == "working" || state == "joining") && !has_left(last);
        if (peer.joined == 0) peer.joined = static_cast<std::int64_t>(row.real("first_seen"));
        if (peer.left == 0) peer.left = last;
    }
}

void Activity::read_samples() {
    const auto first = database_.query_one(
        "select min(step) as step from dedloc_step where runid = ? and committed_at >= ?",
        {run_.id, since_});
    if (!first || first->is_null("step")) return;
    for (const Row& row : database_.query(
             "select peer_key, floor((committed_at - ?) / 3600) as hour, sum(samples) as samples "
             "from dedloc_contribution where runid = ? and step >= ? and committed_at >= ? and "
             "committed_at <= ? group by peer_key, hour",
             {since_, run_.id, first->integer("step"), since_, now_})) {
        const auto found = peers_.find(row.text("peer_key"));
        if (found == peers_.end()) continue;  // a key without a ticket
        const auto hour =
            hour_of(since_ + static_cast<std::int64_t>(row.real("hour")) * kSecondsOfHour);
        if (hour) found->second.samples[*hour] += row.real("samples");
    }
}

void Activity::read_jobs() {
    for (const Row& row : database_.query(
             "select t.peer_key, r.server_state, r.outcome, r.validate_state, r.exit_status from "
             "dedloc_ticket t join result r on r.id = t.resultid where t.runid = ?",
             {run_.id})) {
        const auto found = peers_.find(row.text("peer_key"));
        if (found != peers_.end()) found->second.job = task_state(row);
    }
}

/// A job that was not reported has no time of its own but the one at which it was due.
void Activity::read_failures() {
    for (const Row& row : database_.query(
             fmt::format(
                 "select r.userid, r.hostid, r.server_state, r.outcome, r.validate_state, "
                 "r.exit_status, if(r.received_time > 0, r.received_time, r.report_deadline) as "
                 "over_at, coalesce(v.version_num, 0) as version_num, "
                 "coalesce(v.plan_class, '') as plan_class from workunit w join result r on "
                 "r.workunitid = w.id left join app_version v on v.id = r.app_version_id where "
                 "w.appid in (select id from app where name in {}) and w.opaque = ? and "
                 "r.server_state = ? and r.hostid <> 0 order by over_at desc, r.id desc",
                 kAppsInSql),
             {run_.id, ServerState::kOver})) {
        const JobState state = job_state_of(row);
        const std::int64_t at = row.integer("over_at");
        if (!hour_of(at)) continue;
        if (state == JobState::kAborted) ++aborted_;
        if (std::ranges::find(kFailedStates, state) == kFailedStates.end()) continue;
        failed_.push_back(
            {.at = at,
             .user = row.integer("userid"),
             .host = row.integer("hostid"),
             .version = version_name(row.integer("version_num"), row.text("plan_class")),
             .what = task_state(row),
             .exit_status = row.integer("exit_status")});
    }
}

void Activity::add_totals(json::Value& data) const {
    Group all{hours_};
    std::set<std::int64_t> users;
    for (const auto& [key, peer] : peers_) {
        all.add(peer);
        users.insert(peer.user);
    }
    std::int64_t joined = 0;
    std::int64_t left = 0;
    double length = 0;
    for (const ComputerSession& session : sessions_) {
        joined += session.began >= since_ ? 1 : 0;
        left += has_left(session.ended) ? 1 : 0;
        length += static_cast<double>(session.ended - session.began);
    }
    const double count = static_cast<double>(std::max<std::size_t>(sessions_.size(), 1));
    data.set("run", run_.name)
        .set("state", run_.state)
        .set("step", run_.step)
        .set("steps", run_.steps)
        .set("hours", static_cast<std::int64_t>(hours_))
        .set("began_at", since_)
        .set("ended_at", now_)
        .set("samples", static_cast<std::int64_t>(all.all_samples()))
        .set("samples_per_second", all.all_samples() / seconds())
        .set("users", std::ssize(users))
        .set("computers", std::ssize(all.hosts))
        .set("peers", all.peers)
        .set("peers_here",
             std::ranges::count_if(peers_, [](const auto& entry) { return entry.second.is_here; }))
        .set("joined", joined)
        .set("left", left)
        .set("sessions", std::ssize(sessions_))
        .set("mean_session_seconds", length / count)
        .set("failed_jobs", std::ssize(failed_))
        .set("aborted_jobs", aborted_)
        .set("curve", block_curve(all.samples));
}

json::Value::List Activity::held_out() const {
    const auto first = database_.query_one(
        "select min(step) as step from dedloc_evaluation where runid = ? and evaluated_at >= ?",
        {run_.id, since_});
    const bool is_measured = first && !first->is_null("step");
    return loss_changes(read_evaluations(database_, run_.id),
                        is_measured ? static_cast<std::uint64_t>(first->integer("step"))
                                    : std::numeric_limits<std::uint64_t>::max());
}

json::Value::List Activity::timeline() const {
    struct Hour {
        double samples = 0;
        std::int64_t joined = 0;
        std::int64_t left = 0;
        std::int64_t failed = 0;
    };
    std::vector<Hour> hours(hours_);
    for (const auto& [key, peer] : peers_) {
        for (std::size_t at = 0; at < hours_; ++at) hours[at].samples += peer.samples[at];
    }
    for (const ComputerSession& session : sessions_) {
        if (const auto at = hour_of(session.began)) ++hours[*at].joined;
        const auto at = hour_of(session.ended);
        if (at && has_left(session.ended)) ++hours[*at].left;
    }
    for (const FailedJob& job : failed_) ++hours[*hour_of(job.at)].failed;
    json::Value::List list;
    for (std::size_t at = 0; at < hours_; ++at) {
        json::Value data;
        data.set("began_at", since_ + static_cast<std::int64_t>(at) * kSecondsOfHour)
            .set("samples", static_cast<std::int64_t>(hours[at].samples))
            .set("joined", hours[at].joined)
            .set("left", hours[at].left)
            .set("failed_jobs", hours[at].failed);
        list.push_back(std::move(data));
    }
    return list;
}

json::Value::List Activity::by_user() const {
    std::map<std::int64_t, Group> users;
    for (const auto& [key, peer] : peers_) {
        users.try_emplace(peer.user, hours_).first->second.add(peer);
    }
    for (const FailedJob& job : failed_) {
        ++users.try_emplace(job.user, hours_).first->second.failed;
    }
    json::Value::List list;
    for (const auto* const entry : most_samples_first(users)) {
        const auto& [user, group] = *entry;
        json::Value data;
        data.set("user_id", user)
            .set("user", name_in(users_, user))
            .set("computers", std::ssize(group.hosts))
            .set("peers", group.peers)
            .set("samples", static_cast<std::int64_t>(group.all_samples()))
            .set("samples_per_second", group.all_samples() / seconds())
            .set("device_seconds", group.present)
            .set("failed_jobs", group.failed)
            .set("curve", block_curve(group.samples))
            .set("timeline", whole_numbers(group.samples));
        list.push_back(std::move(data));
    }
    return list;
}

json::Value::List Activity::by_peer() const {
    json::Value::List list;
    for (const auto* const entry : most_samples_first(peers_)) {
        const PeerHours& peer = entry->second;
        json::Value data;
        data.set("key", peer.key)
            .set("short_key", peer.key.substr(0, 8))
            .set("user_id", peer.user)
            .set("user", name_in(users_, peer.user))
            .set("host_id", peer.host)
            .set("host", name_in(hosts_, peer.host))
            .set("device", peer.device)
            .set("version", peer.version)
            .set("is_here", peer.is_here)
            .set("joined_at", peer.joined)
            .set("left_at", peer.is_here ? 0 : peer.left)
            .set("samples", static_cast<std::int64_t>(peer.all_samples()))
            .set("samples_per_second", peer.all_samples() / std::max(peer.present, 1.0))
            .set("job", peer.job)
            .set("curve", block_curve(peer.samples))
            .set("timeline", whole_numbers(peer.samples));
        list.push_back(std::move(data));
    }
    return list;
}

json::Value::List Activity::by_text(const char* field, std::string PeerHours::*text) const {
    std::map<std::string, Group> groups;
    std::map<std::int64_t, std::string> names;  // those of the computers' last peers
    for (const auto& [key, peer] : peers_) {
        const std::string& name = (peer.*text).empty() ? "unknown" : peer.*text;
        groups.try_emplace(name, hours_).first->second.add(peer);
        names[peer.host] = name;
    }
    for (const FailedJob& job : failed_) {
        const auto known = names.find(job.host);
        const bool is_version = text == &PeerHours::version;
        const std::string name = is_version             ? job.version
                                 : known == names.end() ? std::string{"unknown"}
                                                        : known->second;
        ++groups.try_emplace(name, hours_).first->second.failed;
    }
    json::Value::List list;
    for (const auto* const entry : most_samples_first(groups)) {
        const Group& group = entry->second;
        json::Value data;
        data.set(field, entry->first)
            .set("computers", std::ssize(group.hosts))
            .set("peers", group.peers)
            .set("samples", static_cast<std::int64_t>(group.all_samples()))
            .set("failed_jobs", group.failed);
        list.push_back(std::move(data));
    }
    return list;
}

json::Value::List Activity::failures() const {
    json::Value::List list;
    for (const FailedJob& job : failed_) {
        if (list.size() == kMaxListed) break;
        json::Value data;
        data.set("ended_at", job.at)
            .set("user_id", job.user)
            .set("user", name_in(users_, job.user))
            .set("host_id", job.host)
            .set("host", name_in(hosts_, job.host))
            .set("version", job.version)
            .set("what", job.what)
            .set("exit_status", job.exit_status);
        list.push_back(std::move(data));
    }
    return list;
}

}  // namespace

json::Value run_activity(Database& database, const ActivityChoice& choice) {
    return Activity{database, choice}.answer();
}

std::string block_curve(const std::vector<double>& numbers) {
    static constexpr std::array<const char*, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double highest = 0;
    for (const double number : numbers) highest = std::max(highest, number);
    std::string text;
    for (const double number : numbers) {
        const auto height =
            static_cast<std::size_t>(std::clamp(number / highest, 0.0, 1.0) * 7.999);
        text += number > 0 ? kHeights[height] : " ";
    }
    return text;
}

}  // namespace dedloc::server
