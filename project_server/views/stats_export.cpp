#include "project_server/views/stats_export.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"
#include "peer/platform/files.hpp"
#include "project_server/database/badges.hpp"
#include "project_server/database/recent_credit.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/xml/coprocessors.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr int kExportRowsAtOnce = 1000;
constexpr std::chrono::minutes kInterval{60};

/// A gzip file that appears under its name when it is finished.
class GzipFile {
  public:
    explicit GzipFile(const fs::path& path)
        : path_(path), temporary_(path.string() + ".tmp"), file_(gzopen(temporary_.c_str(), "wb")) {
        if (file_ == nullptr) throw IoError("Cannot write " + temporary_.string());
    }
    ~GzipFile() {
        if (file_ != nullptr) gzclose(file_);
    }
    GzipFile(const GzipFile&) = delete;
    GzipFile& operator=(const GzipFile&) = delete;

    void write(const std::string& text) {
        if (gzwrite(file_, text.data(), static_cast<unsigned>(text.size())) !=
            static_cast<int>(text.size())) {
            throw IoError("Cannot write " + temporary_.string());
        }
    }
    void finish() {
        const int outcome = gzclose(file_);
        file_ = nullptr;
        if (outcome != Z_OK) throw IoError("Cannot write " + temporary_.string());
        platform::sync_file(temporary_);
        platform::move_file(temporary_, path_);
    }

  private:
    const fs::path path_;
    const fs::path temporary_;
    gzFile file_;
};

/// One file: a select with "id > ?" that is repeated after the last id, and its rows as XML.
struct Export {
    const char* file;                            ///< without ".gz"
    const char* root;                            ///< outermost element
    std::string select;                          ///< column id, condition, order, "limit ?"
    std::function<std::string(const Row&)> xml;  ///< one row
};

/// The user has agreed, or the project does not ask.
constexpr const char* kConsent =
    "(not exists (select 1 from consent_type t where t.shortname = 'STATSEXPORT' and "
    "t.enabled = 1) or (select c.consent_flag from consent c join consent_type t on "
    "t.id = c.consent_type_id where c.userid = u.id and t.shortname = 'STATSEXPORT' "
    "order by c.id desc limit 1) = 1)";

std::string element(const char* name, const std::string& text) {
    return fmt::format(" <{0}>{1}</{0}>\n", name, escape_markup(text));
}

std::string credit(const Row& row) {
    return fmt::format(
        " <total_credit>{:.6f}</total_credit>\n <expavg_credit>{:.6f}</expavg_credit>\n"
        " <expavg_time>{:.6f}</expavg_time>\n",
        row.real("total_credit"), row.real("expavg_credit"), row.real("expavg_time"));
}

/// The column as an element; nothing if it is empty.
std::string filled(const char* column, const Row& row) {
    return row.text(column).empty() ? std::string{} : element(column, row.text(column));
}

std::string user(const Row& row) {
    return "<user>\n" + element("id", row.text("id")) + element("name", row.text("name")) +
           element("create_time", row.text("create_time")) + credit(row) +
           element("cpid", md5_of_text(row.text("cross_project_id") + row.text("email_addr"))) +
           filled("country", row) + filled("url", row) +
           (row.integer("teamid") == 0 ? "" : element("teamid", row.text("teamid"))) +
           (row.integer("has_profile") == 0 ? "" : " <has_profile/>\n") + "</user>\n";
}

std::string team(const Row& row) {
    return "<team>\n" + element("id", row.text("id")) + element("type", row.text("type")) +
           element("name", row.text("name")) + element("userid", row.text("userid")) + credit(row) +
           filled("founder_name", row) + element("create_time", row.text("create_time")) +
           filled("url", row) + filled("name_html", row) + filled("description", row) +
           element("country", row.text("country")) + "</team>\n";
}

