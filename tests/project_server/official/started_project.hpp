// An official project as its administrator has it: dedloc install with the real programs, and
// bin/start, bin/stop and bin/status as BOINC's are.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "peer/platform/process.hpp"
#include "project_server/handover.hpp"
#include "project_server/official/daemons.hpp"
#include "project_server/official/xml_file.hpp"
#include "tests/project_server/official/official_project.hpp"

namespace dedloc::tests {

inline constexpr int kUser = 5;
inline constexpr int kHost = 6;

/// The project of make_project, with the server's programs that tests play.
class ControlledProject : public OfficialProject {
  public:
    explicit ControlledProject(std::uint16_t port) : OfficialProject(kUsualLists, port) {
        for (const char* const name : {"start", "stop", "status"}) {
            const auto file = root() / "bin" / name;
            fs::remove(file);
            fs::copy_file(DEDLOC_PROGRAMS "/boinc_control", file);
        }
    }
    ~ControlledProject() {
        for (const pid_t process : processes()) kill(process, SIGKILL);
        for (const pid_t process : processes()) await_end(process);
    }
    ControlledProject(const ControlledProject&) = delete;
    ControlledProject& operator=(const ControlledProject&) = delete;

    /// Runs bin/NAME.
    std::string control(const std::string& name, const std::vector<std::string>& arguments = {}) {
        platform::Command command{(root() / "bin" / name).string()};
        command.insert(command.end(), arguments.begin(), arguments.end());
        const auto finished = platform::run_to_end(command);
        INFO(name << ": " << finished.output);
        REQUIRE(finished.status == 0);
        return finished.output;
    }
    void start() {
        control("start");
        await_daemons();
    }
    /// Waits until all of our daemons run.
    void await_daemons() {
        await([&] {
            const auto daemons = official::own_daemons(root());
            return daemons.size() == 5 && std::ranges::all_of(daemons, [](const auto& daemon) {
                       return daemon.process != 0;
                   });
        });
    }
    /// Waits until none does, or still ends.
    void await_stop() {
        await([&] { return server::daemons_in_turn(root()).empty(); });
    }
    void stop() {
        control("stop");
        await_stop();
    }
    pid_t process_of(const std::string& name) const {
        for (const auto& daemon : official::own_daemons(root())) {
            if (daemon.name == name) return daemon.process;
        }
        return 0;
    }
    std::string log_of(const std::string& name) const {
        const auto file = root() / "log_machine" / (name + ".log");
        return fs::exists(file) ? platform::read_text(file) : std::string{};
    }
    template <class Condition>
    void await(const Condition& condition) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{10};
        while (!condition()) {
            INFO(logs());
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::sleep_for(std::chrono::milliseconds{50});
        }
    }
    std::string one(const std::string& sql) {
        const auto row = database().query_one("select (" + sql + ") as x");
        return row->is_null("x") ? "" : row->text("x");
    }
    void await(const std::string& sql, const std::string& wanted) {
        INFO(sql << " should be " << wanted);
        await([&] { return one(sql) == wanted; });
    }
    /// Runs the program; returns what it prints.
    static std::string dedloc(const std::string& program, std::vector<std::string> arguments,
                              int status = 0) {
        arguments.insert(arguments.begin(), program);
        const auto finished = platform::run_to_end(arguments);
        INFO(fmt::format("{}: {}", fmt::join(arguments, " "), finished.output));
        REQUIRE(finished.status == status);
        return finished.output;
    }

  private:
    std::string logs() const {
        std::string text;
        for (const auto& daemon : official::own_daemons(root())) {
            text +=
                fmt::format("{} ({}): {}\n", daemon.name, daemon.process,
                            platform::failure_in(root() / "log_machine" / (daemon.name + ".log")));
        }
        return text;
    }
    /// The processes of all daemons, as bin/start has noted them.
    std::vector<pid_t> processes() const {
        std::vector<pid_t> found;
        std::error_code absent;
        for (const auto& file : fs::directory_iterator{root() / "pid_machine", absent}) {
            pid_t process = 0;
            if (file.path().extension() == ".pid") std::ifstream{file.path()} >> process;
            if (process > 0) found.push_back(process);
        }
        return found;
    }
    static void await_end(pid_t process) {
        while (kill(process, 0) == 0) {
            std::string state;
            std::ifstream{fmt::format("/proc/{}/stat", process)} >> state >> state >> state;
            if (state == "Z") return;  // a zombie
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }
};

/// The same with DeDLOC, an app version, a run and a volunteer.
class Started : public ControlledProject {
  public:
    explicit Started(std::uint16_t port) : ControlledProject(port) {
        dedloc(DEDLOC_PROGRAMS "/dedloc", {"install", "--into", root().string()});
        std::string text;
        for (int i = 0; i < 400; ++i) {
            text += fmt::format("It was day {}. The people of town {} went home.\n\n", i, i % 7);
        }
        platform::replace_file(files_.path() / "text", text);
        const auto corpus = (files_.path() / "corpus").string();
        own({"corpus", "build", "--text", (files_.path() / "text").string(), "--out", corpus,
             "--vocabulary", "100"});
        // As in the folder of an installation, the launcher is beside the program.
        const auto program = files_.path() / "true";
        std::filesystem::copy_file("/bin/true", program);
        std::filesystem::copy_file(DEDLOC_PROGRAMS "/dedloc_launcher",
                                   files_.path() / "dedloc_launcher");
        own({"app", "add", "--project", root().string(), "--binary", program.string()});
        make_run("first", "tiny");
        database().execute(
            "insert into user (id, name, email_addr, authenticator) values (?, 'v', 'v@x', 'key')",
            {kUser});
        database().execute("insert into host (id, userid, p_ncpus, p_fpops) values (?, ?, 8, 1e12)",
                           {kHost, kUser});
    }

    /// Makes another run of the same text.
    void make_run(const std::string& name, const std::string& model) {
        own({"run", "create", "--project", root().string(), "--name", name, "--corpus",
             (files_.path() / "corpus").string(), "--model", model, "--target-batch", "4",
             "--steps", "100000"});
    }
    /// bin/dedloc of the project.
    std::string own(const std::vector<std::string>& arguments, int status = 0) {
        return dedloc((root() / "bin/dedloc").string(), arguments, status);
    }
    /// As bin/start does: the words of a <cmd>, in the folder tmp_HOST, with bin/ first in PATH.
    platform::Command command_of(const std::string& cmd) const {
        platform::Command command{"env", "-C", (root() / "tmp_machine").string(),
                                  "PATH=" + (root() / "bin").string() + ":/usr/bin:/bin"};
        std::istringstream words{cmd};
        for (std::string word; words >> word;) command.push_back(word);
        return command;
    }
    std::vector<std::string> commands(const server::XmlPath& list) const {
        const official::XmlFile xml{root(), official::kConfigFile, "boinc"};
        std::vector<std::string> found;
        for (const auto& entry : xml.text().children(list)) {
            if (official::is_of_ours(entry)) found.push_back(entry.field("cmd"));
        }
        return found;
    }

  private:
    TemporaryDirectory files_;
};

}  // namespace dedloc::tests
