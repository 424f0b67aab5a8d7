// The story of a volunteer, from the account to the last day: a whole project as `dedloc` makes and
// starts it, with nginx in front, and a stock BOINC client that sees an NVIDIA GPU. Its processors
// get the real trainer; its GPU, which computes nothing, gets small_app.
#include "project_server/scheduler/plan_class.hpp"
#include "tests/project_server/web/stock_client.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

const std::string kDedloc = std::string{DEDLOC_PROGRAMS} + "/dedloc";
/// Enough for a minute of training by one volunteer.
constexpr int kSteps = 400;

/// A project that trains a tiny model, and has small_app for GPUs.
class Project {
  public:
    Project() {
        std::ofstream text{directory_.path() / "text"};
        for (int i = 0; i < 2000; ++i) {
            text << "It was day " << i << ". The people of town " << i % 7 << " went home.\n";
        }
        text.close();
        run("project create " + root().string() + " --name Story --contact-seconds 10");
        config_ = load_project_config(root());
        run("corpus build --text " + (directory_.path() / "text").string() + " --out " +
            corpus().string() + " --vocabulary 100");
        run("app add --project " + root().string() + " --binary " DEDLOC_PROGRAMS "/dedloc_train");
        run("run create --project " + root().string() + " --name story --corpus " +
            corpus().string() + " --model tiny --target-batch 32 --evaluate-every 0 --steps " +
            std::to_string(kSteps));
        log_ = directory_.path() / "project.log";
        supervisor_ = std::make_unique<Child>(
            std::vector<std::string>{kDedloc, "project", "start", root().string(), "--foreground"},
            log_);
        INFO(contents(log_));
        REQUIRE(
            within(60s, [&] { return contents(log_).find("running at") != std::string::npos; }));
        database_ = std::make_unique<Database>(config_.database);
    }

    fs::path root() const { return directory_.path() / "project"; }
    const ProjectConfig& config() const { return config_; }
    const std::string& url() const { return config_.master_url; }
    Database& database() { return *database_; }
    Row row(const std::string& sql) {
        const auto found = database_->query_one(sql);
        INFO(sql);
        REQUIRE(found);
        return *found;
    }
    double number(const std::string& sql) { return row("select (" + sql + ") as n").real("n"); }
    bool is_over(const std::string& result) {
        return number("select count(*) from result where server_state = 5 and name = '" + result +
                      "'") > 0;
    }
    /// The size of what has been uploaded of a result's only output; 0 if there is none.
    std::uintmax_t uploaded(const std::string& name) const {
        for (const auto& entry : fs::recursive_directory_iterator(config_.upload_directory)) {
            if (entry.path().filename().string().starts_with(name)) return entry.file_size();
        }
        return 0;
    }
    /// Ends a daemon; the supervisor starts it again.
    void restart(const std::string& daemon) {
        const auto pid = [&] { return contents(root() / "pids" / (daemon + ".pid")); };
        const std::string before = pid();
        REQUIRE(::kill(std::stoi(before), SIGTERM) == 0);
        REQUIRE(within(30s, [&] { return !pid().empty() && pid() != before; }));
    }
    int stop() { return supervisor_->stop(); }
    std::string logs() const {
        return output_of("tail -n 15 " + (root() / "log").string() + "/*.log " + log_.string());
    }

  private:
    fs::path corpus() const { return directory_.path() / "corpus"; }
    static void run(const std::string& arguments) {
        const std::string output = output_of(kDedloc + " " + arguments + " && echo done");
        INFO(output);
        REQUIRE(output.ends_with("done\n"));
    }

    TemporaryDirectory directory_;
    fs::path log_;
    ProjectConfig config_;
    std::unique_ptr<Child> supervisor_;
    std::unique_ptr<Database> database_;
};

