// A code is checked before the password is hashed, so that strangers without one cost no hash, and
// its place is taken after it, in the transaction that inserts the row. The table's unique key
// decides who gets an address: a refused insertion gives the place back.
#include "project_server/accounts/new_account.hpp"

#include "peer/base/log.hpp"
#include "project_server/accounts/invitations.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/accounts/stored_account.hpp"
#include "project_server/database/join_policy.hpp"

namespace dedloc::server {

NewAccount make_account(Database& database, const AccountRequest& request, double now) {
    std::int64_t invitation = 0;
    if (join_policy(database) == JoinPolicy::kInvitation) {
        if (request.invitation.empty()) {
            return {.outcome = AccountOutcome::kNoCode,
                    .refusal = "An account of this project needs an invitation code."};
        }
        const auto check = check_invitation(database, request.invitation, now);
        if (check.refusal) {
            return {.outcome = AccountOutcome::kWrongCode, .refusal = *check.refusal};
        }
        invitation = check.id;
    }
    const std::string hash = slow_hash(request.password_hash);
    NewAccount made{.key = random_key()};
    try {
        const auto refusal = in_transaction(database, [&]() -> std::optional<std::string> {
            if (invitation != 0) {
                if (auto none_left = take_place(database, invitation, now)) return none_left;
            }
            database.execute(
                "insert into user (create_time, email_addr, name, authenticator, passwd_hash, "
                "cross_project_id, expavg_time, send_email, show_hosts) "
                "values (?, ?, ?, ?, ?, ?, ?, 0, 1)",
                {static_cast<std::int64_t>(now), request.email, request.name, made.key, hash,
                 random_key(), now});
            made.user = database.insert_id();
            return std::nullopt;
        });
        if (refusal) return {.outcome = AccountOutcome::kWrongCode, .refusal = *refusal};
    } catch (const DatabaseError& failure) {
        if (!failure.is_duplicate()) throw;
        return {.outcome = AccountOutcome::kTaken,
                .refusal = sentence_of_taken(account_at(database, request.email))};
    }
    if (invitation == 0) {
        log_info("account {} created", made.user);
    } else {
        log_info("account {} created with invitation {}", made.user, invitation);
    }
    return made;
}

}  // namespace dedloc::server
