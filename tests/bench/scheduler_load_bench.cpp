// Load on the scheduler: a project with a private database, dedloc-server and nginx, and clients
// that each open a connection, send one request, read the reply and begin again, as BOINC clients
// do. Prints requests a second, latencies, and processor time of each program for a request.
// Arguments: seconds of each measurement (5), the dedloc-servers to measure (this build's), which
// take turns at each measurement.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "peer/platform/descriptors.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "project_server/cli/nginx_conf.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/settings.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kHosts = 1'000;
/// Addresses of the clients: nginx allows each a number of connections and of requests a second.
constexpr int kAddresses = 200;
constexpr int kSlowClients = 1'000;

sockaddr_in loopback(std::uint32_t host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl((127U << 24) + host);
    return address;
}

/// A connection that is being made to a port of this machine from 127.x.x.x; −1 if it cannot be.
int connect_from(std::uint32_t host, std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    const sockaddr_in from = loopback(host, 0);
    const sockaddr_in to = loopback(1, port);
    ::bind(socket, reinterpret_cast<const sockaddr*>(&from), sizeof(from));
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0 &&
        errno != EINPROGRESS) {
        ::close(socket);
        return -1;
    }
    return socket;
}

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

/// The name of the workunit that a reply sends; empty if it sends none.
std::string job_in(const std::string& reply) {
    const auto at = reply.find("<wu_name>");
    if (at == std::string::npos) return {};
    return reply.substr(at + 9, reply.find("</wu_name>", at) - at - 9);
}

/// What clients send.
class Script {
  public:
    Script(std::string before_host, bool takes_jobs, std::string rest)
        : before_host_(std::move(before_host)), rest_(std::move(rest)), takes_jobs_(takes_jobs) {}

    /// `job` is one that the host has done, and empty if it has none.
    std::string request(int host, const std::string& job) const {
        std::string body = before_host_ + std::to_string(host) + rest_;
        if (takes_jobs_) {
            body += "<cpu_req_secs>100</cpu_req_secs><cpu_req_instances>2</cpu_req_instances>";
            if (!job.empty()) {
                body += "<result><name>" + job + "_0</name><state>5</state></result>";
            }
        }
        body += "</scheduler_request>\n";
        return fmt::format(
            "POST /cgi/scheduler HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{}",
            body.size(), body);
    }

    bool takes_jobs() const { return takes_jobs_; }

  private:
    std::string before_host_;
    std::string rest_;
    bool takes_jobs_;
};

/// One client: a host, and the state of its present request.
struct Client {
    int host = 0;
    int socket = -1;
    std::string job;  ///< that it has; its next request reports it and asks for another one
    std::string out;
    std::size_t sent = 0;
    std::string reply;
    Clock::time_point begun;
};

struct Figures {
    double seconds = 0;
    std::map<std::string, std::uint64_t> failures{};  ///< how many, of each kind
    std::vector<double> milliseconds{};
};

/// Why a request has failed, from what was received and the error of the connection; empty if it
/// has not. What nginx refuses by a limit has a status of its own.
std::string failure_of(const std::string& reply, int error) {
    if (reply.find("<project_is_down/>") != std::string::npos) return "project is down";
    if (reply.find("</scheduler_reply>") != std::string::npos) return {};
    if (error != 0) return ::strerror(error);
    if (reply.empty()) return "closed without a reply";
    if (!reply.starts_with("HTTP/1.1 ")) return "no HTTP";
    const std::string status = reply.substr(9, 3);
    return status == "200" ? "cut" : "status " + status;
}