/// host.serialnum is a list such as [CUDA|…][BOINC|7.20.5][vbox|…]; all but the versions of BOINC
/// and of VirtualBox are coprocessors.
std::string devices(std::string_view serial) {
    std::string versions;
    std::string coprocessors;
    while (!serial.empty()) {
        const auto end = std::min(serial.find(']'), serial.size() - 1) + 1;
        const std::string part{serial.substr(0, end)};
        serial.remove_prefix(end);
        if (is_version_entry(part)) {
            versions +=
                element(part.starts_with("[BOINC|") ? "boinc_version" : "vbox_version", part);
        } else {
            coprocessors += part;
        }
    }
    return versions + (coprocessors.empty() ? "" : element("coprocs", coprocessors));
}

std::string host(const Row& row) {
    std::string text =
        "<host>\n" + element("id", row.text("id")) +
        (row.integer("show_hosts") == 0 ? "" : element("userid", row.text("userid"))) + credit(row);
    for (const char* const column :
         {"p_vendor", "p_model", "os_name", "os_version", "create_time", "rpc_time", "timezone"}) {
        text += element(column, row.text(column));
    }
    text += devices(row.text("serialnum")) + element("ncpus", row.text("p_ncpus"));
    for (const char* const column :
         {"p_fpops", "p_iops", "p_membw", "m_nbytes", "m_cache", "m_swap", "d_total", "d_free",
          "n_bwup", "n_bwdown", "avg_turnaround", "credit_per_cpu_sec", "host_cpid"}) {
        text += element(column, row.text(column));
    }
    return text + "</host>\n";
}

std::string deleted(const char* name, const char* cpid, const Row& row) {
    return fmt::format("<{}>\n", name) + element("id", row.text("id")) +
           element(cpid, row.text("public_cross_project_id")) + fmt::format("</{}>\n", name);
}

/// What db_dump's specification lists: rows with credit.
std::array<Export, 5> exports() {
    return {
        {{"user", "users",
          "select u.id, u.name, u.email_addr, u.country, u.create_time, u.total_credit, "
          "u.expavg_credit, u.expavg_time, u.cross_project_id, u.url, u.teamid, u.has_profile "
          "from user u where " +
              std::string{kConsent} + " and u.total_credit > 0 and u.id > ? order by u.id limit ?",
          user},
         {"team", "teams",
          "select t.*, coalesce(u.name, '') as founder_name from team t left join user u on "
          "u.id = t.userid where t.total_credit > 0 and t.id > ? order by t.id limit ?",
          team},
         {"host", "hosts",
          "select h.*, u.show_hosts from host h join user u on u.id = h.userid where " +
              std::string{kConsent} + " and h.total_credit > 0 and h.id > ? order by h.id limit ?",
          host},
         {"user_deleted", "users_deleted",
          "select userid as id, public_cross_project_id from user_deleted "
          "where userid > ? order by userid limit ?",
          [](const Row& row) { return deleted("user", "cpid", row); }},
         {"host_deleted", "hosts_deleted",
          "select hostid as id, public_cross_project_id from host_deleted "
          "where hostid > ? order by hostid limit ?",
          [](const Row& row) { return deleted("host", "host_cpid", row); }}}};
}

/// The badges of users or teams; `kind` is user or team. A row has all badges of one holder as XML.
Export badge_export(const std::string& kind, const std::string& condition) {
    return {.file = kind == "user" ? "badge_user" : "badge_team",
            .root = kind == "user" ? "badge_users" : "badge_teams",
            .select = fmt::format(
                "select u.id, group_concat(concat(' <badge_{0}>\n    <{0}_id>', g.{0}_id, "
                "'</{0}_id>\n    <badge_id>', g.badge_id, '</badge_id>\n    <create_time>', "
                "round(g.create_time), '</create_time>\n </badge_{0}>\n') order by g.badge_id "
                "separator '') as xml from {0} u join badge_{0} g on g.{0}_id = u.id where {1} and "
                "u.id > ? group by u.id order by u.id limit ?",
                kind, condition),
            .xml = [](const Row& row) { return row.text("xml"); }};
}

