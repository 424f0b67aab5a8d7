// The story of a volunteer, from the account to the last day: a whole project as `dedloc` makes and
// starts it, with nginx in front, and a stock BOINC client that sees an NVIDIA GPU. Its processors
// get the real trainer; its GPU, which computes nothing, gets small_app.
#include "project_server/scheduler/plan_class.hpp"
#include "tests/project_server/web/whole_project.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

constexpr std::uintmax_t kUploadBytes = 4'000'000;  // what the GPU's job uploads
constexpr const char* kSlowUpload = "<max_bytes_sec_up>50000</max_bytes_sec_up>";
/// The trainer's result that the client has got.
constexpr const char* kOfTrainer =
    " from result where server_state > 2 and hostid > 0 and appid = (select id from app where "
    "name = 'dedloc_train')";

/// The volunteer: a project and a client that is attached to it.
struct Story {
    WholeProject project{DEDLOC_PROGRAMS};
    StockClient client{project.root() / "client.log", DEDLOC_PLAYED_CUDA, kSlowUpload};
    std::string key;  ///< the account's

    /// Tells the client to contact the project again and again until `condition` holds.
    template <class Condition>
    bool updated_within(std::chrono::seconds timeout, const Condition& condition) const {
        return within(timeout, [&] {
            if (condition()) return true;
            client.tell("--project " + project.url() + " update");
            std::this_thread::sleep_for(1s);
            return condition();
        });
    }
    /// Writes the trainer's arguments where a volunteer gives some to an app.
    void set_arguments(const std::string& arguments) const {
        std::ofstream{project_folder() / "app_config.xml"}
            << "<app_config><app_version><app_name>dedloc_train</app_name>"
               "<plan_class>mt_dedloc</plan_class><cmdline>"
            << arguments << "</cmdline></app_version></app_config>\n";
        client.tell("--read_cc_config");
    }
    /// Sets the account's preferences for the project as an account manager does.
    void set_project_preferences(const std::string& elements) const {
        set_by_manager("am_set_info.php?project_prefs=%3Cproject_preferences%3E%0A" + elements +
                       "%0A%3C/project_preferences%3E");
    }
    void set_by_manager(const std::string& what) const {
        const std::string answer =
            output_of("curl -sS '" + project.url() + what + "' --data account_key=" + key);
        CHECK_THAT(answer, Contains("<success/>"));
    }
    bool log_has(const std::string& text) const {
        return client.log().find(text) != std::string::npos;
    }

