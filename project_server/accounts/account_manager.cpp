// set_account_info() applies its four groups of changes one after the other; the texts, which are
// hardly ever refused, come last. There is no transaction around all of them: the first refusal
// ends the request, and earlier changes stay. A change of sign-in hashes first, then locks the
// account's row and compares the address with the one read before, since the checks were made with
// that one; old links and sessions end in the same transaction. The reply about an account encodes
// name, country and URL as PHP's urlencode() does.
#include "project_server/accounts/account_manager.hpp"

#include <config.h>

#include <error_numbers.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "peer/base/markup.hpp"
#include "peer/base/text.hpp"
#include "project_server/accounts/account_changes.hpp"
#include "project_server/accounts/account_request.hpp"
#include "project_server/accounts/mail_tokens.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/accounts/preference_text.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/accounts/stored_account.hpp"
#include "project_server/accounts/teams.hpp"
#include "project_server/database/account_keys.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

std::string no_account() {
    return manager_error(ERR_DB_NOT_FOUND, "No account has this key.");
}

/// As PHP's urlencode() does, which account managers undo.
std::string url_encoded(std::string_view text) {
    std::string out = percent_encoded(text, "-_. ");
    std::ranges::replace(out, ' ', '+');
    return out;
}

/// A new value of the column, cut to the limit.
struct Change {
    const char* parameter;  ///< name in the request
    const char* column;     ///< column of table user
    std::size_t limit;      ///< bytes
};
constexpr std::array kTexts{Change{"name", "name", kMaxAccountName},
                            Change{"country", "country", 60}, Change{"url", "url", 200},
                            Change{"postal_code", "postal_code", 60}};

std::optional<std::string> change_texts(Database& database, std::int64_t user,
                                        const RequestParameter& parameter) {
    for (const Change& change : kTexts) {
        const auto value = parameter(change.parameter);
        if (!value || value->empty()) continue;
        database.execute(fmt::format("update user set {} = ? where id = ?", change.column),
                         {clean_text(*value, change.limit), user});
    }
    for (const char* const flag : {"send_email", "show_hosts"}) {
        const auto value = parameter(flag);
        if (!value || value->empty()) continue;
        database.execute(fmt::format("update user set {} = ? where id = ?", flag),
                         {*value == "0" ? 0 : 1, user});
    }
    if (const auto venue = parameter("venue"); venue && !venue->empty()) {
        if (!is_venue(*venue)) return manager_error(ERR_XML_PARSE, "The venue is not valid.");
        database.execute("update user set venue = ? where id = ?", {*venue, user});
    }
    return std::nullopt;
}

std::optional<std::string> change_preferences(Database& database, const Row& account,
                                              const RequestParameter& parameter) {
    const std::int64_t user = account.integer("id");
    if (const auto asked = parameter("global_prefs"); asked && !asked->empty()) {
        const auto text = managed_preferences(*asked, "global_preferences", {});
        if (!text) return manager_error(ERR_XML_PARSE, "The global preferences are not valid.");
        database.execute("update user set global_prefs = ? where id = ?", {*text, user});
    }
    if (const auto asked = parameter("project_prefs"); asked && !asked->empty()) {
        const auto text =
            managed_preferences(*asked, "project_preferences", account.text("project_prefs"));
        if (!text) return manager_error(ERR_XML_PARSE, "The project preferences are not valid.");
        database.execute("update user set project_prefs = ? where id = ?", {*text, user});
    }
    return std::nullopt;
}

/// The hash depends on the address, so both change together; a hash alone is a new password.
std::optional<std::string> change_sign_in(Database& database, const Row& account,
                                          const RequestParameter& parameter, double now) {
    const auto email = parameter("email_addr");
    const auto hash = parameter("password_hash");
    if ((!email || email->empty()) && (!hash || hash->empty())) return std::nullopt;
    const std::string stored = account.text("email_addr");
    const std::string address = email && !email->empty() ? clean_email(*email) : stored;
    // Compared here, by bytes: for the database a look-alike may be the confirmed address.
    const bool is_new = address != clean_email(stored);
    if (is_new && (!hash || hash->empty())) {
        return manager_error(ERR_BAD_EMAIL_ADDR,
                             "A new e-mail address needs the password hash that belongs to it.");
    }
    if (!hash || hash->empty()) return std::nullopt;
    if (const auto fault = is_new ? email_fault(address) : std::nullopt) {
        return manager_error(ERR_BAD_EMAIL_ADDR, *fault);
    }
    if (const auto fault = hash_fault(*hash)) return kXmlHeader + *fault;
    const std::string slow = slow_hash(*hash);
    try {
        return in_transaction(database, [&]() -> std::optional<std::string> {
            const std::int64_t user = account.integer("id");
            const auto locked = account_with_id(database, user, true);
            if (!locked || locked->email != stored) {
                return manager_error(ERR_DB_NOT_FOUND, "The account has changed. Try again.");
            }
            if (is_new) {
                database.execute(
                    "update user set email_addr = ?, email_validated = 0, email_addr_change_time = "
                    "? where id = ?",
                    {address, now, user});
            }
            database.execute("update user set passwd_hash = ? where id = ?", {slow, user});
            void_mail_tokens(database, user);
            end_sessions(database, user);
            return std::nullopt;
        });
    } catch (const DatabaseError& failure) {
        if (!failure.is_duplicate()) throw;
        return manager_error(ERR_DB_NOT_UNIQUE, sentence_of_taken(account_at(database, address)));
    }
}

