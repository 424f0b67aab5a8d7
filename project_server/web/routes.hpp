// The routes of each area of the site.
#pragma once

#include "project_server/scheduler/scheduler.hpp"
#include "project_server/transfer/upload.hpp"
#include "project_server/web/site.hpp"

namespace dedloc::server {

/// Pages for any visitor, each with its JSON: home, how to join, runs, leaderboards, users, teams,
/// computers, server status. `site` outlives the routes.
void add_public_routes(Site& site);

/// What every error has as its body: see Site::refuse. Comes after set_up().
void add_error_pages(Site& site);

/// Pages and forms of a user's own account: create, sign in and out, tasks, settings, export,
/// deletion.
void add_account_routes(Site& site);

/// The page and forms of a user's computing preferences.
void add_computing_routes(Site& site);

/// What reaches users by e-mail: a forgotten password, the confirmation of an address.
void add_mail_routes(Site& site);
/// The message with a link that has this secret; its address is the sender's business.
MailMessage compose_mail(const ProjectConfig& config, MailPurpose purpose,
                         const std::string& secret);
/// Asks a user to confirm the address in the account's row, if the project sends e-mail. False: too
/// many messages were sent to it or for this client, so this one is not.
bool send_confirmation(Site& site, const httplib::Request& request, std::int64_t user);

/// Pages for administrators: what happens in the runs. For everyone else they do not exist.
void add_admin_routes(Site& site);

/// Forms of teams: create, edit, join, leave.
void add_team_routes(Site& site);

/// The scheduler's path, after the prefix of the site.
inline constexpr const char* kSchedulerPath = "/cgi/scheduler";

/// What BOINC's clients ask for: the project's configuration, accounts, the scheduler.
void add_rpc_routes(Site& site, const Scheduler& scheduler);

/// The reply, in BOINC's XML, to a request with a value that the database cannot store. Logs it.
std::string reply_of(const httplib::Request& request, const RefusedData& error);

/// What account managers and sites of statistics ask for.
void add_manager_routes(Site& site);

/// Files: uploads, downloads, and the style, scripts and libraries of the pages.
void add_file_routes(Site& site, const UploadStore& uploads);

}  // namespace dedloc::server
