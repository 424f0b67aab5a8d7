// The daemon as a process: killed at any moment, stopped in mid-evaluation, without a database.
#include <sched.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "peer/platform/process.hpp"
#include "tests/project_server/evaluate/measured_run.hpp"

namespace dedloc::evaluate {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// dedloc-evaluate as a child, which is killed at the end of the test.
class Daemon {
  public:
    explicit Daemon(const server::TestProject& project, const std::vector<std::string>& more = {})
        : log_(project.root() / "evaluate.log") {
        platform::Command command{DEDLOC_EVALUATE_PROGRAM, "--project", project.root().string(),
                                  "--interval", "0.05"};
        command.insert(command.end(), more.begin(), more.end());
        child_ = platform::spawn(command, {.output = log_, .death_signal = SIGKILL});
    }
    ~Daemon() {
        if (child_ != 0) end(SIGKILL);
    }
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    pid_t pid() const { return child_; }
    int end(int signal) {
        kill(child_, signal);
        return wait();
    }
    int wait() {
        const int status = platform::wait_for_child(child_);
        child_ = 0;
        return status;
    }
    std::string log() const { return fs::exists(log_) ? platform::read_text(log_) : ""; }

  private:
    const fs::path log_;
    pid_t child_ = 0;
};

bool await(const std::function<bool()>& condition, std::chrono::seconds limit = 60s) {
    const auto deadline = Clock::now() + limit;
    while (!condition()) {
        if (Clock::now() > deadline) return false;
        std::this_thread::sleep_for(10ms);
    }
    return true;
}

/// Whether some thread of the process runs only while processors are idle.
bool has_idle_thread(pid_t process) {
    std::error_code ignored;
    for (const auto& task :
         fs::directory_iterator{fs::path{"/proc"} / std::to_string(process) / "task", ignored}) {
        if (sched_getscheduler(std::stoi(task.path().filename().string())) == SCHED_IDLE) {
            return true;
        }
    }
    return false;
}

int count_of(const std::string& text, const std::string& part) {
    int count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("a daemon that is killed at any moment leaves one row for each evaluated step",
          "[server][integration]") {
    server::TestProject project;
    MeasuredRun run{project, {.steps = 9, .every = 3, .samples = 400}};
    std::uint64_t done = 0;
    for (int delay = 0; run.steps() != "0 3 6 9"; ++delay) {
        REQUIRE(delay < 100);
        Daemon daemon{project};
        const std::string before = run.steps();
        const auto deadline = Clock::now() + 20ms * delay;
        while (run.steps() == before && Clock::now() < deadline) {
            std::this_thread::sleep_for(5ms);
        }
        CHECK(daemon.end(SIGKILL) == 128 + SIGKILL);
        if (run.rows().size() > done && run.state().step() < StepIndex{9}) {
            done = run.rows().size();
            run.train_to(run.state().step().value() + 3);
        }
    }
    const auto count = project.database().query_one("select count(*) x from dedloc_evaluation");
    CHECK(count->integer("x") == 4);
}

TEST_CASE("a daemon stops in the middle of an evaluation, which runs on idle processors",
          "[server][integration]") {
    server::TestProject project;
    MeasuredRun run{project, {.samples = 1'000'000}};  // takes many minutes
    Daemon daemon{project};
    REQUIRE(await([&] { return has_idle_thread(daemon.pid()); }));
    const auto begin = Clock::now();
    CHECK(daemon.end(SIGTERM) == 0);
    const std::chrono::duration<double> took = Clock::now() - begin;
    CHECK(took < 30s);  // the evaluation would go on for minutes
    CHECK(run.steps().empty());
    CHECK_THAT(daemon.log(), Catch::Contains("Stopped"));
}

TEST_CASE("a daemon waits for its database, and says so once", "[server][integration]") {
    server::TestProject project;
    MeasuredRun run{project};
    server::Database administrator{server::mariadb_administrator(server::test_mariadb().place())};
    administrator.execute("rename table dedloc_test.dedloc_evaluation to dedloc_test.away");
    Daemon daemon{project};
    REQUIRE(await([&] { return count_of(daemon.log(), "Trying again") > 0; }));
    administrator.execute("rename table dedloc_test.away to dedloc_test.dedloc_evaluation");
    REQUIRE(await([&] { return run.steps() == "0"; }));
    CHECK(daemon.end(SIGTERM) == 0);
    CHECK(count_of(daemon.log(), "Trying again") == 1);
    CHECK_THAT(daemon.log(), Catch::Contains("run tiny, step 0: held-out loss"));
}

TEST_CASE("what is wrong with a run is one sentence, once", "[server][integration]") {
    server::TestProject project;
    MeasuredRun missing{project, {.name = "missing"}};
    MeasuredRun whole{project, {.name = "whole"}};
    fs::remove(missing.held_out());
    Daemon daemon{project};
    REQUIRE(await([&] { return whole.steps() == "0"; }));
    whole.train_to(3);
    REQUIRE(await([&] { return whole.steps() == "0 3"; }));
    CHECK(daemon.end(SIGTERM) == 0);
    CHECK(count_of(daemon.log(), "run missing is not evaluated: ") == 1);
    CHECK_THAT(daemon.log(), Catch::Contains("held_out/shard_b: No such file or directory"));
    CHECK(missing.steps().empty());
}

}  // namespace dedloc::evaluate
