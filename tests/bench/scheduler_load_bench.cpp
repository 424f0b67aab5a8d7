// Load on the scheduler: a project with a private database, dedloc-server and nginx, and clients
// that each open a connection, send one request, read the reply and begin again, as BOINC clients
// do. Prints requests a second, latencies, and for a request the processor time of each program and
// the statements that the database executes.
// Arguments: seconds of each measurement (5), the dedloc-servers to measure (this build's), which
// take turns at each measurement. With --only TEXT before them: only the measurements whose name,
// path and number of clients ("report and one job nginx 32") contain it.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "peer/platform/descriptors.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "project_server/project/nginx_conf.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/settings.hpp"
#include "tests/bench/scheduler_clients.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {
namespace {

using namespace std::chrono_literals;

constexpr int kHosts = 2'000;
constexpr int kMaxClients = 1'000;
constexpr int kSlowClients = 1'000;

/// Seconds of processor time that a process and its children have used so far.
double processor_seconds(pid_t process) {
    const std::string folder = fmt::format("/proc/{}", process);
    std::ifstream file{folder + "/stat"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    std::istringstream fields{text.substr(std::min(text.size(), text.rfind(')') + 1))};
    // The fields after the name: utime is the 12th, stime the 13th.
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    double user = 0;
    double system = 0;
    fields >> user >> system;
    double seconds = (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    std::ifstream children{fmt::format("{0}/task/{1}/children", folder, process)};
    for (pid_t child = 0; children >> child;) seconds += processor_seconds(child);
    return seconds;
}

/// A server of the project behind an nginx of its own.
class Front {
  public:
    Front(const TestProject& project, const std::string& program) {
        for (const char* folder : {"nginx", "log", "html"}) {
            std::filesystem::create_directory(place_.path() / folder);
        }
        const Settings settings{.name = "x",
                                .url = project.config().master_url,
                                .listen = {{"127.0.0.1", nginx_port}},
                                .server_port = server_port,
                                .gateway_port = 1,
                                .database_port = 1};
        std::ofstream{place_.path() / "nginx/nginx.conf"} << project::nginx_configuration(settings);
        server = platform::spawn({program, "--project", project.root().string(), "--listen",
                                  fmt::format("127.0.0.1:{}", server_port)},
                                 {.output = place_.path() / "log/server.log"});
        nginx = platform::spawn(project::nginx_command(),
                                {.output = place_.path() / "log/nginx.out",
                                 .directory = project::nginx_folder(place_.path())});
        while (!platform::is_accepting("127.0.0.1", server_port) ||
               !platform::is_accepting("127.0.0.1", nginx_port)) {
            std::this_thread::sleep_for(20ms);
        }
    }
    ~Front() {
        for (const pid_t process : {nginx, server}) {
            ::kill(process, SIGTERM);
            platform::wait_for_child(process);
        }
    }
    Front(const Front&) = delete;
    Front& operator=(const Front&) = delete;

    const std::uint16_t nginx_port = platform::free_port("127.0.0.1");
    const std::uint16_t server_port = platform::free_port("127.0.0.1");
    pid_t server = 0;
    pid_t nginx = 0;

  private:
    const TemporaryDirectory place_;
};

/// A project with hosts and jobs.
class Site {
  public:
    Site() {
        for (const char* key : {"code_sign", "upload"}) {
            make_key_pair(project_.config().key_directory, key);
        }
        fill();
        // The server finds the socket of the database here.
        const MariadbPlace place = test_mariadb().place();
        std::filesystem::create_directory_symlink(place.directory, project_.root() / "db");
        write_settings(project_.root(), {.name = "x",
                                         .url = project_.config().master_url,
                                         .listen = {{"127.0.0.1", 1}},
                                         .peer_listen = "127.0.0.1",
                                         .server_port = 1,
                                         .gateway_port = 1,
                                         .database_port = place.port});
        // As a project has it, not as other tests.
        Database{mariadb_administrator(test_mariadb().place())}.execute(
            "set global innodb_flush_log_at_trx_commit = 1");
    }

    const TestProject& project() const { return project_; }

    /// Makes every host idle, and as many unsent jobs as a measurement may need.
    void prepare_jobs() {
        Database& database = project_.database();
        database.execute("delete from result");
        database.execute("delete from workunit");
        database.execute(
            "insert into workunit (id, name, appid, xml_doc, delay_bound, transition_time) "
            "select seq, concat('w', seq), 1, '<workunit>\n</workunit>\n', 86400, 2147483647 "
            "from seq_1_to_40000");
        database.execute(
            "insert into result (name, workunitid, appid, server_state, random, xml_doc_in) "
            "select concat('w', seq, '_0'), seq, 1, 2, seq, '<result>\n</result>\n' "
            "from seq_1_to_40000");
    }

    /// How many statements the database has executed for all its clients.
    double statements() {
        return project_.database().query_one("show global status like 'Questions'")->real("Value");
    }

    pid_t mariadb() const {
        pid_t process = 0;
        std::ifstream{test_mariadb().place().directory / "mariadb.pid"} >> process;
        return process;
    }

  private:
    void fill() {
        Database& database = project_.database();
        database.execute(
            "insert into user (name, email_addr, authenticator) values ('a', 'a@b', 'key')");
        database.execute("insert into app (name, user_friendly_name) values ('train', 'T')");
        database.execute(
            "insert into app_version (appid, version_num, platformid, xml_doc) select 1, 100, id, "
            "'<app_version>\n</app_version>\n' from platform where name = 'x86_64-pc-linux-gnu'");
        database.execute(fmt::format(
            "insert into host (id, create_time, userid, host_cpid, total_credit) select seq, 1, 1, "
            "seq, 1 "
            "from seq_1_to_{}",
            kHosts));
    }

    TestProject project_{1};
};

double quantile(std::vector<double>& sorted, double share) {
    if (sorted.empty()) return 0;
    return sorted[std::min(sorted.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

/// Measures one server, and the latency and processor time of a request to it.
void measure(Site& site, const Front& front, const std::string& what, bool through_nginx,
             int clients, const Script& script, IdleHosts& hosts, std::chrono::seconds duration) {
    const std::array<pid_t, 3> programs{front.server, site.mariadb(), front.nginx};
    std::array<double, 3> before{};
    std::ranges::transform(programs, before.begin(), processor_seconds);
    const double statements = site.statements();
    Load load{through_nginx ? front.nginx_port : front.server_port, clients, script, hosts};
    Figures figures = load.run(duration);
    std::ranges::sort(figures.milliseconds);
    const auto count = static_cast<double>(figures.milliseconds.size());
    const double executed = (site.statements() - statements) / std::max(1.0, count);
    std::array<double, 3> used{};
    for (std::size_t i = 0; i < programs.size(); ++i) {
        used[i] = (processor_seconds(programs[i]) - before[i]) / std::max(1.0, count) * 1e6;
    }
    fmt::print(
        "{:<34} {:<6} {:>5}  {:>7.0f}/s  {:>7.1f} {:>7.1f} ms  {:>5.0f} {:>5.0f} {:>5.0f} us  "
        "{:>4.1f}\n",
        what, through_nginx ? "nginx" : "direct", clients, count / figures.seconds,
        quantile(figures.milliseconds, 0.5), quantile(figures.milliseconds, 0.99), used[0], used[1],
        used[2], executed);
    for (const auto& [kind, number] : figures.failures) {
        fmt::print("    {} failed: {}\n", number, kind);
    }
    std::fflush(stdout);
}

/// The requests that are measured.
struct Scripts {
    Script no_work;
    Script one_job;
};

/// The stock client's message, with another key and host, and with or without a request for work.
Scripts make_scripts() {
    std::ifstream file{DEDLOC_CAPTURED_REQUEST};
    const std::string captured{std::istreambuf_iterator<char>{file}, {}};
    const auto info = captured.find("<time_stats>");
    const auto info_end = captured.find("</host_info>") + 12;
    const std::string head = "<scheduler_request>\n<authenticator>key</authenticator>\n<hostid>";
    const std::string rest =
        "</hostid>\n<rpc_seqno>1</rpc_seqno>\n<allow_multiple_clients>1</allow_multiple_clients>\n"
        "<core_client_major_version>7</"
        "core_client_major_version>\n<platform_name>x86_64-pc-linux-gnu</platform_name>\n" +
        captured.substr(info, info_end - info) + "\n<other_results></other_results>\n";
    return {.no_work = {head, false, rest}, .one_job = {head, true, rest}};
}

/// Each measurement of all servers in turn, so that they share what else the machine does.
class Bench {
  public:
    Bench(const std::vector<std::string>& programs, std::chrono::seconds duration, std::string only)
        : programs_(programs), duration_(duration), only_(std::move(only)) {}

    void run() {
        fmt::print("{:<34} {:<6} {:>5}  {:>9}  {:>7} {:>7} ms  {:>5} {:>5} {:>5} us  {}\n",
                   "request", "path", "conn.", "rate", "p50", "p99", "serv.", "db", "nginx",
                   "statements");
        for (const bool through_nginx : {false, true}) {
            for (const int clients : {1, 4, 32, kMaxClients}) {
                of_each("no work", through_nginx, clients, scripts_.no_work);
            }
        }
        for (const int clients : {1, 4, 32, kMaxClients}) {
            of_each("report and one job", true, clients, scripts_.one_job);
        }
        of_each("no work", true, 32, scripts_.no_work);
        for (const int addresses : {1, kAddresses}) {
            slow_addresses_ = addresses;
            of_each(fmt::format("no work, 1,000 slow of {} addr.", addresses), true, 32,
                    scripts_.no_work);
        }
    }

  private:
    void of_each(const std::string& what, bool through_nginx, int clients, const Script& script) {
        const std::string full_name =
            fmt::format("{} {} {}", what, through_nginx ? "nginx" : "direct", clients);
        if (full_name.find(only_) == std::string::npos) return;
        for (std::size_t i = 0; i < programs_.size(); ++i) {
            if (script.takes_jobs()) site_.prepare_jobs();
            // Not all at once: an idle server keeps its connections to the database.
            const Front front{site_.project(), programs_[i]};
            // The first request of a host is stored, as one a minute is.
            IdleHosts hosts;
            for (int host = 1; host <= kHosts; ++host) hosts.push_back({.id = host, .job = {}});
            Load{front.server_port, 32, scripts_.no_work, hosts}.run(0s, kHosts);
            // Then each host has a job to report.
            if (script.takes_jobs()) Load{front.server_port, 32, script, hosts}.run(0s, kHosts);
            std::optional<SlowClients> slow;
            if (slow_addresses_ > 0) slow.emplace(front.nginx_port, kSlowClients, slow_addresses_);
            std::this_thread::sleep_for(1s);  // the server ends the requests of the last one
            const std::string name =
                programs_.size() > 1 ? fmt::format("{} {}", i + 1, what) : what;
            measure(site_, front, name, through_nginx, clients, script, hosts, duration_);
        }
    }

    const std::vector<std::string> programs_;
    const std::chrono::seconds duration_;
    const std::string only_;  ///< part of the names of what is measured
    const Scripts scripts_ = make_scripts();
    Site site_;
    int slow_addresses_ = 0;  ///< 0: no slow clients
};

int run(std::span<char*> arguments) {
    std::string only;
    if (arguments.size() > 2 && std::string_view{arguments[1]} == "--only") {
        only = arguments[2];
        arguments = arguments.subspan(2);
    }
    const auto duration = std::chrono::seconds{arguments.size() > 1 ? std::atoi(arguments[1]) : 5};
    platform::raise_descriptor_limit();
    std::vector<std::string> programs;
    for (std::size_t i = 2; i < arguments.size(); ++i) programs.emplace_back(arguments[i]);
    if (programs.empty()) programs.emplace_back(DEDLOC_SERVER_PROGRAM);
    Bench{programs, duration, only}.run();
    return 0;
}

}  // namespace
}  // namespace dedloc::server

int main(int count, char** arguments) {
    try {
        return dedloc::server::run({arguments, static_cast<std::size_t>(count)});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "scheduler_load_bench: %s\n", error.what());
        return 1;
    }
}
