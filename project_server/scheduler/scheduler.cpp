// serve() parses the request and finds the account. A request that reports and wants nothing, from
// a host that was stored a moment ago, is answered by reads alone. All others run serve_changes()
// in one transaction: the host's row is locked, then come preferences, reports, messages, aborts
// and jobs. The Taking of jobs is made before the transaction and outlives its commit, so no other
// request is offered the same jobs. If the database refuses a text, the request is served again
// with less and less of what the client says of its host.
#include "project_server/scheduler/scheduler.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "peer/base/log.hpp"
#include "project_server/database/states.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/dispatch.hpp"
#include "project_server/scheduler/plain_request.hpp"
#include "project_server/scheduler/plan_class.hpp"
#include "project_server/scheduler/reports.hpp"

namespace dedloc::server {
namespace {

/// Version that clients check: from 507 on they read preferences and delays as this server writes
/// them.
constexpr int kSchedulerVersion = 720;
constexpr double kTooManyHostsDelay = 3600;  // seconds until the client asks again
constexpr double kMissingKeyDelay = 3600;  // seconds until a client without a valid key asks again
/// What is kept of a request that the database refuses, attempt by attempt.
constexpr PlainLimits kPlainLimits[] = {
    {.name = 60, .document = 60'000}, {.name = 0, .document = 60'000}, {}};
constexpr const char* kUnknownKey = "unknown key";
constexpr const char* kUnknownKeyNotice =
    "Invalid or missing account key. To fix this, remove this project and add it again.";

/// The beginning of every reply.
XmlWriter open_reply(const ProjectConfig& config, double request_delay) {
    XmlWriter reply;
    reply.open("scheduler_reply");
    reply.add("scheduler_version", kSchedulerVersion);
    reply.flag("dont_use_dcf");
    reply.add("master_url", config.master_url);
    reply.add("request_delay", request_delay);
    reply.add("project_name", config.name);
    return reply;
}

std::string close_reply(XmlWriter reply) {
    reply.close("scheduler_reply");
    return std::move(reply).take();
}

void add_named(XmlWriter& reply, std::string_view element, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        reply.open(element);
        reply.add("name", name);
        reply.close(element);
    }
}

void add_account(XmlWriter& reply, const Account& account) {
    reply.add("userid", account.id);
    reply.add("user_name", account.name);
    reply.add("user_total_credit", account.total_credit);
    reply.add("user_expavg_credit", account.recent_credit);
    reply.add("user_create_time", account.create_time);
    reply.add("email_hash", md5_of_text(account.email));
    reply.add("cross_project_id", account.cross_project_id);
    reply.add("external_cpid", md5_of_text(account.cross_project_id + account.email));
    reply.add("team_name", account.team_name);
    reply.raw(account.project_preferences);
}

void add_host(XmlWriter& reply, const Host& host) {
    if (host.is_new_to_client) reply.add("hostid", host.id);
    reply.add("host_total_credit", host.total_credit);
    reply.add("host_expavg_credit", host.recent_credit);
    reply.add("host_venue", host.venue);
    reply.add("host_create_time", host.create_time);
}

/// The files of the host's jobs in progress with their signatures by the present key, for a client
/// that is about to accept it: it checks a file when it has downloaded it, and may be doing so.
void add_signatures(XmlWriter& reply, Database& database, const CodeSignKeys& keys,
                    const Host& host) {
    for (const Row& row : database.query(
             "select xml_doc from app_version where id in (select app_version_id from result "
             "where hostid = ? and server_state = ?) and exists (select 1 from "
             "dedloc_code_sign_key where public_key = ?)",
             {host.id, ServerState::kInProgress, keys.present()})) {
        XmlReader document{row.text("xml_doc")};
        while (const auto element = document.next()) {
            if (element->name == "file_info") reply.raw(element->whole);
        }
    }
}

/// Says what the client must know about the key that signs app versions.
void add_key(XmlWriter& reply, Database& database, const CodeSignKeys& keys,
             const std::string& client_key, const Host& host) {
    const KeyNotice notice = keys.notice_for(client_key);
    if (notice.is_unknown) {
        reply.message("notice",
                      "This project's key for signing applications is another one than this client "
                      "knows. To get tasks, remove this project and add it again.");
    }
    if (notice.key.empty()) return;
    reply.raw("<code_sign_key>\n" + notice.key + "\n</code_sign_key>\n");
    if (notice.signature.empty()) return;
    reply.raw("<code_sign_key_signature>\n" + notice.signature + "\n</code_sign_key_signature>\n");
    if (notice.can_verify) {
        add_signatures(reply, database, keys, host);
    } else {
        reply.message("low",
                      "This client has missed changes of the project's key for signing "
                      "applications. It learns the next one now, and gets tasks once it has all.");
    }
}

/// Names the resources for which the project has no versions, so that clients do not ask for them.
void add_missing_resources(XmlWriter& reply, const Catalogue& catalogue,
                           const SchedulerRequest& request) {
    const auto has = [&](Resource resource) {
        return std::ranges::any_of(catalogue, [&](const PublishedVersion& version) {
            return resource_of(version.plan_class) == resource;
        });
    };
    // A client that requests nothing for its processors would get no job beside them either.
    if (!has(Resource::kCpu) && !has(Resource::kBeside)) {
        reply.add("no_rsc_apps", type_of(Resource::kCpu));
    }
    if (!has(Resource::kNvidia)) reply.add("no_rsc_apps", type_of(Resource::kNvidia));
    for (const CoprocessorKind& kind : kCoprocessorKinds) {
        if (kind.type != type_of(Resource::kNvidia)) reply.add("no_rsc_apps", kind.type);
    }
    for (const Coprocessor& coprocessor : request.host.coprocessors) {
        const bool is_other = std::ranges::find(kCoprocessorKinds, coprocessor.type,
                                                &CoprocessorKind::type) == kCoprocessorKinds.end();
        if (is_other) reply.add("no_rsc_apps", coprocessor.type);
    }
}

/// Tells the client which of the jobs that it lists it shall abort.
void add_aborts(XmlWriter& reply, Database& database, const SchedulerRequest& request,
                const Account& account) {
    if (!request.other_results) return;
    const Aborts aborts = useless_results(database, account, *request.other_results);
    add_named(reply, "result_abort", aborts.now);
    add_named(reply, "result_abort_if_not_started", aborts.if_not_started);
}

/// Whether a request reports or wants something.
bool asks_for_changes(const SchedulerRequest& request) {
    return !request.reports.empty() || !request.messages.empty() ||
           !request.message_refusal.empty() || request.lost_messages ||
           total(requested(request)) > 0;
}

/// Whether a request that does not ask for changes needs no statement but reads: what is stored
/// about the host is recent.
bool changes_nothing(const SchedulerRequest& request, const Caller& caller, std::int64_t now) {
    return caller.host && caller.host->sequence < request.sequence && !caller.has_messages &&
           is_recent(*caller.host, now) && !has_newer_preferences(caller.account, request);
}

/// Whether the bans of the host that wants jobs must be read: it or its account is banned, or the
/// request names another host.
bool may_be_banned(const Caller& caller, const Host& host) {
    return caller.is_banned || !caller.host || caller.host->id != host.id;
}

void add_links(XmlWriter& reply, const ProjectConfig& config) {
    reply.open("gui_urls");
    reply.open("gui_url");
    reply.add("name", "Training run");
    reply.add("description", "Loss curve, peers and credit of this project");
    reply.add("url", config.master_url);
    reply.close("gui_url");
    reply.close("gui_urls");
}

}  // namespace

