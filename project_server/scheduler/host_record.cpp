#include "project_server/scheduler/host_record.hpp"

#include "project_server/scheduler/account_limits.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kRecordStatements = 2;

void add_record(Batch& batch, const Host& host) {
    add_held_jobs(batch, host);
    DailyQuota::add_select(batch, host);
}

/// `outcomes` ends with those of add_record().
HostRecord take_record(Database& database, const ProjectConfig& config, const Host& host,
                       const std::vector<Outcome>& outcomes) {
    const Outcome* const of_record = &outcomes[outcomes.size() - kRecordStatements];
    return {.held = held_jobs(of_record[0].rows),
            .quota = {database, config, host, of_record[1].rows}};
}

}  // namespace

LockedHost lock_host(Database& database, const ProjectConfig& config, const HostRequest& request,
                     const AccountLimits& limits, bool reads_record) {
    const Caller& caller = request.caller;
    const auto read = [&](Batch& batch, const Host& host) {
        if (reads_record) add_record(batch, host);
        return batch.run();
    };
    const auto locked = [&](const Host& host, const std::vector<Outcome>& outcomes) {
        LockedHost result{.host = host};
        if (reads_record) {
            result.record.emplace(take_record(database, config, host, outcomes));
        }
        return result;
    };
    Batch batch{database};
    if (caller.host && is_stored(*caller.host, request.now)) {
        add_lock(batch, *caller.host, request.request);
        const auto outcomes = read(batch, *caller.host);
        if (outcomes.front().matched > 0) return locked(*caller.host, outcomes);
    }
    const Host host =
        identify_host(database, caller, request.request, request.address, request.now, limits);
    return locked(host, read(batch, host));
}

}  // namespace dedloc::server