std::optional<std::string> change_team(Database& database, std::int64_t user,
                                       const RequestParameter& parameter) {
    const auto asked = parameter("teamid");
    if (!asked || asked->empty()) return std::nullopt;
    const std::int64_t team = integer_value(*asked);
    if (team == 0) {
        leave_team(database, user);
    } else if (const Refusal refusal = join_team(database, user, team)) {
        return manager_error(ERR_DB_NOT_FOUND, *refusal);
    }
    return std::nullopt;
}

}  // namespace

std::string manager_error(int number, std::string_view sentence) {
    return kXmlHeader + account_error(number, sentence);
}

std::optional<Row> account_of(Database& database, const std::string& key) {
    if (key.size() != 32) return std::nullopt;
    return database.query_one("select * from user where authenticator = ?", {key});
}

std::string account_info(Database& database, const std::string& key) {
    const auto row = account_of(database, key);
    if (!row) return no_account();
    const auto founded = database.query_one("select id from team where id = ? and userid = ?",
                                            {row->integer("teamid"), row->integer("id")});
    return fmt::format(
        "{}<am_get_info_reply>\n<success/>\n<id>{}</id>\n<name>{}</name>\n<country>{}</country>\n"
        "<weak_auth>{}</weak_auth>\n<cpid>{}</cpid>\n<has_profile>{}</has_profile>\n"
        "<create_time>{}</create_time>\n<global_prefs>\n{}\n</global_prefs>\n<project_prefs>\n{}\n"
        "</project_prefs>\n<url>{}</url>\n<send_email>{}</send_email>\n"
        "<show_hosts>{}</show_hosts>\n<teamid>{}</teamid>\n<venue>{}</venue>\n"
        "<postal_code>{}</postal_code>\n{}</am_get_info_reply>\n",
        kXmlHeader, row->integer("id"), url_encoded(row->text("name")),
        url_encoded(row->text("country")),
        weak_account_key({.user = row->integer("id"),
                          .authenticator = row->text("authenticator"),
                          .password_hash = row->text("passwd_hash")}),
        md5_of_text(row->text("cross_project_id") + row->text("email_addr")),
        row->integer("has_profile"), row->integer("create_time"), row->text("global_prefs"),
        row->text("project_prefs"), url_encoded(row->text("url")), row->integer("send_email"),
        row->integer("show_hosts"), row->integer("teamid"), escape_markup(row->text("venue")),
        url_encoded(row->text("postal_code")), founded ? "<teamfounder/>\n" : "");
}

std::string set_account_info(Database& database, const std::string& key,
                             const RequestParameter& parameter, double now) {
    const auto row = account_of(database, key);
    if (!row) return no_account();
    const std::int64_t user = row->integer("id");
    // The changes that may be refused come first.
    if (auto error = change_sign_in(database, *row, parameter, now)) return *error;
    if (auto error = change_preferences(database, *row, parameter)) return *error;
    if (auto error = change_team(database, user, parameter)) return *error;
    if (auto error = change_texts(database, user, parameter)) return *error;
    return std::string{kXmlHeader} + "<am_set_info_reply>\n<success/>\n</am_set_info_reply>\n";
}

void join_named_team(Database& database, std::int64_t user, const std::string& team) {
    const std::string name = clean_text(team);
    if (name.empty()) return;
    const auto row = database.query_one("select id from team where name = ?", {name});
    if (!row) return;
    // The account is made in any case, so a refusal is no error of the request.
    (void)join_team(database, user, row->integer("id"));
}

std::string set_host_venue(Database& database, const std::string& key, std::int64_t host,
                           const std::string& venue) {
    const auto row = account_of(database, key);
    if (!row) return no_account();
    if (!is_venue(venue)) return manager_error(ERR_XML_PARSE, "The venue is not valid.");
    if (database.execute("update host set venue = ? where id = ? and userid = ?",
                         {venue, host, row->integer("id")}) == 0) {
        return manager_error(ERR_DB_NOT_FOUND, "The account has no such computer.");
    }
    return std::string{kXmlHeader} +
           "<am_set_host_info_reply>\n<success/>\n</am_set_host_info_reply>\n";
}

}  // namespace dedloc::server
