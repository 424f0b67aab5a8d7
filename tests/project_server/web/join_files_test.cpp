// The script and the notebook by which computers join, and what the pages say of joining.
#include "project_server/web/join_files.hpp"

#include "project_server/database/join_policy.hpp"
#include "tests/project_server/web/site_fixture.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

TEST_CASE("only a plain address is put into a script", "[server]") {
    for (const char* const name : {"join.sh", "join.ipynb"}) {
        const auto text = join_file(name, "https://train.example.org:8443/");
        REQUIRE(text);
        CHECK_THAT(*text, Contains("https://train.example.org:8443/") && !Contains("%MASTER_URL%"));
        for (const char* const hostile :
             {"http://a/'; id; '", "http://a/$(id)", "http://a/`id`", "http://a/\"", "http://a/\\",
              "http://a/\n", "http://a/ b", "http://a/%27", "http://a/<b>", "http://a/\xc3\xa4"}) {
            CAPTURE(hostile);
            CHECK_FALSE(join_file(name, hostile));
        }
    }
}

TEST_CASE("the script has the project's address, whatever the request says",
          "[server][integration]") {
    TestSite site;
    const std::string master = site.project().config().master_url;
    const std::string script = site.page("/join.sh");
    CHECK_THAT(script, Catch::StartsWith("#!/bin/sh\n") && Contains("master='" + master + "'"));
    for (const httplib::Headers& headers :
         {httplib::Headers{{"Host", "evil.example"}},
          httplib::Headers{{"Host", "a'; id; '"}, {"X-Forwarded-Host", "evil.example"}},
          httplib::Headers{{"Forwarded", "host=evil.example"}}}) {
        CHECK(site.get("/join.sh", headers).body == script);
    }
    const auto notebook = site.get("/join.ipynb");
    CHECK(notebook.status == 200);
    CHECK(notebook.get_header_value("Content-Type") == "application/x-ipynb+json");
    CHECK_THAT(notebook.body, Contains("MASTER = \\\"" + master + "\\\""));
    for (const char* const page : {"/", "/join"}) {
        CHECK_THAT(site.page(page), Contains(master + "join.sh") && Contains("/join.ipynb") &&
                                        !Contains("invitation code"));
    }
}

TEST_CASE("the pages say that an invitation code is needed", "[server][integration]") {
    TestSite site;
    set_join_policy(site.database(), JoinPolicy::kInvitation);
    for (const char* const page : {"/", "/join"}) {
        CHECK_THAT(site.page(page), Contains("invitation code"));
    }
    CHECK_THAT(site.page("/join"), !Contains("--create_account"));
}

}  // namespace
}  // namespace dedloc::server
