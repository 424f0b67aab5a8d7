// The public pages: their content, escaping, privacy, headers, and what a viewer costs.
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "peer/platform/files.hpp"
#include "project_server/database/evaluations.hpp"
#include "project_server/views/runs.hpp"
#include "project_server/views/safe_link.hpp"
#include "project_server/web/answer_cache.hpp"
#include "project_server/web/templates.hpp"
#include "tests/project_server/web/site_fixture.hpp"
#include "tests/small_run.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

/// A peer of a run with a ticket for a result of this user and host; it claims to be `claim`.
void add_peer(Database& database, std::int64_t run, const std::string& key, std::int64_t user,
              std::int64_t host, const std::string& claim) {
    database.execute("insert into result (name, userid, hostid) values (?, ?, ?)",
                     {"result_of_" + key, user, host});
    const std::int64_t result = database.insert_id();
    database.execute(
        "insert into dedloc_seat (runid, peer_key, result_name, role, state, samples_per_second, "
        "last_seen) values (?, ?, ?, 'trainer', 'working', 2.5, unix_timestamp())",
        {run, key, claim});
    database.execute(
        "insert into dedloc_ticket (runid, peer_key, resultid, issued, expires) values (?, ?, ?, "
        "1, 2)",
        {run, key, result});
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("templates escape every value except the layout's body", "[server]") {
    for (const PageFile& file : page_files()) {
        INFO(file.name);
        const auto raw =
            count_of(std::string{file.text}, "{{{") + count_of(std::string{file.text}, "{{&");
        CHECK(raw == (file.name == "layout.html" ? 1 : 0));
        CHECK(file.text.find("style=") == file.text.npos);
        CHECK(file.text.find("onclick") == file.text.npos);
        CHECK(file.text.find("<script>") == file.text.npos);
    }
}

TEST_CASE("a small rate keeps its digits, and one core is no plural", "[server]") {
    const auto page_of = [](double credit) {
        return fill_in("run.html", json::Value{}.set("credit_per_sample", credit));
    };
    for (const auto& [credit, text] : std::vector<std::pair<double, std::string>>{
             {0, "0.0000"}, {12.5, "12.5000"}, {0.000384, "0.000384"}, {1.8133e-6, "0.00000181"}})
        CHECK(count_of(page_of(credit), "<dd>" + text + "</dd>") == 1);
    const auto host_of = [](int cores) {
        return fill_in("host.html", json::Value{}.set("cores", cores));
    };
    CHECK(count_of(host_of(1), "1 core<") == 1);
    CHECK(count_of(host_of(12), "12 cores<") == 1);
}

TEST_CASE("links lead to the web only", "[server]") {
    CHECK(safe_link("https://example.org/~a?b=c&d") == "https://example.org/~a?b=c&d");
    for (const char* const bad : {"javascript:alert(1)", "", "data:text/html,x", "//example.org",
                                  "http://a b", "http://a\"b", "HTTP://x\n", "http://a\x7f"}) {
        CHECK(safe_link(bad).empty());
    }
}

TEST_CASE("hostile names are text on every page", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const auto user = add_user(database, kHostileText, 50, true, kHostileText);
    const auto host = add_host(database, user, kHostileText, 50);
    database.execute(
        "insert into team (name, userid, url, description, country, total_credit) "
        "values (?, ?, 'javascript:alert(3)', ?, ?, 9)",
        {kHostileText, user, kHostileText, kHostileText});
    const auto team = database.insert_id();
    database.execute("update user set teamid = ? where id = ?", {team, user});
    const auto run = add_run(database, "first");
    add_peer(database, run, std::string(64, 'a'), user, host, kHostileText);
    for (const std::string& path :
         {std::string{"/"}, std::string{"/users"}, std::string{"/teams"}, std::string{"/hosts"},
          std::string{"/countries"}, std::string{"/run/first"}, "/user/" + std::to_string(user),
          "/team/" + std::to_string(team), "/host/" + std::to_string(host)}) {
        INFO(path);
        const auto html = site.get(path);
        CHECK(html.status == 200);
        CHECK_THAT(html.body, !Contains("<script>") && !Contains("javascript:") &&
                                  !Contains("</textarea>") && !Contains("\"'>"));
        CHECK_FALSE(html.has_header("X-Injected"));
        CHECK_THAT(html.get_header_value("Content-Security-Policy"),
                   Contains("default-src 'none'") && Contains("frame-ancestors 'none'"));
        CHECK(html.get_header_value("X-Content-Type-Options") == "nosniff");
        CHECK(html.has_header("Referrer-Policy"));
        const auto json = site.get(path == "/" ? "/index.json" : path + ".json");
        CHECK(json.status == 200);
        CHECK(json.get_header_value("Content-Type") == "application/json");
        CHECK_THAT(json.body, !Contains("javascript:"));
    }
    CHECK_THAT(site.page("/user/" + std::to_string(user)), Contains("&lt;script&gt;"));
}

TEST_CASE("a peer is shown as its ticket says, not as it claims", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const auto honest = add_user(database, "Honest", 50);
    const auto liar = add_user(database, "Liar", 40);
    const auto honest_host = add_host(database, honest, "CPU A", 50);
    const auto liar_host = add_host(database, liar, "CPU B", 40);
    const auto run = add_run(database, "first");
    add_peer(database, run, std::string(64, 'a'), honest, honest_host, "");
    add_peer(database, run, std::string(64, 'b'), liar, liar_host,
             "result_of_" + std::string(64, 'a'));
    const std::string json = site.page("/run/first.json");
    CHECK(count_of(json, R"("user":"Honest")") == 1);
    CHECK(count_of(json, R"("user":"Liar")") == 1);
    CHECK_THAT(site.page("/run/first"), Contains(">Honest<") && Contains(">Liar<"));
}

TEST_CASE("computers of users who do not show them are on no page", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const auto user = add_user(database, "Hidden", 50, false);
    const auto host = add_host(database, user, "HiddenModel", 50);
    const auto run = add_run(database, "first");
    add_peer(database, run, std::string(64, 'a'), user, host, "x");
    const std::string id = std::to_string(user);
    for (const std::string& path : {std::string{"/hosts"}, std::string{"/run/first"}, "/user/" + id,
                                    std::string{"/"}, std::string{"/server_status"}}) {
        for (const char* const form : {"", ".json"}) {
            INFO(path + form);
            const std::string text = site.page((path == "/" ? "/index" : path) + form);
            CHECK_THAT(text, !Contains("HiddenModel") && !Contains("secret-domain") &&
                                 !Contains("203.0.113.7") &&
                                 !Contains("/host/" + std::to_string(host)));
        }
    }
    CHECK(site.get("/host/" + std::to_string(host)).status == 404);
    CHECK(site.get("/host/" + std::to_string(host) + ".json").status == 404);
    CHECK_THAT(site.page("/run/first"), Contains("anonymous") && !Contains("Hidden"));
    CHECK_THAT(site.page("/run/first.json"), !Contains("Hidden"));
    database.execute("update user set show_hosts = 1");
    CHECK_THAT(site.page("/host/" + std::to_string(host)),
               Contains("HiddenModel") && !Contains("secret-domain") && !Contains("203.0.113.7"));
}

TEST_CASE("a run's curve has the bytes that a step needs by computation", "[server][integration]") {
    TestProject project;
    Database& database = project.database();
    const auto run = add_run(database, "first");
    database.execute(
        "insert into dedloc_step values (?, 1, 10, 1, 0.1, 3, 3, 'ab', 2, 1), "
        "(?, 2, 10, 1, 0.1, 1, 1, 'ab', 2, 2)",
        {run, run});
    const auto bytes = [&](const std::string& spec) {
        database.execute("update dedloc_run set spec = ?", {spec});
        RunHistories histories;
        const auto points = histories.read(database, run).points;
        REQUIRE(points.size() == 2);
        CHECK(points.back().computed_bytes == 0);  // a peer alone sends nothing
        return points.front().computed_bytes;
    };
    formats::RunFile file = tests::small_run();
    const auto elements = static_cast<double>(formats::element_count(file));
    CHECK(bytes(formats::write_run_file(file)) == 2 * 2 * 4 * elements);
    file.codec = Codec::kInt8;
    CHECK(bytes(formats::write_run_file(file)) == 2 * 2 * (1 + 1.0 / 64) * elements);
    CHECK(bytes("{}") == 0);
}

TEST_CASE("a run's page follows the steps and forgets void ones", "[server][integration]") {
    TestProject project;
    Database& database = project.database();
    const auto run = add_run(database, "first");
    const auto step = [&](int number, double loss, double committed_at) {
        database.execute("insert into dedloc_step values (?, ?, 10, ?, 0.1, 3, 3, 'ab', 2, ?)",
                         {run, number, loss, committed_at});
    };
    RunHistories histories;
    for (int number = 1; number <= 1300; ++number) step(number, 7.0 / number, number);
    RunCurve curve = histories.read(database, run);
    CHECK(curve.samples == 13'000);
    CHECK(curve.points.size() <= 1'200);
    CHECK(curve.points.front().loss == 7.0);
    CHECK(curve.points.back().step == 1300);
    CHECK(curve.points.back().samples_per_second == 5.0);
    step(1301, 0.5, 1301);
    curve = histories.read(database, run);
    CHECK(curve.samples == 13'010);
    CHECK(curve.points.back().loss == 0.5);
    database.execute("delete from dedloc_step where step > 1200");
    step(1201, 9.0, 2000);
    curve = histories.read(database, run);
    CHECK(curve.samples == 12'010);
    CHECK(curve.points.back().loss == 9.0);
    database.execute("delete from dedloc_step");
    CHECK(histories.read(database, run).samples == 0);
    CHECK_FALSE(run_data(database, histories, "none", 100));
}

TEST_CASE("the pages have the figures on held-out text, and of valid states only",
          "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    add_run(database, "old");
    const auto run = add_run(database, "new");
    CHECK_THAT(site.page("/run/old.json"), !Contains("held_out"));
    for (int step = 1; step <= 6; ++step) {
        database.execute("insert into dedloc_step values (?, ?, 10, ?, 0.1, 3, 3, ?, 1, 1)",
                         {run, step, 7.0 / step, "d" + std::to_string(step)});
    }
    EvaluationRow row{.step = 0,
                      .loss = 8.5,
                      .loss_error = 0.0625,
                      .figures = {{.name = "masked_accuracy", .value = 0.125},
                                  {.name = "masked_loss", .value = 7.75, .error = 0.25},
                                  {.name = "order_accuracy", .value = 0.5},
                                  {.name = "order_loss", .value = 0.75}},
                      .samples = 1'024,
                      .seconds = 2.5,
                      .digest = "d0"};
    CHECK(write_evaluation(database, run, row));
    row.step = 4;
    row.digest = "d4";
    row.loss = 6.25;
    CHECK(write_evaluation(database, run, row));
    row.step = 6;
    row.digest = "d6";
    CHECK(write_evaluation(database, run, row));
    database.execute("update dedloc_step set digest = 'new' where step = 6");  // the step is void
    const std::string json = site.page("/run/new.json");
    CHECK_THAT(json,
               Contains(R"("held_out":{"step":4,"loss":6.25,"loss_error":0.0625,)"
                        R"("masked_loss":7.75,"order_loss":0.75,"masked_accuracy":0.125,)"
                        R"("order_accuracy":0.5,"samples":1024,"seconds":2.5,"digest":"d4"})"));
    CHECK_THAT(json, Contains(R"("held_out_curve":[[0,8.5,0.125,0.5],[4,6.25,0.125,0.5]])"));
    CHECK_THAT(site.page("/run/new"),
               Contains("6.2500") &&
                   Contains("<dt>Masked tokens right</dt><dd data-figure="
                            "\"masked_accuracy\">12.50 %</dd>") &&
                   Contains("<dt>Sentence orders right</dt><dd data-figure=\"order_accuracy\">"
                            "50.00 %</dd>") &&
                   Contains("<th scope=\"col\" class=\"number\">Masked tokens right</th>") &&
                   Contains("<td class=\"number\">12.50 %</td>") &&
                   Contains("Measurements on held-out text") && !Contains("Loss of masked tokens"));
    CHECK_THAT(site.page("/run/old"), Contains("data-figure=\"masked_accuracy\">–</dd>") &&
                                          Contains("<td colspan=\"6\">This run has not"));
    CHECK_THAT(site.page("/runs.json"),
               Contains(R"("name":"new","state":"running","step":6)") &&
                   Contains(R"("held_out":{"step":4,"loss":6.25,"masked_accuracy":0.125,)"
                            R"("order_accuracy":0.5,)"));
    CHECK_THAT(site.page("/runs"), Contains("1.1667") && Contains("6.2500") &&
                                       Contains("<div>Masked tokens right 12.50 %</div>") &&
                                       Contains("<div>Sentence orders right 50.00 %</div>"));
}

TEST_CASE("the pages have the figures of each run's own task", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const auto pictures = add_run(database, "pictures");
    const auto module = add_run(database, "module");
    database.execute("update dedloc_run set architecture = if(id = ?, 'swav', 'module')",
                     {pictures});
    for (const auto run : {pictures, module}) {
        CHECK(write_evaluation(database, run,
                               {.step = 0,
                                .loss = 3.5,
                                .loss_error = 0.0625,
                                .figures = {{.name = "knn_accuracy", .value = 0.375},
                                            {.name = "masked_accuracy", .value = 0.125},
                                            {.name = "prototypes_used", .value = 1'234}},
                                .samples = 64,
                                .seconds = 2.5,
                                .digest = "d0"}));
    }
    CHECK_THAT(site.page("/run/pictures.json"),
               Contains(R"("loss_error":0.0625,"knn_accuracy":0.375,"linear_accuracy":null,)") &&
                   Contains(R"("held_out_curve":[[0,3.5,0.375,null]])"));
    CHECK_THAT(site.page("/run/pictures"),
               Contains("<dt>kNN accuracy</dt><dd data-figure=\"knn_accuracy\">37.50 %</dd>") &&
                   Contains("<dt>Linear accuracy</dt><dd data-figure=\"linear_accuracy\">–</dd>") &&
                   Contains("<td class=\"number\">1,234</td>") &&
                   Contains("Measurements on held-out pictures") && !Contains("12.50 %") &&
                   !Contains("asked tokens"));
    CHECK_THAT(site.page("/run/module"), Contains("3.5000") && !Contains("data-figure") &&
                                             Contains("Measurements on held-out data"));
    CHECK_THAT(site.page("/runs"),
               Contains("<td><div>kNN accuracy 37.50 %</div>") && Contains("<td>–</td>"));
}

TEST_CASE("an evaluation replaces that of its step, with all its figures",
          "[server][integration]") {
    TestProject project;
    Database& database = project.database();
    const auto run = add_run(database, "first");
    EvaluationRow row{
        .step = 0,
        .loss = 1.0 / 3,
        .loss_error = 0.1,
        .figures = {{.name = "a", .value = 2.0 / 3, .error = 1e-300}, {.name = "b", .value = -1}},
        .samples = 64,
        .seconds = 1,
        .digest = "d"};
    CHECK(write_evaluation(database, run, row));
    auto rows = read_evaluations(database, run);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].loss == row.loss);
    CHECK(rows[0].figures == row.figures);
    CHECK(read_figures(database, {{run, 0}, {run, 1}, {run + 1, 0}}) ==
          std::vector<std::vector<formats::MeasuredFigure>>{row.figures, {}, {}});
    row.figures = {{.name = "c", .value = 3}};
    CHECK(write_evaluation(database, run, row));
    CHECK(read_evaluations(database, run)[0].figures == row.figures);
    row.figures.clear();
    CHECK(write_evaluation(database, run, row));
    rows = read_evaluations(database, run);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].figures.empty());
    // Neither the loss nor a figure of a void state is written.
    row.step = 1;
    row.figures = {{.name = "c", .value = 3}};
    CHECK_FALSE(write_evaluation(database, run, row));
    CHECK(read_figures(database, {{run, 1}})[0].empty());
}

TEST_CASE("leaderboards have pages, orders and no gaps", "[server][integration]") {
    TestSite site;
    for (int i = 1; i <= 120; ++i) add_user(site.database(), "u" + std::to_string(i) + "_", i);
    std::set<std::string> seen;
    for (int page = 1; page <= 3; ++page) {
        const std::string text = site.page("/users.json?page=" + std::to_string(page));
        for (int i = 1; i <= 120; ++i) {
            const std::string name = "\"u" + std::to_string(i) + "_\"";
            if (text.find(name) == text.npos) continue;
            CHECK(seen.insert(name).second);
        }
    }
    CHECK(seen.size() == 120);
    CHECK_THAT(site.page("/users"), Contains("Next 50") && !Contains("Previous 50"));
    CHECK_THAT(site.page("/users?page=3"), !Contains("Next 50") && Contains("Previous 50"));
    CHECK_THAT(site.page("/countries"), Contains("Latvia") && Contains("7,260.00"));
    for (const char* const odd : {"/users?page=0", "/users?page=99999999999", "/users?page=x",
                                  "/users?sort=%27", "/top_users.php?sort=recent"}) {
        CHECK(site.get(odd).status == 200);
    }
    for (const char* const absent : {"/user/0", "/user/99999", "/user/1x", "/team/7", "/host/7",
                                     "/run/none", "/run/none.json"}) {
        INFO(absent);
        CHECK(site.get(absent).status == 404);
    }
}

TEST_CASE("the server's status is there as HTML, JSON and BOINC's XML", "[server][integration]") {
    TestSite site;
    add_user(site.database(), "Ada", 50);
    site.database().execute("insert into app (name, user_friendly_name) values ('t', 'T <x>')");
    site.database().execute(
        "insert into app_version (appid, version_num, platformid, plan_class) select a.id, 105, "
        "p.id, 'mt' from app a, platform p where p.name = 'x86_64-pc-linux-gnu'");
    site.database().execute(
        "insert into app_version (appid, version_num, platformid, plan_class) select appid, 106, "
        "platformid, plan_class from app_version");
    platform::replace_file(
        site.project().config().download_directory / "t_105_x86_64-pc-linux-gnu_mt.cdx.json", "{}");
    CHECK_THAT(site.page("/server_status"),
               Contains("T &lt;x&gt;") && Contains("1.06 for x86_64-pc-linux-gnu, mt</li>") &&
                   Contains("/t_105_x86_64-pc-linux-gnu_mt.cdx.json\">contents and licences"));
    CHECK_THAT(site.page("/server_status.json"), Contains(R"("users_with_credit":1)"));
    CHECK_THAT(site.page("/server_status.php?xml=1"),
               Contains("<server_status>") &&
                   Contains("<users_with_credit>1</users_with_credit>") &&
                   Contains("<name>t</name>") && Contains("</database_file_states>"));
    CHECK(site.get("/server_status.php").status == 303);
}

TEST_CASE("many viewers cost one computation", "[server]") {
    AnswerCache cache;
    std::atomic<int> computed = 0;
    const auto compute = [&]() -> std::optional<Answer> {
        ++computed;
        return Answer{.title = "t", .body = {}, .page = {}, .json = {}};
    };
    std::vector<std::thread> viewers;
    for (int i = 0; i < 8; ++i) {
        viewers.emplace_back([&] {
            for (int k = 0; k < 200; ++k) cache.get("a", std::chrono::hours{1}, compute);
        });
    }
    for (auto& viewer : viewers) viewer.join();
    CHECK(computed == 1);
    CHECK(cache.get("a", std::chrono::seconds{0}, compute)->title == "t");
    CHECK_FALSE(cache.get("none", std::chrono::hours{1}, [] { return std::optional<Answer>{}; }));
    const auto fail = []() -> std::optional<Answer> { throw Error("away"); };
    CHECK_THROWS_AS(cache.get("b", std::chrono::hours{1}, fail), Error);
    CHECK(cache.get("b", std::chrono::hours{1}, compute)->title == "t");
    CHECK(computed == 2);
}

TEST_CASE("a client that has a page gets status 304", "[server][integration]") {
    TestSite site;
    const auto first = site.get("/users");
    const std::string tag = first.get_header_value("ETag");
    REQUIRE_FALSE(tag.empty());
    CHECK(site.get("/users", {{"If-None-Match", tag}}).status == 304);
}

TEST_CASE("the home page has the runs' last figures, and no table without a database", "[server]") {
    TestSite site;
    site.database().execute(
        "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created) values ('a<b', '00', '{}', 10, 2000, 1, 0.5, 1)");
    site.database().execute(
        "insert into dedloc_evaluation values (1, 0, 6.25, 0.1, 64, 1, 'd', 1)");
    CHECK_THAT(site.page("/"), Contains("a&lt;b</a></th><td>running</td>") &&
                                   Contains("<td class=\"number\">6.2500</td>") &&
                                   Contains("<scheduler>") && !Contains("{{"));
    site.database().execute("rename table dedloc_evaluation to away");
    // The page is kept for some seconds.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (site.page("/").find("a&lt;b") != std::string::npos &&
           std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
    CHECK_THAT(site.page("/"),
               Contains("<scheduler>") && Contains("is not available now") && Contains("</html>"));
    site.database().execute("rename table away to dedloc_evaluation");
}

TEST_CASE("the page of a run shows what its model says, and no markup of a token works",
          "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const auto run = add_run(database, "first");
    add_run(database, "silent");
    CHECK_THAT(site.page("/run/silent"), Contains("id=\"answers-box\" hidden>"));
    const auto measure = [&](std::uint64_t step, const std::string& word, double share) {
        database.execute("insert into dedloc_step values (?, ?, 8, 2.5, 1, 1, 1, 'ab', 1, 1)",
                         {run, step});
        REQUIRE(write_evaluation(
            database, run,
            {.step = step,
             .loss = 2,
             .samples = 64,
             .digest = "ab",
             .answers = {{.before = "আমি <script>alert(1)</script>",
                          .after = " & গান গাই।",
                          .wanted = "বাংলায়",
                          .words = {{word, share}, {"<b>&\"'", 0.25}, {" ", 0.0001}}}}}));
    };
    measure(3, "গান", 0.5);
    measure(6, "বাংলায়", 0.625);
    const std::string page = site.page("/run/first");
    CHECK_THAT(page, Contains("id=\"answers-box\">") && !Contains("<script>alert") &&
                         !Contains("<b>&") &&
                         Contains("আমি &lt;script&gt;alert(1)&lt;/script&gt; "
                                  "<mark>বাংলায়</mark> &amp; গান গাই।") &&
                         Contains("<bdi>&lt;b&gt;&amp;&quot;&#39;</bdi>") &&
                         Contains("<span class=\"right\"><bdi>বাংলায়</bdi>") &&
                         Contains("<small>62.5 %</small>") && Contains("<bdi>␣</bdi>") &&
                         Contains("<small>&lt; 0.1 %</small>"));
    CHECK(page.find("<dt>Update 6</dt>") < page.find("<dt>Update 3</dt>"));
    const std::string json = site.page("/run/first.json");
    CHECK_THAT(json, Contains(R"("has_sentences":true)") &&
                         Contains(R"("share":"62.5 %","is_wanted":true)"));
}

}  // namespace dedloc::server
