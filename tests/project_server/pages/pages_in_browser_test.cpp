// Every page as Chromium lays it out, on a desktop and on a phone: a picture of each for people to
// look at, and what programs can check (audit.js). The names of volunteers, teams and computers are
// hostile, long, or written from right to left.
//
//   DEDLOC_PICTURES=FOLDER pages_in_browser_test     where the pictures go (default: ./pictures)
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "peer/platform/files.hpp"
#include "project_server/accounts/throttle.hpp"
#include "project_server/database/administrators.hpp"
#include "project_server/database/badges.hpp"
#include "project_server/database/news.hpp"
#include "tests/project_server/control/backbone_end.hpp"
#include "tests/project_server/control/samples.hpp"
#include "tests/project_server/pages/chromium.hpp"
#include "tests/project_server/web/browser.hpp"
#include "tests/project_server/web/filled_site.hpp"
#include "tests/small_run.hpp"

namespace dedloc::server {
namespace {

constexpr int kSteps = 3000;
constexpr const char* kLongName = "a-run-whose-name-has-all-forty-letters-0";
constexpr int kWidths[] = {1200, 390};

/// One page, as it is photographed.
struct Look {
    std::string name;         ///< the picture's
    std::string path;         ///< begins with a slash
    int status = 200;         ///< what the page that is photographed must have
    std::string submit = {};  ///< a script that sends a form of the page, whose answer is meant
};

/// Whether the test cannot run here; then prints why, as tests/run reads it.
bool is_skipped() {
    if (browser::is_installed()) return false;
    std::puts("skipped: this machine has no Chromium (Debian's package chromium)");
    return true;
}

std::filesystem::path pictures() {
    const char* const asked = std::getenv("DEDLOC_PICTURES");
    const std::filesystem::path folder =
        std::filesystem::absolute(asked != nullptr ? asked : "pictures");
    std::filesystem::create_directories(folder);
    return folder;
}

/// A site with a run, and a browser.
class Studio {
  public:
    Studio() {
        for (const std::string run : {"first", "waiting", kLongName}) {
            const auto folder = site_.project().root() / "runs" / run;
            std::filesystem::create_directories(folder);
            platform::replace_file(folder / "run.json", "{}");
        }
    }
    TestSite& site() { return site_; }
    Database& database() { return site_.database(); }
    std::filesystem::path run_folder() { return site_.project().root() / "runs/first"; }

    void see(const Look& look) {
        for (const int width : kWidths) {
            photograph(look, width, fmt::format("{}-{}", look.name, width));
        }
    }
    /// The same without scripts.
    void see_plain(const Look& look) {
        chromium_.set_scripts(false);
        for (const int width : kWidths) {
            photograph(look, width, fmt::format("{}-plain-{}", look.name, width));
        }
        chromium_.set_scripts(true);
    }
    /// Opens a page and sends its form.
    void send(const std::string& path, const std::string& submit) {
        REQUIRE(chromium_.open(url(path)) == 200);
        REQUIRE(chromium_.submit(submit) == 200);
    }
    /// Waits until the scripts of the page that is open have made this true.
    void await(const std::string& condition) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
        while (!chromium_.evaluate(condition).IsTrue()) {
            INFO(condition);
            REQUIRE(std::chrono::steady_clock::now() < end);
        }
    }
    rapidjson::Document evaluate(const std::string& expression) {
        return chromium_.evaluate(expression);
    }

  private:
    std::string url(const std::string& path) const {
        return fmt::format("http://127.0.0.1:{}{}", site_.port(), path);
    }
    void photograph(const Look& look, int width, const std::string& name) {
        INFO(name << ", " << look.path);
        chromium_.set_width(width);
        int status = chromium_.open(url(look.path));
        if (!look.submit.empty()) status = chromium_.submit(look.submit);
        CHECK(status == look.status);
        if (chromium_.evaluate("typeof draw === 'function'").IsTrue()) {
            await(
                "!document.getElementById('run-empty').hidden || "
                "(typeof Chart !== 'undefined' && !!Chart.getChart('rate-chart'))");
        }
        std::vector<std::string> faults = chromium_.take_complaints();
        const auto found = chromium_.evaluate(fmt::format("({})({})", audit_, width));
        for (const auto& fault : found.GetArray()) faults.emplace_back(fault.GetString());
        CHECK(fmt::format("{}", fmt::join(faults, "\n")) == "");
        chromium_.take_picture(folder_ / (name + ".png"));
    }

