// The policy on creating accounts: anyone, or people with an invitation code
// (accounts/invitations.hpp). It is a row of a table, so that it holds for all servers of a project
// from the next request on. Under an official BOINC server BOINC's pages make the accounts.
#pragma once

#include <string>
#include <string_view>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Policy on creating accounts.
enum class JoinPolicy {
    kOpen,        ///< anyone
    kInvitation,  ///< people with an invitation code
};

/// "open" or "invitation", as administrators write it.
std::string_view name_of(JoinPolicy policy);
/// The policy with this name. Errors: InputError.
JoinPolicy join_policy_named(std::string_view name);

/// The policy of the project; open until one is set. Errors: DatabaseError.
JoinPolicy join_policy(Database& database);
/// Sets it, from the next account on. Errors: DatabaseError.
void set_join_policy(Database& database, JoinPolicy policy);

}  // namespace dedloc::server
