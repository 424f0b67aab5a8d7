// News, badges, the certificate; and that every page is valid, labelled HTML.
#include <cmath>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "peer/platform/process.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/database/administrators.hpp"
#include "project_server/database/badges.hpp"
#include "project_server/database/news.hpp"
#include "project_server/database/recent_credit.hpp"
#include "project_server/views/stats_export.hpp"
#include "project_server/web/templates.hpp"
#include "tests/project_server/web/site_fixture.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

std::size_t matches_of(const std::string& text, const std::string& pattern) {
    const std::regex expression{pattern};
    return static_cast<std::size_t>(std::distance(
        std::sregex_iterator{text.begin(), text.end(), expression}, std::sregex_iterator{}));
}

/// What tidy, a checker of HTML, says about a page; "" if it is valid.
std::string complaints(const std::string& html, const std::filesystem::path& folder) {
    const auto file = folder / "page.html";
    // tidy 5.6 does not know two things that HTML has: div around dt and dd, and minlength.
    std::string known = std::regex_replace(html, std::regex{"<div><dt>"}, "<dt>");
    known = std::regex_replace(known, std::regex{"</dd></div>"}, "</dd>");
    known = std::regex_replace(known, std::regex{"\\s+minlength=\"6\""}, "");
    std::ofstream{file} << known;
    const auto [status, text] = platform::run_to_end(
        {"tidy", "-quiet", "-errors", "-utf8", "--drop-empty-elements", "no", file.string()});
    return status == 0 ? "" : text.empty() ? "tidy does not run" : text;
}

/// Every field of a form that a person fills in has a label.
void check_labels(const std::string& html) {
    const std::regex field{"<(?:input|textarea|select)[^>]*>"};
    for (auto it = std::sregex_iterator{html.begin(), html.end(), field};
         it != std::sregex_iterator{}; ++it) {
        const std::string tag = it->str();
        if (tag.find("type=\"hidden\"") != tag.npos) continue;
        std::smatch id;
        INFO(tag);
        REQUIRE(std::regex_search(tag, id, std::regex{" id=\"([^\"]+)\""}));
        CHECK_THAT(html, Contains("for=\"" + id[1].str() + "\""));
        CHECK(matches_of(html, " id=\"" + id[1].str() + "\"") == 1);
    }
}

/// One h1, and no level of headings skipped on the way down.
void check_headings(const std::string& html) {
    CHECK(matches_of(html, "<h1[ >]") == 1);
    const std::regex heading{"<h([1-6])[ >]"};
    int level = 0;
    for (auto it = std::sregex_iterator{html.begin(), html.end(), heading};
         it != std::sregex_iterator{}; ++it) {
        const int next = std::stoi((*it)[1].str());
        CHECK(next <= level + 1);
        level = next;
    }
}

/// Relative luminance of #rrggbb (WCAG 2.1).
double luminance(const std::string& colour) {
    double sum = 0;
    const double weights[] = {0.2126, 0.7152, 0.0722};
    for (std::size_t at = 0; at < 3; ++at) {
        const double value = std::stoi(colour.substr(1 + 2 * at, 2), nullptr, 16) / 255.0;
        sum += weights[at] *
               (value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
    }
    return sum;
}

/// A signed-in user's cookie.
httplib::Headers signed_in(Database& database, std::int64_t user) {
    return {{"Cookie", "dedloc_session=" + begin_session(database, user, unix_now())}};
}

}  // namespace