  private:
    fs::path project_folder() const {
        fs::path folder;
        REQUIRE(within(60s, [&] {
            const fs::path projects = client.home() / "projects";
            if (!fs::exists(projects) || fs::is_empty(projects)) return false;
            folder = fs::directory_iterator {
                projects
                } -> path();
            return true;
        }));
        return folder;
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
    // As account managers do: the scheduler and the gateway take the weak account key.
    const std::string weak_key =
        story.project
            .row("select concat(id, '_', md5(concat(authenticator, passwd_hash))) as k from user")
            .text("k");
    story.client.tell("--project_attach " + url + " " + weak_key);
    // The volunteer wants the project to be told often of what the trainer has done.
    story.set_arguments("--message-seconds 5");
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
    WholeProject& project = story.project;
    const bool both = within(180s, [&] {
        return project.uploaded("gpu_job_0") > 0 &&
               project.number("select count(*) from dedloc_ticket") > 0;
    });
    INFO(project.logs());
    INFO(story.client.log());
    REQUIRE(both);
    CHECK(project.number("select p_ngpus from host") == 1);
    CHECK(project.number("select count(*) from result r join app_version v on v.id = "
                         "r.app_version_id where v.plan_class = 'mt_dedloc' and "
                         "r.server_state = 4") == 1);
}

/// An upload that is cut goes on where it stopped.
void cut_an_upload(Story& story) {
    WholeProject& project = story.project;
    REQUIRE(within(120s, [&] { return project.uploaded("gpu_job_0") > 100'000; }));
    project.cut_transfers();
    CHECK(project.uploaded("gpu_job_0") < kUploadBytes);
    REQUIRE(within(60s, [&] { return story.log_has("Temporarily failed upload"); }));
    write_client_settings(story.client.home());
    story.client.tell("--read_global_prefs_override");
    const bool resumed = story.updated_within(180s, [&] {
        // Clients wait minutes before they try again, unless they are told.
        story.client.tell("--network_available");
        return project.number("select server_state from result where name = 'gpu_job_0'") ==
               RESULT_SERVER_STATE_OVER;
    });
    const std::string log = story.client.log();
    INFO(log);
    REQUIRE(resumed);
    CHECK(project.uploaded("gpu_job_0") == kUploadBytes);
    const Row job = project.row("select * from result where name = 'gpu_job_0'");
    CHECK(job.integer("outcome") == RESULT_OUTCOME_SUCCESS);
    CHECK_THAT(job.text("stderr_out"), Contains("gpu 'NVIDIA' 0"));
    const std::string mark = "starting upload, upload_offset ";
    const auto last = log.rfind(mark);
    REQUIRE(last != std::string::npos);
    CHECK(std::stoull(log.substr(last + mark.size())) > 0);
}

/// Credit rises while the trainer runs, and the trainer's messages are handled.
void earn(Story& story) {
    WholeProject& project = story.project;
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
    std::string status;
    const bool is_shown = story.updated_within(60s, [&] {
        status = story.client.tell("--get_project_status");
        const auto at = status.find("user_total_credit: ");
        return at != std::string::npos && std::stod(status.substr(at + 19)) > 0 &&
               status.find("team_name: Towners") != std::string::npos;
    });
    INFO(status);
    CHECK(is_shown);
    // All that was before the job's end.
    CHECK(project.number(std::string{"select server_state"} + kOfTrainer) ==
          RESULT_SERVER_STATE_IN_PROGRESS);
}

/// Preferences that are set as an account manager sets them reach the client and are obeyed.
void change_preferences(Story& story) {
    story.set_by_manager(
        "am_set_info.php?global_prefs=%3Cglobal_preferences%3E%0A%3Cmod_time%3E1%3C/mod_time%3E%0A"
        "%3Cmax_ncpus_pct%3E50%3C/max_ncpus_pct%3E%0A%3C/global_preferences%3E");
    story.set_by_manager("am_set_host_info.php?hostid=1&venue=home");
    story.set_project_preferences("%3Cno_cpu%3E1%3C/no_cpu%3E%0A%3Cno_cuda%3E1%3C/no_cuda%3E");
    create_job(story.project.config(), "unwanted", "text");
    const bool known = story.updated_within(120s, [&] {
        const std::string account =
            output_of("cat " + platform::shell_word(story.client.home()) + "/account_*.xml");
        return contents(story.client.home() / "global_prefs.xml").find("max_ncpus_pct>50") !=
                   std::string::npos &&
               account.find("<no_cpu>1</no_cpu>") != std::string::npos &&
               account.find("<no_cuda>1</no_cuda>") != std::string::npos &&
               story.client.state().find("<host_venue>home</host_venue>") != std::string::npos &&
               story.log_has("do not allow tasks on the NVIDIA GPU");
    });
    INFO(story.client.log());
    CHECK(known);
}

/// The volunteer suspends the trainer and gives it a lease, which is over when it is resumed. The
/// job is uploaded, reported, found valid, and followed by no other one.
void finish_the_job(Story& story) {
    WholeProject& project = story.project;
    const double before = project.number("select total_credit from user where name = 'Ada'");
    const std::string task = "--task " + project.url() + " " +
                             project.row(std::string{"select name"} + kOfTrainer).text("name");
    story.client.tell(task + " suspend");
    CHECK(within(60s, [&] {
        return story.client.tell("--get_tasks").find("active_task_state: UNINITIALIZED") !=
               std::string::npos;
    }));
    story.set_arguments("--hours 0.001");
    story.client.tell(task + " resume");
    const bool valid = story.updated_within(300s, [&] {
        return project.number(std::string{"select validate_state"} + kOfTrainer) ==
               VALIDATE_STATE_VALID;
    });
    INFO(project.logs());
    INFO(story.client.log());
    INFO(project.row(std::string{"select stderr_out"} + kOfTrainer).text("stderr_out"));
    REQUIRE(valid);
    const Row result = project.row(std::string{"select *"} + kOfTrainer);
    CHECK(result.integer("outcome") == RESULT_OUTCOME_SUCCESS);
    CHECK(result.integer("exit_status") == 0);
    CHECK(result.real("granted_credit") >= before);
    CHECK(result.real("cpu_time") > 0);
    CHECK_THAT(result.text("xml_doc_out"), Contains("<md5_cksum>"));
    CHECK(within(60s, [&] {
        return project.number("select assimilate_state from workunit where id = " +
                              result.text("workunitid")) > 0;
    }));
    CHECK(project.number("select count(*) from result where server_state = 4") == 0);
    CHECK(project.number("select server_state from result where name = 'unwanted_0'") ==
          RESULT_SERVER_STATE_UNSENT);
}

/// The administrator changes the key for app versions, and the volunteer allows tasks on the GPU
/// again. The client accepts the key and gets the job.
void change_the_key(Story& story) {
    const std::string said =
        output_of(platform::shell_word(DEDLOC_PROGRAMS "/dedloc") + " app rekey --project " +
                  platform::shell_word(story.project.root()));
    CHECK_THAT(said, Contains("app versions are signed by the new key"));
    const std::string key =
        read_public_key_text(story.project.config().key_directory / "code_sign_public");
    story.set_project_preferences("%3Cno_cpu%3E1%3C/no_cpu%3E");
    const std::string line = key.substr(key.find('\n') + 1, 60);
    const bool done = story.updated_within(120s, [&] {
        return story.client.state().find(line) != std::string::npos &&
               story.project.number("select server_state from result where name = 'unwanted_0'") >
                   RESULT_SERVER_STATE_UNSENT;
    });
    INFO(story.client.log());
    CHECK(done);
}

/// The volunteer resets the project and leaves it.
void leave(Story& story) {
    const std::string& url = story.project.url();
    story.client.tell("--project " + url + " reset");
    CHECK(within(60s, [&] { return story.log_has("Resetting project"); }));
    story.client.tell("--project " + url + " detach");
    CHECK(within(60s, [&] {
        return story.client.tell("--get_project_status").find("master URL") == std::string::npos;
    }));
}

}  // namespace

TEST_CASE("a volunteer with a GPU attaches, trains, earns, changes preferences and leaves",
          "[server][boinc][integration]") {
    Story story;
    publish_small_app(story.project.database(), story.project.config(), DEDLOC_SMALL_APP, kCuda);
    create_job(story.project.config(), "gpu_job", "12345678", "--repeat 500000");
    create_account_and_attach(story);
    join_a_team(story);
    get_jobs(story);
    cut_an_upload(story);
    earn(story);
    change_preferences(story);
    finish_the_job(story);
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