/// A browser, which keeps cookies in a file.
class Browser {
  public:
    explicit Browser(std::string url) : url_(std::move(url)) {}
    std::string get(const std::string& path) const {
        return output_of("curl -sS -L -b " + cookies() + " -c " + cookies() + " " + url_ + path);
    }
    /// Loads a page with a form and sends the form; returns the page to which the answer leads.
    std::string submit(const std::string& page, const std::string& action,
                       const std::string& fields) const {
        const std::string html = get(page);
        const std::string mark = "name=\"form_token\" value=\"";
        const auto at = html.find(mark);
        INFO(html);
        REQUIRE(at != std::string::npos);
        return get(action + " --data form_token=" + html.substr(at + mark.size(), 64) + " " +
                   fields);
    }

  private:
    std::string cookies() const { return (folder_.path() / "cookies").string(); }

    TemporaryDirectory folder_;
    std::string url_;
};

/// The volunteer: a project and a client that is attached to it.
struct Story {
    Project project;
    StockClient client{project.root() / "client.log", DEDLOC_PLAYED_CUDA,
                       "<work_buf_min_days>0.001</work_buf_min_days>"
                       "<work_buf_additional_days>0</work_buf_additional_days>"};
    std::string key;  ///< of the account

    void update() const { client.tell("--project " + project.url() + " update"); }
    /// Tells the client to contact the project again and again until `condition` holds.
    template <class Condition>
    bool updated_within(std::chrono::seconds timeout, const Condition& condition) const {
        return within(timeout, [&] {
            if (condition()) return true;
            update();
            std::this_thread::sleep_for(1s);
            return condition();
        });
    }
};

void create_account_and_attach(Story& story) {
    const std::string& url = story.project.url();
    const std::string made =
        story.client.tell("--create_account " + url + " Ada@Example.org secret-ada Ada");
    INFO(made);
    const Row account = story.project.row("select * from user");
    story.key = account.text("authenticator");
    CHECK(account.text("email_addr") == "ada@example.org");
    CHECK_THAT(made, Contains(story.key));
    CHECK_THAT(story.client.tell("--lookup_account " + url + " ada@example.org secret-ada"),
               Contains(story.key));
    story.client.tell("--project_attach " + url + " " + story.key);
    // The volunteer wants the project to be told often of what the trainer has done.
    fs::path folder;
    REQUIRE(within(20s, [&] {
        const fs::path projects = story.client.home() / "projects";
        if (!fs::exists(projects) || fs::is_empty(projects)) return false;
        folder = fs::directory_iterator {
            projects
            } -> path();
        return true;
    }));
    std::ofstream{folder / "app_config.xml"}
        << "<app_config><app_version><app_name>dedloc_train</app_name>"
           "<plan_class>mt_dedloc</plan_class><cmdline>--message-seconds 5</cmdline>"
           "</app_version></app_config>\n";
    story.client.tell("--read_cc_config");
}

/// Another volunteer founds a team on the web, and ours joins it.
void join_a_team(Story& story) {
    const Browser founder{story.project.url()};
    founder.submit("account/create", "account/create",
                   "-d email=bob@example.org -d password=secret-bob -d name=Bob");
    CHECK_THAT(founder.submit("teams/create", "teams/create", "-d name=Towners -d is_joinable=1"),
               Contains("Towners"));
    const Browser browser{story.project.url()};
    browser.submit("account/sign_in", "account/sign_in",
                   "-d email=ada@example.org -d password=secret-ada");
    CHECK_THAT(browser.submit("team/1", "team/1/join", ""), Contains("Ada"));
    CHECK(story.project.number("select teamid from user where name = 'Ada'") == 1);
}

/// The client gets a job for its processors and one for its GPU.
void get_jobs(Story& story) {
    Project& project = story.project;
    const bool both = within(120s, [&] {
        return project.is_over("gpu_job_0") &&
               project.number("select count(*) from dedloc_ticket") > 0;
    });
    INFO(project.logs());
    INFO(story.client.log());
    REQUIRE(both);
    const Row job = project.row("select * from result where name = 'gpu_job_0'");
    CHECK(job.integer("outcome") == RESULT_OUTCOME_SUCCESS);
    CHECK_THAT(job.text("stderr_out"), Contains("gpu 'NVIDIA' 0"));
    CHECK(project.uploaded("gpu_job_0") == 4);
    CHECK(project.number("select p_ngpus from host") == 1);
    CHECK(project.number("select count(*) from result r join app_version v on v.id = "
                         "r.app_version_id where v.plan_class = 'mt_dedloc' and "
                         "r.server_state = 4") == 1);
}

