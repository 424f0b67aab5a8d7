#include "project_server/web/data/stats_export.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/database/badges.hpp"
#include "project_server/database/recent_credit.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/xml.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr int kRowsAtOnce = 1000;
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

std::string user(const Row& row) {
    return "<user>\n" + element("id", row.text("id")) + element("name", row.text("name")) +
           element("country", row.text("country")) +
           element("create_time", row.text("create_time")) + credit(row) +
           element("cpid", md5_of_text(row.text("cross_project_id") + row.text("email_addr"))) +
           (row.text("url").empty() ? "" : element("url", row.text("url"))) +
           (row.integer("teamid") == 0 ? "" : element("teamid", row.text("teamid"))) +
           element("has_profile", row.text("has_profile")) + "</user>\n";
}

std::string team(const Row& row) {
    return "<team>\n" + element("id", row.text("id")) + element("type", row.text("type")) +
           element("name", row.text("name")) + element("userid", row.text("userid")) + credit(row) +
           element("founder_name", row.text("founder_name")) +
           element("create_time", row.text("create_time")) +
           (row.text("url").empty() ? "" : element("url", row.text("url"))) +
           element("description", row.text("description")) +
           element("country", row.text("country")) + "</team>\n";
}

std::string host(const Row& row) {
    std::string text = "<host>\n" + element("id", row.text("id")) +
                       element("userid", row.text("userid")) + credit(row);
    for (const char* const column :
         {"p_vendor", "p_model", "os_name", "os_version", "create_time", "rpc_time", "timezone"}) {
        text += element(column, row.text(column));
    }
    text += element("coprocs", row.text("serialnum")) + element("ncpus", row.text("p_ncpus"));
    for (const char* const column :
         {"p_fpops", "p_iops", "p_membw", "m_nbytes", "m_cache", "m_swap", "d_total", "d_free",
          "n_bwup", "n_bwdown", "avg_turnaround", "credit_per_cpu_sec", "host_cpid"}) {
        text += element(column, row.text(column));
    }
    return text + "</host>\n";
}

std::string deleted(const char* name, const char* id, const Row& row) {
    return fmt::format("<{}>\n", name) + element(id, row.text("id")) +
           element("cpid", row.text("public_cross_project_id")) +
           element("create_time", row.text("create_time")) + fmt::format("</{}>\n", name);
}

std::array<Export, 5> exports() {
    return {{{"user", "users",
              "select u.id, u.name, u.email_addr, u.country, u.create_time, u.total_credit, "
              "u.expavg_credit, u.expavg_time, u.cross_project_id, u.url, u.teamid, u.has_profile "
              "from user u where " +
                  std::string{kConsent} + " and u.id > ? order by u.id limit ?",
              user},
             {"team", "teams",
              "select t.*, coalesce(u.name, '') as founder_name from team t "
              "left join user u on u.id = t.userid where t.id > ? order by t.id limit ?",
              team},
             {"host", "hosts",
              "select h.* from host h join user u on u.id = h.userid and u.show_hosts = 1 where " +
                  std::string{kConsent} + " and h.id > ? order by h.id limit ?",
              host},
             {"user_deleted", "users_deleted",
              "select userid as id, public_cross_project_id, create_time from user_deleted "
              "where userid > ? order by userid limit ?",
              [](const Row& row) { return deleted("user", "id", row); }},
             {"host_deleted", "hosts_deleted",
              "select hostid as id, public_cross_project_id, create_time from host_deleted "
              "where hostid > ? order by hostid limit ?",
              [](const Row& row) { return deleted("host", "id", row); }}}};
}

void write_export(Database& database, const fs::path& folder, const Export& one) {
    GzipFile file{folder / (std::string{one.file} + ".gz")};
    file.write(fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{}>\n", one.root));
    std::int64_t last = 0;
    for (std::size_t count = kRowsAtOnce; count == kRowsAtOnce;) {
        const Rows rows = database.query(one.select, {last, kRowsAtOnce});
        for (const Row& row : rows) file.write(one.xml(row));
        count = rows.size();
        if (count > 0) last = rows.back().integer("id");
    }
    file.write(fmt::format("</{}>\n", one.root));
    file.finish();
}

std::string tables(Database& database, double now) {
    const auto sums = database.query_one(
        "select (select count(*) from user) as users, (select count(*) from team) as teams, "
        "(select count(*) from host) as hosts, "
        "(select coalesce(sum(total_credit), 0) from user) as credit");
    std::string apps;
    for (const Row& row : database.query(
             "select name, user_friendly_name from app where deprecated = 0 order by id")) {
        apps += "  <application>\n   <name>" + escape_markup(row.text("name")) +
                "</name>\n   <user_friendly_name>" + escape_markup(row.text("user_friendly_name")) +
                "</user_friendly_name>\n  </application>\n";
    }
    std::string badges;
    for (const Row& row : database.query("select id, name, title from badge order by id")) {
        badges += "  <badge>\n   <id>" + row.text("id") + "</id>\n   <name>" +
                  escape_markup(row.text("name")) + "</name>\n   <title>" +
                  escape_markup(row.text("title")) + "</title>\n  </badge>\n";
    }
    return fmt::format(
        "<tables>\n <update_time>{:.0f}</update_time>\n <nusers_total>{}</nusers_total>\n"
        " <nteams_total>{}</nteams_total>\n <nhosts_total>{}</nhosts_total>\n"
        " <total_credit>{:.6f}</total_credit>\n <applications>\n{} </applications>\n"
        " <badges>\n{} </badges>\n</tables>\n",
        now, sums->integer("users"), sums->integer("teams"), sums->integer("hosts"),
        sums->real("credit"), apps, badges);
}

/// What the files are, as db_dump's specification says it.
std::string specification() {
    std::string text = "<boinc_db_dump>\n";
    for (const Export& one : exports()) {
        text += fmt::format(
            " <enumeration>\n  <table>{0}</table>\n  <filename>{0}</filename>\n  <sort>id</sort>\n"
            "  <output>\n   <recs_per_file>0</recs_per_file>\n   <detail/>\n"
            "   <compression>gzip</compression>\n  </output>\n </enumeration>\n",
            one.file);
    }
    return text + "</boinc_db_dump>\n";
}

}  // namespace

void export_statistics(Database& database, const fs::path& folder, double now) {
    fs::create_directories(folder);
    for (const Export& one : exports()) write_export(database, folder, one);
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
