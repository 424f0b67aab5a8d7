// Two stock BOINC clients whose requests carry one CPID, as copied disks do, on computers that are
// equal: the account, the processor, the memory, the system and even the address are the same.
#include "project_server/scheduler/same_computer.hpp"
#include "tests/project_server/web/stock_client.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

constexpr const char* kCpid = "0123456789abcdef0123456789abcdef";

struct Project {
    std::uint16_t port = platform::free_port("127.0.0.1");
    TestProject project{port};
    const std::string url = project.config().master_url;
    std::unique_ptr<Child> server;
    std::string key;

    Project() {
        for (const char* const name : {"code_sign", "upload"}) {
            make_key_pair(project.config().key_directory, name);
        }
        publish_small_app(project.database(), project.config(), DEDLOC_SMALL_APP, "");
        create_job(project.config(), "first", "one");
        create_job(project.config(), "second", "two");
        server = std::make_unique<Child>(
            std::vector<std::string>{DEDLOC_SERVER_PROGRAM, "--project", project.root().string(),
                                     "--listen", "127.0.0.1:" + std::to_string(port)},
            project.root() / "server.log");
        project.database().execute(
            "insert into user (name, email_addr, authenticator) values ('Ada', 'a@b', ?)",
            {std::string(32, 'a')});
    }
    std::int64_t count(const std::string& what) {
        return project.database().query_one("select count(*) as n from " + what)->integer("n");
    }
    /// The number of the host that has a job in progress of which `others` have none; 0: none yet.
    std::int64_t host_with_job(const std::string& others) {
        const auto row = project.database().query_one(
            "select hostid from result where server_state = 4 and hostid not in (" + others + ")");
        return row ? row->integer("hostid") : 0;
    }
    void attach(const StockClient& client) {
        client.tell("--project_attach " + url + " " + std::string(32, 'a'));
    }
    template <class Condition>
    bool updated_within(std::chrono::seconds timeout, const StockClient& client,
                        const Condition& condition) {
        return within(timeout, [&] {
            if (condition()) return true;
            client.tell("--project " + url + " update");
            std::this_thread::sleep_for(500ms);
            return condition();
        });
    }
};

}  // namespace

TEST_CASE("two stock clients with one CPID both keep their work", "[server][boinc][integration]") {
    Project project;
    const StockClient first{project.project.root() / "first.log", {}, "", kCpid};
    first.tell("--set_run_mode never");  // a job in progress stays that
    project.attach(first);
    std::int64_t of_first = 0;
    const bool has_job = project.updated_within(
        60s, first, [&] { return (of_first = project.host_with_job("0")) != 0; });
    INFO(first.log());
    REQUIRE(has_job);
    const StockClient second{project.project.root() / "second.log", {}, "", kCpid};
    project.attach(second);
    const auto done_by = [&](const std::string& hosts) {
        return project.count("result where server_state = 5 and outcome = 1 and hostid " + hosts);
    };
    const std::string of_others = "<> " + std::to_string(of_first);
    const bool has_finished =
        project.updated_within(120s, second, [&] { return done_by(of_others) == 1; });
    INFO(second.log());
    REQUIRE(has_finished);
    CHECK(project.host_with_job("0") == of_first);
    // The requests of both carry the CPID, and neither says that it is one of several.
    CHECK(project.count("host") == 2);
    CHECK(project.count("(select distinct host_cpid from host) as names") == 1);
    for (const StockClient* const client : {&first, &second}) {
        const std::string request =
            output_of("cat " + client->home().string() + "/sched_request_*");
        CHECK_THAT(request, Contains(kCpid));
        CHECK_THAT(request, Contains("<allow_multiple_clients>0<"));
    }
    first.tell("--set_run_mode always");
    CHECK(project.updated_within(120s, first,
                                 [&] { return done_by("= " + std::to_string(of_first)) == 1; }));
    INFO(first.log());
    INFO(second.log());
    CHECK(project.count("result") == 2);
    CHECK(project.count("host") == 2);
    CHECK_THAT(first.log() + second.log(), !Contains("Generated new computer"));
}

TEST_CASE("a copy of a stock client's folder becomes another computer, once",
          "[server][boinc][integration]") {
    Project project;
    const StockClient original{project.project.root() / "original.log", {}, "", kCpid};
    original.tell("--set_run_mode never");
    project.attach(original);
    REQUIRE(project.updated_within(60s, original, [&] { return project.host_with_job("0") != 0; }));
    const TemporaryDirectory snapshot;
    fs::copy(original.home(), snapshot.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    const auto sequence = [&](int host) {
        return project.project.database()
            .query_one("select coalesce(max(rpc_seqno), -1) as n from host where id = ?", {host})
            ->integer("n");
    };
    // The original goes on; the copy begins where it was.
    const std::int64_t before = sequence(1);
    REQUIRE(project.updated_within(60s, original, [&] { return sequence(1) > before + 2; }));
    const StockClient copy{project.project.root() / "copy.log", {}, "", kCpid, snapshot.path()};
    CHECK(project.updated_within(120s, copy, [&] { return sequence(2) > 2; }));
    INFO(copy.log());
    CHECK_THAT(copy.log(), Contains("Generated new computer cross-project ID"));
    CHECK(project.count("host") == 2);
    original.tell("--set_run_mode always");
    CHECK(project.updated_within(90s, original, [&] {
        return project.count("result where server_state = 5 and outcome = 1") >= 1;
    }));
}

}  // namespace dedloc::server
