#include "project_server/views/activity.hpp"

#include <fmt/format.h>

#include "project_server/database/presence.hpp"
#include "project_server/views/old_versions.hpp"
#include "tests/project_server/project_fixture.hpp"

using namespace dedloc;
using namespace dedloc::server;

namespace {

constexpr std::int64_t kActivityTime = 1'800'000'000;
constexpr std::int64_t kHourLong = 3600;

std::int64_t number(const json::Value& data, const char* field) {
    return std::get<std::int64_t>(data.field(field).value());
}
double real(const json::Value& data, const char* field) {
    return std::get<double>(data.field(field).value());
}
std::string text(const json::Value& data, const char* field) {
    return std::get<std::string>(data.field(field).value());
}
const json::Value::List& list(const json::Value& data, const char* field) {
    return std::get<json::Value::List>(data.field(field).value());
}

/// Ann has two computers, one of which left an hour ago; Bob's has just come and has not
/// contributed yet. Versions 1.02 and 1.03 are in use; 1.03 is the newest.
void add_busy_run(Database& database) {
    for (const char* const sql : {
             "insert into user (id, name, email_addr, authenticator) values "
             "(1, 'Ann', 'a@x', 'a'), (2, '<b>Bob', 'b@x', 'b')",
             "insert into host (id, userid, domain_name) values (10, 1, 'attic'), (11, 1, "
             "'cellar'), (20, 2, 'shed')",
             "insert into app (id, name) values (1, 'dedloc_train'), (2, 'another app')",
             "insert into app_version (id, appid, platformid, version_num, plan_class) values "
             "(1, 1, 1, 102, ''), (2, 1, 1, 103, ''), (3, 1, 2, 102, ''), (4, 1, 1, 102, 'mt'), "
             "(5, 2, 1, 7, '')",
             "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
             "flops_per_sample, credit_per_sample, created) values "
             "(3, 'demo', 'a', '{}', 8, 10, 1e6, 0.5, 0)",
             "insert into workunit (id, appid, name, opaque) values (1, 1, 'w', 3), "
             "(2, 1, 'x', 4)",
         }) {
        database.execute(sql);
    }
    const auto add = [&](const std::string& sql) { database.execute(sql); };
    // Jobs: in progress by 1.02 (Ann's attic), over and failed (cellar), timed out (Bob's),
    // aborted by Bob, and aborted by the project.
    add(fmt::format(
        "insert into result (id, name, workunitid, appid, server_state, outcome, validate_state, "
        "userid, hostid, app_version_id, received_time, report_deadline, exit_status) values "
        "(1, 'a', 1, 1, 4, 0, 0, 1, 10, 1, 0, 0, 0), (2, 'b', 1, 1, 5, 3, 0, 1, 11, 2, {0}, 0, "
        "195), (3, 'c', 1, 1, 5, 4, 0, 2, 20, 2, 0, {1}, 0), (4, 'd', 1, 1, 4, 0, 0, 2, 20, 2, 0, "
        "0, 0), (5, 'e', 1, 1, 5, 3, 0, 2, 20, 2, {2}, 0, 1), (6, 'f', 2, 1, 5, 3, 0, 2, 20, 2, "
        "{0}, 0, 1), (7, 'g', 1, 2, 4, 0, 0, 2, 20, 5, 0, 0, 0), (8, 'h', 1, 1, 5, 3, 2, 2, 20, 2, "
        "{0}, 0, 203), (9, 'i', 1, 1, 5, 3, 2, 2, 20, 2, {0}, 0, 202)",
        kActivityTime - 30 * 60, kActivityTime - 90 * 60, kActivityTime - 10 * kHourLong));
    add(fmt::format(
        "insert into dedloc_ticket (runid, peer_key, resultid, userid, hostid, issued, expires) "
        "values (3, 'k1', 1, 1, 10, 0, 0), (3, 'k2', 2, 1, 11, 0, 0), (3, 'k3', 4, 2, 20, 0, 0)"));
    add(fmt::format(
        "insert into dedloc_seat (runid, peer_key, state, first_seen, last_seen) values "
        "(3, 'k1', 'working', 1, {0}), (3, 'k2', 'left', 1, {1}), (3, 'k3', 'joining', {0}, {0}), "
        "(3, 'k0', 'working', 1, {0})",
        kActivityTime - 5, kActivityTime - kHourLong));
    add(
        fmt::format("insert into dedloc_presence values "
                    "(3, 'k1', {0}, {1}, 9, 90, 5, 1, 10, 102, '', 'Tesla T4'), "
                    "(3, 'k2', {2}, {3}, 2, 20, 0, 1, 11, 103, '', 'a processor'), "
                    "(3, 'k9', 1000, 2000, 2, 20, 0, 1, 11, 103, '', 'long ago')",
                    kActivityTime - 5 * kHourLong, kActivityTime - 5, kActivityTime - 2 * kHourLong,
                    kActivityTime - kHourLong));
    for (const auto& [step, at, key, samples] :
         {std::tuple{1, kActivityTime - 4 * kHourLong, "k1", 40},
          {2, kActivityTime - 90 * 60, "k1", 30},
          {2, kActivityTime - 90 * 60, "k2", 20},
          {3, kActivityTime - 5, "k1", 10},
          {3, kActivityTime - 5, "k0", 1000}}) {
        database.execute(
            "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, "
            "committed_at) values (3, ?, ?, ?, 0, ?)",
            {step, key, samples, at});
        database.execute("insert ignore into dedloc_step values (3, ?, 0, 1, 0, 1, 1, '', 1, ?)",
                         {step, at});
    }
}

json::Value activity(Database& database, int hours) {
    return run_activity(database, {.run = "demo", .hours = hours, .now = kActivityTime});
}

}  // namespace

