#include "project_server/web/join_files.hpp"

#include <algorithm>

#include "project_server/web/templates.hpp"

namespace dedloc::server {
namespace {

constexpr std::string_view kMasterUrlMark = "%MASTER_URL%";

bool is_plain_address(const std::string& url) {
    return std::ranges::all_of(url, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view{"-._~:/[]"}.find(c) != std::string_view::npos;
    });
}

}  // namespace

std::optional<std::string> join_file(std::string_view name, const std::string& master_url) {
    if (!is_plain_address(master_url)) return std::nullopt;
    std::string text{page_file(name)};
    for (auto at = text.find(kMasterUrlMark); at != std::string::npos;
         at = text.find(kMasterUrlMark, at + master_url.size())) {
        text.replace(at, kMasterUrlMark.size(), master_url);
    }
    return text;
}

}  // namespace dedloc::server
