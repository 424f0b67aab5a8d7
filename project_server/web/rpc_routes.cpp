// answer_account() reads the account first, because limits are counted by account and address: then
// it asks the throttle, takes a turn to hash if there is a password, asks again, and answers with
// another connection, so none is held during the wait for a turn. Every failure becomes XML of
// BOINC with an error number. schedule() collects the body up to its limit for the scheduler; if
// the database is away it replies with a short delay, as clients back off for hours after an HTTP
// error.
#include <error_numbers.h>
#include <fmt/format.h>
#include <httplib.h>

#include <functional>
#include <optional>

#include "peer/base/log.hpp"
#include "peer/base/markup.hpp"
#include "project_server/accounts/account_manager.hpp"
#include "project_server/accounts/accounts.hpp"
#include "project_server/accounts/stored_account.hpp"
#include "project_server/database/join_policy.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/http/request_head.hpp"
#include "project_server/views/feeds.hpp"
#include "project_server/web/routes.hpp"

namespace dedloc::server {
namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* kTooManyAttempts =
    "Too many attempts with a wrong password. Try again in a quarter of an hour.";
constexpr int kRefusedSeconds = 3600;  // retry time of a client with a value that is refused
constexpr int kDownSeconds = 10;       // retry time of clients while the database is unavailable

/// What get_project_config.php says of the database's content.
struct OpenProject {
    std::string platforms;  ///< XML
    JoinPolicy policy = JoinPolicy::kOpen;
};

/// As a BOINC server says it. The Manager has no field for a code, so it must not offer to create
/// an account; it attaches to one that was made on the web page.
constexpr const char* kNeedsInvitation =
    "    <account_creation_disabled/>\n    <invite_code_required/>\n";

/// `open`: nothing while the database is away; clients then say that the project is temporarily
/// unavailable.
std::string project_config_page(const ProjectConfig& config,
                                const std::optional<OpenProject>& open) {
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n<project_config>\n    <name>{0}</name>\n"
        "    <master_url>{1}</master_url>\n    <web_rpc_url_base>{1}</web_rpc_url_base>\n"
        "    <server_version>720</server_version>\n{4}{5}    <web_stopped>{3}</web_stopped>\n"
        "    <sched_stopped>{3}</sched_stopped>\n    <min_passwd_length>6</min_passwd_length>\n"
        "    <platforms>\n{2}    </platforms>\n    <terms_of_use>While it trains, this project's "
        "app talks directly to the computers of other volunteers: they can see your IP address."
        "</terms_of_use>\n</project_config>\n",
        escape_markup(config.name), escape_markup(config.master_url), open ? open->platforms : "",
        open ? 0 : 1, open ? "" : fmt::format("    <error_num>{}</error_num>\n", ERR_PROJECT_DOWN),
        open && open->policy == JoinPolicy::kInvitation ? kNeedsInvitation : "");
}

/// The reply of a scheduler that cannot answer a request.
std::string no_reply(const ProjectConfig& config, int delay, std::string_view sentence,
                     bool is_down) {
    return fmt::format(
        "<scheduler_reply>\n<scheduler_version>720</scheduler_version>\n<master_url>{}</master_url>"
        "\n<request_delay>{}</request_delay>\n<message priority=\"low\">{}</message>\n{}"
        "</scheduler_reply>\n",
        escape_markup(config.master_url), delay, escape_markup(sentence),
        is_down ? "<project_is_down/>\n" : "");
}

AccountRequest account_request(const Request& request) {
    return {.email = request.get_param_value("email_addr"),
            .password_hash = request.get_param_value("passwd_hash"),
            .name = request.get_param_value("user_name"),
            .invitation = request.get_param_value("invite_code")};
}

using AccountAnswer = std::function<AccountReply(Database&, const std::optional<StoredAccount>&,
                                                 const AccountRequest&)>;

