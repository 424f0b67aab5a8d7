// A volunteer with a GPU from beginning to end: a stock client that sees an NVIDIA GPU, real nginx
// in front of the real server, and everything that an account does with a project.
#include "project_server/cli/nginx_conf.hpp"
#include "project_server/scheduler/plan_class.hpp"
#include "project_server/settings.hpp"
#include "tests/project_server/web/stock_client.hpp"

namespace dedloc::server {
namespace {

/// A project that is reached through nginx.
class PublicProject {
  public:
    PublicProject() {
        for (const char* folder : {"nginx", "log", "html"}) {
            fs::create_directory(project.root() / folder);
        }
        for (const char* key : {"code_sign", "upload"}) {
            make_key_pair(project.config().key_directory, key);
        }
        const Settings settings{.name = "x",
                                .url = project.config().master_url,
                                .listen = {{"127.0.0.1", port_}},
                                .server_port = server_port_,
                                .gateway_port = 1,
                                .database_port = 1};
        std::ofstream{project.root() / "nginx/nginx.conf"}
            << cli::nginx_configuration(project.root(), settings);
    }

    void start_server() {
        server = std::make_unique<Child>(
            std::vector<std::string>{DEDLOC_SERVER_PROGRAM, "--project", project.root().string(),
                                     "--listen", "127.0.0.1:" + std::to_string(server_port_)},
            project.root() / "server.log");
        REQUIRE(within(20s, [&] { return platform::is_accepting("127.0.0.1", server_port_); }));
    }
    void start_nginx() {
        nginx = std::make_unique<Child>(cli::nginx_command(project.root()),
                                        project.root() / "nginx.log");
        REQUIRE(within(20s, [&] { return platform::is_accepting("127.0.0.1", port_); }));
    }
    Row row(const std::string& sql) {
        const auto found = project.database().query_one(sql);
        REQUIRE(found);
        return *found;
    }
    bool is_over(const std::string& result) {
        const auto found = project.database().query_one(
            "select server_state from result where name = ?", {result});
        return found && found->integer("server_state") == RESULT_SERVER_STATE_OVER;
    }
    /// The size of the only file with this content in the upload tree; 0 without one.
    std::uintmax_t uploaded(const std::string& name) const {
        for (const auto& entry :
             fs::recursive_directory_iterator(project.config().upload_directory)) {
            if (entry.path().filename().string().starts_with(name)) return entry.file_size();
        }
        return 0;
    }

  private:
    const std::uint16_t port_ = platform::free_port("127.0.0.1");
    const std::uint16_t server_port_ = platform::free_port("127.0.0.1");

