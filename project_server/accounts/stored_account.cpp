#include "project_server/accounts/stored_account.hpp"

#include <fmt/format.h>

#include "project_server/accounts/throttle.hpp"
#include "project_server/email_address.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

/// No column of BOINC's table `user` holds a longer text.
constexpr std::size_t kMaxStored = 254 * 4;

constexpr const char* kColumns = "id, email_addr, passwd_hash, authenticator, email_validated";

StoredAccount account_in(const Row& row) {
    return {.id = row.integer("id"),
            .email = row.text("email_addr"),
            .password_hash = row.text("passwd_hash"),
            .key = row.text("authenticator"),
            .is_confirmed = row.integer("email_validated") != 0};
}

}  // namespace

std::optional<StoredAccount> account_at(Database& database, std::string_view typed,
                                        bool is_locked) {
    const std::string email = clean_email(typed);
    if (email.empty() || email.size() > kMaxStored) return std::nullopt;
    // A row that another program wrote may have capitals, and a database that compares bytes finds
    // it only as it is written there.
    const auto rows =
        database.query(fmt::format("select {} from user where email_addr in (?, ?) order by id{}",
                                   kColumns, is_locked ? " for update" : ""),
                       {email, clean_text(typed, kMaxStored)});
    std::optional<StoredAccount> found;
    for (const Row& row : rows) {
        if (row.text("email_addr") == email) return account_in(row);
        if (!found && clean_email(row.text("email_addr")) == email) found = account_in(row);
    }
    return found;
}

std::optional<StoredAccount> account_with_id(Database& database, std::int64_t user,
                                             bool is_locked) {
    const auto row = database.query_one(
        fmt::format("select {} from user where id = ?{}", kColumns, is_locked ? " for update" : ""),
        {user});
    return row ? std::optional{account_in(*row)} : std::nullopt;
}

std::string sentence_of_taken(const std::optional<StoredAccount>& account) {
    return account ? "There is an account with this e-mail address already."
                   : "The project's database cannot tell this e-mail address from that of another "
                     "account. Use another one.";
}

std::string sign_in_subject(const std::optional<StoredAccount>& account, std::string_view typed) {
    return account ? account_subject(account->id) : address_subject(typed);
}

std::string mailbox_subject(const std::optional<StoredAccount>& account, std::string_view typed) {
    return address_subject(account ? account->email : typed);
}

}  // namespace dedloc::server
