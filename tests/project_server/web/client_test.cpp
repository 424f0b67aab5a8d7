// A stock BOINC client against the real server: attach, job, download, run, upload, report.
#include "tests/project_server/web/stock_client.hpp"

namespace dedloc::server {

TEST_CASE("the page has the runs' last figures without JavaScript, and no table without a database",
          "[server][integration]") {
    const std::uint16_t port = platform::free_port("127.0.0.1");
    TestProject project{port};
    make_key_pair(project.config().key_directory, "code_sign");
    make_key_pair(project.config().key_directory, "upload");
    project.database().execute(
        "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created) values ('a<b', '00', '{}', 10, 2000, 1, 0.5, 1)");
    project.database().execute(
        "insert into dedloc_evaluation values (1, 0, 6.25, 0.1, 5.5, 0.75, 0.125, 0.5, 64, 1, 'd', "
        "1)");
    const Child server{{DEDLOC_SERVER_PROGRAM, "--project", project.root().string(), "--listen",
                        "127.0.0.1:" + std::to_string(port)},
                       project.root() / "server.log"};
    const auto page = [&] { return output_of("curl -fsS " + project.config().master_url); };
    REQUIRE(within(20s, [&] { return page().find("</html>") != std::string::npos; }));
    CHECK_THAT(page(), Catch::Contains("a&lt;b</a></th><td>running</td>") &&
                           Catch::Contains("<td class=\"number\">6.2500</td>") &&
                           Catch::Contains("<scheduler>") && !Catch::Contains("{{"));
    project.database().execute("rename table dedloc_evaluation to away");
    // The page is kept for some seconds.
    REQUIRE(within(20s, [&] { return page().find("a&lt;b") == std::string::npos; }));
    CHECK_THAT(page(), Catch::Contains("<scheduler>") && Catch::Contains("is not available now") &&
                           Catch::Contains("</html>"));
    project.database().execute("rename table away to dedloc_evaluation");
}

TEST_CASE("a stock client attaches, works, uploads and reports", "[server][boinc][integration]") {
    const std::uint16_t port = platform::free_port("127.0.0.1");
    TestProject project{port};
    make_key_pair(project.config().key_directory, "code_sign");
    make_key_pair(project.config().key_directory, "upload");
    publish_small_app(project, DEDLOC_SMALL_APP, "");
    create_job(project, "job_1", "hello, volunteer");
    const fs::path log = project.root() / "server.log";
    Child server{{DEDLOC_SERVER_PROGRAM, "--project", project.root().string(), "--listen",
                  "127.0.0.1:" + std::to_string(port)},
                 log};

    StockClient client{project.root() / "client.log", {}};
    const std::string url = project.config().master_url;
    const std::string made =
        client.tell("--create_account " + url + " Ada@Example.org password Ada");
    INFO(made);
    const auto row = project.database().query_one("select * from user");
    REQUIRE(row);
    CHECK(row->text("email_addr") == "ada@example.org");
    CHECK_THAT(made, Catch::Contains(row->text("authenticator")));
    CHECK_THAT(client.tell("--lookup_account " + url + " ada@example.org password"),
               Catch::Contains(row->text("authenticator")));
    client.tell("--project_attach " + url + " " + row->text("authenticator"));

    const bool reported = within(90s, [&] {
        const auto result =
            project.database().query_one("select server_state from result where name = 'job_1_0'");
        return result && result->integer("server_state") == RESULT_SERVER_STATE_OVER;
    });
    INFO(contents(log));
    INFO(client.log());
    REQUIRE(reported);
    const auto result = project.database().query_one("select * from result");
    CHECK(result->integer("outcome") == RESULT_OUTCOME_SUCCESS);
    CHECK(result->integer("client_state") == 5);
    CHECK_THAT(result->text("stderr_out"), Catch::Contains("copied 16 bytes"));
    CHECK_THAT(result->text("xml_doc_out"), Catch::Contains("<md5_cksum>"));
    std::string uploaded;
    for (const auto& entry : fs::recursive_directory_iterator(project.config().upload_directory)) {
        if (entry.is_regular_file()) uploaded += contents(entry.path());
    }
    CHECK(uploaded == "HELLO, VOLUNTEER");
    CHECK(within(5s, [&] {
        return project.database()
                   .query_one("select need_validate from workunit")
                   ->integer("need_validate") == 1;
    }));
    client.stop();
    CHECK(server.stop() == 0);
}

}  // namespace dedloc::server
