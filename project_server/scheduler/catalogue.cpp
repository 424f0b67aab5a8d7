#include "project_server/scheduler/catalogue.hpp"

#include <map>

#include "project_server/scheduler/plan_class.hpp"
#include "project_server/scheduler/xml.hpp"

namespace dedloc::server {

double slot_bytes_of(std::string_view document) {
    std::map<std::string_view, double> sizes;
    double bytes = 0;
    XmlReader reader{document};
    while (const auto element = reader.next()) {
        if (element->name == "file_info") {
            const auto name = find_element(element->body, "name");
            const auto size = find_element(element->body, "nbytes");
            if (name && size) sizes[name->body] = real_value(size->body);
        }
        if (element->name != "app_version") continue;
        XmlReader references{element->body};
        while (const auto reference = references.next()) {
            if (reference->name != "file_ref" || !find_element(reference->body, "copy_file")) {
                continue;
            }
            const auto name = find_element(reference->body, "file_name");
            if (name && sizes.contains(name->body)) bytes += sizes[name->body];
        }
    }
    return bytes;
}

Catalogue read_catalogue(Database& database) {
    Catalogue catalogue;
    for (const Row& row : database.query(
             "select v.id, v.appid, v.version_num, v.xml_doc, v.plan_class, v.min_core_version, "
             "v.max_core_version, a.name as app_name, a.user_friendly_name, a.non_cpu_intensive, "
             "a.fraction_done_exact, p.name as platform from app_version v join app a "
             "on a.id = v.appid join platform p on p.id = v.platformid where p.deprecated = 0 and "
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
                             .document = row.text("xml_doc"),
                             .slot_bytes = slot_bytes_of(row.text("xml_doc"))});
    }
    return catalogue;
}

std::shared_ptr<const Catalogue> CatalogueCache::get(Database& database, std::int64_t now) const {
    const std::lock_guard lock{mutex_};
    // A clock that was set back must not keep an old catalogue.
    const bool is_fresh = catalogue_ && now >= read_at_ && now - read_at_ < kCatalogueSeconds;
    if (!is_fresh) {
        catalogue_ = std::make_shared<const Catalogue>(read_catalogue(database));
        read_at_ = now;
    }
    return catalogue_;
}

}  // namespace dedloc::server
