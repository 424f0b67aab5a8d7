#include "project_server/project/app_versions.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "peer/base/error.hpp"
#include "project_server/database/states.hpp"
#include "project_server/xml/job_documents.hpp"

namespace dedloc::project {
namespace {

std::string version_text(std::int64_t number) {
    return fmt::format("{}.{}", number / 100, number % 100);
}

/// What the document of a version says of its files.
struct Files {
    std::int64_t count = 0;
    std::int64_t bytes = 0;
    std::int64_t download_bytes = 0;
};

Files files_in(const std::string& document) {
    Files files;
    for (const auto& file : server::described_files(document)) {
        ++files.count;
        files.bytes += static_cast<std::int64_t>(file.bytes);
        files.download_bytes += static_cast<std::int64_t>(file.download_bytes);
    }
    return files;
}

std::string client_text(std::int64_t number) {
    if (number == 0) return "any";
    return fmt::format("{}.{}.{}", number / 10'000, number / 100 % 100, number % 100);
}

/// All versions of all apps; `conditions` follow "where". The first parameter is
/// ServerState::kInProgress.
std::string select_versions(const char* conditions) {
    return fmt::format(
        "select v.id, a.name as app, v.version_num, p.name as platform, v.plan_class, "
        "v.deprecated, v.min_core_version, v.create_time, v.xml_doc, "
        "(select count(*) from result r where r.appid = v.appid and r.server_state = ? and "
        "r.app_version_id = v.id) as jobs, (select count(*) from host_app_version h where "
        "h.app_version_id = v.id) as hosts "
        "from app_version v join app a on a.id = v.appid join platform p on p.id = v.platformid "
        "where {} order by a.name, v.version_num desc, p.name, v.plan_class",
        conditions);
}

json::Value facts_of(const server::Row& row) {
    json::Value data;
    data.set("app", row.text("app"))
        .set("version", version_text(row.integer("version_num")))
        .set("platform", row.text("platform"))
        .set("plan_class", row.text("plan_class"))
        .set("is_withdrawn", row.integer("deprecated") != 0)
        .set("min_client", client_text(row.integer("min_core_version")))
        .set("jobs", row.integer("jobs"));
    return data;
}

}  // namespace

int version_number(const std::string& text) {
    int major = 0;
    int minor = 0;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%d.%d%c", &major, &minor, &rest) != 2 || major < 0 ||
        major > 1000 || minor < 0 || minor > 99) {
        throw InputError(
            fmt::format("{} is not a version (such as 1.0, minor number below 100)", text));
    }
    return major * 100 + minor;
}

int client_number(const std::string& text) {
    if (text == "any") return 0;
    int major = 0;
    int minor = 0;
    int release = 0;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%d.%d.%d%c", &major, &minor, &release, &rest) != 3 ||
        major < 1 || major > 999 || minor < 0 || minor > 99 || release < 0 || release > 99) {
        throw InputError(
            fmt::format("{} is not a client's version (such as 7.20.5, or any)", text));
    }
    return major * 10'000 + minor * 100 + release;
}

json::Value app_versions(server::Database& database) {
    json::Value::List versions;
    for (const auto& row :
         database.query(select_versions("true"), {server::ServerState::kInProgress})) {
        json::Value data = facts_of(row);
        const Files files = files_in(row.text("xml_doc"));
        data.set("hosts", row.integer("hosts"))
            .set("files", files.count)
            .set("size_bytes", files.bytes)
            .set("download_bytes", files.download_bytes)
            .set("created_at", row.integer("create_time"));
        versions.push_back(std::move(data));
    }
    json::Value data;
    data.set("versions", std::move(versions));
    return data;
}

json::Value change_versions(server::Database& database, const ChosenVersions& choice,
                            const VersionChange& change) {
    static const std::string chosen = select_versions(
        "a.name = ? and v.version_num = ? and (? = '' or p.name = ?) and (? or v.plan_class = ?)");
    const auto select = [&] {
        const std::string plan_class = choice.plan_class.value_or("");
        return database.query(
            chosen, {server::ServerState::kInProgress, choice.app, choice.version, choice.platform,
                     choice.platform, choice.plan_class ? 0 : 1, plan_class});
    };
    return server::in_transaction(database, [&] {
        for (const auto& row : select()) {
            const auto id = row.integer("id");
            if (change.is_withdrawn) {
                const auto matched = database.execute(
                    "update app_version set deprecated = ? where id = ? and (? or not exists "
                    "(select 1 from dedloc_unused_version u where u.id = app_version.id and "
                    "u.is_final = 1))",
                    {*change.is_withdrawn ? 1 : 0, id, *change.is_withdrawn ? 1 : 0});
                if (matched == 0) {
                    throw InputError(fmt::format(
                        "the files of version {} were deleted, because it was not used for long: "
                        "publish it again under a higher number",
                        version_text(choice.version)));
                }
            }
            if (change.min_client) {
                database.execute("update app_version set min_core_version = ? where id = ?",
                                 {*change.min_client, id});
            }
        }
        json::Value::List versions;
        for (const auto& row : select()) versions.push_back(facts_of(row));
        if (versions.empty()) {
            throw InputError(fmt::format("there is no such version {} of {}; see dedloc app list",
                                         version_text(choice.version), choice.app));
        }
        const auto offered = database.query_one(
            "select count(*) as offered from app_version v join app a on a.id = v.appid "
            "where a.name = ? and v.deprecated = 0",
            {choice.app});
        json::Value data;
        data.set("versions", std::move(versions)).set("offered", offered->integer("offered"));
        return data;
    });
}

}  // namespace dedloc::project
