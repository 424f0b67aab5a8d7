// A reply is a concatenation of elements in the order in which BOINC's code writes them. Small
// functions write columns by type under the names of the columns, and all texts are escaped there.
// Every list has a limit in its statement, and teams_xml() counts the ids of a list, found or not,
// because each costs a statement. A person's identifier between projects is a digest that includes
// the e-mail address, so the address is read but never written.
#include "project_server/accounts/people_xml.hpp"

#include <config.h>

#include <error_numbers.h>
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "peer/base/markup.hpp"
#include "peer/base/text.hpp"
#include "project_server/accounts/account_manager.hpp"
#include "project_server/database/text_columns.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

std::string element(std::string_view name, std::string_view text) {
    return fmt::format("<{0}>{1}</{0}>\n", name, text);
}

/// Elements with the names of the columns.
std::string texts(const Row& row, std::initializer_list<const char*> columns) {
    std::string text;
    for (const char* const column : columns) {
        text += element(column, escape_markup(row.text(column)));
    }
    return text;
}

std::string integers(const Row& row, std::initializer_list<const char*> columns) {
    std::string text;
    for (const char* const column : columns) {
        text += element(column, fmt::format("{}", row.integer(column)));
    }
    return text;
}

std::string reals(const Row& row, std::initializer_list<const char*> columns) {
    std::string text;
    for (const char* const column : columns) {
        text += element(column, fmt::format("{:.6f}", row.real(column)));
    }
    return text;
}

/// BOINC takes an address without a scheme for one of HTTP.
std::string url_element(const Row& row) {
    const std::string& url = row.text("url");
    if (url.empty()) return {};
    return element("url", escape_markup(has_web_scheme(url) ? url : "http://" + url));
}

std::string cpid_element(const Row& row) {
    return element("cpid", md5_of_text(row.text("cross_project_id") + row.text("email_addr")));
}

std::string host_elements(Database& database, std::int64_t user) {
    std::string text;
    for (const Row& row :
         database.query("select * from host where userid = ? order by id limit 1000", {user})) {
        text += "<host>\n" + integers(row, {"id", "create_time", "rpc_seqno", "rpc_time"}) +
                texts(row, {"host_cpid"}) +
                reals(row, {"total_credit", "expavg_credit", "expavg_time"}) +
                texts(row, {"domain_name"}) + integers(row, {"p_ncpus"}) +
                texts(row, {"p_vendor", "p_model"}) + reals(row, {"p_fpops", "p_iops"}) +
                texts(row, {"os_name", "os_version"}) +
                element("m_nbytes", fmt::format("{:.0f}", row.real("m_nbytes"))) +
                element("d_free", fmt::format("{:.0f}", row.real("d_free"))) +
                element("d_total", fmt::format("{:.0f}", row.real("d_total"))) +
                texts(row, {"venue"}) + "</host>\n";
    }
    return text;
}

/// `private_part`: what only the user may see.
std::string user_reply(const Row& row, const std::string& private_part) {
    return std::string{kXmlHeader} + "<user>\n" + integers(row, {"id"}) + cpid_element(row) +
           integers(row, {"create_time"}) + texts(row, {"name"}) +
           reals(row, {"total_credit", "expavg_credit", "expavg_time"}) +
           integers(row, {"teamid", "has_profile"}) + private_part + texts(row, {"country"}) +
           url_element(row) + "</user>\n";
}

std::string team_element(const Row& row) {
    return "<team>\n" + integers(row, {"id", "create_time", "userid"}) +
           texts(row, {"name", "url"}) + integers(row, {"type"}) + texts(row, {"country"}) +
           reals(row, {"total_credit", "expavg_credit", "expavg_time"}) + "</team>\n";
}

std::optional<Row> team_row(Database& database, std::int64_t team) {
    return database.query_one("select * from team where id = ?", {team});
}

std::string not_found(std::string_view sentence) {
    return manager_error(ERR_DB_NOT_FOUND, sentence);
}

}  // namespace

std::string user_xml(Database& database, std::int64_t user) {
    const auto row = database.query_one("select * from user where id = ?", {user});
    if (!row) return not_found("There is no such user.");
    return user_reply(*row, {});
}

std::string user_xml_by_key(Database& database, const std::string& key) {
    const auto row = account_of(database, key);
    if (!row) return not_found("No account has this key.");
    return user_reply(*row, texts(*row, {"venue"}) + host_elements(database, row->integer("id")));
}

std::string team_xml(Database& database, std::int64_t team) {
    const auto row = team_row(database, team);
    if (!row) return not_found("There is no such team.");
    return kXmlHeader + team_element(*row);
}

std::string teams_xml(Database& database, const std::string& ids) {
    std::string reply = std::string{kXmlHeader} + "<teams>\n";
    int count = 0;
    for (std::size_t at = 0; at < ids.size() && count < kMaxTeamsFound;) {
        const std::size_t end = std::min(ids.find(',', at), ids.size());
        // Ids without a team count, too: each costs a statement.
        ++count;
        if (const auto row = team_row(database, integer_value(ids.substr(at, end - at)))) {
            reply += team_element(*row);
        }
        at = end + 1;
    }
    return reply + "</teams>\n";
}

std::string teams_named_xml(Database& database, const std::string& name) {
    std::string reply = std::string{kXmlHeader} + "<teams>\n";
    for (const Row& row : database.query("select * from team where " + like_text("name") +
                                             " order by expavg_credit desc, id limit ?",
                                         {like_pattern(clean_text(name)), kMaxTeamsFound})) {
        reply += team_element(row);
    }
    return reply + "</teams>\n";
}

std::string team_members_xml(Database& database, std::int64_t team, bool only_credit) {
    if (!team_row(database, team)) return not_found("There is no such team.");
    std::string reply = std::string{kXmlHeader} + "<users>\n";
    for (const Row& row : database.query(
             "select id, create_time, name, email_addr, cross_project_id, total_credit, "
             "expavg_credit, expavg_time, has_profile, country, url from user where teamid = ? "
             "order by total_credit desc, id limit ?",
             {team, kMaxMembersListed})) {
        if (only_credit && row.real("total_credit") == 0) break;
        reply +=
            "<user>\n" + integers(row, {"id"}) + cpid_element(row) + reals(row, {"total_credit"});
        if (!only_credit) {
            reply += integers(row, {"create_time"}) + texts(row, {"name"}) +
                     reals(row, {"expavg_credit", "expavg_time"}) + integers(row, {"has_profile"}) +
                     texts(row, {"country"}) + url_element(row);
        }
        reply += "</user>\n";
    }
    return reply + "</users>\n";
}

}  // namespace dedloc::server
