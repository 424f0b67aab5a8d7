// A project with its web server in this process, and a browser's view of it.
#pragma once

#include <httplib.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "project_server/publishing/keys.hpp"
#include "project_server/web/http_server.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {

/// Serves a TestProject on a free port until destruction.
class TestSite {
  public:
    explicit TestSite(MailSettings mail = {}) {
        make_key_pair(project_.config().key_directory, "code_sign");
        make_key_pair(project_.config().key_directory, "upload");
        server_ =
            std::make_unique<HttpServer>(project_.config(), "127.0.0.1", port_, std::move(mail));
        serving_ = std::thread{[this] { server_->run(); }};
    }
    ~TestSite() {
        server_->stop();
        serving_.join();
    }
    TestSite(const TestSite&) = delete;
    TestSite& operator=(const TestSite&) = delete;

    Database& database() { return project_.database(); }
    TestProject& project() { return project_; }
    std::uint16_t port() const { return port_; }
    /// A client without cookies that does not follow redirects. It waits for a busy machine, on
    /// which a password hash takes seconds.
    httplib::Client client() const {
        httplib::Client client{"127.0.0.1", port_};
        client.set_read_timeout(std::chrono::minutes{1});
        return client;
    }
    /// The answer to a GET of `path`.
    httplib::Response get(const std::string& path, const httplib::Headers& headers = {}) const {
        auto result = client().Get(path.c_str(), headers);
        REQUIRE(result);
        return *result;
    }
    /// The body of a page that must exist.
    std::string page(const std::string& path) const {
        const auto response = get(path);
        INFO(path);
        INFO(response.body);
        REQUIRE(response.status == 200);
        return response.body;
    }

  private:
    const std::uint16_t port_ = platform::free_port("127.0.0.1");
    TestProject project_{port_};
    std::unique_ptr<HttpServer> server_;
    std::thread serving_;
};

/// Text that would leave an attribute, an element, a script or a header if it were not escaped.
inline constexpr const char* kHostileText =
    "\"'><script>alert(1)</script></textarea>\r\nX-Injected: 1 {{name}} &lt; </title>";

/// Adds a user and returns its id.
inline std::int64_t add_user(Database& database, const std::string& name, double credit,
                             bool shows_hosts = true, const std::string& country = "Latvia") {
    database.execute(
        "insert into user (create_time, email_addr, name, authenticator, country, total_credit, "
        "expavg_credit, url, show_hosts, cross_project_id) "
        "values (1800000000, ?, ?, md5(?), ?, ?, ?, 'javascript:alert(2)', ?, 'cpid')",
        {"mail-of-" + std::to_string(credit) + "@example.org", name, credit, country, credit,
         credit / 10, shows_hosts});
    return database.insert_id();
}

/// Adds a computer of a user and returns its id.
inline std::int64_t add_host(Database& database, std::int64_t user, const std::string& model,
                             double credit) {
    database.execute(
        "insert into host (create_time, userid, rpc_time, total_credit, expavg_credit, p_ncpus, "
        "p_model, os_name, domain_name, last_ip_addr, external_ip_addr, m_nbytes) values "
        "(1800000000, ?, 1800000000, ?, ?, 4, ?, 'Linux', 'secret-domain', '203.0.113.7', "
        "'203.0.113.7', 1e10)",
        {user, credit, credit / 10, model});
    return database.insert_id();
}

/// Adds a run and returns its id.
inline std::int64_t add_run(Database& database, const std::string& name) {
    database.execute(
        "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created) values (?, '00', '{}', 10, 2000, 1, 0.5, 1)",
        {name});
    return database.insert_id();
}

}  // namespace dedloc::server
