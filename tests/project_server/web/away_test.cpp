// What browsers and BOINC's clients get of errors, and while the database is away.
#include <httplib.h>

#include <string>
#include <thread>

#include "peer/platform/files.hpp"
#include "project_server/publishing/keys.hpp"
#include "tests/project_server/control/backbone_end.hpp"
#include "tests/project_server/control/samples.hpp"
#include "tests/project_server/web/site_fixture.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

/// A site whose database does not answer, with a run that works.
class AwaySite {
  public:
    AwaySite() {
        make_key_pair(config_.key_directory, "code_sign");
        make_key_pair(config_.key_directory, "upload");
        std::filesystem::create_directories(run_folder());
        platform::replace_file(run_folder() / "run.json", "{}");
        backbone_.emplace(run_folder());
        backbone_->happen(control::StepCommitted{
            {.step = 41, .samples = 8, .loss = 6.125, .seconds = 2, .members = 3, .digest = {}}});
        backbone_->happen(
            control::Progress{{.step = 41, .samples_per_second = 4.5, .trainers = 3}});
        backbone_->happen(
            control::MemberJoined{{.key = control::key(1), .role = "aggregator", .user = 8}});
        server_.emplace(config_, "127.0.0.1", 0);
        serving_ = std::thread{[this] { server_->run(); }};
    }
    ~AwaySite() {
        server_->stop();
        serving_.join();
    }
    httplib::Response get(const std::string& path, const httplib::Headers& headers = {}) const {
        auto result = httplib::Client{"127.0.0.1", server_->port()}.Get(path.c_str(), headers);
        REQUIRE(result);
        return *result;
    }

  private:
    std::filesystem::path run_folder() const { return project_.root() / "runs/first"; }
    static ProjectConfig with_dead_database(ProjectConfig config) {
        config.database.port = platform::free_port("127.0.0.1");
        return config;
    }

    const TestProject project_;
    const ProjectConfig config_ = with_dead_database(project_.config());
    std::optional<control::BackboneEnd> backbone_;
    std::optional<HttpServer> server_;
    std::thread serving_;
};

constexpr const char* kUnavailable = "database is not available now";

void check_page(const httplib::Response& response, int status, const std::string& sentence) {
    CHECK(response.status == status);
    CHECK(response.get_header_value("Content-Type") == "text/html; charset=utf-8");
    CHECK_THAT(response.body, Contains(sentence) && Contains("<nav aria-label=\"Site\">") &&
                                  Contains("<h1>") && Contains("</html>"));
    CHECK_FALSE(response.has_header("Set-Cookie"));
}

void check_json(const httplib::Response& response, int status, const std::string& sentence) {
    CHECK(response.status == status);
    CHECK(response.get_header_value("Content-Type") == "application/json");
    CHECK_THAT(response.body, Contains("\"status\":" + std::to_string(status)) &&
                                  Contains("\"error\":") && Contains(sentence));
}

}  // namespace

TEST_CASE("every unknown address has a page, or JSON, or XML", "[server][integration]") {
    const TestSite site;
    for (const char* const path : {"/nothing", "/account/nothing", "/a/b/c?d=e", "/user/99",
                                   "/download/absent", "/stats/user.gz", "/%3Cscript%3E"}) {
        INFO(path);
        check_page(site.get(path), 404, "There is no such page.");
        CHECK_THAT(site.get(path).body, !Contains("<script>"));
    }
    for (const char* const path :
         {"/nothing.json", "/user/99.json", "/api/nothing", "/api/run/absent/events"}) {
        INFO(path);
        check_json(site.get(path), 404, "There is no such page.");
    }
    CHECK_THAT(site.get("/cgi/nothing").body, Contains("<error_num>"));
    auto client = site.client();
    const auto head = client.Head("/nothing");
    REQUIRE(head);
    CHECK(head->status == 404);
    CHECK(head->body.empty());
    CHECK(head->get_header_value("Content-Type") == "text/html; charset=utf-8");
    CHECK(head->get_header_value("Content-Length") ==
          std::to_string(site.get("/nothing").body.size()));
    const auto post = client.Post("/nothing", "x", "text/plain");
    REQUIRE(post);
    check_page(*post, 404, "There is no such page.");
}

