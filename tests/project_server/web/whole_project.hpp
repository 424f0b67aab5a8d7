// A whole project, made and started by `dedloc` as an administrator does, and a browser for it.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "peer/platform/shell_word.hpp"
#include "tests/project_server/web/stock_client.hpp"

namespace dedloc::server {

/// A project that trains a tiny model.
class WholeProject {
  public:
    /// `programs` is the folder of dedloc and its daemons.
    explicit WholeProject(std::string programs) : programs_(std::move(programs)) {
        std::ofstream text{directory_.path() / "text"};
        for (int i = 0; i < 2000; ++i) {
            text << "It was day " << i << ". The people of town " << i % 7 << " went home.\n";
        }
        text.close();
        const std::string corpus = platform::shell_word(directory_.path() / "corpus");
        const std::string project = platform::shell_word(root());
        run("project create " + project + " --name Story --contact-seconds 10");
        config_ = load_project_config(root());
        run("corpus build --text " + platform::shell_word(directory_.path() / "text") + " --out " +
            corpus + " --vocabulary 100");
        run("app add --project " + project + " --binary " +
            platform::shell_word(programs_ + "/dedloc_train"));
        // The run lasts longer than any test.
        run("run create --project " + project + " --name story --corpus " + corpus +
            " --model tiny --target-batch 32 --evaluate-every 0 --steps 1000000");
        supervisor_ = std::make_unique<Child>(
            std::vector<std::string>{programs_ + "/dedloc", "project", "start", root().string(),
                                     "--foreground"},
            log_);
        const bool is_running =
            within(60s, [&] { return contents(log_).find("running at") != std::string::npos; });
        INFO(contents(log_));
        REQUIRE(is_running);
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
    double number(const std::string& expression) {
        return row("select (" + expression + ") as n").real("n");
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
        const pid_t before = pid_of(daemon);
        REQUIRE(::kill(before, SIGTERM) == 0);
        REQUIRE(within(60s, [&] { return pid_of(daemon) != 0 && pid_of(daemon) != before; }));
    }
    /// Cuts the transfers that nginx is busy with and no other connection: nginx reads its
    /// configuration again, so its former worker accepts no more, and is killed.
    void cut_transfers() {
        const pid_t nginx = pid_of("nginx");
        const std::set<pid_t> before = children_of(nginx);
        REQUIRE(::kill(nginx, SIGHUP) == 0);
        REQUIRE(within(60s, [&] {
            const std::set<pid_t> now = children_of(nginx);
            return !std::ranges::includes(before, now);
        }));
        for (const pid_t worker : before) ::kill(worker, SIGKILL);
    }
    /// Ends all; returns the exit status.
    int stop() { return supervisor_->stop(); }
    /// The ends of all logs.
    std::string logs() const {
        return output_of("tail -n 15 " + platform::shell_word(root() / "log") + "/*.log " +
                         platform::shell_word(log_));
    }

  private:
    void run(const std::string& arguments) const {
        const std::string output = output_of(platform::shell_word(programs_ + "/dedloc") + " " +
                                             arguments + " && echo done");
        INFO(output);
        REQUIRE(output.ends_with("done\n"));
    }
    /// 0 while the daemon does not run.
    pid_t pid_of(const std::string& daemon) const {
        return std::atoi(contents(root() / "pids" / (daemon + ".pid")).c_str());
    }
    static std::set<pid_t> children_of(pid_t process) {
        const std::string id = std::to_string(process);
        std::ifstream file{"/proc/" + id + "/task/" + id + "/children"};
        return {std::istream_iterator<pid_t>{file}, {}};
    }

    const std::string programs_;
    const TemporaryDirectory directory_;
    const fs::path log_ = directory_.path() / "project.log";
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
    std::string cookies() const { return platform::shell_word(folder_.path() / "cookies"); }

    const TemporaryDirectory folder_;
    const std::string url_;
};

}  // namespace dedloc::server