TEST_CASE("the activity of a run is counted by hour, user, peer, version and device",
          "[server][integration]") {
    TestProject project;
    auto& database = project.database();
    add_busy_run(database);
    const json::Value data = activity(database, 3);
    CHECK(number(data, "samples") == 60);  // not those of the backbone, nor of four hours ago
    CHECK(real(data, "samples_per_second") == 60.0 / (3 * kHourLong));
    CHECK(number(data, "users") == 2);
    CHECK(number(data, "peers") == 3);
    CHECK(number(data, "peers_here") == 2);
    CHECK(number(data, "joined") == 1);
    CHECK(number(data, "left") == 1);
    CHECK(number(data, "sessions") == 2);
    CHECK(real(data, "mean_session_seconds") == (5 * kHourLong - 5 + kHourLong) / 2.0);
    CHECK(number(data, "failed_jobs") == 2);
    CHECK(number(data, "aborted_jobs") == 1);
    CHECK(text(data, "curve") == " █▂");

    const auto& hours = list(data, "timeline");
    REQUIRE(hours.size() == 3);
    CHECK(number(hours[0], "began_at") == kActivityTime - 3 * kHourLong);
    CHECK(number(hours[1], "samples") == 50);
    CHECK(number(hours[1], "joined") == 1);
    CHECK(number(hours[1], "failed_jobs") == 1);
    CHECK(number(hours[2], "left") == 1);
    CHECK(number(hours[2], "samples") == 10);
    CHECK(number(hours[2], "failed_jobs") == 1);

    const auto& users = list(data, "by_user");
    REQUIRE(users.size() == 2);
    CHECK(text(users[0], "user") == "Ann");
    CHECK(number(users[0], "computers") == 2);
    CHECK(number(users[0], "samples") == 60);
    CHECK(number(users[0], "failed_jobs") == 1);
    CHECK(real(users[0], "device_seconds") == 3 * kHourLong - 5 + kHourLong);
    CHECK(text(users[1], "user") == "<b>Bob");
    CHECK(number(users[1], "failed_jobs") == 1);

    const auto& peers = list(data, "by_peer");
    REQUIRE(peers.size() == 3);
    CHECK(text(peers[0], "key") == "k1");
    CHECK(text(peers[0], "host") == "attic");
    CHECK(text(peers[0], "job") == "in progress");
    CHECK(number(peers[0], "left_at") == 0);
    CHECK(number(peers[0], "joined_at") == kActivityTime - 5 * kHourLong);
    CHECK(number(peers[1], "left_at") == kActivityTime - kHourLong);
    CHECK(text(peers[1], "job") == "failed on the computer");
    CHECK(text(peers[2], "key") == "k3");
    CHECK(number(peers[2], "samples") == 0);

    const auto& failures = list(data, "failures");
    REQUIRE(failures.size() == 2);
    CHECK(number(failures[0], "exit_status") == 195);
    CHECK(text(failures[0], "host") == "cellar");
    CHECK(text(failures[1], "what") == "not reported in time");
    const auto& versions = list(data, "by_version");
    REQUIRE(versions.size() == 3);  // Bob's peer has none yet, and his failed job has 1.03
    CHECK(text(versions[0], "version") == "1.02");
    CHECK(text(versions[1], "version") == "1.03");
    CHECK(number(versions[1], "failed_jobs") == 2);
    CHECK(text(list(data, "by_device")[0], "device") == "Tesla T4");

    CHECK(number(activity(database, 24), "samples") == 100);
    CHECK(number(activity(database, 24), "failed_jobs") == 3);
    CHECK_THROWS_AS(run_activity(database, {.run = "none", .now = kActivityTime}), InputError);
}

