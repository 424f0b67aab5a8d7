// Which accounts and networks have all the seats that they may have (gateway/seat_limits.hpp).
#include <fmt/format.h>

#include <string>

#include "project_server/database/states.hpp"

#include "project_server/check/checks.hpp"

namespace dedloc::check {
namespace {

/// What holds seats, and the setting that limits them.
struct Holder {
    const char* what;
    const char* column;  ///< a column of dedloc_ticket
    const char* is_one;  ///< condition that the column names one
    const char* setting;
    std::uint64_t limit;
};

void check_holders(const Subject& subject, server::Database& database, const Holder& holder,
                   Findings& findings) {
    if (holder.limit == 0) return;
    for (const server::Row& row : database.query(
             fmt::format(
                 "select {0} as holder, count(distinct resultid) as seats from "
                 "dedloc_ticket t join result r on r.id = t.resultid and r.server_state = ? "
                 "where expires > ? and {1} group by {0} having seats >= ? order by "
                 "seats desc, holder",
                 holder.column, holder.is_one),
             {server::ServerState::kInProgress, subject.now, holder.limit})) {
        findings.warning(
            fmt::format("the {} {} has {} jobs in the swarm, and {} is {}: its other jobs wait",
                        holder.what, row.text("holder"), row.integer("seats"), holder.setting,
                        holder.limit),
            fmt::format("if they are welcome, set a higher {}{} in {} and start the gateway again",
                        subject.is_official() ? "dedloc_" : "", holder.setting,
                        subject.is_official() ? "config.xml" : "dedloc.json"));
    }
}

}  // namespace

void check_seats(const Subject& subject, server::Database& database, Findings& findings) {
    const server::Settings& settings = subject.settings;
    check_holders(
        subject, database,
        {"account", "t.userid", "t.userid > 0", "seats_per_account", settings.seats_per_account},
        findings);
    check_holders(subject, database,
                  {"network", "t.network", "t.network <> ''", "seats_per_network",
                   settings.seats_per_network},
                  findings);
    if (!findings.is_clean()) return;
    const auto text_of = [](std::uint64_t limit) {
        return limit == 0 ? std::string{"any number"} : std::to_string(limit);
    };
    findings.good(fmt::format("seats are free for all: an account may have {}, a network {}",
                              text_of(settings.seats_per_account),
                              text_of(settings.seats_per_network)));
}

}  // namespace dedloc::check
