#include "project_server/scheduler/scheduler.hpp"

#include <fmt/format.h>

#include "peer/base/log.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/dispatch.hpp"
#include "project_server/scheduler/reports.hpp"
#include "project_server/scheduler/request.hpp"
#include "project_server/scheduler/volunteer.hpp"
#include "project_server/scheduler/xml.hpp"

namespace dedloc::server {
namespace {

/// Version that clients check: from 507 on they read preferences and delays as this server writes
/// them.
constexpr int kSchedulerVersion = 720;
constexpr int kMissingKeyDelay = 3600;  // seconds until a client without a valid key asks again

/// A reply with one element per line, because the client copies some of them line by line.
class Reply {
  public:
    Reply(const ProjectConfig& config, double request_delay) {
        text_ = "<scheduler_reply>\n";
        add("scheduler_version", kSchedulerVersion);
        text_ += "<dont_use_dcf/>\n";
        add("master_url", escape_markup(config.master_url));
        add("request_delay", fmt::format("{:.6f}", request_delay));
        add("project_name", escape_markup(config.name));
    }
    template <class Value>
    void add(std::string_view name, const Value& value) {
        text_ += fmt::format("<{}>{}</{}>\n", name, value, name);
    }
    void message(std::string_view priority, std::string_view sentence) {
        text_ += fmt::format("<message priority=\"{}\">{}</message>\n", priority,
                             escape_markup(sentence));
    }
    void named(std::string_view element, const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            text_ += fmt::format("<{}>\n    <name>{}</name>\n</{}>\n", element, escape_markup(name),
                                 element);
        }
    }
    void append(std::string_view elements) { text_ += elements; }
    std::string finish() && { return std::move(text_) + "</scheduler_reply>\n"; }

  private:
    std::string text_;
};

void add_account(Reply& reply, const Account& account) {
    reply.add("userid", account.id);
    reply.add("user_name", escape_markup(account.name));
    reply.add("user_total_credit", fmt::format("{:.6f}", account.total_credit));
    reply.add("user_expavg_credit", fmt::format("{:.6f}", account.recent_credit));
    reply.add("user_create_time", account.create_time);
    reply.add("email_hash", md5_of_text(account.email));
    reply.add("cross_project_id", account.cross_project_id);
    reply.add("external_cpid", md5_of_text(account.cross_project_id + account.email));
    reply.add("team_name", escape_markup(account.team_name));
    if (!account.project_preferences.empty()) reply.append(account.project_preferences + '\n');
}

void add_host(Reply& reply, const Host& host) {
    if (host.is_new_to_client) reply.add("hostid", host.id);
    reply.add("host_total_credit", fmt::format("{:.6f}", host.total_credit));
    reply.add("host_expavg_credit", fmt::format("{:.6f}", host.recent_credit));
    reply.add("host_venue", escape_markup(host.venue));
    reply.add("host_create_time", host.create_time);
}

void add_links(Reply& reply, const ProjectConfig& config) {
    reply.append(fmt::format(
        "<gui_urls>\n    <gui_url>\n        <name>Training run</name>\n"
        "        <description>Loss curve, peers and credit of this project</description>\n"
        "        <url>{}</url>\n    </gui_url>\n</gui_urls>\n",
        escape_markup(config.master_url)));
}

}  // namespace

Scheduler::Scheduler(const ProjectConfig& config)
    : config_(config),
      code_sign_key_(read_public_key_text(config.key_directory / "code_sign_public")) {}

std::string Scheduler::serve(Database& database, std::string_view text, const std::string& address,
                             double now) const {
    const auto request = parse_scheduler_request(text);
    const auto account = request ? find_account(database, request->authenticator) : std::nullopt;
    if (!account) {
        Reply reply{config_, kMissingKeyDelay};
        reply.message("notice", request ? "Invalid or missing account key. To fix this, remove "
                                          "this project and add it again."
                                        : "The project cannot read this client's request.");
        log_info("request from {} refused: {}", address, request ? "unknown key" : "unreadable");
        return std::move(reply).finish();
    }
    const auto seconds = static_cast<std::int64_t>(now);
    return in_transaction(database, [&] {
        const Host host = identify_host(database, *account, *request, address, seconds);
        Reply reply{config_, static_cast<double>(config_.min_rpc_seconds)};
        if (config_.next_rpc_seconds > 0) {
            reply.add("next_rpc_delay", fmt::format("{:.6f}", config_.next_rpc_seconds));
        }
        add_account(reply, *account);
        add_host(reply, host);
        if (request->code_sign_key.empty()) {
            reply.append("<code_sign_key>\n" + code_sign_key_ + "</code_sign_key>\n");
        }
        // There are no GPU versions yet: tell clients not to ask for them.
        for (const char* const kind : {"NVIDIA", "ATI", "intel_gpu"}) {
            reply.add("no_rsc_apps", kind);
        }
        reply.named("result_ack",
                    store_reports(database, config_, *account, host, request->reports, seconds));
        if (!request->messages.empty()) {
            store_messages(database, host, request->messages, seconds);
            reply.add("message_ack", 1);
        }
        if (request->other_results) {
            const Aborts aborts = useless_results(database, *account, *request->other_results);
            reply.named("result_abort", aborts.now);
            reply.named("result_abort_if_not_started", aborts.if_not_started);
        }
        if (config_.send_messages_to_hosts) reply.append(take_messages_for(database, host));
        const Dispatch jobs = dispatch_jobs(database, config_, *account, host, *request, seconds);
        if (!jobs.message.empty()) reply.message("low", jobs.message);
        reply.append(jobs.elements);
        add_links(reply, config_);
        return std::move(reply).finish();
    });
}

}  // namespace dedloc::server