TEST_CASE("activity has the newest held-out loss of each source, and its change in these hours",
          "[server][integration]") {
    TestProject project;
    auto& database = project.database();
    add_busy_run(database);
    CHECK(list(activity(database, 3), "held_out").empty());
    const auto measure = [&](int step, double loss, std::int64_t at) {
        database.execute("insert into dedloc_evaluation values (3, ?, ?, 0.25, 8, 1, '', ?)",
                         {step, loss, at});
    };
    measure(0, 9, kActivityTime - 5 * kHourLong);
    measure(2, 8, kActivityTime - 90 * 60);
    measure(3, 7, kActivityTime - 5);
    database.execute(
        "insert into dedloc_figure values (3, 2, 'loss_of_wiki', 7.5, 0.5), (3, 3, 'loss_of_wiki', "
        "6, 0.5), (3, 3, 'loss_of_news', 6.5, null)");
    const auto is_null = [](const json::Value& data, const char* field) {
        return std::holds_alternative<std::nullptr_t>(data.field(field).value());
    };
    const json::Value data = activity(database, 3);
    const auto& losses = list(data, "held_out");
    REQUIRE(losses.size() == 3);
    CHECK(text(losses[0], "source").empty());
    CHECK(number(losses[0], "step") == 3);
    CHECK(real(losses[0], "loss") == 7);
    CHECK(real(losses[0], "loss_error") == 0.25);
    CHECK(number(losses[0], "since_step") == 2);
    CHECK(real(losses[0], "change") == -1);
    CHECK(text(losses[1], "source") == "news");
    CHECK(is_null(losses[1], "loss_error"));
    CHECK(is_null(losses[1], "change"));  // a source that was added
    CHECK(text(losses[2], "source") == "wiki");
    CHECK(real(losses[2], "change") == -1.5);

    const json::Value day = activity(database, 24);
    CHECK(number(list(day, "held_out")[0], "since_step") == 0);
    CHECK(real(list(day, "held_out")[0], "change") == -2);
    CHECK(is_null(list(day, "held_out")[2], "since_step"));  // not measured at step 0
    CHECK(is_null(list(activity(database, 1), "held_out")[0], "change"));
}

TEST_CASE("a version is old if it is not the newest that is offered for its plan class",
          "[server][integration]") {
    TestProject project;
    auto& database = project.database();
    add_busy_run(database);
    const auto old = read_old_versions(database);
    REQUIRE(old.size() == 1);
    CHECK(old[0].host == 10);
    CHECK(old[0].host_name == "attic");
    CHECK(old[0].user_name == "Ann");
    CHECK(old[0].version == "1.02");
    CHECK(old[0].newest == "1.03");
    // Withdrawn: those who have 1.03 shall not keep it either.
    database.execute("update app_version set deprecated = 1 where id = 2");
    const auto withdrawn = read_old_versions(database);
    REQUIRE(withdrawn.size() == 1);
    CHECK(withdrawn[0].host == 20);
    CHECK(withdrawn[0].newest == "1.02");
    database.execute("update app_version set deprecated = 1");
    CHECK(read_old_versions(database).size() == 2);
    CHECK(read_old_versions(database).front().newest.empty());
}

TEST_CASE("a dead backbone's seats are not here, and lists are bounded", "[server][integration]") {
    TestProject project;
    auto& database = project.database();
    add_busy_run(database);
    database.execute("update dedloc_seat set last_seen = ?", {kActivityTime - kPresenceGap - 60});
    CHECK(number(activity(database, 3), "peers_here") == 0);
    for (int peer = 0; peer < 150; ++peer) {
        database.execute("insert into dedloc_presence values (3, ?, ?, ?, 1, 1, 0, 2, ?, 1, '', ?)",
                         {fmt::format("p{}", peer), kActivityTime - 60, kActivityTime - 30,
                          100 + peer, fmt::format("<script>{}", peer)});
    }
    const json::Value data = activity(database, 3);
    CHECK(number(data, "peers") == 153);
    CHECK(list(data, "by_peer").size() == kMaxListed);
    CHECK(list(data, "by_device").size() == kMaxListed);
}

TEST_CASE("a curve has a block for each number", "[server]") {
    CHECK(block_curve({}).empty());
    CHECK(block_curve({0, 0}) == "  ");
    CHECK(block_curve({1, 4, 8}) == "▁▄█");
}