TEST_CASE("news is on the home page as text", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    CHECK_THAT(site.page("/news"), Contains("There is no news yet."));
    CHECK_THROWS_AS(add_news(database, "", "text", 1), InputError);
    CHECK_THROWS_AS(add_news(database, "title", std::string(20'001, 'a'), 1), InputError);
    CHECK_THROWS_AS(add_news(database, "title", "\xff\xfe", 1), InputError);
    const auto first = add_news(database, "First", "Old", 1'800'000'000);
    add_news(database, kHostileText, kHostileText, 1'800'000'100);
    CHECK_THAT(site.page("/index.json"), Contains("First"));
    CHECK_THAT(site.page("/"),
               Contains("First") && !Contains("<script>") && Contains("2027-01-15 08:01 UTC"));
    CHECK(remove_news(database, first));
    CHECK_FALSE(remove_news(database, first));
    CHECK(read_news(database, 9).size() == 1);
}

TEST_CASE("badges follow the rules in the table", "[server][integration]") {
    TestProject project;
    Database& database = project.database();
    for (int i = 1; i <= 100; ++i) add_user(database, "u", 1000 * i);  // recent: a tenth
    const auto holders = [&](const std::string& badge) {
        return database
            .query_one(
                "select count(*) as n from badge_user g join badge b on b.id = g.badge_id "
                "where b.name = ?",
                {badge})
            ->integer("n");
    };
    assign_badges(database, 5);
    assign_badges(database, 6);
    CHECK(holders("user_top_1") == 1);
    CHECK(holders("user_top_5") == 4);
    CHECK(holders("user_top_25") == 20);
    CHECK(holders("user_10k") == 91);
    CHECK(holders("user_1m") == 0);
    database.execute("update user set expavg_credit = 0, total_credit = 2e6 where id = 100");
    database.execute("delete from user where id = 1");
    assign_badges(database, 7);
    CHECK(holders("user_1m") == 1);
    CHECK(database
              .query_one("select count(*) as n from badge_user where user_id = 100 and "
                         "badge_id = (select id from badge where name = 'user_top_1')")
              ->integer("n") == 0);
    database.execute("update dedloc_badge_rule set threshold = 0 where name = 'user_top_25'");
    database.execute("update dedloc_badge_rule set threshold = 1e300 where name = 'user_10k'");
    assign_badges(database, 8);
    CHECK(holders("user_top_25") == 0);
    CHECK(holders("user_10k") == 0);
}

TEST_CASE("recent credit halves in a week while nothing is earned", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const double now = unix_now();
    constexpr double kDay = 86'400;
    const auto average = [&](const std::string& table, std::int64_t id) {
        return database
            .query_one("select expavg_credit, expavg_time from " + table + " where id = ?", {id})
            ->real("expavg_credit");
    };
    const auto set = [&](const std::string& table, std::int64_t id, double credit, double days) {
        database.execute("update " + table + " set expavg_credit = ?, expavg_time = ? where id = ?",
                         {credit, now - days * kDay, id});
    };
    const auto idle = add_user(database, "Idle", 9e9, true, "Estonia");
    const auto busy = add_user(database, "Busy", 200);
    const auto host = add_host(database, idle, "IdleHost", 1e9);
    database.execute("insert into team (name) values ('Idle team')");
    const auto team = database.insert_id();
    set("user", idle, 1e6, 120);
    set("user", busy, 20, 0.5);
    set("host", host, 640, 21);
    set("team", team, 640, 7);
    // 1e6 / 2^(120/7) is 6.9. Pages say so before the averages are renewed.
    const auto place = [&](const std::string& page, const std::string& name) {
        return site.page(page).find(name);
    };
    CHECK(place("/users?sort=recent", "Busy") < place("/users?sort=recent", "Idle"));
    CHECK_THAT(site.page("/user/" + std::to_string(idle) + ".json"),
               Contains("\"recent_credit\":6.9"));
    CHECK_THAT(site.page("/host/" + std::to_string(host) + ".json"),
               Contains("\"recent_credit\":79.99") || Contains("\"recent_credit\":80"));
    CHECK_THAT(site.page("/countries.json?sort=recent"), Contains("\"recent_credit\":6.9"));

    database.execute(
        "insert into user (email_addr, authenticator, name, expavg_credit, expavg_time) "
        "select seq, seq, 'u', 1, ? from seq_1_to_2500",
        {now - 70 * kDay});
    CHECK(decay_recent_credit(database, now) == 2'503);
    CHECK(decay_recent_credit(database, now) == 0);
    CHECK(average("user", idle) == Approx(1e6 * std::exp2(-120.0 / 7)));
    CHECK(average("user", busy) == 20);  // younger than a day
    CHECK(average("host", host) == Approx(80));
    CHECK(average("team", team) == Approx(320));
    CHECK(database
              .query_one("select count(*) as n from user where name = 'u' and "
                         "expavg_credit = 0")
              ->integer("n") == 2'500);
    // Half a week more makes no difference whether it is renewed on the way.
    decay_recent_credit(database, now + 2 * kDay);
    decay_recent_credit(database, now + 3.5 * kDay);
    CHECK(average("team", team) == Approx(320 / std::sqrt(2)));
    set("user", idle, 1e6, 700);
    renew_statistics(database, site.project().root() / "html/stats", now);
    CHECK(average("user", idle) == 0);
    CHECK_THAT(site.page("/server_status.json"), Contains("\"users_with_recent_credit\":1"));
}

TEST_CASE("every page is valid HTML with labels, scopes and headings", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const auto user = add_user(database, kHostileText, 5000);
    add_host(database, user, "CPU", 50);
    database.execute(
        "insert into team (name, userid, description, joinable) values "
        "('T', ?, 'We train.', 1)",
        {user});
    database.execute(
        "insert into result (name, userid, hostid, server_state) values ('r', ?, 1, 4)", {user});
    database.execute("insert into dedloc_badge_rule values ('b', 'All', 'user', 'total', 0)");
    database.execute("insert into app (name, user_friendly_name) values ('t', 'Train')");
    add_run(database, "first");
    const auto measured = add_run(database, "measured");
    database.execute("insert into dedloc_evaluation values (?, 0, 6.25, 0.1, 64, 1, 'd', 1)",
                     {measured});
    database.execute("insert into dedloc_figure values (?, 0, 'order_accuracy', 0.5, null)",
                     {measured});
    add_news(database, "News", "Text", 1);
    assign_badges(database, 5);
    set_administrator(database, user, true);
    const httplib::Headers own = signed_in(database, user);
    for (const std::string& path : std::vector<std::string>{"/",
                                                            "/join",
                                                            "/news",
                                                            "/runs",
                                                            "/run/first",
                                                            "/run/measured",
                                                            "/users",
                                                            "/users?sort=recent",
                                                            "/teams",
                                                            "/hosts",
                                                            "/countries",
                                                            "/user/1",
                                                            "/team/1",
                                                            "/host/1",
                                                            "/server_status",
                                                            "/admin",
                                                            "/admin/run/first",
                                                            "/account/sign_in",
                                                            "/account/create",
                                                            "/account",
                                                            "/account/tasks",
                                                            "/account/settings",
                                                            "/account/certificate",
                                                            "/account/delete",
                                                            "/task/1",
                                                            "/teams/create",
                                                            "/team/1/edit",
                                                            "/user/99"}) {
        for (const auto& headers : {httplib::Headers{}, own}) {
            const auto response = site.get(path, headers);
            if (response.status == 303) continue;  // to the page for signing in
            INFO(path);
            CHECK(response.status == (path == "/user/99" ? 404 : 200));
            const std::string& html = response.body;
            INFO(html);
            CHECK(complaints(html, site.project().root()) == "");
            CHECK_THAT(html, Contains("<html lang=\"en\">") && Contains("class=\"skip\"") &&
                                 !Contains(" style="));
            CHECK(matches_of(html, "<th[ >]") == matches_of(html, "<th[^>]* scope="));
            CHECK(matches_of(html, "<script>") == 0);
            check_headings(html);
            check_labels(html);
        }
    }
    CHECK_THAT(site.get("/account/certificate", own).body, Contains("5,000 cobblestones"));
    CHECK_THAT(site.get("/user/1").body, Contains("All"));
}

TEST_CASE("colours have a contrast of 4.5 : 1", "[server]") {
    const std::string css{page_file("style.css")};
    const std::regex variable{
        "--(soft|accent|measured|bs-link-color|bs-link-hover-color|"
        "bs-body-color): (#[0-9a-f]{6})"};
    int count = 0;
    for (auto it = std::sregex_iterator{css.begin(), css.end(), variable};
         it != std::sregex_iterator{}; ++it, ++count) {
        for (const char* const paper : {"#ffffff", "#f6f8fa"}) {
            INFO((*it)[1].str() << " on " << paper);
            CHECK((luminance(paper) + 0.05) / (luminance((*it)[2].str()) + 0.05) >= 4.5);
        }
    }
    CHECK(count == 6);
}

}  // namespace dedloc::server
