// A stock BOINC client against the real server: attach, job, download, run, upload, report.
#include <backend_lib.h>
#include <boinc_db.h>
#include <sched_config.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/publishing/keys.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// A child process that the destructor stops.
class Child {
  public:
    Child(const std::vector<std::string>& command, const fs::path& log)
        : process_(
              platform::spawn(command, {.output = log, .output_mode = platform::kSecretFile})) {}
    ~Child() { stop(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    /// Sends SIGTERM and returns the exit status.
    int stop() {
        if (process_ == 0) return status_;
        kill(process_, SIGTERM);
        status_ = platform::wait_for_child(std::exchange(process_, 0));
        return status_;
    }

  private:
    pid_t process_ = 0;
    int status_ = 0;
};

std::string output_of(const std::string& command) {
    FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
    std::string text;
    std::array<char, 512> piece{};
    while (fgets(piece.data(), piece.size(), pipe) != nullptr) text += piece.data();
    pclose(pipe);
    return text;
}

std::string contents(const fs::path& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

template <class Condition>
bool within(std::chrono::seconds timeout, const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(100ms);
    }
    return true;
}

constexpr const char* kInputTemplate = R"(<input_template>
<file_info><number>0</number></file_info>
<workunit>
<file_ref><file_number>0</file_number><open_name>in</open_name></file_ref>
</workunit>
</input_template>
)";
constexpr const char* kResultTemplate = R"(<output_template>
<file_info>
    <name><OUTFILE_0/></name><generated_locally/><upload_when_present/>
    <max_nbytes>100000</max_nbytes><url><UPLOAD_URL/></url>
</file_info>
<result>
    <file_ref><file_name><OUTFILE_0/></file_name><open_name>out</open_name></file_ref>
</result>
</output_template>
)";

/// Creates a job with the input `text`, through libsched.
void create_job(TestProject& project, const std::string& name, const std::string& text) {
    open_boinc_database(project.config());
    DB_APP app;
    REQUIRE(app.lookup("where name='small'") == 0);
    const std::string file = name + ".in";
    std::array<char, 1024> path{};
    REQUIRE(::config.download_path(file.c_str(), path.data()) == 0);
    std::ofstream{path.data()} << text;
    DB_WORKUNIT workunit;
    workunit.clear();
    workunit.appid = app.id;
    std::snprintf(workunit.name, sizeof(workunit.name), "%s", name.c_str());
    workunit.rsc_fpops_est = 1e9;
    workunit.rsc_fpops_bound = 1e15;
    workunit.rsc_memory_bound = 1e7;
    workunit.rsc_disk_bound = 1e7;
    workunit.delay_bound = 3600;
    workunit.min_quorum = 1;
    workunit.target_nresults = 1;
    workunit.max_error_results = 1;
    workunit.max_total_results = 3;
    workunit.max_success_results = 1;
    std::ofstream{project.root() / "templates/small_out"} << kResultTemplate;
    const std::string result_path = (project.root() / "templates/small_out").string();
    const char* const inputs[] = {file.c_str()};
    REQUIRE(create_work(workunit, kInputTemplate, "templates/small_out", result_path.c_str(),
                        const_cast<const char**>(inputs), 1, ::config) == 0);
    close_boinc_database();
}

/// Writes the files that a client needs to be controlled over GUI RPC and to compute at once.
void write_client_settings(const fs::path& home) {
    std::ofstream{home / "gui_rpc_auth.cfg"} << "secret\n";
    // Benchmarks would suspend the app for half a minute.
    std::ofstream{home / "cc_config.xml"}
        << "<cc_config><options><skip_cpu_benchmarks>1</skip_cpu_benchmarks>"
           "</options></cc_config>\n";
    // The app runs even if the machine is busy.
    std::ofstream{home / "global_prefs_override.xml"}
        << "<global_preferences><suspend_cpu_usage>0</suspend_cpu_usage>"
           "<run_if_user_active>1</run_if_user_active></global_preferences>\n";
}

}  // namespace

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
    const fs::path libraries = "/usr/lib/x86_64-linux-gnu";
    add_app_version(
        project.database(), project.config(),
        {.app = "small",
         .friendly_name = "Capitals",
         .files = {{.source = DEDLOC_SMALL_APP, .open_name = "small_app", .is_main_program = true},
                   {.source = libraries / "libboinc_api.so.7", .open_name = "libboinc_api.so.7"},
                   {.source = libraries / "libboinc.so.7", .open_name = "libboinc.so.7"}}});
    create_job(project, "job_1", "hello, volunteer");
    const fs::path log = project.root() / "server.log";
    Child server{{DEDLOC_SERVER_PROGRAM, "--project", project.root().string(), "--listen",
                  "127.0.0.1:" + std::to_string(port)},
                 log};

    const TemporaryDirectory home;
    const std::string rpc_port = std::to_string(platform::free_port("127.0.0.1"));
    write_client_settings(home.path());
    Child client{{"boinc", "--dir", home.path().string(), "--allow_multiple_clients",
                  "--gui_rpc_port", rpc_port, "--no_gpus"},
                 project.root() / "client.log"};
    const std::string command = "cd " + home.path().string() +
                                " && boinccmd --host 127.0.0.1:" + rpc_port + " --passwd secret ";
    REQUIRE(within(20s, [&] {
        return output_of(command + "--get_cc_status").find("network connection") !=
               std::string::npos;
    }));
    const std::string url = project.config().master_url;
    const std::string made =
        output_of(command + "--create_account " + url + " Ada@Example.org password Ada");
    INFO(made);
    const auto row = project.database().query_one("select * from user");
    REQUIRE(row);
    CHECK(row->text("email_addr") == "ada@example.org");
    CHECK_THAT(made, Catch::Contains(row->text("authenticator")));
    CHECK_THAT(output_of(command + "--lookup_account " + url + " ada@example.org password"),
               Catch::Contains(row->text("authenticator")));
    output_of(command + "--project_attach " + url + " " + row->text("authenticator"));

    const bool reported = within(90s, [&] {
        const auto result =
            project.database().query_one("select server_state from result where name = 'job_1_0'");
        return result && result->integer("server_state") == RESULT_SERVER_STATE_OVER;
    });
    INFO(contents(log));
    INFO(contents(project.root() / "client.log"));
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
