#include "project_server/official/xml_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "peer/platform/files.hpp"
#include "project_server/official/project.hpp"

namespace dedloc::official {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;

std::string contents(const std::filesystem::path& file) {
    return std::filesystem::exists(file) ? platform::read_text(file, kMaxBytes) : std::string{};
}

}  // namespace

XmlFile::XmlFile(const std::filesystem::path& project, const std::string& name,
                 const std::string& root)
    : file_(project / name),
      name_(name),
      before_(contents(file_)),
      first_(std::filesystem::exists(file_) ? before_ : fmt::format("<{0}>\n</{0}>\n", root)),
      text_(first_, file_.string(), root) {}

std::string XmlFile::key_of(const XmlPath& path) const {
    return fmt::format("{} {}", name_, fmt::join(path, "/"));
}

void XmlFile::ensure(const XmlPath& path, Manifest& manifest) {
    const bool is_there = text_.has(path);
    const std::string form = text_.empty_form(path);
    if (is_there && form.empty()) return;
    manifest.empty_elements.try_emplace(key_of(path), form);
    if (is_there) return;
    const XmlPath parent{path.begin(), path.end() - 1};
    text_.append(parent, fmt::format("<{0}>\n</{0}>", path.back()));
}

void XmlFile::restore(const XmlPath& path, const Manifest& manifest) {
    const auto known = manifest.empty_elements.find(key_of(path));
    const bool is_empty = text_.has(path) && text_.children(path).empty();
    if (known == manifest.empty_elements.end() || !is_empty) return;
    if (!known->second.empty()) return text_.restore(path, known->second);
    const XmlPath parent{path.begin(), path.end() - 1};
    text_.remove(parent, [&](const XmlChild& child) { return child.name == path.back(); });
}

void XmlFile::write() const {
    if (is_changed()) replace_edited(file_, before_, text_.text());
}

}  // namespace dedloc::official
