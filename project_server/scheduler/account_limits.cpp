#include "project_server/scheduler/account_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "peer/platform/files.hpp"
#include "project_server/database/states.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

constexpr std::int64_t kDaySeconds = 86'400;  // seconds
constexpr double kMax = 1e9;

void read_limit(const std::string& text, std::string_view name, std::int64_t& limit) {
    const std::string opening = fmt::format("<{}>", name);
    const auto at = text.find(opening);
    if (at == std::string::npos) return;
    const auto element = find_element(std::string_view{text}.substr(at), name);
    const double value = element ? real_value(element->body) : 0;
    if (!(value >= 1 && value <= kMax)) {
        throw InputError(fmt::format("<{}> in config.xml must be a number from 1 on.", name));
    }
    limit = static_cast<std::int64_t>(value);
}

}  // namespace

AccountLimits read_account_limits(const std::filesystem::path& project) {
    const std::string text = platform::read_text(project / "config.xml");
    AccountLimits limits;
    read_limit(text, "max_new_hosts_per_day", limits.new_hosts);
    read_limit(text, "max_jobs_without_credit", limits.jobs_without_credit);
    return limits;
}

void require_new_host(Database& database, const Account& account, const AccountLimits& limits,
                      std::int64_t now) {
    database.query_one("select id from user where id = ? for update", {account.id});
    const auto row = database.query_one(
        "select count(*) as hosts from host where userid = ? and create_time > ?",
        {account.id, now - kDaySeconds});
    if (row->integer("hosts") < limits.new_hosts) return;
    throw TooManyHosts(fmt::format(
        "This account has added {} computers in 24 hours, as many as it may: this one can join "
        "later, or ask the project's administrator to raise the number.",
        row->integer("hosts")));
}

std::int64_t jobs_left(Database& database, const Account& account, const Host& host,
                       const AccountLimits& limits) {
    if (host.total_credit > 0) return INT32_MAX;
    const auto row = database.query_one(
        "select count(*) as jobs from host h join result r on r.hostid = h.id and "
        "r.server_state = ? where h.userid = ? and h.total_credit = 0",
        {ServerState::kInProgress, account.id});
    return std::max<std::int64_t>(0, limits.jobs_without_credit - row->integer("jobs"));
}

}  // namespace dedloc::server
