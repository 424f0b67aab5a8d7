// A project with its web server and its gateway in this process, on real databases: one whose
// server is strict about data, one that stores what fits of them, and one whose default character
// set is latin1. A request that is odd comes from the account `odd`. The account `honest` does its
// usual business after it, and nothing of it may change meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "peer/base/digest.hpp"
#include "project_server/database/database.hpp"
#include "project_server/database/mariadb.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/gateway/gateway_server.hpp"
#include "project_server/web/http_server.hpp"
#include "tests/fuzz/odd_requests.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::fuzz {

/// An account of the project, with one computer and one job in progress on it.
struct Person {
    std::int64_t user = 0;  ///< user.id
    std::int64_t host = 0;  ///< host.id
    std::string key;        ///< user.authenticator
    std::string email;
    std::string cpid;     ///< the computer's
    std::string result;   ///< name of the job's result
    std::string session;  ///< cookie of a browser that is signed in
    std::string address;  ///< that the web server in front sees
};
/// The password of both.
inline constexpr const char* kPassword = "a secret";
/// What BOINC clients send of it.
std::string password_hash(const Person& person);

/// What a server has answered; status 0: nothing that is HTTP.
struct Answer {
    int status = 0;
    std::string head;
    std::string body;
};

/// One request.
struct HttpRequest {
    std::string method = "POST";
    std::string target;  ///< path and query
    std::string body{};
    std::string address{};  ///< for X-Forwarded-For
    std::string cookie{};   ///< dedloc_session; empty: none
    std::string type = "application/x-www-form-urlencoded";
};

/// A project of one kind of database, with its servers.
class DoorProject {
  public:
    /// `folder` has the keys and folders of the project.
    DoorProject(const server::MariadbPlace& place, server::ProjectConfig config,
                const std::string& initial_statement);
    ~DoorProject();
    DoorProject(const DoorProject&) = delete;
    DoorProject& operator=(const DoorProject&) = delete;

    /// Every row as it was at the beginning.
    void reset();
    /// Sends a request to the web server, or to the gateway, which must answer and must not say
    /// that the project is down.
    Answer web(const HttpRequest& request);
    Answer gateway(const HttpRequest& request);
    /// All rows of `honest`, as one text: what no odd request may change.
    std::string rows_of_others();

    server::Database& database() { return *database_; }
    const server::ProjectConfig& config() const { return config_; }
    const Person& honest() const { return honest_; }
    const Person& odd() const { return odd_; }
    /// Names, keys and numbers of both, and texts that look like them; but no secret of `honest`.
    const std::vector<std::string>& known_values() const { return known_values_; }

  private:
    Person add_person(const std::string& name);
    void add_jobs();
    void select_rows_of_others();
    void keep_rows();

    const server::ProjectConfig config_;
    std::unique_ptr<server::Database> database_;
    std::unique_ptr<server::HttpServer> web_;
    std::unique_ptr<gateway::GatewayServer> gateway_;
    std::vector<std::thread> serving_;
    Person honest_;
    Person odd_;
    std::vector<std::string> known_values_;
    std::vector<std::string> tables_;
    std::vector<std::string> rows_of_others_;  ///< statements that select them
};

/// The database server with its three projects, started when they are first asked for.
class DoorWorld {
  public:
    DoorWorld();
    ~DoorWorld();
    /// The project of a kind, reset: 0 strict, 1 not strict, 2 latin1.
    DoorProject& project(std::size_t kind);

  private:
    const TemporaryDirectory folder_;
    std::unique_ptr<server::MariadbProcess> mariadb_;
    std::vector<std::unique_ptr<DoorProject>> projects_{3};
};

/// The world of this process.
DoorWorld& door_world();

/// Makes one to three odd requests to a project that the recipe chooses, which it returns. `send`
/// makes one and returns it as text. None of them may change a row of `honest`.
DoorProject& send_odd_requests(
    Recipe& recipe, const std::function<std::string(DoorProject& project, Recipe& recipe)>& send);

}  // namespace dedloc::fuzz
