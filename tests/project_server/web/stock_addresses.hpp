// The addresses of a project that programs have compiled in, or that every BOINC project has: what
// BOINC's sources ask for, with the file of BOINC that does, and what the answer must be. The first
// part is complete: it has each address in the sources of client, Manager, libraries and BOINC for
// Android of the releases 5.10, 6.12, 7.2, 7.16, 7.20.5, 8.2.15 and of the snapshot c5c6cb79b9.
//
//     git grep -n -E '[a-z_]+\.php' client_release/8.2/8.2.15 -- client clientgui lib android
#pragma once

#include <array>
#include <string_view>

namespace dedloc::server {

/// Kinds of answers.
enum class StockAnswer {
    kPage,  ///< status 200, a page
    kSent,  ///< status 303: sent to `says`, a page of ours
    kXml,   ///< status 200, XML with `says` in it
    kNone,  ///< status 404: this project has nothing of the kind
};

/// An address and its answer. KEY stands for an account's key, and the account's id is 1, as are
/// those of its computer and team.
struct StockAddress {
    std::string_view address;  ///< after the master URL
    StockAnswer answer;
    std::string_view says;    ///< see StockAnswer
    std::string_view source;  ///< file of BOINC
};

inline constexpr auto kStockAddresses = std::to_array<StockAddress>({
    // Compiled into stock programs.
    {"", StockAnswer::kPage, "", "client/cs_scheduler.cpp"},
    {"", StockAnswer::kPage, "", "clientgui/AccountInfoPage.cpp"},
    {"account_finish.php?auth=KEY", StockAnswer::kSent, "account/ready",
     "clientgui/WizardAttach.cpp"},
    {"get_passwd.php", StockAnswer::kSent, "account/forgotten", "clientgui/AccountInfoPage.cpp"},
    {"/get_passwd.php", StockAnswer::kSent, "account/forgotten",
     "android/.../attach/IndividualCredentialInputFragment.kt"},
    {"get_project_config.php", StockAnswer::kXml, "<project_config>", "client/acct_setup.cpp"},
    {"lookup_account.php?email_addr=a%40b&passwd_hash=00112233445566778899aabbccddeeff",
     StockAnswer::kXml, "<error_num>-136</error_num>", "client/acct_setup.cpp"},
    {"create_account.php?email_addr=a&passwd_hash=00112233445566778899aabbccddeeff&user_name=A",
     StockAnswer::kXml, "<error_num>-205</error_num>", "client/acct_setup.cpp"},
    {"login_token_lookup.php?user_id=1&token=x", StockAnswer::kXml, "<error_msg>",
     "client/acct_setup.cpp"},
    {"rpc.php", StockAnswer::kXml, "<acct_mgr_reply>", "client/acct_mgr.cpp"},
    {"prefs.php", StockAnswer::kSent, "account/computing", "clientgui of 5.10"},
    {"submit_rpc_handler.php", StockAnswer::kXml, "<error_num>-1</error_num>",
     "lib/remote_submit.cpp"},
    {"job_file.php", StockAnswer::kXml, "<error_num>-1</error_num>", "lib/remote_submit.cpp"},
    {"get_output.php?cmd=workunit_file&auth_str=KEY&wu_name=x&file_num=0", StockAnswer::kXml,
     "<error_num>-1</error_num>", "lib/remote_submit.cpp"},
    {"get_output.php?cmd=batch_files&batch_id=1&auth_str=KEY", StockAnswer::kXml,
     "<error_num>-1</error_num>", "lib/submit_api.py"},
    {"server_status.php?counts=1", StockAnswer::kXml, "<job_counts>", "lib/submit_api.py"},
    // Links of the gui_urls.xml that BOINC gives every project.
    {"forum_index.php", StockAnswer::kSent, "news", "tools/gui_urls.xml"},
    {"home.php", StockAnswer::kSent, "account", "tools/gui_urls.xml"},
    {"results.php?userid=1", StockAnswer::kSent, "account/tasks", "tools/gui_urls.xml"},
    {"team_display.php?teamid=1", StockAnswer::kSent, "team/1", "tools/gui_urls.xml"},
    {"notices.php?userid=1&auth=1_KEY", StockAnswer::kXml, "<rss version", "tools/gui_urls.xml"},
    // Requests of account managers and of sites of statistics.
    {"am_get_info.php?account_key=KEY", StockAnswer::kXml, "<am_get_info_reply>",
     "html/user/am_get_info.php"},
    {"am_set_info.php?account_key=KEY", StockAnswer::kXml, "<am_set_info_reply>",
     "html/user/am_set_info.php"},
    {"am_set_host_info.php?account_key=KEY&hostid=1&venue=home", StockAnswer::kXml,
     "<am_set_host_info_reply>", "html/user/am_set_host_info.php"},
    {"show_user.php?userid=1&format=xml", StockAnswer::kXml, "<user>", "html/user/show_user.php"},
    {"show_user.php?auth=KEY&format=xml", StockAnswer::kXml, "<host>", "html/user/show_user.php"},
    {"team_lookup.php?team_id=1", StockAnswer::kXml, "<team>", "html/user/team_lookup.php"},
    {"team_lookup.php?team_ids=1,2", StockAnswer::kXml, "<teams>", "html/user/team_lookup.php"},
    {"team_lookup.php?team_name=rig&format=xml", StockAnswer::kXml, "<name>Riga</name>",
     "html/user/team_lookup.php"},
    {"team_email_list.php?teamid=1&xml=1", StockAnswer::kXml, "<users>",
     "html/user/team_email_list.php"},
    {"create_team.php?account_key=KEY&name=x", StockAnswer::kXml, "<error_num>-1</error_num>",
     "html/user/create_team.php"},
    {"apps.php?xml=1", StockAnswer::kXml, "<app_versions>", "html/user/apps.php"},
    {"server_status.php?xml=1", StockAnswer::kXml, "<server_status>",
     "html/user/server_status.php"},
    {"app_versions.php", StockAnswer::kXml, "<app_versions>\n</app_versions>",
     "html/user/app_versions.php"},
    {"gpu_ratios.php", StockAnswer::kXml, "<total_credit>0</total_credit>",
     "html/user/gpu_ratios.php"},
    {"result_status.php?ids=1", StockAnswer::kXml, "<error_num>-1</error_num>",
     "html/user/result_status.php"},
    // A gadget for iGoogle, which ended in 2013: the profile of the user of the day. This project
    // has neither profiles nor a user of the day.
    {"uotd_gadget.php", StockAnswer::kNone, "", "html/user/uotd_gadget.php"},
    {"rss_main.php", StockAnswer::kXml, "<rss version", "html/user/rss_main.php"},
    // Pages that people have in links and bookmarks.
    {"index.php", StockAnswer::kPage, "", "html/user/sample_index.php"},
    {"top_users.php", StockAnswer::kPage, "", "html/user/top_users.php"},
    {"top_teams.php", StockAnswer::kPage, "", "html/user/top_teams.php"},
    {"top_hosts.php", StockAnswer::kPage, "", "html/user/top_hosts.php"},
    {"server_status.php", StockAnswer::kSent, "server_status", "html/user/server_status.php"},
    {"apps.php", StockAnswer::kSent, "server_status", "html/user/apps.php"},
    {"show_apps.php", StockAnswer::kSent, "server_status", "html/user/show_apps.php"},
    {"mail_passwd.php", StockAnswer::kSent, "account/forgotten", "html/user/mail_passwd.php"},
    {"recover_email.php", StockAnswer::kSent, "account/forgotten", "html/user/recover_email.php"},
    {"login_form.php?next_url=https%3A%2F%2Fevil.example%2F", StockAnswer::kSent, "account/sign_in",
     "html/user/login_form.php"},
    {"login_action.php?key=KEY", StockAnswer::kSent, "account/sign_in",
     "html/user/login_action.php"},
    {"login_action.php?id=1&t=1&h=00112233", StockAnswer::kSent, "account/sign_in",
     "html/user/login_action.php"},
    {"login_auth.php", StockAnswer::kSent, "account/sign_in", "html/user/login_auth.php"},
    {"create_account_form.php?next_url=//evil.example/", StockAnswer::kSent, "account/create",
     "html/user/create_account_form.php"},
    {"signup.php", StockAnswer::kSent, "account/create", "html/user/signup.php"},
    {"home.php?auth=KEY", StockAnswer::kSent, "account", "html/user/home.php"},
    {"weak_auth.php", StockAnswer::kSent, "account", "html/user/weak_auth.php"},
    {"logout.php", StockAnswer::kSent, "account", "html/user/logout.php"},
    {"validate_email_addr.php", StockAnswer::kSent, "account", "html/user/validate_email_addr.php"},
    {"edit_user_info_form.php", StockAnswer::kSent, "account/settings",
     "html/user/edit_user_info_form.php"},
    {"edit_email_form.php", StockAnswer::kSent, "account/settings",
     "html/user/edit_email_form.php"},
    {"edit_passwd_form.php", StockAnswer::kSent, "account/settings",
     "html/user/edit_passwd_form.php"},
    {"edit_forum_preferences_form.php", StockAnswer::kSent, "account/settings",
     "html/user/edit_forum_preferences_form.php"},
    {"opt_out.php", StockAnswer::kSent, "account/settings", "html/user/opt_out.php"},
    {"delete_account_request.php", StockAnswer::kSent, "account/delete",
     "html/user/delete_account_request.php"},
    {"prefs.php?subset=global", StockAnswer::kSent, "account/computing", "html/user/prefs.php"},
    {"prefs_edit.php?subset=global", StockAnswer::kSent, "account/computing",
     "html/user/prefs_edit.php"},
    {"add_venue.php", StockAnswer::kSent, "account/computing", "html/user/add_venue.php"},
    {"cert1.php", StockAnswer::kSent, "account/certificate", "html/user/cert1.php"},
    {"cert_all.php", StockAnswer::kSent, "account/certificate", "html/user/cert_all.php"},
    {"hosts_user.php", StockAnswer::kSent, "account", "html/user/hosts_user.php"},
    {"hosts_user.php?userid=1&sort=expavg_credit&rev=0&show_all=1", StockAnswer::kSent, "user/1",
     "html/user/hosts_user.php"},
    {"show_user.php?userid=1", StockAnswer::kSent, "user/1", "html/user/show_user.php"},
    {"show_user.php?auth=KEY", StockAnswer::kSent, "account", "html/user/show_user.php"},
    {"show_host_detail.php?hostid=1", StockAnswer::kSent, "host/1",
     "html/user/show_host_detail.php"},
    {"host_app_versions.php?hostid=1", StockAnswer::kSent, "host/1",
     "html/user/host_app_versions.php"},
    {"host_edit_form.php?hostid=1", StockAnswer::kSent, "host/1", "html/user/host_edit_form.php"},
    {"merge_by_name.php", StockAnswer::kSent, "account", "html/user/merge_by_name.php"},
    {"results.php?hostid=1", StockAnswer::kSent, "account/tasks", "html/user/results.php"},
    {"result.php?resultid=1", StockAnswer::kSent, "task/1", "html/user/result.php"},
    {"workunit.php?wuid=1", StockAnswer::kSent, "account/tasks", "html/user/workunit.php"},
    {"android_tasks.php", StockAnswer::kSent, "account/tasks", "html/user/android_tasks.php"},
    {"view_profile.php?userid=1", StockAnswer::kSent, "user/1", "html/user/view_profile.php"},
    {"userw.php?id=1", StockAnswer::kSent, "user/1", "html/user/userw.php"},
    {"userw.php?id=//evil.example", StockAnswer::kSent, "users", "html/user/userw.php"},
    {"user_search.php", StockAnswer::kSent, "users", "html/user/user_search.php"},
    {"profile_menu.php", StockAnswer::kSent, "users", "html/user/profile_menu.php"},
    {"uotd.php", StockAnswer::kSent, "users", "html/user/uotd.php"},
    {"stats.php", StockAnswer::kSent, "users", "html/user/stats.php"},
    {"team.php", StockAnswer::kSent, "teams", "html/user/team.php"},
    {"team_search.php", StockAnswer::kSent, "teams", "html/user/team_search.php"},
    {"team_lookup.php?team_name=rig", StockAnswer::kSent, "teams", "html/user/team_lookup.php"},
    {"team_email_list.php?teamid=1", StockAnswer::kSent, "team/1", "html/user/team_email_list.php"},
    {"team_members.php?teamid=1&offset=0&sort_by=expavg_credit", StockAnswer::kSent, "team/1",
     "html/user/team_members.php"},
    {"team_join_form.php?teamid=1", StockAnswer::kSent, "team/1", "html/user/team_join_form.php"},
    {"team_join.php?id=1", StockAnswer::kSent, "team/1", "html/user/team_join.php"},
    {"team_quit_form.php", StockAnswer::kSent, "account", "html/user/team_quit_form.php"},
    {"team_manage.php?teamid=1", StockAnswer::kSent, "team/1", "html/user/team_manage.php"},
    {"team_edit_form.php?teamid=1", StockAnswer::kSent, "team/1", "html/user/team_edit_form.php"},
    {"team_create_form.php", StockAnswer::kSent, "teams/create", "html/user/team_create_form.php"},
    {"info.php", StockAnswer::kSent, "join", "html/user/info.php"},
    {"join.php", StockAnswer::kSent, "join", "html/user/sample_index.php"},
    {"welcome.php", StockAnswer::kSent, "join", "html/user/welcome.php"},
    {"download_software.php", StockAnswer::kSent, "join", "html/user/download_software.php"},
    {"gpu_list.php", StockAnswer::kSent, "hosts", "html/user/gpu_list.php"},
    {"cpu_list.php", StockAnswer::kSent, "hosts", "html/user/cpu_list.php"},
    {"os_stats.php", StockAnswer::kSent, "hosts", "html/user/os_stats.php"},
    {"host_stats.php", StockAnswer::kSent, "hosts", "html/user/host_stats.php"},
    {"all_news.php", StockAnswer::kSent, "news", "html/user/all_news.php"},
    {"old_news.php", StockAnswer::kSent, "news", "html/user/old_news.php"},
    {"forum_help_desk.php", StockAnswer::kSent, "join", "html/user/forum_help_desk.php"},
});

}  // namespace dedloc::server