  public:
    TestProject project{port_};
    std::unique_ptr<Child> server;
    std::unique_ptr<Child> nginx;
};

/// Replaces the key for app versions, as project_server/scheduler/README.md describes.
void change_key(const fs::path& keys) {
    const SigningKey former{keys / "code_sign_private"};
    fs::rename(keys / "code_sign_public", keys / "old_key_0");
    fs::remove(keys / "code_sign_private");
    make_key_pair(keys, "code_sign");
    std::string key = read_public_key_text(keys / "code_sign_public");
    while (key.ends_with('\n')) key.pop_back();
    std::ofstream{keys / "signature_0"} << former.sign_text(key);
}

/// The client gets one job on its processors and one on its GPU.
void work_on_both(PublicProject& site, const StockClient& client) {
    const bool both =
        within(180s, [&] { return site.is_over("job_1_0") && site.is_over("job_2_0"); });
    INFO(client.log());
    INFO(contents(site.project.root() / "server.log"));
    REQUIRE(both);
    const auto by_class = [&](std::string_view plan_class) {
        return site.row(
            "select r.* from result r join app_version v on v.id = r.app_version_id "
            "where v.plan_class = '" +
            std::string{plan_class} + "'");
    };
    CHECK(site.row("select count(*) as n from result where outcome = 1").integer("n") == 2);
    CHECK_THAT(by_class(kCuda).text("stderr_out"), Catch::Contains("gpu 'NVIDIA' 0"));
    CHECK_THAT(by_class(kMultithread).text("stderr_out"), Catch::Contains("gpu '' -1"));
    CHECK(site.row("select p_ngpus as n from host").integer("n") == 1);
    CHECK(within(20s, [&] {
        return site.row("select count(*) as n from workunit where need_validate = 1")
                   .integer("n") == 2;
    }));
}

/// An upload that is cut goes on where it stopped.
void cut_an_upload(PublicProject& site, const StockClient& client, const std::string& url) {
    constexpr std::uintmax_t kBytes = 4'000'000;
    create_job(site.project, "long", "12345678", "--repeat 500000");
    client.tell("--project " + url + " update");
    const bool began = within(120s, [&] { return site.uploaded("long_0") > 100'000; });
    INFO(client.log());
    INFO(contents(site.project.root() / "server.log"));
    REQUIRE(began);
    site.nginx.reset();
    const std::uintmax_t cut = site.uploaded("long_0");
    CHECK(cut < kBytes);
    REQUIRE(within(
        30s, [&] { return client.log().find("Temporarily failed upload") != std::string::npos; }));
    site.start_nginx();
    const bool resumed = within(180s, [&] {
        // Clients wait minutes before they try again, unless they are told.
        client.tell("--network_available");
        client.tell("--project " + url + " update");
        return site.is_over("long_0");
    });
    const std::string log = client.log();
    INFO(log);
    REQUIRE(resumed);
    CHECK(site.uploaded("long_0") == kBytes);
    CHECK(site.row("select outcome from result where name = 'long_0'").integer("outcome") == 1);
    const std::string mark = "starting upload, upload_offset ";
    const auto last = log.rfind(mark);
    REQUIRE(last != std::string::npos);
    CHECK(std::stoull(log.substr(last + mark.size())) > 0);
}

/// Preferences, venue and a new signing key reach the client.
void change_settings(PublicProject& site, const StockClient& client, const std::string& url) {
    site.project.database().execute(
        "update user set global_prefs = '<global_preferences>\n<mod_time>1</mod_time>\n"
        "<max_ncpus_pct>50</max_ncpus_pct>\n</global_preferences>\n', project_prefs = "
        "'<project_preferences>\n<no_cuda>1</no_cuda>\n</project_preferences>\n'");
    site.project.database().execute("update host set venue = 'home'");
    const fs::path keys = site.project.config().key_directory;
    change_key(keys);
    site.server.reset();
    site.start_server();
    const std::string new_key = contents(keys / "code_sign_public");
    const std::string line = new_key.substr(new_key.find('\n') + 1, 60);
    const bool told = within(90s, [&] {
        client.tell("--project " + url + " update");
        std::this_thread::sleep_for(1s);
        const std::string state = contents(client.home() / "client_state.xml");
        return state.find(line) != std::string::npos &&
               contents(client.home() / "global_prefs.xml").find("max_ncpus_pct>50") !=
                   std::string::npos;
    });
    INFO(client.log());
    CHECK(told);
    CHECK_THAT(contents(client.home() / "client_state.xml"),
               Catch::Contains("<host_venue>home</host_venue>"));
}

/// The volunteer resets the project and leaves it.
void leave(const StockClient& client, const std::string& url) {
    client.tell("--project " + url + " reset");
    client.tell("--project " + url + " detach");
    CHECK(within(20s, [&] {
        return client.tell("--get_project_status").find("master URL") == std::string::npos;
    }));
}

}  // namespace

TEST_CASE("a volunteer with a GPU attaches, works, changes preferences and leaves",
          "[server][boinc][integration]") {
    PublicProject site;
    TestProject& project = site.project;
    for (const std::string_view plan_class : {kMultithread, kCuda}) {
        publish_small_app(project, DEDLOC_SMALL_APP, plan_class);
    }
    create_job(project, "job_1", "first");
    create_job(project, "job_2", "second");
    site.start_server();
    site.start_nginx();
    const std::string url = project.config().master_url;
    StockClient client{project.root() / "client.log", DEDLOC_PLAYED_CUDA,
                       "<max_bytes_sec_up>400000</max_bytes_sec_up>"
                       "<work_buf_min_days>0.001</work_buf_min_days>"
                       "<work_buf_additional_days>0</work_buf_additional_days>"};
    const std::string made = client.tell("--create_account " + url + " ada@example.org secret Ada");
    const std::string key = site.row("select * from user").text("authenticator");
    CHECK_THAT(made, Catch::Contains(key));
    client.tell("--project_attach " + url + " " + key);
    work_on_both(site, client);
    cut_an_upload(site, client, url);
    change_settings(site, client, url);
    leave(client, url);
    client.stop();
    CHECK(site.server->stop() == 0);
    const std::string log = client.log();
    INFO(log);
    for (const char* const bad :
         {"[error]", "Scheduler request failed", "doesn't validate",
          "Error reported by file upload server", "exited with", "aborted"}) {
        CHECK_THAT(log, !Catch::Contains(bad));
    }
}

}  // namespace dedloc::server