/// Many clients on one thread, each with one request at a time.
class Load {
  public:
    Load(std::uint16_t port, int clients, const Script& script)
        : port_(port),
          script_(script),
          epoll_(::epoll_create1(EPOLL_CLOEXEC)),
          clients_(static_cast<std::size_t>(clients)) {
        for (int i = 0; i < clients; ++i) clients_[static_cast<std::size_t>(i)].host = i + 1;
    }
    ~Load() {
        for (const Client& client : clients_) {
            if (client.socket >= 0) ::close(client.socket);
        }
        ::close(epoll_);
    }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    Figures run(std::chrono::seconds duration) {
        const auto begin = Clock::now();
        for (Client& client : clients_) start(client);
        std::array<epoll_event, 256> events{};
        while (Clock::now() - begin < duration) {
            const int count =
                ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 100);
            for (int i = 0; i < count; ++i) {
                advance(clients_[events[static_cast<std::size_t>(i)].data.u64]);
            }
        }
        figures_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        return std::move(figures_);
    }

  private:
    void start(Client& client) {
        const auto address = static_cast<std::uint32_t>(1 + ++requests_ % kAddresses);
        client.out = script_.request(client.host, client.job);
        client.reply.clear();
        client.sent = 0;
        client.begun = Clock::now();
        client.socket = connect_from((2U << 16) + address, port_);
        epoll_event event{};
        event.events = EPOLLIN | EPOLLOUT | EPOLLET;
        event.data.u64 = static_cast<std::uint64_t>(&client - clients_.data());
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, client.socket, &event);
    }

    void advance(Client& client) {
        while (client.sent < client.out.size()) {
            const ssize_t sent = ::send(client.socket, client.out.data() + client.sent,
                                        client.out.size() - client.sent, MSG_NOSIGNAL);
            if (sent < 0) {
                if (errno == EAGAIN || errno == ENOTCONN) return;
                return finish(client, errno);
            }
            client.sent += static_cast<std::size_t>(sent);
        }
        std::array<char, 16'384> piece{};
        for (;;) {
            const ssize_t got = ::recv(client.socket, piece.data(), piece.size(), 0);
            if (got < 0 && errno == EAGAIN) return;
            if (got <= 0) return finish(client, got < 0 ? errno : 0);
            client.reply.append(piece.data(), static_cast<std::size_t>(got));
        }
    }

    void finish(Client& client, int error) {
        ::close(client.socket);
        const std::chrono::duration<double, std::milli> taken = Clock::now() - client.begun;
        std::string failure = failure_of(client.reply, error);
        if (failure.empty() && script_.takes_jobs()) {
            client.job = job_in(client.reply);
            if (client.job.empty()) {
                failure = "no job";
            } else if (!jobs_.insert(client.job).second) {
                failure = "a job was sent twice";
            }
        }
        if (failure.empty()) {
            figures_.milliseconds.push_back(taken.count());
        } else {
            ++figures_.failures[failure];
        }
        start(client);
    }

    const std::uint16_t port_;
    const Script& script_;
    const int epoll_;
    std::vector<Client> clients_;
    std::uint64_t requests_ = 0;
    std::set<std::string> jobs_;  ///< those that were received
    Figures figures_;
};

/// Connections that send a part of a request or junk, and no more. nginx closes them after a while.
class SlowClients {
  public:
    SlowClients(std::uint16_t port, int count, int addresses) {
        for (int i = 0; i < count; ++i) {
            const int socket =
                connect_from((3U << 16) + static_cast<std::uint32_t>(1 + i % addresses), port);
            if (socket < 0) continue;
            sockets_.push_back(socket);
        }
        std::this_thread::sleep_for(200ms);
        const std::string_view slow = "POST /cgi/scheduler HTTP/1.1\r\nHost: x\r\nContent-Le";
        const std::string_view junk("\x16\x03\x01\x00\xff\x00junk", 10);
        for (std::size_t i = 0; i < sockets_.size(); ++i) {
            const std::string_view text = i % 2 == 0 ? slow : junk;
            if (::send(sockets_[i], text.data(), text.size(), MSG_NOSIGNAL) < 0) continue;
        }
    }
    ~SlowClients() {
        for (const int socket : sockets_) ::close(socket);
    }
    SlowClients(const SlowClients&) = delete;
    SlowClients& operator=(const SlowClients&) = delete;

