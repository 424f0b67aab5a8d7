#include <fmt/format.h>

#include "project_server/accounts/account_removal.hpp"
#include "project_server/views/run_story.hpp"
#include "tests/project_server/project_fixture.hpp"

using namespace dedloc;
using namespace dedloc::server;

namespace {

constexpr std::int64_t kHour = 3600;

/// A run in which Ann (two computers), Bob and a backbone took part.
void add_told_run(Database& database) {
    for (const char* const sql : {
             "insert into user (id, name, email_addr, authenticator, country) values "
             "(1, 'Ann', 'a@x', 'a', 'Bangladesh'), (2, 'Bob', 'b@x', 'b', 'None'), "
             "(3, 'Cem', 'c@x', 'c', 'India')",
             "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
             "flops_per_sample, credit_per_sample, created) values "
             "(3, 'demo', 'a', '{}', 8, 10, 1e6, 0.5, 0), (4, 'other', 'b', '{}', 8, 10, 1e6, "
             "0.5, 0)",
             // Computer 10: two jobs side by side, a third ten minutes later, a fourth after hours.
             "insert into dedloc_presence values "
             "(3, 'k1', 1000, 8200, 9, 90, 5, 1, 10, 103, 'cuda_dedloc', 'Tesla T4'), "
             "(3, 'k2', 1100, 2000, 2, 20, 0, 1, 10, 102, 'mt_dedloc', 'a processor'), "
             "(3, 'k3', 8800, 9000, 1, 10, 0, 1, 10, 103, 'cuda_dedloc', 'Tesla T4'), "
             "(3, 'k3', 20000, 23600, 4, 40, 0, 1, 10, 103, 'cuda_dedloc', 'Tesla T4'), "
             "(3, 'k4', 1000, 1000, 1, 1, 0, 1, 11, 0, '', ''), "
             "(3, 'k5', 5000, 8600, 3, 30, 7, 2, 20, 103, 'cuda_dedloc', 'Tesla T4'), "
             "(3, 'k0', 0, 99999, 9, 0, 99, 0, 0, 0, '', ''), "
             "(4, 'k1', 0, 99999, 9, 9, 9, 3, 30, 0, '', 'another run')",
         }) {
        database.execute(sql);
    }
}

}  // namespace

TEST_CASE("the story of a run counts volunteers, sessions of computers, and time of devices",
          "[server][integration]") {
    TestProject project;
    auto& database = project.database();
    add_told_run(database);
    const RunStory story = read_story(database, 3);
    CHECK(story.volunteers == 2);
    CHECK(story.computers == 3);
    CHECK(story.peers == 5);
    CHECK(story.sessions == 4);
    CHECK(story.longest_session == 8000);
    CHECK(story.mean_session == (8000 + 3600 + 0 + 3600) / 4.0);
    CHECK(story.device_seconds == 7200 + 900 + 200 + 3600 + 0 + 3600);
    CHECK(story.contributions == 20);
    CHECK(story.samples == 191);
    CHECK(story.reduced_bytes == 12);
    CHECK(story.began == 1000);
    CHECK(story.ended == 23600);
    REQUIRE(story.devices.size() == 3);
    CHECK(story.devices[0].name == "Tesla T4");
    CHECK(story.devices[0].computers == 2);
    CHECK(story.devices[0].volunteers == 2);
    CHECK(story.devices[0].seconds == 7200 + 200 + 3600 + 3600);
    CHECK(story.devices[2].name == "unknown");
    REQUIRE(story.versions.size() == 3);
    CHECK(story.versions[0].name == "1.03 cuda_dedloc");
    CHECK(story.versions[1].name == "1.02 mt_dedloc");
    CHECK(story.versions[2].name == "unknown");
    // Bob gave none, and Cem was in another run.
    REQUIRE(story.countries.size() == 1);
    CHECK(story.countries[0].name == "Bangladesh");
    CHECK(story.countries[0].samples == 161);
    CHECK(std::get<double>(story_data(story).field("mean_session_seconds").value()) ==
          story.mean_session);
}

TEST_CASE("a pause of a computer as long as the gap ends no session, a longer one does",
          "[server]") {
    const Presence first{.key = "a", .began = 0, .ended = kHour, .user = 1, .host = 1};
    Presence second{
        .key = "b", .began = kHour + kPresenceGap, .ended = 3 * kHour, .user = 1, .host = 1};
    CHECK(sessions_of({first, second}).size() == 1);
    CHECK(sessions_of({first, second}).front().ended == 3 * kHour);
    ++second.began;
    CHECK(sessions_of({first, second}).size() == 2);
    second.began = 10;
    second.ended = 20;
    CHECK(sessions_of({first, second}).front().ended == kHour);
    second.host = 2;
    CHECK(sessions_of({first, second}).size() == 2);
    // Peers whose computers are unknown need not be of one computer.
    CHECK(sessions_of({Presence{.key = "a"}, Presence{.key = "b"}}).size() == 2);
    CHECK(sessions_of({}).empty());
}

TEST_CASE("a liar with many names of devices gets one line, and a run without peers none",
          "[server][integration]") {
    TestProject project;
    auto& database = project.database();
    add_told_run(database);
    for (int number = 0; number < 60; ++number) {
        database.execute("insert into dedloc_presence values (3, ?, 1, 2, 1, 1, 0, 2, ?, 1, '', ?)",
                         {fmt::format("liar{}", number), 100 + number,
                          fmt::format("<b>{}\x1B[31m</b>", number)});
    }
    const RunStory story = read_story(database, 3);
    REQUIRE(story.devices.size() == kMaxShares + 1);
    CHECK(story.devices.front().name == "Tesla T4");
    CHECK(story.devices.back().name == "others");
    CHECK(story.devices.back().computers == 63 - static_cast<std::int64_t>(kMaxShares));
    CHECK(story.devices.back().volunteers == 2);
    database.execute("delete from dedloc_presence");
    const RunStory none = read_story(database, 3);
    CHECK(none.sessions == 0);
    CHECK(none.mean_session == 0);
    CHECK(none.devices.empty());
}

TEST_CASE("a deleted account stays in the counts without its device and country",
          "[server][integration]") {
    TestProject project;
    auto& database = project.database();
    add_told_run(database);
    CHECK(export_account(database, 1).find("Tesla T4") != std::string::npos);
    delete_account(database, 1, 1'800'000'000);
    const RunStory story = read_story(database, 3);
    CHECK(story.volunteers == 2);
    CHECK(story.samples == 191);
    CHECK(story.countries.empty());
    REQUIRE(story.devices.size() == 2);
    CHECK(story.devices[0].name == "unknown");
    CHECK(story.devices[1].seconds == kHour);
}
