// A password's hash is slow, so it is computed before the transaction that stores it; only
// set_password() computes it while it holds the account's row, because it depends on the address
// there. A taken address is not looked up before: the table's unique key decides, also between two
// requests at once. A change of address or password voids the links that e-mail has brought, in the
// same transaction. A sign-in to an unknown address costs a hash too, so its time tells nothing.
#include "project_server/accounts/account_changes.hpp"

#include <fmt/format.h>

#include "project_server/accounts/account_request.hpp"
#include "project_server/accounts/mail_tokens.hpp"
#include "project_server/accounts/new_account.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/accounts/preference_text.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/accounts/stored_account.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxCountry = 60;
constexpr std::size_t kMaxUrl = 200;

bool is_password_of(const StoredAccount& account, const std::string& password) {
    return password.size() <= kMaxPassword &&
           is_password(account.password_hash, boinc_password_hash(password, account.email));
}

/// The sentence of the error reply that BOINC's clients would get.
Refusal request_fault(const AccountRequest& request) {
    const auto fault = fault_of(request);
    if (!fault) return std::nullopt;
    const auto error = find_element(*fault, "error");
    const auto sentence = error ? find_element(error->body, "error_msg") : std::nullopt;
    return sentence ? text_value(sentence->body) : "The request is not valid.";
}

}  // namespace

Refusal password_fault(const std::string& password) {
    if (password.size() < kMinPassword) {
        return fmt::format("A password has at least {} characters.", kMinPassword);
    }
    if (password.size() > kMaxPassword) {
        return fmt::format("A password has at most {} bytes.", kMaxPassword);
    }
    return std::nullopt;
}

std::optional<std::int64_t> user_of(Database& database, const std::string& email,
                                    const std::string& password) {
    const auto account = account_at(database, email);
    if (!account) {
        // Takes as long as for an account, so the time does not tell which addresses have one.
        static const std::string hash_of_none = slow_hash(random_key());
        if (password.size() <= kMaxPassword) {
            (void)is_password(hash_of_none, boinc_password_hash(password, email));
        }
        return std::nullopt;
    }
    if (!is_password_of(*account, password)) return std::nullopt;
    return account->id;
}

bool has_password(Database& database, std::int64_t user, const std::string& password) {
    const auto account = account_with_id(database, user);
    return account && is_password_of(*account, password);
}

Registration register_user(Database& database, const RegistrationForm& form, double now) {
    const AccountRequest request =
        cleaned({.email = form.email,
                 .password_hash = boinc_password_hash(form.password, form.email),
                 .name = form.name,
                 .invitation = form.invitation});
    if (const Refusal fault = request_fault(request)) return {.refusal = fault};
    if (const Refusal fault = password_fault(form.password)) return {.refusal = fault};
    const NewAccount made = make_account(database, request, now);
    if (made.outcome == AccountOutcome::kMade) return {.user = made.user, .refusal = std::nullopt};
    return {.refusal = made.refusal, .is_wrong_code = made.outcome == AccountOutcome::kWrongCode};
}

Refusal change_email(Database& database, std::int64_t user, const std::string& password,
                     const std::string& email, double now) {
    const std::string address = clean_email(email);
    const auto account = account_with_id(database, user);
    // Accounts of former releases keep an address that no new one gets.
    const bool is_new = !account || address != clean_email(account->email);
    if (const Refusal fault = is_new ? email_fault(address) : std::nullopt) return fault;
    if (!account || !is_password_of(*account, password)) return "The password is wrong.";
    const std::string hash = slow_hash(boinc_password_hash(password, address));
    try {
        in_transaction(database, [&] {
            database.execute(
                "update user set email_addr = ?, passwd_hash = ?, email_validated = 0, "
                "email_addr_change_time = ? where id = ?",
                {address, hash, now, user});
            void_mail_tokens(database, user);
        });
    } catch (const DatabaseError& failure) {
        if (!failure.is_duplicate()) throw;
        return sentence_of_taken(account_at(database, address));
    }
    return std::nullopt;
}

Refusal change_password(Database& database, std::int64_t user, const std::string& password,
                        const std::string& next) {
    if (const Refusal fault = password_fault(next)) return fault;
    const auto account = account_with_id(database, user);
    if (!account || !is_password_of(*account, password)) return "The password is wrong.";
    return in_transaction(database, [&] { return set_password(database, user, next); });
}

Refusal set_password(Database& database, std::int64_t user, const std::string& next) {
    if (const Refusal fault = password_fault(next)) return fault;
    const auto account = account_with_id(database, user, true);
    if (!account) return "There is no such account.";
    const std::string hash = slow_hash(boinc_password_hash(next, account->email));
    database.execute("update user set passwd_hash = ? where id = ?", {hash, user});
    end_sessions(database, user);
    void_mail_tokens(database, user);
    return std::nullopt;
}

Preferences read_preferences(Database& database, std::int64_t user) {
    const auto row = database.query_one(
        "select name, country, url, show_hosts, send_email, venue from user where id = ?", {user});
    if (!row) return {};
    return {.name = row->text("name"),
            .country = row->text("country"),
            .url = row->text("url"),
            .shows_hosts = row->integer("show_hosts") != 0,
            .takes_email = row->integer("send_email") != 0,
            .venue = row->text("venue")};
}

Refusal write_preferences(Database& database, std::int64_t user, const Preferences& preferences) {
    const std::string name = clean_text(preferences.name, kMaxAccountName);
    if (name.empty()) return "A user name is needed.";
    if (!is_venue(preferences.venue)) return "There is no such venue.";
    database.execute(
        "update user set name = ?, country = ?, url = ?, show_hosts = ?, send_email = ?, "
        "venue = ? where id = ?",
        {name, clean_text(preferences.country, kMaxCountry), clean_text(preferences.url, kMaxUrl),
         preferences.shows_hosts ? 1 : 0, preferences.takes_email ? 1 : 0, preferences.venue,
         user});
    return std::nullopt;
}

}  // namespace dedloc::server