TEST_CASE("pages that need the database say so while it is away", "[server][integration]") {
    const AwaySite site;
    for (const char* const path : {"/users", "/news", "/user/1", "/server_status"}) {
        INFO(path);
        check_page(site.get(path), 503, kUnavailable);
        CHECK(site.get(path).has_header("Retry-After"));
    }
    const httplib::Headers signed_in{{"Cookie", "dedloc_session=" + std::string(64, 'a')}};
    for (const char* const path : {"/users", "/account", "/nothing"}) {
        INFO(path);
        const auto response = site.get(path, signed_in);
        check_page(response, response.status, "Not available");
        CHECK(response.status == (path == std::string{"/nothing"} ? 404 : 503));
    }
    check_json(site.get("/users.json"), 503, kUnavailable);
    CHECK(site.get("/join", signed_in).status == 200);
}

TEST_CASE("BOINC's clients learn that the project is down while its database is away",
          "[server][integration]") {
    const AwaySite site;
    for (const char* const path :
         {"/lookup_account.php?email_addr=a&passwd_hash=b", "/am_get_info.php?account_key=a",
          "/show_user.php?userid=1&format=xml"}) {
        INFO(path);
        const auto response = site.get(path);
        CHECK(response.status == 200);
        CHECK_THAT(response.body,
                   Contains("<error_num>-183</error_num>") && Contains(kUnavailable));
    }
    CHECK_THAT(site.get("/get_project_config.php").body,
               Contains("<web_stopped>1</web_stopped>") && Contains("</project_config>"));
    const auto status = site.get("/server_status.php?xml=1");
    CHECK(status.status == 503);
    CHECK(status.get_header_value("Content-Type") == "text/xml");
    CHECK_THAT(status.body, Contains("<error_num>-183</error_num>"));
}

TEST_CASE("what needs no database works without it", "[server][integration]") {
    const AwaySite site;
    CHECK_THAT(site.get("/").body, Contains("<scheduler>") && Contains(kUnavailable));
    const auto join = site.get("/join");
    CHECK(join.status == 200);
    CHECK_THAT(join.body, Contains("How to join") && !Contains(kUnavailable));
    const auto runs = site.get("/runs");
    CHECK(runs.status == 200);
    CHECK_THAT(runs.body, Contains("first</a>") && Contains("41 of") && Contains("6.1250") &&
                              Contains(kUnavailable));
    const auto run = site.get("/run/first");
    CHECK(run.status == 200);
    CHECK_THAT(run.body, Contains("6.1250") && Contains("4.5") && Contains(kUnavailable) &&
                             Contains("/api/run/first/events"));
    CHECK_THAT(site.get("/run/first.json").body,
               Contains(R"("curve":[[41,6.125,4.0,3,0.0]])") && Contains(R"("working_peers":3)"));
    check_page(site.get("/run/absent"), 503, kUnavailable);
}

TEST_CASE("metrics have what the backbones say, without the database too",
          "[server][integration]") {
    const AwaySite site;
    const auto metrics = site.get("/metrics");
    CHECK(metrics.status == 200);
    CHECK_THAT(metrics.body,
               Contains("dedloc_live_step{run=\"first\",state=\"running\"} 41\n") &&
                   Contains("dedloc_live_loss{run=\"first\"} 6.125\n") &&
                   Contains("dedloc_live_samples_per_second{run=\"first\"} 4.5\n") &&
                   Contains("dedloc_live_trainers{run=\"first\"} 3\n") &&
                   Contains("dedloc_live_members{run=\"first\",role=\"aggregator\"} 1\n") &&
                   Contains("\ndedloc_database_up 0\n") && !Contains("dedloc_tasks") &&
                   Contains("dedloc_request_seconds_count"));
    CHECK_THAT(TestSite{}.page("/metrics"), Contains("\ndedloc_database_up 1\n") &&
                                                Contains("dedloc_tasks{") &&
                                                !Contains("dedloc_live_step{"));
}

}  // namespace dedloc::server