    static MailSettings mail() {
        return {.from = "project@example.org", .sender_name = "Test", .sendmail = "/bin/true"};
    }

    const std::filesystem::path folder_ = pictures();
    const std::string audit_ = platform::read_text(DEDLOC_AUDIT);
    TestSite site_{mail()};
    browser::Chromium chromium_;
};

/// Fills in fields and sends the form at `action`.
std::string form(const std::string& action, const Fields& fields) {
    std::string script =
        fmt::format("const form = document.querySelector('form[action=\"{}\"]');", action);
    for (const auto& [name, value] : fields) {
        script += fmt::format("form.elements['{}'].value = '{}';", name, value);
    }
    // As a click on the button does, but without the browser's own checks of the fields.
    return script + "form.noValidate = true; form.requestSubmit();";
}

/// Users, teams and computers whose names are hostile, long, or from right to left.
void add_odd_names(Database& database) {
    const std::string wide(200, 'W');
    const std::string words = "a name of many words that goes on " + std::string{kHostileText};
    const std::string arabic =
        "\u202E\u0645\u062A\u0637\u0648\u0639 \u05DE\u05EA\u05E0\u05D3\u05D1";
    double credit = 123'456'789.5;
    for (const std::string& name : {std::string{kHostileText}, wide, words, arabic}) {
        const auto user = add_user(database, name, credit, true, name.substr(0, 60));
        add_host(database, user, name, credit);
        database.execute("update host set os_name = ? where userid = ?",
                         {"Linux Debian " + name.substr(0, 40), user});
        database.execute(
            "update user set url = 'https://example.org/a/very/long/path/of/a/page/that/is/"
            "longer/than/a/phone/is/wide' where id = ?",
            {user});
        database.execute(
            "insert into team (name, userid, description, country, total_credit, create_time, "
            "url) values (?, ?, ?, ?, ?, 1800000000, ?)",
            {name, user, name + "\n\n" + words, name.substr(0, 60), credit,
             "https://example.org/" + wide});
        database.execute("update user set teamid = ? where id = ?", {database.insert_id(), user});
        add_news(database, "News of " + name.substr(0, 100), name + "\n\n" + words, 1.8e9);
        credit /= 3;
    }
}

/// Runs without steps, without measurements, and with everything.
void add_runs(Database& database) {
    const auto run = fill(database, kSteps);
    formats::RunFile file = tests::small_run();
    file.tensors.front().shape = {18'000'000};
    database.execute("update dedloc_run set name = 'first', spec = ?, steps = 10000 where id = ?",
                     {formats::write_run_file(file), run});
    add_run(database, "waiting");
    const auto young = add_run(database, kLongName);
    database.execute("insert into dedloc_step values (?, 1, 10, 8.5, 0.1, 3, 3, 'ab', 2, 1)",
                     {young});
}

/// Gives tasks of each state, a computer and badges to a user.
void add_belongings(Database& database, std::int64_t user) {
    const auto host = add_host(database, user, "Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz", 4321);
    database.execute(
        "update host set serialnum = '[BOINC|7.20.5][CUDA|NVIDIA GeForce RTX 3060 Ti|"
        "1|8192MB|52523|303]' where id = ?",
        {host});
    const std::vector<std::vector<int>> states{{4, 0, 0}, {5, 1, 1}, {5, 1, 0}, {5, 1, 2},
                                               {5, 3, 0}, {5, 4, 0}, {5, 5, 0}, {5, 7, 0}};
    for (std::size_t at = 0; at < states.size(); ++at) {
        database.execute(
            "insert into result (name, appid, userid, hostid, server_state, outcome, "
            "validate_state, sent_time, report_deadline, received_time, elapsed_time, cpu_time, "
            "peak_working_set_size, granted_credit) values (?, 1, ?, ?, ?, ?, ?, 1800000000, "
            "1800100000, ?, 7200, 14000, 2.5e9, 12.5)",
            {fmt::format("albert_seat_{}_0", 1000 + at), user, host, states[at][0], states[at][1],
             states[at][2], at == 0 ? 0 : 1'800'050'000});
    }
    database.execute(
        "update user set total_credit = 4321, expavg_credit = 99, expavg_time = "
        "unix_timestamp() where id = ?",
        {user});
    database.execute(
        "insert into dedloc_badge_rule values ('all', 'Took part', 'user', 'total', 1)");
    assign_badges(database, 5);
}

std::int64_t id_of(Database& database, const std::string& email) {
    return database.query_one("select id from user where email_addr = ?", {email})->integer("id");
}

}  // namespace

TEST_CASE("the pages that any visitor sees", "[pages]") {
    if (is_skipped()) return;
    Studio studio;
    Database& database = studio.database();
    for (const Look& look : std::vector<Look>{{"empty-home", "/"},
                                              {"empty-runs", "/runs"},
                                              {"empty-users", "/users"},
                                              {"empty-status", "/server_status"},
                                              {"empty-news", "/news"}}) {
        studio.see(look);
    }
    add_runs(database);
    add_odd_names(database);
    control::BackboneEnd backbone{studio.run_folder()};
    backbone.happen(control::StepCommitted{{.step = kSteps + 1,
                                            .samples = 4096,
                                            .loss = 3.25,
                                            .seconds = 7.5,
                                            .members = 64,
                                            .digest = {}}});
    for (const Look& look :
         std::vector<Look>{{"home", "/index.php"},
                           {"join", "/join"},
                           {"news", "/news?full"},
                           {"runs", "/runs?full"},
                           {"run", "/run/first"},
                           {"run-waiting", "/run/waiting"},
                           {"run-young", std::string{"/run/"} + kLongName},
                           {"users", "/top_users.php"},
                           {"users-recent", "/users?sort=recent&page=2"},
                           {"teams", "/teams"},
                           {"hosts", "/hosts"},
                           {"countries", "/countries"},
                           {"user", "/user/2"},
                           {"user-hidden", "/user/1"},
                           {"user-hostile", "/user/65"},
                           {"user-wide", "/user/66"},
                           {"user-words", "/user/67"},
                           {"user-arabic", "/user/68"},
                           {"team", "/team/1"},
                           {"team-hostile", "/team/2"},
                           {"team-wide", "/team/3"},
                           {"host", "/host/2"},
                           {"host-wide", "/host/66"},
                           {"status", "/server_status?full"},
                           {"sign-in", "/account/sign_in"},
                           {"create", "/account/create"},
                           {"forgotten", "/account/forgotten"},
                           {"reset", "/account/reset?secret=" + std::string(64, 'a')},
                           {"confirm", "/account/confirm?secret=" + std::string(64, 'a')},
                           {"error-404", "/user/999", 404}}) {
        studio.see(look);
    }
    studio.see_plain({"run", "/run/first"});
    studio.see_plain({"run-waiting", "/run/waiting"});
}

TEST_CASE("a run's page follows the run", "[pages]") {
    if (is_skipped()) return;
    Studio studio;
    add_runs(studio.database());
    control::BackboneEnd backbone{studio.run_folder()};
    studio.see({"run-live", "/run/first"});
    studio.await("document.documentElement.classList.contains('live')");
    const auto drawn = [](const char* chart) {
        return fmt::format(
            "(() => {{ const canvas = document.getElementById('{}');"
            "const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
            "return data.data.filter((value, at) => at % 4 === 3 && value > 0).length > 1000; "
            "}})()",
            chart);
    };
    for (const char* const chart : {"loss-chart", "rate-chart", "bytes-chart"}) {
        studio.await(drawn(chart));
    }
    backbone.happen(control::StepCommitted{{.step = kSteps + 1,
                                            .samples = 4096,
                                            .loss = 3.0625,
                                            .seconds = 7.5,
                                            .members = 64,
                                            .digest = {}}});
    studio.await("document.getElementById('run-loss').textContent === '3.0625'");
    studio.await(fmt::format("Chart.getChart('loss-chart').data.datasets[0].data.at(-1).x === {}",
                             kSteps + 1));
}

TEST_CASE("the pages of an account", "[pages]") {
    if (is_skipped()) return;
    Studio studio;
    Database& database = studio.database();
    add_runs(database);
    add_odd_names(database);
    studio.see({"create-refused", "/account/create", 422,
                form("/account/create",
                     {{"name", "Ada"}, {"email", "ada@example.org"}, {"password", "short"}})});
    studio.send("/account/create", form("/account/create", {{"name", "Ada Lovelace"},
                                                            {"email", "ada@example.org"},
                                                            {"password", "long enough"}}));
    const auto user = id_of(database, "ada@example.org");
    studio.see({"account-new", "/account"});
    studio.see({"tasks-none", "/account/tasks"});
    add_belongings(database, user);
    const auto task =
        database.query_one("select max(id) as id from result where userid = ?", {user});
    const auto host = database.query_one("select max(id) as id from host where userid = ?", {user});
    for (const Look& look : std::vector<Look>{
             {"account", "/account"},
             {"tasks", "/account/tasks"},
             {"task", "/task/" + std::to_string(task->integer("id"))},
             {"settings", "/account/settings"},
             {"settings-saved", "/account/settings?done=1"},
             {"settings-refused", "/account/settings", 422,
              form("/account/email", {{"email", "new@example.org"}, {"password", "wrong one"}})},
             {"computing", "/account/computing"},
             {"certificate", "/account/certificate"},
             {"team-create", "/teams/create"},
             {"team-create-refused", "/teams/create", 422,
              form("/teams/create", {{"name", ""}, {"description", "We train."}})},
             {"team-to-join", "/team/1"},
             {"host-own", "/host/" + std::to_string(host->integer("id"))},
             {"delete", "/account/delete"},
             {"delete-refused", "/account/delete", 422,
              form("/account/delete", {{"password", "wrong one"}})},
             {"confirmation-sent", "/account", 200, form("/account/send_confirmation", {})},
             {"error-403", "/team/1/edit", 403}}) {
        studio.see(look);
    }
    studio.send("/team/1", form("/team/1/join", {}));
    studio.see({"team-member", "/team/1"});
    database.execute("update team set userid = ? where id = 1", {user});
    studio.see({"team-edit", "/team/1/edit"});
    set_administrator(database, user, true);
    database.execute(
        "insert into dedloc_presence select t.runid, t.peer_key, unix_timestamp() - 7200, "
        "unix_timestamp() - 60, 10, 1000, 0, r.userid, r.hostid, 103, 'cuda_dedloc', 'NVIDIA "
        "GeForce RTX 3090' from dedloc_ticket t join result r on r.id = t.resultid");
    studio.see({"admin", "/admin"});
    studio.see({"admin-run", "/admin/run/first"});
    studio.see({"account-with-team", "/account"});
}

TEST_CASE("the answers to forms of strangers, and errors", "[pages]") {
    if (is_skipped()) return;
    Studio studio;
    Database& database = studio.database();
    add_runs(database);
    const auto sign_in =
        form("/account/sign_in", {{"email", "eve@example.org"}, {"password", "x"}});
    studio.see({"sign-in-refused", "/account/sign_in", 422, sign_in});
    studio.see({"forgotten-sent", "/account/forgotten", 200,
                form("/account/forgotten", {{"email", "eve@example.org"}})});
    studio.see({"confirm-refused", "/account/confirm?secret=" + std::string(64, 'a'), 422,
                form("/account/confirm", {})});
    studio.see({"reset-refused", "/account/reset?secret=" + std::string(64, 'a'), 422,
                form("/account/reset", {{"next", "long enough"}})});
    studio.see({"error-forged-form", "/account/sign_in", 403,
                form("/account/sign_in", {{"form_token", std::string(64, 'b')}})});
    server::Browser stranger{studio.site()};
    for (int i = 0; i < kSignInLimits.pair; ++i) sign_in_as(stranger, "eve", "wrong");
    studio.see({"error-429", "/account/sign_in", 429, sign_in});
    // Every statement fails once the tables are gone.
    control::BackboneEnd backbone{studio.run_folder()};
    backbone.happen(control::StepCommitted{
        {.step = 41, .samples = 4096, .loss = 3.25, .seconds = 7.5, .members = 64, .digest = {}}});
    database.execute("rename table user to user_away, dedloc_run to run_away");
    studio.see({"away-home", "/index.html"});
    studio.see({"away-runs", "/runs?away"});
    studio.see({"away-run", "/run/first"});
    studio.see_plain({"away-run", "/run/first"});
    studio.see({"error-503", "/users", 503});
    std::printf("pictures: %s\n", pictures().c_str());
}

}  // namespace dedloc::server
