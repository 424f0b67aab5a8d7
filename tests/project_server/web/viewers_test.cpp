// Hidden cases, run by hand: what viewers cost, and pictures of the pages.
//
//   server_pages_test "[.viewers]"   viewers of a long run's page; DEDLOC_VIEWERS: how many (100)
//   server_pages_test "[.pictures]"  Chromium's pictures of each page into DEDLOC_PICTURES
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "peer/platform/process.hpp"
#include "tests/project_server/web/site_fixture.hpp"

namespace dedloc::server {
namespace {

using namespace std::chrono_literals;

constexpr int kSteps = 100'000;
constexpr int kPeers = 64;

double processor_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// A run with many steps, evaluations and peers, and users with computers and teams.
void fill(Database& database, int steps) {
    const auto run = add_run(database, "albert");
    std::string rows;
    for (int step = 1; step <= steps; ++step) {
        std::ostringstream row;
        row << (rows.empty() ? "" : ",") << '(' << run << ',' << step << ",4096,"
            << 3 + 8.0 / (1 + step / 100.0) << ",0.1,64,64,'" << std::string(64, 'd') << "',7.5,"
            << 1.8e9 + step << ')';
        rows += row.str();
        if (step % 2000 == 0 || step == steps) {
            database.execute("insert into dedloc_step values " + rows);
            rows.clear();
        }
    }
    for (int at = 0; at <= 50; ++at) {
        database.execute(
            "insert into dedloc_evaluation values (?, ?, ?, 0.02, 4, 0.5, 0.4, 0.8, 1024, 9, ?, 1)",
            {run, at * (steps / 50), 3.2 + 8.0 / (1 + at), std::string(64, 'd')});
    }
    for (int at = 0; at < kPeers; ++at) {
        const auto user = add_user(database, "Volunteer " + std::to_string(at), 1000 - at,
                                   at % 5 != 0, at % 3 == 0 ? "Latvia" : "Kenya");
        const auto host = add_host(database, user, "AMD Ryzen 7 5800X 8-Core Processor", 900 - at);
        database.execute("insert into result (name, userid, hostid) values (?, ?, ?)",
                         {"r" + std::to_string(at), user, host});
        const std::string key = std::to_string(100 + at) + std::string(61, 'a');
        database.execute(
            "insert into dedloc_ticket (runid, peer_key, resultid, issued, expires) values (?, ?, "
            "?, 1, 2)",
            {run, key, database.insert_id()});
        database.execute(
            "insert into dedloc_seat (runid, peer_key, role, state, step, samples_per_second, "
            "digest, last_seen) values (?, ?, 'trainer', 'working', ?, 8.5, ?, "
            "unix_timestamp() + 3000)",
            {run, key, steps, std::string(64, 'd')});
    }
    database.execute(
        "insert into team (name, userid, description, country, total_credit, nusers, "
        "create_time) values ('Team Riga', 1, 'We train.\n\nJoin us!', 'Latvia', 5000, "
        "12, 1800000000)");
    database.execute("update user set teamid = 1 where id < 13");
    database.execute(
        "insert into app (name, user_friendly_name) values ('dedloc_train', 'DeDLOC')");
}

}  // namespace

TEST_CASE("viewers of a live run cost little", "[.viewers]") {
    TestSite site;
    fill(site.database(), kSteps);
    const char* const asked = std::getenv("DEDLOC_VIEWERS");
    const int count = asked != nullptr ? std::atoi(asked) : 100;
    constexpr auto kInterval = 3s;
    constexpr auto kTime = 30s;
    site.page("/run/albert.json");
    // Viewers in a process of their own, so that only the server's time is counted.
    std::ostringstream script;
    script << "end=$((SECONDS + " << kTime.count() << ")); while ((SECONDS < end)); do "
           << "curl -s -o /dev/null --no-progress-meter 'http://127.0.0.1:" << site.port()
           << "/run/albert.json?viewer=[1-" << count << "]'; sleep " << kInterval.count()
           << "; done";
    // A new step every 2 s, as in a live run.
    std::atomic<bool> stop = false;
    std::thread steps{[&] {
        Database database{site.project().config().database};
        for (int step = kSteps + 1; !stop; ++step) {
            database.execute("insert into dedloc_step values (1, ?, 4096, 3, 0.1, 64, 64, ?, 2, ?)",
                             {step, std::string(64, 'd'), step});
            std::this_thread::sleep_for(2s);
        }
    }};
    const auto begin = std::chrono::steady_clock::now();
    const double before = processor_seconds();
    const auto child = platform::spawn({"/bin/bash", "-c", script.str()}, {});
    platform::wait_for_child(child);
    const double spent = processor_seconds() - before;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    stop = true;
    steps.join();
    std::printf("%d viewers every %d s, %d steps, %zu bytes each: server %.2f %% of a core\n",
                count, static_cast<int>(kInterval.count()), kSteps,
                site.page("/run/albert.json").size(), 100 * spent / wall.count());
    CHECK(spent / wall.count() < 0.1);
}

TEST_CASE("each page in a browser", "[.pictures]") {
    const char* const folder = std::getenv("DEDLOC_PICTURES");
    REQUIRE(folder != nullptr);
    TestSite site;
    fill(site.database(), 3000);
    const std::vector<std::pair<std::string, std::string>> pages{{"home", "/"},
                                                                 {"join", "/join"},
                                                                 {"runs", "/runs"},
                                                                 {"run", "/run/albert"},
                                                                 {"users", "/users"},
                                                                 {"teams", "/teams"},
                                                                 {"hosts", "/hosts"},
                                                                 {"countries", "/countries"},
                                                                 {"user", "/user/2"},
                                                                 {"user_hidden", "/user/1"},
                                                                 {"team", "/team/1"},
                                                                 {"host", "/host/2"},
                                                                 {"status", "/server_status"},
                                                                 {"absent", "/user/999"}};
    for (const auto& [name, path] : pages) {
        for (const char* const width : {"1200", "500"}) {
            std::ostringstream script;
            script << "cd '" << folder << "' && timeout 60 chromium --headless=new --no-sandbox "
                   << "--disable-gpu --hide-scrollbars --virtual-time-budget=4000 --window-size="
                   << width << ",1400 --screenshot=" << name << '_' << width
                   << ".png http://127.0.0.1:" << site.port() << path << " > " << name << '_'
                   << width << ".log 2>&1";
            CHECK(std::system(script.str().c_str()) == 0);
        }
    }
}

}  // namespace dedloc::server