  private:
    std::vector<int> sockets_;
};

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
        std::ofstream{place_.path() / "nginx/nginx.conf"}
            << cli::nginx_configuration(place_.path(), settings);
        server = platform::spawn({program, "--project", project.root().string(), "--listen",
                                  fmt::format("127.0.0.1:{}", server_port)},
                                 {.output = place_.path() / "log/server.log"});
        nginx = platform::spawn(cli::nginx_command(place_.path()),
                                {.output = place_.path() / "log/nginx.out"});
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
void measure(const Site& site, const Front& front, const std::string& what, bool through_nginx,
             int clients, const Script& script, std::chrono::seconds duration) {
    const std::array<pid_t, 3> programs{front.server, site.mariadb(), front.nginx};
    std::array<double, 3> before{};
    std::ranges::transform(programs, before.begin(), processor_seconds);
    Load load{through_nginx ? front.nginx_port : front.server_port, clients, script};
    Figures figures = load.run(duration);
    std::ranges::sort(figures.milliseconds);
    const auto count = static_cast<double>(figures.milliseconds.size());
    std::array<double, 3> used{};
    for (std::size_t i = 0; i < programs.size(); ++i) {
        used[i] = (processor_seconds(programs[i]) - before[i]) / std::max(1.0, count) * 1e6;
    }
    fmt::print(
        "{:<34} {:<6} {:>5}  {:>7.0f}/s  {:>7.1f} {:>7.1f} ms  {:>5.0f} {:>5.0f} {:>5.0f} us\n",
        what, through_nginx ? "nginx" : "direct", clients, count / figures.seconds,
        quantile(figures.milliseconds, 0.5), quantile(figures.milliseconds, 0.99), used[0], used[1],
        used[2]);
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
        "<core_client_major_version>7</core_client_major_version>\n<code_sign_key>1</code_sign_key>"
        "\n<platform_name>x86_64-pc-linux-gnu</platform_name>\n" +
        captured.substr(info, info_end - info) + "\n<other_results></other_results>\n";
    return {.no_work = {head, false, rest}, .one_job = {head, true, rest}};
}

/// Each measurement of all servers in turn, so that they share what else the machine does.
class Bench {
  public:
    Bench(const std::vector<std::string>& programs, std::chrono::seconds duration)
        : programs_(programs), duration_(duration) {}

    void run() {
        fmt::print("{:<34} {:<6} {:>5}  {:>9}  {:>7} {:>7} ms  {:>5} {:>5} {:>5} us\n", "request",
                   "path", "conn.", "rate", "p50", "p99", "serv.", "db", "nginx");
        for (const bool through_nginx : {false, true}) {
            for (const int clients : {1, 4, 32, kHosts}) {
                of_each("no work", through_nginx, clients, scripts_.no_work);
            }
        }
        for (const int clients : {1, 4, 32, kHosts}) {
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
        for (std::size_t i = 0; i < programs_.size(); ++i) {
            if (script.takes_jobs()) site_.prepare_jobs();
            // Not all at once: an idle server keeps its connections to the database.
            const Front front{site_.project(), programs_[i]};
            // The first request of a host is stored, as one a minute is.
            Load{front.server_port, kHosts, scripts_.no_work}.run(2s);
            std::optional<SlowClients> slow;
            if (slow_addresses_ > 0) slow.emplace(front.nginx_port, kSlowClients, slow_addresses_);
            std::this_thread::sleep_for(1s);  // the server ends the requests of the last one
            const std::string name =
                programs_.size() > 1 ? fmt::format("{} {}", i + 1, what) : what;
            measure(site_, front, name, through_nginx, clients, script, duration_);
        }
    }

    const std::vector<std::string> programs_;
    const std::chrono::seconds duration_;
    const Scripts scripts_ = make_scripts();
    Site site_;
    int slow_addresses_ = 0;  ///< 0: no slow clients
};

int run(std::span<char*> arguments) {
    const auto duration = std::chrono::seconds{arguments.size() > 1 ? std::atoi(arguments[1]) : 5};
    platform::raise_descriptor_limit();
    std::vector<std::string> programs;
    for (std::size_t i = 2; i < arguments.size(); ++i) programs.emplace_back(arguments[i]);
    if (programs.empty()) programs.emplace_back(DEDLOC_SERVER_PROGRAM);
    Bench{programs, duration}.run();
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
