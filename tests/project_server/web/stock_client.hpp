// A project's server, jobs and a stock BOINC client, for tests of all of them together.
#pragma once

#include <backend_lib.h>
#include <boinc_db.h>
#include <sched_config.h>
#include <signal.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "peer/platform/shell_word.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/publishing/keys.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {

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

/// What a shell command prints.
inline std::string output_of(const std::string& command) {
    FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
    std::string text;
    std::array<char, 512> piece{};
    while (fgets(piece.data(), piece.size(), pipe) != nullptr) text += piece.data();
    pclose(pipe);
    return text;
}

/// The text of a file.
inline std::string contents(const fs::path& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// Whether `condition` becomes true before `timeout`.
template <class Condition>
bool within(std::chrono::seconds timeout, const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(100ms);
    }
    return true;
}

inline constexpr const char* kInputTemplate = R"(<input_template>
<file_info><number>0</number></file_info>
<workunit>
<file_ref><file_number>0</file_number><open_name>in</open_name></file_ref>
</workunit>
</input_template>
)";
inline constexpr const char* kResultTemplate = R"(<output_template>
<file_info>
    <name><OUTFILE_0/></name><generated_locally/><upload_when_present/>
    <max_nbytes>10000000</max_nbytes><url><UPLOAD_URL/></url>
</file_info>
<result>
    <file_ref><file_name><OUTFILE_0/></file_name><open_name>out</open_name></file_ref>
</result>
</output_template>
)";

/// Creates a job of small_app with the input `text`, through libsched.
inline void create_job(const ProjectConfig& project, const std::string& name,
                       const std::string& text, const char* arguments = nullptr,
                       const std::string& app_name = "small") {
    open_boinc_database(project);
    DB_APP app;
    REQUIRE(app.lookup(("where name='" + app_name + "'").c_str()) == 0);
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
    workunit.rsc_disk_bound = 5e7;
    workunit.delay_bound = 3600;
    workunit.min_quorum = 1;
    workunit.target_nresults = 1;
    workunit.max_error_results = 1;
    workunit.max_total_results = 3;
    workunit.max_success_results = 1;
    std::ofstream{project.directory / "templates/small_out"} << kResultTemplate;
    const std::string result_path = (project.directory / "templates/small_out").string();
    const char* const inputs[] = {file.c_str()};
    REQUIRE(create_work(workunit, kInputTemplate, "templates/small_out", result_path.c_str(),
                        const_cast<const char**>(inputs), 1, ::config, arguments) == 0);
    close_boinc_database();
}

/// Writes the files that a client needs to be controlled over GUI RPC and to compute at once.
/// `preferences` are more elements of its global_prefs_override.xml.
inline void write_client_settings(const fs::path& home, const std::string& preferences = "") {
    std::ofstream{home / "gui_rpc_auth.cfg"} << "secret\n";
    // Benchmarks would suspend the app for half a minute, and the files of the trainer, two at a
    // time, would take longer.
    std::ofstream{home / "cc_config.xml"}
        << "<cc_config><log_flags><file_xfer_debug>1</file_xfer_debug></log_flags><options>"
           "<skip_cpu_benchmarks>1</skip_cpu_benchmarks><max_file_xfers>50</max_file_xfers>"
           "<max_file_xfers_per_project>50</max_file_xfers_per_project></options></cc_config>\n";
    // The app runs even if the machine is busy.
    std::ofstream{home / "global_prefs_override.xml"}
        << "<global_preferences><suspend_cpu_usage>0</suspend_cpu_usage>"
           "<run_if_user_active>1</run_if_user_active>"
        << preferences << "</global_preferences>\n";
}

/// Publishes small_app as a version of an app for a plan class. It runs on the libraries of this
/// machine.
inline void publish_small_app(Database& database, const ProjectConfig& project,
                              const std::string& program, std::string_view plan_class,
                              int version = 100, const std::string& app_name = "small") {
    add_app_version(
        database, project,
        {.app = app_name,
         .friendly_name = "Capitals",
         .version = version,
         .plan_class = std::string{plan_class},
         .files = {{.source = program, .open_name = "small_app", .is_main_program = true}}});
}

/// A stock client with a folder and a GUI RPC port of its own.
class StockClient {
  public:
    /// `libraries` is a folder where the client looks for libcuda.so first; empty: it uses no GPU.
    /// A client with a `cpid` says that it is the only one of a computer of that name; `copied` is
    /// another client's folder that it begins with.
    StockClient(const fs::path& log, const fs::path& libraries, const std::string& preferences = "",
                const std::string& cpid = "", const fs::path& copied = {})
        : log_(log) {
        if (!copied.empty()) {
            fs::copy(copied, home_.path(),
                     fs::copy_options::recursive | fs::copy_options::overwrite_existing);
        }
        write_client_settings(home_.path(), preferences);
        std::vector<std::string> command{"boinc", "--dir", home_.path().string(), "--gui_rpc_port",
                                         port_};
        if (cpid.empty()) command.emplace_back("--allow_multiple_clients");
        if (!cpid.empty() && copied.empty()) {
            std::ofstream{home_.path() / "client_state.xml"}
                << "<client_state>\n<host_info>\n    <host_cpid>" << cpid
                << "</host_cpid>\n</host_info>\n</client_state>\n";
        }
        if (libraries.empty()) {
            command.emplace_back("--no_gpus");
        } else {
            command.insert(command.begin(), {"env", "LD_LIBRARY_PATH=" + libraries.string()});
        }
        process_ = std::make_unique<Child>(command, log);
        REQUIRE(within(30s, [&] {
            return tell("--get_cc_status").find("network connection") != std::string::npos;
        }));
    }

    /// Runs boinccmd and returns what it prints.
    std::string tell(const std::string& arguments) const {
        return output_of("cd " + platform::shell_word(home_.path()) +
                         " && boinccmd --host 127.0.0.1:" + port_ + " --passwd secret " +
                         arguments);
    }
    std::string log() const { return contents(log_); }
    /// What the client has been told about the project and has stored.
    std::string state() const { return contents(home() / "client_state.xml"); }
    const fs::path& home() const { return home_.path(); }
    void stop() { process_->stop(); }

  private:
    const fs::path log_;
    const TemporaryDirectory home_;
    const std::string port_ = std::to_string(platform::free_port("127.0.0.1"));
    std::unique_ptr<Child> process_;
};

}  // namespace dedloc::server