Scheduler::Scheduler(const ProjectConfig& config)
    : config_(config),
      limits_(read_account_limits(config.directory)),
      catalogue_(config.key_directory) {}

std::string Scheduler::serve(Database& database, std::string_view text, const std::string& address,
                             double now) const {
    auto request = parse_scheduler_request(text);
    if (!request) {
        return refuse(address, "unreadable", "The project cannot read this client's request.");
    }
    if (!find_account_key(database, *request)) {
        return refuse(address, kUnknownKey, kUnknownKeyNotice);
    }
    const auto seconds = static_cast<std::int64_t>(now);
    const auto catalogue = catalogue_.get(database, seconds);
    if (!asks_for_changes(*request)) {
        const auto caller = find_caller(database, *request);
        if (!caller) return refuse(address, kUnknownKey, kUnknownKeyNotice);
        if (changes_nothing(*request, *caller, seconds)) {
            XmlWriter reply =
                describe(database, *catalogue, *request, caller->account, *caller->host);
            add_aborts(reply, database, *request, caller->account);
            add_links(reply, config_);
            return close_reply(std::move(reply));
        }
    }
    try {
        return serve_storable(database, *catalogue, *request, address, seconds);
    } catch (const TooManyHosts& refusal) {
        XmlWriter reply = open_reply(config_, kTooManyHostsDelay);
        reply.message("notice", refusal.what());
        log_info("request from {} refused: its account has too many new computers", address);
        return close_reply(std::move(reply));
    }
}

