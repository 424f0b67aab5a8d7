#include "project_server/scheduler/host_record.hpp"

#include <span>
#include <utility>

#include "project_server/scheduler/account_limits.hpp"
#include "project_server/scheduler/measured_rates.hpp"

namespace dedloc::server {
namespace {

void add_record(Batch& batch, std::int64_t host, std::int64_t now) {
    add_held_jobs(batch, host);
    DailyQuota::add_select(batch, host);
    add_measured_rates(batch, host, now);
}

/// `outcomes` begins with those of add_record().
HostRecord record_of(Database& database, const ProjectConfig& config, std::int64_t host,
                     std::span<const Outcome> outcomes) {
    return {.held = held_jobs(outcomes[0].rows),
            .quota = {database, config, host, outcomes[1].rows},
            .measured = measured_rates(outcomes[2].rows)};
}

}  // namespace

std::optional<LockedHost> lock_host(Database& database, const ProjectConfig& config,
                                    const HostRequest& request, const AccountLimits& limits,
                                    bool reads_record) {
    Batch batch{database};
    add_lock(batch, request.request, request.now);
    add_caller(batch, request.request);
    if (reads_record) add_record(batch, request.request.host_id, request.now);
    auto outcomes = batch.run();
    auto caller = caller_of(outcomes[1].rows, request.request);
    if (!caller) return std::nullopt;
    LockedHost locked{.caller = std::move(*caller), .host = {}};
    std::span<const Outcome> of_record = std::span{outcomes}.subspan(2);
    if (outcomes[0].matched > 0 && locked.caller.host) {
        locked.host = *locked.caller.host;
    } else {
        locked.host = identify_host(database, locked.caller, request.request, request.address,
                                    request.now, limits);
        if (reads_record) add_record(batch, locked.host.id, request.now);
        outcomes = batch.run();
        of_record = outcomes;
    }
    if (reads_record) {
        locked.record.emplace(record_of(database, config, locked.host.id, of_record));
    }
    return locked;
}

}  // namespace dedloc::server
