// What the routes of all areas share: the HTTP server, the database, cached pages, and how a page
// is served as HTML and as JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "project_server/accounts/hash_turns.hpp"
#include "project_server/accounts/invitations.hpp"
#include "project_server/accounts/mail_queue.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/accounts/throttle.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/http/database_pool.hpp"
#include "project_server/http/form.hpp"
#include "project_server/json/value.hpp"
#include "project_server/views/run_history.hpp"
#include "project_server/web/answer_cache.hpp"
#include "project_server/web/live_events.hpp"
#include "project_server/web/metrics.hpp"

namespace httplib {
class Server;
struct Request;
struct Response;
}  // namespace httplib

namespace dedloc::server {

inline constexpr const char* kXml = "text/xml";  ///< the type of an answer to a BOINC program
/// The sentence of an answer with status 503.
inline constexpr const char* kNoDatabase = "The project's database is not available now.";

/// What a page depends on.
struct PageRequest {
    std::vector<std::string> captures;  ///< what the path's groups have matched
    bool by_recent = false;             ///< ?sort=recent
    int page = 1;                       ///< ?page=N, from 1
    std::int64_t viewer = 0;            ///< user.id of the session; 0 without one
    std::string form_token;             ///< for the viewer's forms; "" without a session
};

/// The content of a page.
struct Page {
    std::string title;      ///< plain text
    json::Value data;       ///< fields of the template, and the JSON
    bool has_json = false;  ///< it is at the address of the page with ".json", as add_page has it
};

/// How a page is served.
struct PageRoute {
    std::string path;      ///< after the prefix: a regular expression; JSON at path + ".json"
    std::string content;   ///< name of the template
    bool is_home = false;  ///< names the scheduler, by which BOINC's clients find it
    /// The page while the database is away; nothing: status 404. Not given: status 503.
    std::function<std::optional<Page>(const PageRequest&)> without_database{};
    /// How long one answer serves all viewers, so it must be the same for all; 0: it is not kept.
    std::chrono::seconds life{0};
};

/// The browser that a request comes from.
struct Visitor {
    std::optional<Session> session;  ///< absent: not signed in
    std::string cookie;              ///< the secret of its forms: of the session, or of its own

    /// user.id; 0 if not signed in.
    std::int64_t user() const { return session ? session->user : 0; }
};

/// Serves pages. Thread: any, after the routes are complete.
class Site {
  public:
    using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;
    /// Reads a page's content; nothing: status 404.
    using Read = std::function<std::optional<Page>(Database&, const PageRequest&)>;

    /// All must outlive this object.
    Site(const ProjectConfig& its_config, DatabasePool& its_pool, Mailer& its_mailer,
         LiveEvents& its_live, httplib::Server& its_server);

    /// Adds a handler of exactly this path after the prefix.
    void get(const std::string& path, Handler handler);
    /// Adds a page.
    void add_page(PageRoute route, Read read);
    /// A text computed from the database at most once in `life` for all who ask for `name`.
    std::string text_of(const std::string& name, std::chrono::seconds life,
                        const std::function<std::string(Database&)>& compute);
    /// Answers a form: `handler` is called with its fields only if the form is one of this site's
    /// pages in the same browser. `path` as in add_page. Needs a session if `for_users`.
    using FormHandler = std::function<void(const httplib::Request&, httplib::Response&, const Form&,
                                           const Visitor&)>;
    void add_form(const std::string& path, bool for_users, FormHandler handler);
    /// The browser of a request. Errors: DatabaseError.
    Visitor visitor(const httplib::Request& request);
    /// Sets the cookie of a session; "": ends it in the browser.
    void set_session_cookie(httplib::Response& response, const std::string& token) const;
    /// Sends the browser to another page of this site, which it asks for with GET.
    void send_on(httplib::Response& response, const std::string& path) const;
    /// Writes a whole page: the template `content` in the layout. Its forms get the field
    /// form_token of this browser.
    void show(const httplib::Request& request, httplib::Response& response,
              const std::string& content, Page page);
    /// Answers with that status and the reason, `sentence`: a page for browsers, JSON at addresses
    /// of JSON, <error> at those of BOINC's RPCs. Works without the database.
    void refuse(const httplib::Request& request, httplib::Response& response, int status,
                const std::string& sentence);

    const ProjectConfig& config;       ///< the project's
    DatabasePool& pool;                ///< connections
    Mailer& mailer;                    ///< sends e-mail
    LiveEvents& live;                  ///< what happens to the runs now
    httplib::Server& server;           ///< to add routes that are not pages
    const std::string prefix;          ///< path of the master URL, without a slash at the end
    RunHistories histories;            ///< curves of the runs
    Throttle throttle{kSignInLimits};  ///< failed sign-ins
    /// Routes that hash passwords take a turn first, before a connection of `pool`.
    HashTurns hash_turns;
    Throttle mail_throttle{kMailLimits};  ///< e-mail, asked for or sent without being asked for
    Throttle invitation_throttle{kInvitationLimits};  ///< refused invitation codes
    RequestTimes scheduler_times;                     ///< requests to the scheduler
    RequestTimes page_times;                          ///< requests for pages and their JSON

  private:
    void serve(const PageRoute& route, const Read& read, const httplib::Request& request,
               httplib::Response& response, bool is_json);
    Visitor visitor_of_page(const PageRoute& route, const httplib::Request& request);
    AnswerCache::Pointer answer(const PageRoute& route, const Read& read,
                                const PageRequest& request);
    json::Value with_project(json::Value data) const;
    json::Value frame(const std::string& title, bool is_home, const std::string& user = {}) const;
    void set_cookie(httplib::Response& response, const char* name, const std::string& value,
                    std::int64_t seconds) const;
    bool is_own_form(const httplib::Request& request, const Form& form,
                     const Visitor& visitor) const;

    AnswerCache answers_;
};

/// A number in a query or a path: 1 to 9 digits, else nothing.
std::optional<std::int64_t> number_of(const std::string& text);

}  // namespace dedloc::server