/// Answers an account request unless too many with a wrong password came before.
void answer_account(Site& site, const Request& request, Response& response,
                    const AccountAnswer& answer) {
    const AccountRequest asked = account_request(request);
    const std::string address = address_of(request);
    const auto now = Throttle::Clock::now();
    std::string reply;
    try {
        const auto account =
            site.pool.with([&](Database& database) { return account_at(database, asked.email); });
        const std::string subject = sign_in_subject(account, asked.email);
        const auto is_over_limit = [&] { return !site.throttle.allows(subject, address, now); };
        const std::string refusal = account_error(ERR_BAD_PASSWD, kTooManyAttempts);
        if (is_over_limit()) return response.set_content(refusal, kXml);
        std::optional<HashTurns::Turn> turn;
        if (!asked.password_hash.empty()) {
            turn.emplace(site.hash_turns, address, site.throttle.has_signed_in(subject, address));
        }
        // Attempts that had their turn first have been counted meanwhile.
        if (is_over_limit()) return response.set_content(refusal, kXml);
        reply = site.pool.with([&](Database& database) {
            const AccountReply answered = answer(database, account, asked);
            if (is_wrong_password(answered.text)) site.throttle.count(subject, address, now);
            if (answered.user != 0) {
                site.throttle.signed_in(account_subject(answered.user), address, now);
            }
            return answered.text;
        });
    } catch (const TooBusyError& error) {
        reply = account_error(ERR_PROJECT_DOWN, error.what());
    } catch (const RefusedData& error) {
        reply = reply_of(request, error);
    } catch (const DatabaseError& error) {
        log_error("{}: {}", request.path, error.what());
        reply = account_error(ERR_PROJECT_DOWN, kNoDatabase);
    }
    response.set_content(reply, kXml);
}

/// Creates an account unless this client has sent too many invitation codes that were refused.
AccountReply create_limited(Site& site, const Request& request, Database& database,
                            const std::optional<StoredAccount>& account,
                            const AccountRequest& asked) {
    const std::string address = address_of(request);
    const auto now = Throttle::Clock::now();
    if (!asked.invitation.empty() &&
        !site.invitation_throttle.allows(kInvitationSubject, address, now)) {
        return {.text = account_error(kInvalidInvitation, kTooManyInvitations)};
    }
    const AccountReply reply = create_account(database, account, asked, unix_now());
    if (reply.is_wrong_code) site.invitation_throttle.count(kInvitationSubject, address, now);
    if (reply.user != 0) {
        join_named_team(database, reply.user, request.get_param_value("team_name"));
    }
    return reply;
}

void schedule(Site& site, const Scheduler& scheduler, const Request& request, Response& response,
              const httplib::ContentReader& read) {
    const TimedRequest timed{site.scheduler_times};
    std::string body;
    read([&](const char* data, std::size_t size) {
        if (body.size() + size > kMaxSchedulerRequest) return false;
        body.append(data, size);
        return true;
    });
    std::string reply;
    try {
        reply = site.pool.with([&](Database& database) {
            return scheduler.serve(database, body, address_of(request), unix_now());
        });
    } catch (const RefusedData& error) {
        log_error("scheduler request: {}", error.what());
        reply = no_reply(site.config, kRefusedSeconds, error.answer(), false);
    } catch (const DatabaseError& error) {
        // After an HTTP error the client would back off for up to hours.
        log_error("scheduler request: {}", error.what());
        reply = no_reply(site.config, kDownSeconds, kNoDatabase, true);
    }
    response.set_content(reply, kXml);
}

}  // namespace

std::string reply_of(const Request& request, const RefusedData& error) {
    log_error("{}: {}", request.path, error.what());
    int number = ERR_INVALID_PARAM;
    if (error.column() == "email_addr") number = ERR_BAD_EMAIL_ADDR;
    if (error.column() == "name") number = ERR_BAD_USER_NAME;
    return account_error(number, error.answer());
}

void add_rpc_routes(Site& site, const Scheduler& scheduler) {
    const auto both = [&](const std::string& path, const httplib::Server::Handler& handler) {
        site.server.Get(literal(site.prefix + path), handler);
        site.server.Post(literal(site.prefix + path), handler);
    };
    both("/get_project_config.php", [&site](const Request&, Response& response) {
        std::optional<OpenProject> open;
        try {
            open = site.pool.with([](Database& database) {
                return OpenProject{.platforms = platforms_xml(database),
                                   .policy = join_policy(database)};
            });
        } catch (const DatabaseError& error) {
            log_error("project configuration: {}", error.what());
        }
        response.set_content(project_config_page(site.config, open), kXml);
    });
    both("/create_account.php", [&site](const Request& request, Response& response) {
        answer_account(
            site, request, response,
            [&site, &request](Database& database, const auto& account, const auto& asked) {
                return create_limited(site, request, database, account, asked);
            });
    });
    both("/lookup_account.php", [&site](const Request& request, Response& response) {
        answer_account(site, request, response,
                       [](Database&, const auto& account, const auto& asked) {
                           return look_up_account(account, asked);
                       });
    });
    site.server.Post(literal(site.prefix + kSchedulerPath),
                     [&site, &scheduler](const Request& request, Response& response,
                                         const httplib::ContentReader& read) {
                         schedule(site, scheduler, request, response, read);
                     });
}

}  // namespace dedloc::server
