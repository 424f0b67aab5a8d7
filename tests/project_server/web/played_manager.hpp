// An account manager such as Science United, as a stock client sees it: one user, one project, and
// the weak account key for the client. It asks the project with the account key, as BOINC's
// documentation says account managers do.
#pragma once

#include <httplib.h>

#include <catch2/catch.hpp>
#include <mutex>
#include <string>
#include <thread>

#include "peer/platform/ports.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/xml/xml.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::server {

/// Serves rpc.php on loopback until destruction.
class PlayedManager {
  public:
    /// `project` is the URL of a running project.
    explicit PlayedManager(std::string project) : project_(std::move(project)) {
        make_key_pair(keys_.path(), "manager");
        server_.Post("/rpc.php",
                     [this](const httplib::Request& request, httplib::Response& response) {
                         const std::lock_guard lock{mutex_};
                         last_request_ = request.body;
                         response.set_content(reply(), "text/xml");
                     });
        REQUIRE(server_.bind_to_port("127.0.0.1", port_));
        serving_ = std::thread{[this] { server_.listen_after_bind(); }};
    }
    ~PlayedManager() {
        server_.stop();
        serving_.join();
    }
    PlayedManager(const PlayedManager&) = delete;
    PlayedManager& operator=(const PlayedManager&) = delete;

    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }
    /// Creates the user's account in the project.
    void create_account(const std::string& email, const std::string& team) {
        key_ = value_of(ask("create_account.php",
                            {{"email_addr", email},
                             {"passwd_hash", boinc_password_hash("made by the manager", email)},
                             {"user_name", "Managed"},
                             {"team_name", team}}),
                        "account_out", "authenticator");
        renew_key();
    }
    /// Asks for the weak account key that the client gets from now on.
    void renew_key() {
        const std::string weak = value_of(ask("am_get_info.php", {{"account_key", key_}}),
                                          "am_get_info_reply", "weak_auth");
        const std::lock_guard lock{mutex_};
        weak_ = weak;
    }
    /// What the project answers to a request with the account key.
    std::string manage(const std::string& path, httplib::Params parameters) const {
        parameters.emplace("account_key", key_);
        return ask(path, parameters);
    }
    /// Tells the client at its next contact to leave the project.
    void dismiss() {
        const std::lock_guard lock{mutex_};
        is_dismissed_ = true;
    }
    const std::string& key() const { return key_; }
    std::string weak_key() const {
        const std::lock_guard lock{mutex_};
        return weak_;
    }
    /// The client's last request.
    std::string last_request() const {
        const std::lock_guard lock{mutex_};
        return last_request_;
    }

  private:
    std::string reply() const {
        return "<?xml version=\"1.0\"?>\n<acct_mgr_reply>\n<name>Played manager</name>\n"
               "<signing_key>\n" +
               read_public_key_text(keys_.path() / "manager_public") +
               "\n</signing_key>\n<repeat_sec>3600</repeat_sec>\n<account>\n<url>" + project_ +
               "</url>\n<url_signature>\n" +
               SigningKey{keys_.path() / "manager_private"}.sign_text(project_) +
               "\n</url_signature>\n<authenticator>" + weak_ +
               "</authenticator>\n<update>1"
               "</update>\n" +
               (is_dismissed_ ? "<detach>1</detach>\n" : "") + "</account>\n</acct_mgr_reply>\n";
    }
    std::string ask(const std::string& path, const httplib::Params& parameters) const {
        const std::string authority = project_.substr(0, project_.find('/', 8));
        const auto answer =
            httplib::Client{authority}.Get(("/" + path).c_str(), parameters, httplib::Headers{});
        REQUIRE(answer);
        REQUIRE(answer->status == 200);
        return answer->body;
    }
    static std::string value_of(const std::string& reply, const char* outer, const char* name) {
        INFO(reply);
        const auto element = find_element(reply, outer);
        REQUIRE(element);
        const auto inner = find_element(element->body, name);
        REQUIRE(inner);
        return std::string{inner->body};
    }

    const std::string project_;
    const TemporaryDirectory keys_;
    const std::uint16_t port_ = platform::free_port("127.0.0.1");
    std::string key_;
    mutable std::mutex mutex_;
    std::string weak_;
    std::string last_request_;
    bool is_dismissed_ = false;
    httplib::Server server_;
    std::thread serving_;
};

}  // namespace dedloc::server
