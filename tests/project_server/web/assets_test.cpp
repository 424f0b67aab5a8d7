// Scripts, styles and images that pages link to.
#include <map>
#include <regex>
#include <string>

#include "project_server/web/templates.hpp"
#include "tests/project_server/web/site_fixture.hpp"

namespace dedloc::server {
namespace {

/// The assets that the templates of all pages link to, each with the template that does.
std::map<std::string, std::string> linked_assets() {
    const std::regex link{R"re(<(?:script|img|link rel="(?:stylesheet|icon)")[^>]*)re"
                          R"re( (?:src|href)="([^"]*)")re"};
    std::map<std::string, std::string> assets;
    for (const PageFile& file : page_files()) {
        const std::string text{file.text};
        for (std::sregex_iterator at{text.begin(), text.end(), link}, end; at != end; ++at) {
            assets.emplace((*at)[1], file.name);
        }
    }
    return assets;
}

std::string type_of(const std::string& path) {
    if (path.ends_with(".css")) return "text/css; charset=utf-8";
    if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
    return path.ends_with(".svg") ? "image/svg+xml" : "image/png";
}

}  // namespace

TEST_CASE("every script, style and image of every page is served", "[server][integration]") {
    const TestSite site;
    const auto assets = linked_assets();
    // run.html alone has three scripts, and the layout two styles.
    REQUIRE(assets.size() >= 5);
    const std::string root = "{{root}}";
    for (const auto& [link, page] : assets) {
        INFO(page << " links to " << link);
        REQUIRE(link.starts_with(root));
        const std::string path = link.substr(root.size());
        const auto response = site.get(path);
        CHECK(response.status == 200);
        CHECK(response.get_header_value("Content-Type") == type_of(path));
        CHECK_FALSE(response.body.empty());
    }
}

}  // namespace dedloc::server
