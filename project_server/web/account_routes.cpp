// A page of the user's own is added twice, first its JSON and then its HTML, with one function that
// reads for both. Routes that check a password ask the throttle and then take a turn to hash; they
// hold no connection of the pool while they wait for it; sign-in asks the throttle again after its
// turn. Failures are counted, on the settings page all attempts. A form that succeeds sends the
// browser to another page; one that is refused is shown again with the reason and status 422.
#include <httplib.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "peer/base/log.hpp"
#include "peer/base/markup.hpp"
#include "project_server/accounts/account_changes.hpp"
#include "project_server/accounts/account_removal.hpp"
#include "project_server/accounts/invitation_code.hpp"
#include "project_server/accounts/preference_changes.hpp"
#include "project_server/accounts/stored_account.hpp"
#include "project_server/database/account_keys.hpp"
#include "project_server/database/administrators.hpp"
#include "project_server/database/join_policy.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/email_address.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/views/hosts.hpp"
#include "project_server/views/leaders.hpp"
#include "project_server/views/tasks.hpp"
#include "project_server/views/users.hpp"
#include "project_server/web/routes.hpp"

namespace dedloc::server {
namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* kTooMany = "Too many attempts. Try again in a quarter of an hour.";

/// A page of the user who is signed in; others are sent to sign in, or get status 401 for its JSON.
using OwnPage = std::function<std::optional<Page>(Database&, const Request&, std::int64_t user)>;

void add_own_page(Site& site, const std::string& path, const std::string& content,
                  const OwnPage& read) {
    const auto add = [&](const std::string& pattern, bool is_json) {
        site.server.Get(
            pattern, [&site, content, read, is_json](const Request& request, Response& response) {
                const Visitor who = site.visitor(request);
                if (!who.session) {
                    if (is_json) return site.refuse(request, response, 401, "Sign in first.");
                    return site.send_on(response, "/account/sign_in");
                }
                auto page = site.pool.with(
                    [&](Database& database) { return read(database, request, who.user()); });
                if (!page) return site.refuse(request, response, 404, "There is no such page.");
                if (!is_json) {
                    page->has_json = true;
                    return site.show(request, response, content, std::move(*page));
                }
                response.set_header("Cache-Control", "no-store");
                response.set_content(json::write(page->data), "application/json");
            });
    };
    const std::string pattern = literal(site.prefix) + path;
    add(pattern + R"(\.json)", true);
    add(pattern, false);
}

/// Shows a form again with what was wrong.
void show_again(Site& site, const Request& request, Response& response, const std::string& content,
                Page page, const std::string& sentence) {
    page.data.set("fault", sentence);
    site.show(request, response, content, std::move(page));
    response.status = 422;
}

Page empty_form(const char* title, const std::string& email = {}, const std::string& name = {}) {
    json::Value data;
    data.set("email", email).set("name", name);
    return {.title = title, .data = std::move(data)};
}

/// Begins a new session, whatever cookie the browser had before.
void sign_in(Site& site, Response& response, std::int64_t user, const std::string& path) {
    site.set_session_cookie(response, site.pool.with([&](Database& database) {
        return begin_session(database, user, unix_now());
    }));
    site.send_on(response, path);
}

void add_sign_in(Site& site) {
    site.get("/account/sign_in", [&site](const Request& request, Response& response) {
        site.show(request, response, "sign_in.html", empty_form("Sign in"));
    });
    site.add_form(
        "/account/sign_in", false,
        [&site](const Request& request, Response& response, const Form& form, const Visitor&) {
            const std::string email = form.value("email");
            const std::string address = address_of(request);
            const auto now = Throttle::Clock::now();
            const std::string subject = site.pool.with([&](Database& database) {
                return sign_in_subject(account_at(database, email), email);
            });
            if (!site.throttle.allows(subject, address, now)) {
                site.refuse(request, response, 429, kTooMany);
                return;
            }
            const HashTurns::Turn turn{site.hash_turns, address,
                                       site.throttle.has_signed_in(subject, address)};
            // Attempts that had their turn first have been counted meanwhile.
            if (!site.throttle.allows(subject, address, now)) {
                site.refuse(request, response, 429, kTooMany);
                return;
            }
            const auto user = site.pool.with([&](Database& database) {
                return user_of(database, email, form.value("password"));
            });
            if (!user) {
                site.throttle.count(subject, address, now);
                show_again(site, request, response, "sign_in.html", empty_form("Sign in", email),
                           "E-mail address or password is wrong.");
                return;
            }
            site.throttle.signed_in(subject, address, now);
            sign_in(site, response, *user, "/account");
        });
    site.add_form("/account/sign_out", true,
                  [&site](const Request&, Response& response, const Form&, const Visitor& who) {
                      site.pool.with([&](Database& database) {
                          end_session(database, who.cookie);
                          return true;
                      });
                      site.set_session_cookie(response, "");
                      site.send_on(response, "/");
                  });
}

/// The form of a new account, with what it had before. A link that an administrator gives away has
/// the invitation code in its address.
Page registration_page(Site& site, const RegistrationForm& typed) {
    Page page = empty_form("Create an account", typed.email, typed.name);
    const auto policy = site.pool.with(join_policy);
    page.data.set("by_invitation", policy == JoinPolicy::kInvitation)
        .set("invite_code", typed.invitation.substr(0, kMaxTypedInvitation));
    return page;
}

void create_from_form(Site& site, const Request& request, Response& response, const Form& form) {
    const RegistrationForm typed{.email = form.value("email"),
                                 .name = form.value("name"),
                                 .password = form.value("password"),
                                 .invitation = form.value("invite_code")};
    const std::string address = address_of(request);
    const auto now = Throttle::Clock::now();
    if (!typed.invitation.empty() &&
        !site.invitation_throttle.allows(kInvitationSubject, address, now)) {
        site.refuse(request, response, 429, kTooManyInvitations);
        return;
    }
    const HashTurns::Turn turn{site.hash_turns, address};
    const Registration made = site.pool.with(
        [&](Database& database) { return register_user(database, typed, unix_now()); });
    if (made.is_wrong_code) site.invitation_throttle.count(kInvitationSubject, address, now);
    if (made.refusal) {
        show_again(site, request, response, "register.html", registration_page(site, typed),
                   *made.refusal);
        return;
    }
    site.throttle.signed_in(account_subject(made.user), address, Throttle::Clock::now());
    send_confirmation(site, request, made.user);
    sign_in(site, response, made.user, "/account");
}

void add_registration(Site& site) {
    site.get("/account/create", [&site](const Request& request, Response& response) {
        const std::string code = valid_text(request.get_param_value("invite_code"));
        site.show(request, response, "register.html",
                  registration_page(site, {.invitation = code}));
    });
    site.add_form("/account/create", false,
                  [&site](const Request& request, Response& response, const Form& form,
                          const Visitor&) { create_from_form(site, request, response, form); });
}

/// The file in a BOINC client's data folder that holds the account of a project.
std::string account_file(const std::string& master_url) {
    const auto scheme = master_url.find("://");
    std::string name = scheme == std::string::npos ? master_url : master_url.substr(scheme + 3);
    std::ranges::replace_if(
        name,
        [](char c) {
            const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                                  (c >= 'A' && c <= 'Z') || c == '.' || c == '-';
            return !is_plain;
        },
        '_');
    while (name.ends_with('_')) name.pop_back();
    return "account_" + name + ".xml";
}

void add_overview(Site& site) {
    add_own_page(site, "/account", "account.html",
                 [&site](Database& database, const Request& request, std::int64_t user) {
                     std::optional<Page> page;
                     auto data = user_data(database, user);
                     if (!data) return page;
                     const auto account = account_with_id(database, user);
                     if (!account) return page;
                     const auto ban = ban_of(database, user, 0);
                     data->set("is_administrator", is_administrator(database, user));
                     data->set("ban", ban ? sentence_of(*ban) : "")
                         .set("can_confirm", site.mailer.is_on() && !account->is_confirmed);
                     data->set("email", account->email).set("own_hosts", [&] {
                         json::Value hosts;
                         hosts.set("hosts", hosts_of(database, user));
                         return hosts;
                     }());
                     // Secrets: saved copies of the JSON shall not have them.
                     if (!request.path.ends_with(".json")) {
                         data->set("account_key", account->key)
                             .set("weak_key",
                                  weak_account_key({.user = user,
                                                    .authenticator = account->key,
                                                    .password_hash = account->password_hash}))
                             .set("account_file", account_file(site.config.master_url));
                     }
                     page = Page{.title = "Your account", .data = std::move(*data)};
                     return page;
                 });
    add_own_page(
        site, "/account/tasks", "tasks.html",
        [](Database& database, const Request& request, std::int64_t user) {
            const auto page = number_of(request.get_param_value("page")).value_or(1);
            return std::optional{Page{.title = "Your tasks",
                                      .data = task_list(database, user,
                                                        static_cast<int>(std::clamp<std::int64_t>(
                                                            page, 1, kLastLeaderPage)))}};
        });
    add_own_page(site, "/task/([1-9][0-9]{0,8})", "task.html",
                 [](Database& database, const Request& request, std::int64_t user) {
                     std::optional<Page> page;
                     const auto task = number_of(request.matches[1]).value_or(0);
                     if (auto data = task_data(database, task, user)) {
                         page = Page{.title = "Task", .data = std::move(*data)};
                     }
                     return page;
                 });
}

/// A cobblestone is 1/200 day of a gigaflop per second.
constexpr double kOperationsPerCredit = 86'400e9 / 200;

void add_certificate(Site& site) {
    add_own_page(site, "/account/certificate", "certificate.html",
                 [](Database& database, const Request&, std::int64_t user) {
                     std::optional<Page> page;
                     const auto found = read_users(database, {.id = user});
                     if (found.empty()) return page;
                     const UserView& own = found.front();
                     json::Value data;
                     data.set("id", own.id)
                         .set("name", own.name)
                         .set("created", own.created)
                         .set("now", unix_now())
                         .set("credit", own.credit)
                         .set("exaflops", own.credit * kOperationsPerCredit / 1e18);
                     page = Page{.title = "Certificate", .data = std::move(data)};
                     return page;
                 });
}

/// A form for the jobs in general, and one for each venue.
json::Value::List job_forms(const ProjectChoices& choices) {
    json::Value::List forms;
    const auto add = [&](const std::string& venue, const JobPreferences& jobs, bool has_own) {
        json::Value form;
        form.set("area", "jobs")
            .set("venue", venue)
            .set("part", venue.empty() ? "general" : venue)
            .set("has_own", has_own)
            .set("resource_share", jobs.resource_share)
            .set("uses_processor", jobs.uses_processor)
            .set("uses_nvidia_gpu", jobs.uses_nvidia_gpu);
        forms.push_back(std::move(form));
    };
    add("", choices.general, true);
    for (const char* const venue : kVenues) {
        const auto own = choices.venues.find(venue);
        const bool has_own = own != choices.venues.end();
        add(venue, has_own ? own->second : choices.general, has_own);
    }
    return forms;
}

Page settings_page(Database& database, std::int64_t user) {
    const Preferences now = read_preferences(database, user);
    json::Value data;
    data.set("name", now.name)
        .set("country", now.country)
        .set("url", now.url)
        .set("shows_hosts", now.shows_hosts)
        .set("takes_email", now.takes_email)
        .set("venues", venue_choices(now.venue))
        .set("job_forms", job_forms(read_choices(database, user)));
    const auto account = account_with_id(database, user);
    data.set("email", account ? account->email : "");
    return {.title = "Settings", .data = std::move(data)};
}

/// A form of the settings page: `change` does what it asks for. With a password field, every
/// attempt counts against the limit: a right password may send e-mail and costs hashes.
void add_setting(Site& site, const std::string& path, bool has_password_field,
                 const std::function<Refusal(Database&, const Form&, std::int64_t user)>& change,
                 const std::function<void(const Request&, std::int64_t user)>& when_done = {}) {
    site.add_form(
        path, true,
        [&site, change, has_password_field, when_done](const Request& request, Response& response,
                                                       const Form& form, const Visitor& who) {
            const std::string subject = account_subject(who.user());
            const std::string address = address_of(request);
            const auto now = Throttle::Clock::now();
            if (has_password_field && !site.throttle.allows(subject, address, now)) {
                site.refuse(request, response, 429, kTooMany);
                return;
            }
            std::optional<HashTurns::Turn> turn;
            if (has_password_field) {
                turn.emplace(site.hash_turns, address,
                             site.throttle.has_signed_in(subject, address));
                site.throttle.count(subject, address, now);
            }
            const Refusal refusal = site.pool.with(
                [&](Database& database) { return change(database, form, who.user()); });
            if (!refusal) {
                if (when_done) when_done(request, who.user());
                return site.send_on(response, "/account/settings?done=1");
            }
            Page page = site.pool.with(
                [&](Database& database) { return settings_page(database, who.user()); });
            show_again(site, request, response, "settings.html", std::move(page), *refusal);
        });
}

/// The forms of job_forms().
void add_job_settings(Site& site) {
    const auto add = [&site](const std::string& part, const std::string& venue) {
        add_setting(site, "/account/jobs/" + part, false,
                    [venue](Database& database, const Form& form, std::int64_t user) {
                        const bool has_own = venue.empty() || form.is_ticked("has_own");
                        if (!has_own) return choose_jobs(database, user, venue, std::nullopt);
                        const auto share = number_of(form.value("resource_share"));
                        return choose_jobs(
                            database, user, venue,
                            JobPreferences{.resource_share = static_cast<int>(share.value_or(-1)),
                                           .uses_processor = form.is_ticked("uses_processor"),
                                           .uses_nvidia_gpu = form.is_ticked("uses_nvidia_gpu")});
                    });
    };
    add("general", "");
    for (const char* const venue : kVenues) add(venue, venue);
    site.add_form(
        "/host/([1-9][0-9]{0,8})/venue", true,
        [&site](const Request& request, Response& response, const Form& form, const Visitor& who) {
            const auto host = number_of(request.matches[1]).value_or(0);
            const Refusal refusal = site.pool.with([&](Database& database) {
                return set_venue(database, who.user(), host, form.value("venue"));
            });
            if (refusal) return site.refuse(request, response, 422, *refusal);
            site.send_on(response, "/host/" + std::to_string(host));
        });
}

void add_settings(Site& site) {
    add_own_page(site, "/account/settings", "settings.html",
                 [](Database& database, const Request& request, std::int64_t user) {
                     Page page = settings_page(database, user);
                     page.data.set("is_done", request.get_param_value("done") == "1");
                     return std::optional{std::move(page)};
                 });
    add_setting(site, "/account/preferences", false,
                [](Database& database, const Form& form, std::int64_t user) {
                    return write_preferences(database, user,
                                             {.name = form.value("name"),
                                              .country = form.value("country"),
                                              .url = form.value("url"),
                                              .shows_hosts = form.is_ticked("shows_hosts"),
                                              .takes_email = form.is_ticked("takes_email"),
                                              .venue = form.value("venue")});
                });
    add_job_settings(site);
    add_setting(
        site, "/account/email", true,
        [](Database& database, const Form& form, std::int64_t user) {
            return change_email(database, user, form.value("password"), form.value("email"),
                                unix_now());
        },
        [&site](const Request& request, std::int64_t user) {
            send_confirmation(site, request, user);
        });
    add_setting(site, "/account/password", true,
                [](Database& database, const Form& form, std::int64_t user) {
                    return change_password(database, user, form.value("password"),
                                           form.value("next"));
                });
}

void add_removal(Site& site) {
    site.get("/account/export.json", [&site](const Request& request, Response& response) {
        const Visitor who = site.visitor(request);
        if (!who.session) return site.send_on(response, "/account/sign_in");
        response.set_header("Cache-Control", "no-store");
        response.set_header("Content-Disposition", "attachment; filename=\"account.json\"");
        response.set_content(site.pool.with([&](Database& database) {
            return export_account(database, who.user());
        }),
                             "application/json");
    });
    add_own_page(site, "/account/delete", "delete_account.html",
                 [](Database&, const Request&, std::int64_t) {
                     return std::optional{empty_form("Delete your account")};
                 });
    site.add_form(
        "/account/delete", true,
        [&site](const Request& request, Response& response, const Form& form, const Visitor& who) {
            const std::string subject = account_subject(who.user());
            const std::string address = address_of(request);
            const auto now = Throttle::Clock::now();
            if (!site.throttle.allows(subject, address, now)) {
                site.refuse(request, response, 429, kTooMany);
                return;
            }
            const HashTurns::Turn turn{site.hash_turns, address,
                                       site.throttle.has_signed_in(subject, address)};
            const bool is_right = site.pool.with([&](Database& database) {
                return has_password(database, who.user(), form.value("password"));
            });
            if (!is_right) {
                site.throttle.count(subject, address, now);
                show_again(site, request, response, "delete_account.html",
                           empty_form("Delete your account"), "The password is wrong.");
                return;
            }
            site.pool.with([&](Database& database) {
                delete_account(database, who.user(), unix_now());
                return true;
            });
            log_info("account {} deleted", who.user());
            site.set_session_cookie(response, "");
            site.send_on(response, "/");
        });
}

}  // namespace

void add_account_routes(Site& site) {
    add_sign_in(site);
    add_registration(site);
    add_overview(site);
    add_certificate(site);
    add_settings(site);
    add_removal(site);
}

}  // namespace dedloc::server
