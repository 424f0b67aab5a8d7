// Each document is put together as text, and every text from the database is escaped on its way.
// The versions are selected app by app, each with a subquery for the newest number of its platform
// and plan class. The text of a news item is escaped twice, because readers of RSS take it for
// HTML.
#include "project_server/views/feeds.hpp"

#include <fmt/format.h>

#include <utility>

#include "peer/base/markup.hpp"
#include "peer/base/utc_text.hpp"
#include "project_server/database/news.hpp"
#include "project_server/views/figures.hpp"

namespace dedloc::server {
namespace {

constexpr const char* kHeader = "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n";

/// The date of an item, as RSS wants it.
std::string feed_date(double time) {
    return utc_text(static_cast<std::int64_t>(time), kMailDate) + " GMT";
}

/// The date of a version, as BOINC's servers write it.
std::string version_date(std::int64_t time) {
    return utc_text(time, "%d %b %Y, %H:%M:%S") + " UTC";
}

std::string version_elements(Database& database, std::int64_t app) {
    std::string text;
    for (const Row& row : database.query(
             "select v.version_num, v.plan_class, v.create_time, v.beta, p.name, "
             "p.user_friendly_name from app_version v join platform p on p.id = v.platformid where "
             "v.appid = ? and v.deprecated = 0 and p.deprecated = 0 and v.version_num = (select "
             "max(w.version_num) from app_version w where w.appid = v.appid and w.platformid = "
             "v.platformid and w.plan_class = v.plan_class and w.beta = v.beta and w.deprecated = "
             "0) order by p.id, "
             "v.plan_class",
             {app})) {
        text += fmt::format(
            "    <version>\n        <platform_short>{}</platform_short>\n"
            "        <platform_long>{}</platform_long>\n        <version_num>{}</version_num>\n"
            "        <plan_class>{}</plan_class>\n        <date>{}</date>\n"
            "        <date_unix>{}</date_unix>\n{}    </version>\n",
            escape_markup(row.text("name")), escape_markup(row.text("user_friendly_name")),
            row.integer("version_num"), escape_markup(row.text("plan_class")),
            version_date(row.integer("create_time")), row.integer("create_time"),
            row.integer("beta") != 0 ? "        <beta/>\n" : "");
    }
    return text;
}

}  // namespace

std::string versions_xml(Database& database) {
    std::string text = std::string{kHeader} + "<app_versions>\n";
    for (const Row& app :
         database.query("select id, name, user_friendly_name, beta from app where deprecated = 0 "
                        "order by id")) {
        text += fmt::format(
            "<application>\n    <user_friendly_name>{}</user_friendly_name>\n"
            "    <name>{}</name>\n    <id>{}</id>\n{}{}</application>\n",
            escape_markup(app.text("user_friendly_name")), escape_markup(app.text("name")),
            app.integer("id"), app.integer("beta") != 0 ? "    <beta/>\n" : "",
            version_elements(database, app.integer("id")));
    }
    return text + "</app_versions>\n";
}

std::string platforms_xml(Database& database) {
    std::string platforms;
    for (const Row& row : database.query(
             "select distinct p.name, p.user_friendly_name, v.plan_class from app_version v "
             "join platform p on p.id = v.platformid where v.deprecated = 0 order by p.name")) {
        platforms += fmt::format(
            "    <platform>\n        <platform_name>{}</platform_name>\n"
            "        <user_friendly_name>{}</user_friendly_name>\n"
            "        <plan_class>{}</plan_class>\n    </platform>\n",
            escape_markup(row.text("name")), escape_markup(row.text("user_friendly_name")),
            escape_markup(row.text("plan_class")));
    }
    return platforms;
}

std::string job_counts_xml(Database& database) {
    std::string text = std::string{kHeader} + "<job_counts>\n";
    using enum Figure;
    const double now = unix_now();
    for (const auto& [element, figure] : {std::pair{"results_ready_to_send", kResultsReadyToSend},
                                          std::pair{"results_in_progress", kResultsInProgress},
                                          std::pair{"results_need_file_delete", kResultsToDelete},
                                          std::pair{"wus_need_validate", kWorkunitsToValidate},
                                          std::pair{"wus_need_assimilate", kWorkunitsToAssimilate},
                                          std::pair{"wus_need_file_delete", kWorkunitsToDelete}}) {
        text += fmt::format("   <{0}>{1}</{0}>\n", element, count_of(database, figure, now));
    }
    return text + "</job_counts>\n";
}

std::string news_feed(Database& database, const ProjectConfig& config, int count) {
    const std::string name = escape_markup(config.name);
    const std::string home = escape_markup(config.master_url);
    std::string text = fmt::format(
        "{}<rss version=\"2.0\">\n<channel>\n<title>{}: News</title>\n<description>{}: "
        "News</description>\n<link>{}</link>\n<language>en-us</language>\n",
        kHeader, name, name, home);
    for (const NewsItem& item : read_news(database, count)) {
        text += fmt::format(
            "<item>\n<title>{}</title>\n<link>{}news</link>\n"
            "<guid isPermaLink=\"false\">{}news/{}</guid>\n<description>{}</description>\n"
            "<pubDate>{}</pubDate>\n</item>\n",
            escape_markup(item.title), home, home, item.id,
            escape_markup(escape_markup(item.text)),  // readers take it for HTML
            feed_date(item.created));
    }
    return text + "</channel>\n</rss>\n";
}

}  // namespace dedloc::server