/// Credit rises while the trainer runs, and the trainer's messages are handled.
void earn(Story& story) {
    Project& project = story.project;
    const auto credit = [&] {
        return project.number("select total_credit from user where name = 'Ada'");
    };
    const bool earned = within(120s, [&] { return credit() > 0; });
    INFO(project.logs());
    REQUIRE(earned);
    const double first = credit();
    CHECK(within(120s, [&] { return credit() > first; }));
    CHECK(project.number("select total_credit from host") > 0);
    CHECK(project.number("select total_credit from team") > 0);
    CHECK(project.number("select expavg_credit from user where name = 'Ada'") > 0);
    CHECK(within(60s, [&] {
        return project.number(
                   "select count(*) from msg_from_host where handled = 1 and variety = "
                   "'dedloc_credit' and xml like '%<samples>%'") > 0;
    }));
    CHECK(story.updated_within(60s, [&] {
        const std::string status = story.client.tell("--get_project_status");
        const auto at = status.find("user_total_credit: ");
        return at != std::string::npos && std::stod(status.substr(at + 19)) > 0 &&
               status.find("team name: Towners") != std::string::npos;
    }));
    // All that was before the job's end.
    CHECK(project.number("select count(*) from result where appid = (select id from app where "
                         "name = 'dedloc_train') and server_state = 4") == 1);
}

/// The run ends, and with it the job: it is uploaded, reported and found valid.
void finish_the_run(Story& story) {
    Project& project = story.project;
    const std::string of_trainer =
        "from result where outcome = 1 and appid = (select id from app where name = "
        "'dedloc_train')";
    const bool valid = story.updated_within(300s, [&] {
        return project.number("select count(*) " + of_trainer + " and validate_state = 1") > 0;
    });
    INFO(project.logs());
    INFO(story.client.log());
    REQUIRE(valid);
    const Row result = project.row("select * " + of_trainer);
    CHECK(result.real("granted_credit") > 0);
    CHECK(result.integer("exit_status") == 0);
    CHECK_THAT(result.text("xml_doc_out"), Contains("<md5_cksum>"));
    CHECK(project.number("select assimilate_state from workunit where id = " +
                         result.text("workunitid")) > 0);
}

