// A link in an e-mail opens a page with a form, and only the form uses the link's secret: programs
// that look at links in e-mail use none up. Pages say the same whether an account exists or not.
#include <fmt/format.h>
#include <httplib.h>

#include <utility>

#include "peer/base/log.hpp"
#include "project_server/accounts/mail_tokens.hpp"
#include "project_server/accounts/stored_account.hpp"
#include "project_server/email_address.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/web/routes.hpp"

namespace dedloc::server {
namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* kUndeliverable =
    "No message can be sent to such an address. If it is that of your account, ask the project's "
    "administrator for a new password.";

Page page_of(Site& site, const char* title) {
    json::Value data;
    data.set("has_mail", site.mailer.is_on());
    return {.title = title, .data = std::move(data)};
}

/// A page whose form has the secret of the page's address.
void add_secret_page(Site& site, const char* path, const char* content, const char* title) {
    site.get(path, [&site, content, title](const Request& request, Response& response) {
        Page page = page_of(site, title);
        page.data.set("secret", request.get_param_value("secret").substr(0, 64));
        site.show(request, response, content, std::move(page));
    });
}

/// Says in a page of its own what has happened, or why it has not.
void tell(Site& site, const Request& request, Response& response, const char* title,
          const Refusal& refusal, const char* done) {
    Page page = page_of(site, title);
    page.data.set("title", title).set("sentence", refusal.value_or(done)).set("is_done", !refusal);
    site.show(request, response, "mail_done.html", std::move(page));
    if (refusal) response.status = 422;
}

/// Has a message sent to the account with this address, if there is one. False: too many were sent
/// to it or for this client.
bool send_link(Site& site, const Request& request, MailPurpose purpose, const std::string& email) {
    return site.pool.with([&](Database& database) {
        const auto now = Throttle::Clock::now();
        const std::string client = address_of(request);
        const std::string mailbox = mailbox_subject(account_at(database, email), email);
        if (!site.mail_throttle.allows(mailbox, client, now)) return false;
        site.mail_throttle.count(mailbox, client, now);
        site.mailer.request(database, purpose, email);
        return true;
    });
}

void refuse_mail(Site& site, const Request& request, Response& response) {
    site.refuse(request, response, 429, "Too many e-mails were asked for. Try again tomorrow.");
}

void add_reset(Site& site) {
    site.get("/account/forgotten", [&site](const Request& request, Response& response) {
        site.show(request, response, "forgotten.html", page_of(site, "Forgotten password"));
    });
    site.add_form(
        "/account/forgotten", false,
        [&site](const Request& request, Response& response, const Form& form, const Visitor&) {
            const std::string email = form.value("email");
            if (!site.mailer.is_on()) {
                return site.refuse(request, response, 404, "This project sends no e-mail.");
            }
            if (!is_mail_address(clean_email(email))) {
                return tell(site, request, response, "Forgotten password", kUndeliverable, "");
            }
            if (!send_link(site, request, MailPurpose::kReset, email)) {
                return refuse_mail(site, request, response);
            }
            tell(site, request, response, "Forgotten password", std::nullopt,
                 "If there is an account with this address, a message with a link is on its way. "
                 "It may "
                 "take hours if the mail server is busy.");
        });
    add_secret_page(site, "/account/reset", "reset.html", "New password");
    site.add_form(
        "/account/reset", false,
        [&site](const Request& request, Response& response, const Form& form, const Visitor&) {
            const HashTurns::Turn turn{site.hash_turns, address_of(request)};
            const PasswordReset reset = site.pool.with([&](Database& database) {
                return reset_password(database, form.value("secret"), form.value("next"),
                                      unix_now());
            });
            if (!reset.refusal) {
                const std::string subject = account_subject(reset.user);
                site.throttle.forgive(subject);
                site.throttle.signed_in(subject, address_of(request), Throttle::Clock::now());
            }
            tell(site, request, response, "New password", reset.refusal,
                 reset.has_new_key
                     ? "The password is changed, and all browsers are signed out. Sign in with the "
                       "new one. The address had never been confirmed, so the account also has a "
                       "new key: attach its computers again."
                     : "The password is changed, and all browsers are signed out. Sign in with the "
                       "new one.");
        });
}

void add_confirmation(Site& site) {
    add_secret_page(site, "/account/confirm", "confirm.html", "Confirm your address");
    site.add_form(
        "/account/confirm", false,
        [&site](const Request& request, Response& response, const Form& form, const Visitor&) {
            const Refusal refusal = site.pool.with([&](Database& database) {
                return confirm_email(database, form.value("secret"), unix_now());
            });
            tell(site, request, response, "Confirm your address", refusal,
                 "Your e-mail address is confirmed.");
        });
    site.add_form(
        "/account/send_confirmation", true,
        [&site](const Request& request, Response& response, const Form&, const Visitor& who) {
            if (!send_confirmation(site, request, who.user())) {
                return refuse_mail(site, request, response);
            }
            tell(site, request, response, "Confirm your address", std::nullopt,
                 "A message with a link is on its way.");
        });
}

}  // namespace

MailMessage compose_mail(const ProjectConfig& config, MailPurpose purpose,
                         const std::string& secret) {
    const bool is_reset = purpose == MailPurpose::kReset;
    const std::string link = fmt::format("{}account/{}?secret={}", config.master_url,
                                         is_reset ? "reset" : "confirm", secret);
    return {.to = {},
            .subject = fmt::format("{}: {}", config.name,
                                   is_reset ? "a new password" : "confirm your e-mail address"),
            .text = fmt::format(
                "This message was asked for on the web page of {}.\n\n{}:\n{}\n\nThe link works "
                "once, for {}. If you have not asked for it, nothing has changed and you need to "
                "do nothing.\n",
                config.name,
                is_reset ? "To choose a new password, open" : "To confirm this address, open", link,
                is_reset ? "an hour" : "three days")};
}

bool send_confirmation(Site& site, const Request& request, std::int64_t user) {
    if (!site.mailer.is_on()) return true;
    const auto account =
        site.pool.with([&](Database& database) { return account_with_id(database, user); });
    return !account || send_link(site, request, MailPurpose::kConfirm, account->email);
}

void add_mail_routes(Site& site) {
    add_reset(site);
    add_confirmation(site);
}

}  // namespace dedloc::server
