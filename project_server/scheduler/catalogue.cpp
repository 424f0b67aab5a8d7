#include "project_server/scheduler/catalogue.hpp"

#include <utility>

#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/plan_class.hpp"
#include "project_server/xml/job_documents.hpp"

namespace dedloc::server {

namespace {

std::optional<KernelVersion> kernel_of(const Row& row) {
    if (row.is_null("kernel_major")) return std::nullopt;
    return KernelVersion{row.integer("kernel_major"), row.integer("kernel_minor")};
}

}  // namespace

Catalogue read_catalogue(Database& database) {
    Catalogue catalogue;
    for (const Row& row : database.query(
             "select v.id, v.appid, v.version_num, v.xml_doc, v.plan_class, v.min_core_version, "
             "v.max_core_version, a.name as app_name, a.user_friendly_name, a.non_cpu_intensive, "
             "a.fraction_done_exact, p.name as platform, n.kernel_major, n.kernel_minor "
             "from app_version v join app a "
             "on a.id = v.appid join platform p on p.id = v.platformid "
             "left join dedloc_app_version n on n.id = v.id where p.deprecated = 0 and "
             "v.deprecated = 0 and a.deprecated = 0 and v.version_num >= a.min_version "
             "order by v.version_num desc, v.id desc")) {
        if (!is_plan_class(row.text("plan_class"))) continue;
        catalogue.push_back({.id = row.integer("id"),
                             .app_id = row.integer("appid"),
                             .app = row.text("app_name"),
                             .friendly_name = row.text("user_friendly_name"),
                             .is_non_cpu_intensive = row.integer("non_cpu_intensive") != 0,
                             .has_exact_fraction = row.integer("fraction_done_exact") != 0,
                             .number = row.integer("version_num"),
                             .platform = row.text("platform"),
                             .plan_class = row.text("plan_class"),
                             .min_client = row.integer("min_core_version"),
                             .max_client = row.integer("max_core_version"),
                             .kernel = kernel_of(row),
                             .document = row.text("xml_doc"),
                             .slot_bytes = slot_bytes_of(row.text("xml_doc"))});
    }
    return catalogue;
}

namespace {

/// Versions and key of one moment. A change of the key is one transaction, so versions that were
/// read between two readings of the same key are signed by it.
SignedCatalogue read_signed(Database& database, const std::filesystem::path& key_directory) {
    std::string key = present_key(database, key_directory);
    for (;;) {
        Catalogue versions = read_catalogue(database);
        std::string again = present_key(database, key_directory);
        if (key == again) return {std::move(versions), {key_directory, std::move(key)}};
        key = std::move(again);
    }
}

}  // namespace

CatalogueCache::CatalogueCache(std::filesystem::path key_directory)
    : key_directory_(std::move(key_directory)) {
    read_public_key_text(key_directory_ / "code_sign_public");
}

std::shared_ptr<const SignedCatalogue> CatalogueCache::get(Database& database,
                                                           std::int64_t now) const {
    const std::lock_guard lock{mutex_};
    // A clock that was set back must not keep an old catalogue.
    const bool is_fresh = catalogue_ && now >= read_at_ && now - read_at_ < kCatalogueSeconds;
    if (!is_fresh) {
        catalogue_ = std::make_shared<const SignedCatalogue>(read_signed(database, key_directory_));
        read_at_ = now;
    }
    return catalogue_;
}

}  // namespace dedloc::server
