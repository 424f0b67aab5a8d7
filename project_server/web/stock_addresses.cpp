// One route answers for all names, because the server tries the patterns of its routes one after
// the other; its handler looks the name up in kPages. An id in the query leads to our page about it
// only if it is a number, else to the general page. Nothing else of the query is used. The
// redirection replaces the policy on referrers before it is sent.
#include "project_server/web/stock_addresses.hpp"

#include <httplib.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "project_server/http/http_setup.hpp"

namespace dedloc::server {
namespace {

using httplib::Request;
using httplib::Response;

constexpr auto kPages = std::to_array<StockPage>({
    // Accounts.
    {"account_finish.php", "/account/ready", nullptr},
    {"get_passwd.php", "/account/forgotten", nullptr},
    {"mail_passwd.php", "/account/forgotten", nullptr},
    {"recover_email.php", "/account/forgotten", nullptr},
    {"login_form.php", "/account/sign_in", nullptr},
    {"login_action.php", "/account/sign_in", nullptr},
    {"login_auth.php", "/account/sign_in", nullptr},
    {"create_account_form.php", "/account/create", nullptr},
    {"signup.php", "/account/create", nullptr},
    {"home.php", "/account", nullptr},
    {"weak_auth.php", "/account", nullptr},
    {"logout.php", "/account", nullptr},
    {"validate_email_addr.php", "/account", nullptr},
    {"edit_user_info_form.php", "/account/settings", nullptr},
    {"edit_email_form.php", "/account/settings", nullptr},
    {"edit_passwd_form.php", "/account/settings", nullptr},
    {"edit_forum_preferences_form.php", "/account/settings", nullptr},
    {"opt_out.php", "/account/settings", nullptr},
    {"delete_account_request.php", "/account/delete", nullptr},
    {"prefs.php", "/account/computing", nullptr},
    {"prefs_edit.php", "/account/computing", nullptr},
    {"add_venue.php", "/account/computing", nullptr},
    {"cert1.php", "/account/certificate", nullptr},
    {"cert_all.php", "/account/certificate", nullptr},
    // Computers and tasks.
    {"hosts_user.php", "/account", "userid", "/user/"},
    {"show_host_detail.php", "/hosts", "hostid", "/host/"},
    {"host_app_versions.php", "/hosts", "hostid", "/host/"},
    {"host_edit_form.php", "/hosts", "hostid", "/host/"},
    {"merge_by_name.php", "/account", nullptr},
    {"results.php", "/account/tasks", nullptr},
    {"result.php", "/account/tasks", "resultid", "/task/"},
    {"workunit.php", "/account/tasks", nullptr},
    {"android_tasks.php", "/account/tasks", nullptr},
    // People and teams.
    {"view_profile.php", "/users", "userid", "/user/"},
    {"userw.php", "/users", "id", "/user/"},
    {"user_search.php", "/users", nullptr},
    {"profile_menu.php", "/users", nullptr},
    {"uotd.php", "/users", nullptr},
    {"stats.php", "/users", nullptr},
    {"team.php", "/teams", nullptr},
    {"team_search.php", "/teams", nullptr},
    {"team_display.php", "/teams", "teamid", "/team/"},
    {"team_members.php", "/teams", "teamid", "/team/"},
    {"team_join_form.php", "/teams", "teamid", "/team/"},
    {"team_join.php", "/teams", "id", "/team/"},
    {"team_quit_form.php", "/account", nullptr},
    {"team_manage.php", "/teams", "teamid", "/team/"},
    {"team_edit_form.php", "/teams", "teamid", "/team/"},
    {"team_create_form.php", "/teams/create", nullptr},
    // The project.
    {"info.php", "/join", nullptr},
    {"join.php", "/join", nullptr},
    {"welcome.php", "/join", nullptr},
    {"download_software.php", "/join", nullptr},
    {"show_apps.php", "/server_status", nullptr},
    {"gpu_list.php", "/hosts", nullptr},
    {"cpu_list.php", "/hosts", nullptr},
    {"os_stats.php", "/hosts", nullptr},
    {"host_stats.php", "/hosts", nullptr},
    {"all_news.php", "/news", nullptr},
    {"old_news.php", "/news", nullptr},
    {"forum_index.php", "/news", nullptr},
    {"forum_help_desk.php", "/join", nullptr},
});

Page ready_page() {
    return {.title = "Your account is ready", .data = {}};
}

}  // namespace

std::span<const StockPage> stock_pages() {
    return kPages;
}

void send_without_key(const Site& site, Response& response, const std::string& path) {
    response.headers.erase("Referrer-Policy");
    response.set_header("Referrer-Policy", "no-referrer");
    site.send_on(response, path);
}

void add_stock_addresses(Site& site) {
    // One pattern, because httplib tries the patterns of all routes one after the other. BOINC for
    // Android puts two slashes behind the master URL.
    site.server.Get(literal(site.prefix) + R"(/{1,2}([a-z0-9_]+\.php))",
                    [&site](const Request& request, Response& response) {
                        const std::string name = request.matches[1];
                        const auto pages = stock_pages();
                        const auto found = std::ranges::find(pages, name, &StockPage::stock);
                        if (found == pages.end()) {
                            return site.refuse(request, response, 404, "There is no such page.");
                        }
                        std::string path = found->page;
                        if (found->argument != nullptr) {
                            const auto id = number_of(request.get_param_value(found->argument));
                            if (id) path = found->page_of + std::to_string(*id);
                        }
                        send_without_key(site, response, path);
                    });
    site.get("/account/ready", [&site](const Request& request, Response& response) {
        site.show(request, response, "account_ready.html", ready_page());
    });
}

}  // namespace dedloc::server