/// An upload that is cut goes on where it stopped.
void cut_an_upload(Story& story) {
    constexpr std::uintmax_t kBytes = 4'000'000;
    Project& project = story.project;
    write_client_settings(story.client.home(), "<max_bytes_sec_up>400000</max_bytes_sec_up>");
    story.client.tell("--read_global_prefs_override");
    create_job(project.config(), "long", "12345678", "--repeat 500000");
    const bool began =
        story.updated_within(120s, [&] { return project.uploaded("long_0") > 100'000; });
    INFO(project.logs());
    INFO(story.client.log());
    REQUIRE(began);
    project.restart("nginx");
    CHECK(project.uploaded("long_0") < kBytes);
    REQUIRE(within(30s, [&] {
        return story.client.log().find("Temporarily failed upload") != std::string::npos;
    }));
    const bool resumed = story.updated_within(180s, [&] {
        // Clients wait minutes before they try again, unless they are told.
        story.client.tell("--network_available");
        return project.is_over("long_0");
    });
    const std::string log = story.client.log();
    INFO(log);
    REQUIRE(resumed);
    CHECK(project.uploaded("long_0") == kBytes);
    CHECK(project.number("select outcome from result where name = 'long_0'") == 1);
    const std::string mark = "starting upload, upload_offset ";
    const auto last = log.rfind(mark);
    REQUIRE(last != std::string::npos);
    CHECK(std::stoull(log.substr(last + mark.size())) > 0);
}

/// Preferences that are set as an account manager sets them reach the client and are obeyed.
void change_preferences(Story& story) {
    Project& project = story.project;
    const auto set = [&](const std::string& what) {
        const std::string answer =
            output_of("curl -sS '" + project.url() + what + "' --data account_key=" + story.key);
        CHECK_THAT(answer, Contains("<success/>"));
    };
    const auto set_gpu = [&](const char* forbidden) {
        set("am_set_info.php?project_prefs=%3Cproject_preferences%3E%0A%3Cno_cuda%3E" +
            std::string{forbidden} + "%3C/no_cuda%3E%0A%3C/project_preferences%3E");
    };
    set("am_set_info.php?global_prefs=%3Cglobal_preferences%3E%0A%3Cmod_time%3E1%3C/mod_time%3E%0A"
        "%3Cmax_ncpus_pct%3E50%3C/max_ncpus_pct%3E%0A%3C/global_preferences%3E");
    set("am_set_host_info.php?hostid=1&venue=home");
    set_gpu("1");
    const auto account_has = [&](const std::string& element) {
        return output_of("cat " + story.client.home().string() + "/account_*.xml").find(element) !=
               std::string::npos;
    };
    CHECK(story.updated_within(60s, [&] {
        return contents(story.client.home() / "global_prefs.xml").find("max_ncpus_pct>50") !=
                   std::string::npos &&
               account_has("<no_cuda>1</no_cuda>");
    }));
    CHECK_THAT(story.client.state(), Contains("<host_venue>home</host_venue>"));
    create_job(project.config(), "unwanted", "text");
    REQUIRE(within(20s, [&] {
        return project.number("select count(*) from result where name = 'unwanted_0'") == 1;
    }));
    story.update();
    std::this_thread::sleep_for(6s);  // in which the client would fetch the job
    CHECK(project.number("select server_state from result where name = 'unwanted_0'") ==
          RESULT_SERVER_STATE_UNSENT);
    set_gpu("0");
    const bool done = story.updated_within(120s, [&] { return project.is_over("unwanted_0"); });
    INFO(story.client.log());
    CHECK(done);
}

/// Replaces the key for app versions, as project_server/scheduler/README.md describes; the client
/// accepts the new one.
void change_the_key(Story& story) {
    const fs::path keys = story.project.config().key_directory;
    const SigningKey former{keys / "code_sign_private"};
    fs::rename(keys / "code_sign_public", keys / "old_key_0");
    fs::remove(keys / "code_sign_private");
    make_key_pair(keys, "code_sign");
    std::string key = read_public_key_text(keys / "code_sign_public");
    while (key.ends_with('\n')) key.pop_back();
    std::ofstream{keys / "signature_0"} << former.sign_text(key);
    story.project.restart("dedloc-server");
    const std::string line = key.substr(key.find('\n') + 1, 60);
    CHECK(story.updated_within(
        60s, [&] { return story.client.state().find(line) != std::string::npos; }));
}

/// The volunteer resets the project and leaves it.
void leave(Story& story) {
    const std::string& url = story.project.url();
    story.client.tell("--project " + url + " reset");
    CHECK(within(
        20s, [&] { return story.client.log().find("Resetting project") != std::string::npos; }));
    story.client.tell("--project " + url + " detach");
    CHECK(within(20s, [&] {
        return story.client.tell("--get_project_status").find("master URL") == std::string::npos;
    }));
}

}  // namespace

TEST_CASE("a volunteer with a GPU attaches, trains, earns, changes preferences and leaves",
          "[server][boinc][integration]") {
    Story story;
    publish_small_app(story.project.database(), story.project.config(), DEDLOC_SMALL_APP, kCuda);
    create_job(story.project.config(), "gpu_job", "text");
    create_account_and_attach(story);
    join_a_team(story);
    get_jobs(story);
    earn(story);
    finish_the_run(story);
    cut_an_upload(story);
    change_preferences(story);
    change_the_key(story);
    leave(story);
    story.client.stop();
    CHECK(story.project.stop() == 0);
    const std::string log = story.client.log();
    INFO(log);
    for (const char* const bad :
         {"[error]", "Scheduler request failed", "doesn't validate",
          "Error reported by file upload server", "exited with", "aborted"}) {
        CHECK_THAT(log, !Contains(bad));
    }
}

}  // namespace dedloc::server