std::string Scheduler::refuse(const std::string& address, const char* reason,
                              std::string_view notice) const {
    log_info("request from {} refused: {}", address, reason);
    XmlWriter reply = open_reply(config_, kMissingKeyDelay);
    reply.message("notice", notice);
    return close_reply(std::move(reply));
}

/// The host's description must not cost the client its reply.
std::string Scheduler::serve_storable(Database& database, const SignedCatalogue& catalogue,
                                      const SchedulerRequest& request, const std::string& address,
                                      std::int64_t now) const {
    std::string refused;
    const auto attempt = [&](const SchedulerRequest& its) -> std::optional<std::string> {
        try {
            return serve_changes(database, catalogue, its, address, now);
        } catch (const RefusedData& error) {
            log_error("scheduler request from {} for host {}: {}", address, request.host_id,
                      error.what());
            refused = error.answer();
            return std::nullopt;
        }
    };
    if (auto reply = attempt(request)) return std::move(*reply);
    for (const PlainLimits& limits : kPlainLimits) {
        if (auto reply = attempt(plain_request(request, limits))) return std::move(*reply);
    }
    return refuse(address, "the database refuses a value", refused);
}

std::string Scheduler::serve_changes(Database& database, const SignedCatalogue& catalogue,
                                     const SchedulerRequest& request, const std::string& address,
                                     std::int64_t now) const {
    const bool wants_jobs = total(requested(request)) > 0 &&
                            catalogue.keys.notice_for(request.code_sign_key).can_verify;
    ReadyJobs::Taking ready{ready_jobs_};
    return in_transaction(database, [&] {
        auto locked = lock_host(database, config_, {request, address, now}, limits_,
                                wants_jobs || !request.reports.empty());
        if (!locked) return refuse(address, kUnknownKey, kUnknownKeyNotice);
        auto& [caller, host, record] = *locked;
        const Account& account = caller.account;
        if (has_newer_preferences(account, request)) {
            store_preferences(database, account, request);
        }
        XmlWriter reply = describe(database, catalogue, request, account, host);
        if (record) {
            add_named(reply, "result_ack",
                      store_reports(database, account, host, request.reports, record->held,
                                    record->quota, now));
        }
        // The acknowledgement is for all messages of the request: the client deletes them.
        if (!request.message_refusal.empty()) {
            log_warning("messages of host {} refused: {}", host.id, request.message_refusal);
            reply.message("low", "Messages of tasks are refused: " + request.message_refusal);
        } else {
            store_messages(database, account, request.messages, now);
            if (request.lost_messages) {
                log_warning("a message of host {} cannot be read; none is acknowledged", host.id);
            } else if (!request.messages.empty()) {
                reply.add("message_ack", 1);
            }
        }
        add_aborts(reply, database, request, account);
        if (config_.send_messages_to_hosts && caller.has_messages) {
            reply.raw(take_messages_for(database, host));
        }
        if (wants_jobs) {
            const Dispatch jobs =
                dispatch_jobs(database, config_, catalogue.versions,
                              {account, host, request, may_be_banned(caller, host), *record,
                               jobs_left(database, account, host, limits_)},
                              ready, now);
            for (const std::string& sentence : jobs.messages) reply.message("low", sentence);
            reply.raw(jobs.elements);
        }
        add_links(reply, config_);
        return close_reply(std::move(reply));
    });
}

XmlWriter Scheduler::describe(Database& database, const SignedCatalogue& catalogue,
                              const SchedulerRequest& request, const Account& account,
                              const Host& host) const {
    XmlWriter reply = open_reply(config_, static_cast<double>(config_.min_rpc_seconds));
    if (config_.next_rpc_seconds > 0) reply.add("next_rpc_delay", config_.next_rpc_seconds);
    add_account(reply, account);
    add_host(reply, host);
    reply.raw(preferences_for(account, request));
    add_key(reply, database, catalogue.keys, request.code_sign_key, host);
    add_missing_resources(reply, catalogue.versions, request);
    return reply;
}

}  // namespace dedloc::server