void write_export(Database& database, const fs::path& folder, const Export& one) {
    GzipFile file{folder / (std::string{one.file} + ".gz")};
    file.write(fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{}>\n", one.root));
    std::int64_t last = 0;
    for (std::size_t count = kExportRowsAtOnce; count == kExportRowsAtOnce;) {
        const Rows rows = database.query(one.select, {last, kExportRowsAtOnce});
        for (const Row& row : rows) file.write(one.xml(row));
        count = rows.size();
        if (count > 0) last = rows.back().integer("id");
    }
    file.write(fmt::format("</{}>\n", one.root));
    file.finish();
}

std::string tables(Database& database, double now) {
    const auto sums = database.query_one(
        "select (select count(*) from user where total_credit > 0) as users, "
        "(select count(*) from team where total_credit > 0) as teams, "
        "(select count(*) from host where total_credit > 0) as hosts, "
        "(select count(*) from user_deleted) as users_deleted, "
        "(select count(*) from host_deleted) as hosts_deleted, "
        "(select coalesce(sum(total_credit), 0) from user) as credit");
    std::string apps;
    for (const Row& row :
         database.query("select user_friendly_name from app where deprecated = 0 order by id")) {
        apps += "  <application>\n   <name>" + escape_markup(row.text("user_friendly_name")) +
                "</name>\n  </application>\n";
    }
    std::string badges;
    for (const Row& row :
         database.query("select id, name, title, image_url from badge order by id")) {
        badges += "  <badge>\n   <id>" + row.text("id") + "</id>\n   <name>" +
                  escape_markup(row.text("name")) + "</name>\n   <title>" +
                  escape_markup(row.text("title")) + "</title>\n   <image_url>" +
                  escape_markup(row.text("image_url")) + "</image_url>\n  </badge>\n";
    }
    return fmt::format(
        "<tables>\n <update_time>{:.0f}</update_time>\n <nusers_total>{}</nusers_total>\n"
        " <nteams_total>{}</nteams_total>\n <nhosts_total>{}</nhosts_total>\n"
        " <nusers_deleted_total>{}</nusers_deleted_total>\n"
        " <nhosts_deleted_total>{}</nhosts_deleted_total>\n"
        " <total_credit>{:.6f}</total_credit>\n <applications>\n{} </applications>\n"
        " <badges>\n{} </badges>\n</tables>\n",
        now, sums->integer("users"), sums->integer("teams"), sums->integer("hosts"),
        sums->integer("users_deleted"), sums->integer("hosts_deleted"), sums->real("credit"), apps,
        badges);
}

/// What the files are, as db_dump's specification says it.
std::string specification() {
    std::string text = "<boinc_db_dump_spec>\n";
    for (const Export& one : exports()) {
        text += fmt::format(
            " <enumeration>\n  <table>{0}</table>\n  <filename>{0}</filename>\n  <sort>id</sort>\n"
            "  <output>\n   <recs_per_file>0</recs_per_file>\n   <detail/>\n"
            "   <compression>gzip</compression>\n  </output>\n </enumeration>\n",
            one.file);
    }
    return text + "</boinc_db_dump_spec>\n";
}

}  // namespace

void export_statistics(Database& database, const fs::path& folder, double now) {
    fs::create_directories(folder);
    for (const Export& one : exports()) write_export(database, folder, one);
    write_export(database, folder, badge_export("user", kConsent));
    write_export(database, folder, badge_export("team", "true"));
    platform::replace_file(folder / "db_dump.xml", specification());
    platform::replace_file(folder / "tables.xml", tables(database, now));
}

void renew_statistics(Database& database, const fs::path& folder, double now) {
    decay_recent_credit(database, now);
    assign_badges(database, now);
    export_statistics(database, folder, now);
}

bool is_export_due(const fs::path& folder) {
    std::error_code absent;
    const auto written = fs::last_write_time(folder / "tables.xml", absent);
    return absent || fs::file_time_type::clock::now() - written >= kInterval;
}

}  // namespace dedloc::server
