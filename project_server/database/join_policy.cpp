#include "project_server/database/join_policy.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"

namespace dedloc::server {

std::string_view name_of(JoinPolicy policy) {
    return policy == JoinPolicy::kInvitation ? "invitation" : "open";
}

JoinPolicy join_policy_named(std::string_view name) {
    for (const auto policy : {JoinPolicy::kOpen, JoinPolicy::kInvitation}) {
        if (name == name_of(policy)) return policy;
    }
    throw InputError(fmt::format("accounts are open or by invitation, not \"{}\"", name));
}

JoinPolicy join_policy(Database& database) {
    const auto row = database.query_one("select policy from dedloc_join_policy where id = 1");
    return row ? join_policy_named(row->text("policy")) : JoinPolicy::kOpen;
}

void set_join_policy(Database& database, JoinPolicy policy) {
    database.execute(
        "insert into dedloc_join_policy (id, policy) values (1, ?) "
        "on duplicate key update policy = values(policy)",
        {name_of(policy)});
}

}  // namespace dedloc::server
