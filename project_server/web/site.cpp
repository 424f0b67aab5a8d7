// answer() computes a page once as JSON, as body and as whole page, and keeps all three under a key
// of route and arguments if the route has a life. Visitors who are not signed in get the whole page
// with an ETag; for others the same body is laid out with their name. A form must carry a token
// derived from the browser's cookie, and its Origin, if it has one, must be this host; add_form()
// tests that before its handler runs. refuse() chooses page, JSON or BOINC's XML by the path of the
// request.
#include "project_server/web/site.hpp"

#include <error_numbers.h>
#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "peer/base/log.hpp"
#include "peer/base/text.hpp"
#include "project_server/accounts/accounts.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/database/account_keys.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/url.hpp"
#include "project_server/views/leaders.hpp"
#include "project_server/web/templates.hpp"

namespace dedloc::server {
namespace {

/// The BOINC error number for an HTTP status.
int error_number_of(int status) {
    if (status == 503) return ERR_PROJECT_DOWN;
    return status == 400 ? ERR_INVALID_PARAM : ERR_NOT_FOUND;
}

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kJson = "application/json";

constexpr const char* kSessionCookie = "dedloc_session";
constexpr const char* kFormCookie = "dedloc_form";
constexpr std::int64_t kFormCookieSeconds = 86'400;

/// Whether a browser's Origin is that of the host which it asks. A browser writes nothing else into
/// it than scheme, host and port.
bool is_same_origin(const std::string& origin, const std::string& host) {
    const auto url = parse_url(origin);
    return url && origin == url->origin() && url->authority() == host;
}

/// The kinds of clients.
enum class Client : std::uint8_t { kBrowser, kScript, kBoinc };

Client client_of(const httplib::Request& request, const std::string& prefix) {
    if (!request.path.starts_with(prefix)) return Client::kBrowser;
    const std::string_view path = std::string_view{request.path}.substr(prefix.size());
    if (path.ends_with(".json") || path.starts_with("/api/")) return Client::kScript;
    static constexpr std::array kRpcs{"/create_account.php",
                                      "/lookup_account.php",
                                      "/get_project_config.php",
                                      "/show_user.php",
                                      "/server_status.php",
                                      "/team_lookup.php",
                                      "/team_email_list.php",
                                      "/login_token_lookup.php",
                                      "/submit_rpc_handler.php",
                                      "/job_file.php",
                                      "/rpc.php"};
    const bool is_rpc = path.starts_with("/am_") || path.starts_with("/cgi/") ||
                        std::ranges::find(kRpcs, path) != kRpcs.end();
    return is_rpc ? Client::kBoinc : Client::kBrowser;
}

PageRequest page_request(const httplib::Request& request) {
    PageRequest asked;
    for (std::size_t at = 1; at < request.matches.size(); ++at) {
        asked.captures.push_back(request.matches[at]);
    }
    asked.by_recent = request.get_param_value("sort") == "recent";
    const auto page = number_of(request.get_param_value("page"));
    asked.page = static_cast<int>(std::clamp<std::int64_t>(page.value_or(1), 1, kLastLeaderPage));
    return asked;
}

std::string key_of(const PageRoute& route, const PageRequest& request) {
    std::string key = fmt::format("{} {} {}", route.path, request.by_recent, request.page);
    for (const std::string& capture : request.captures) key += ' ' + capture;
    return key;
}

/// Writes `text`, or status 304 if the client has it already.
void write_unless_known(const httplib::Request& request, httplib::Response& response,
                        const std::string& text, const char* type) {
    const std::string tag = fmt::format("\"{:016x}\"", std::hash<std::string>{}(text));
    response.set_header("ETag", tag);
    response.set_header("Cache-Control", "no-cache");
    if (request.get_header_value("If-None-Match") == tag) {
        response.status = 304;
        return;
    }
    response.set_content(text, type);
}

}  // namespace

std::optional<std::int64_t> number_of(const std::string& text) {
    if (text.size() > 9) return std::nullopt;
    return parse_number<std::uint32_t>(text);
}

Site::Site(const ProjectConfig& its_config, DatabasePool& its_pool, Mailer& its_mailer,
           LiveEvents& its_live, httplib::Server& its_server)
    : config(its_config),
      pool(its_pool),
      mailer(its_mailer),
      live(its_live),
      server(its_server),
      prefix(required_url(its_config.master_url, "<master_url>").folder()) {
    // A script or style inside a page, from wherever, is never executed.
    server.set_default_headers(
        {{"Content-Security-Policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
          "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
         {"X-Content-Type-Options", "nosniff"},
         {"X-Frame-Options", "DENY"},
         {"Referrer-Policy", "same-origin"}});
}

void Site::get(const std::string& path, Handler handler) {
    server.Get(literal(prefix + path), std::move(handler));
}

void Site::add_page(PageRoute route, Read read) {
    const auto add = [&](const std::string& pattern, bool is_json) {
        server.Get(pattern, [this, route, read, is_json](const httplib::Request& request,
                                                         httplib::Response& response) {
            serve(route, read, request, response, is_json);
        });
    };
    // JSON first: a run's name could match the ending, too.
    const std::string path = literal(prefix) + route.path;
    add(path + R"(\.json)", true);
    add(path, false);
}

void Site::serve(const PageRoute& route, const Read& read, const httplib::Request& request,
                 httplib::Response& response, bool is_json) {
    const TimedRequest timed{page_times};
    PageRequest asked = page_request(request);
    const Visitor who = visitor_of_page(route, request);
    asked.viewer = who.user();
    if (who.session) asked.form_token = form_token(who.cookie);
    const auto found = answer(route, read, asked);
    if (!found) return refuse(request, response, 404, "There is no such page.");
    if (who.session && !is_json) {
        response.set_header("Cache-Control", "private, no-cache");
        response.set_content(
            lay_out(frame(found->title, route.is_home, who.session->name).set("has_json", true),
                    found->body),
            kHtml);
        return;
    }
    write_unless_known(request, response, is_json ? found->json : found->page,
                       is_json ? kJson : kHtml);
}

Visitor Site::visitor_of_page(const PageRoute& route, const httplib::Request& request) {
    try {
        return visitor(request);
    } catch (const DatabaseError&) {
        if (!route.without_database) throw;
        return {};
    }
}

AnswerCache::Pointer Site::answer(const PageRoute& route, const Read& read,
                                  const PageRequest& request) {
    const auto compute = [&]() -> std::optional<Answer> {
        std::optional<Page> page;
        try {
            page = pool.with([&](Database& database) { return read(database, request); });
        } catch (const DatabaseError& error) {
            if (!route.without_database) throw;
            log_error("page without the database: {}", error.what());
            page = route.without_database(request);
        }
        if (!page) return std::nullopt;
        Answer answer{
            .title = page->title, .body = {}, .page = {}, .json = json::write(page->data)};
        page->data.set("form_token", route.life.count() > 0 ? std::string{} : request.form_token);
        answer.body = fill_in(route.content, with_project(std::move(page->data)));
        answer.page =
            lay_out(frame(answer.title, route.is_home).set("has_json", true), answer.body);
        return answer;
    };
    if (route.life.count() > 0) return answers_.get(key_of(route, request), route.life, compute);
    auto answer = compute();
    return answer ? std::make_shared<const Answer>(std::move(*answer)) : nullptr;
}

json::Value Site::with_project(json::Value data) const {
    data.set("root", prefix).set("project", config.name).set("master", config.master_url);
    return data;
}

json::Value Site::frame(const std::string& title, bool is_home, const std::string& user) const {
    json::Value data;
    data.set("title", title)
        .set("root", prefix)
        .set("project", config.name)
        .set("user", user)
        .set("scheduler", is_home ? config.scheduler_url() : "");
    return data;
}

std::string Site::text_of(const std::string& name, std::chrono::seconds life,
                          const std::function<std::string(Database&)>& compute) {
    return answers_
        .get(
            name, life,
            [&] { return Answer{.title = {}, .body = {}, .page = {}, .json = pool.with(compute)}; })
        ->json;
}

void Site::show(const httplib::Request& request, httplib::Response& response,
                const std::string& content, Page page) {
    Visitor who = visitor(request);
    if (who.cookie.empty()) {
        who.cookie = random_token();
        set_cookie(response, kFormCookie, who.cookie, kFormCookieSeconds);
    }
    page.data.set("form_token", form_token(who.cookie));
    response.set_header("Cache-Control", "no-store");
    response.set_content(lay_out(frame(page.title, false, who.session ? who.session->name : "")
                                     .set("has_json", page.has_json),
                                 fill_in(content, with_project(std::move(page.data)))),
                         kHtml);
}

Visitor Site::visitor(const httplib::Request& request) {
    const std::string cookies = request.get_header_value("Cookie");
    std::string token = cookie_value(cookies, kSessionCookie);
    if (!token.empty()) {
        auto session = pool.with(
            [&](Database& database) { return find_session(database, token, unix_now()); });
        if (session) return {.session = std::move(session), .cookie = std::move(token)};
    }
    return {.session = std::nullopt, .cookie = cookie_value(cookies, kFormCookie)};
}

void Site::set_cookie(httplib::Response& response, const char* name, const std::string& value,
                      std::int64_t seconds) const {
    response.headers.emplace(
        "Set-Cookie",
        fmt::format("{}={}; Path={}/; Max-Age={}; HttpOnly; SameSite=Lax{}", name, value, prefix,
                    seconds, config.master_url.starts_with("https://") ? "; Secure" : ""));
}

void Site::set_session_cookie(httplib::Response& response, const std::string& token) const {
    set_cookie(response, kSessionCookie, token, token.empty() ? 0 : kSessionSeconds);
}

void Site::send_on(httplib::Response& response, const std::string& path) const {
    response.set_header("Cache-Control", "no-store");
    response.set_redirect(prefix + path, 303);
}

bool Site::is_own_form(const httplib::Request& request, const Form& form,
                       const Visitor& visitor) const {
    const std::string origin = request.get_header_value("Origin");
    if (!origin.empty() && !is_same_origin(origin, request.get_header_value("Host"))) return false;
    return !visitor.cookie.empty() &&
           is_same_secret(form.value("form_token"), form_token(visitor.cookie));
}

void Site::add_form(const std::string& path, bool for_users, FormHandler handler) {
    server.Post(
        literal(prefix) + path, [this, for_users, handler = std::move(handler)](
                                    const httplib::Request& request, httplib::Response& response,
                                    const httplib::ContentReader& read) {
            std::string body;
            read([&](const char* data, std::size_t size) {
                if (body.size() + size > kMaxFormBytes) return false;
                body.append(data, size);
                return true;
            });
            const auto form = Form::parse(body);
            const Visitor who = visitor(request);
            if (!form || !is_own_form(request, *form, who)) {
                return refuse(request, response, 403,
                              "This form is not from this site, or too old. Load the page again.");
            }
            if (for_users && !who.session) return send_on(response, "/account/sign_in");
            try {
                handler(request, response, *form, who);
            } catch (const TooBusyError& error) {
                response.set_header("Retry-After", "60");
                refuse(request, response, 503, error.what());
            }
        });
}

void Site::refuse(const httplib::Request& request, httplib::Response& response, int status,
                  const std::string& sentence) {
    response.status = status;
    response.set_header("Cache-Control", "no-store");
    switch (client_of(request, prefix)) {
        case Client::kScript: {
            json::Value data;
            data.set("status", status).set("error", sentence);
            return response.set_content(json::write(data), kJson);
        }
        case Client::kBoinc:
            return response.set_content(account_error(error_number_of(status), sentence), kXml);
        case Client::kBrowser:
            break;
    }
    std::string user;
    try {
        const auto session = visitor(request).session;
        if (session) user = session->name;
    } catch (const DatabaseError&) {
        // The page is as for visitors who are not signed in.
    }
    json::Value data;
    data.set("sentence", sentence);
    response.set_content(lay_out(frame("Not available", false, user),
                                 fill_in("refused.html", with_project(std::move(data)))),
                         kHtml);
}

}  // namespace dedloc::server
