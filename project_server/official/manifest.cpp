#include "project_server/official/manifest.hpp"

#include <span>
#include <utility>

#include "peer/base/digest.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/files.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::official {
namespace {

constexpr std::size_t kMaxManifestBytes = 1 << 20;
constexpr std::size_t kMaxEntries = 10'000;

using formats::JsonFields;

json::Value list_of(const std::set<std::string>& texts) {
    return json::Value::List(texts.begin(), texts.end());
}

std::set<std::string> set_of(JsonFields& fields, const char* name) {
    std::set<std::string> texts;
    for (const auto& value : fields.array(name, 0, kMaxEntries).GetArray()) {
        if (!value.IsString()) fields.refuse(name, "must be an array of texts");
        texts.emplace(value.GetString(), value.GetStringLength());
    }
    return texts;
}

}  // namespace

std::string digest_of(const std::string& text) {
    return blake2b(std::as_bytes(std::span{text})).hex();
}

std::filesystem::path manifest_file(const std::filesystem::path& project) {
    return project / "dedloc/install.json";
}

std::optional<Manifest> read_manifest(const std::filesystem::path& project) {
    const auto file = manifest_file(project);
    if (!std::filesystem::exists(file)) return std::nullopt;
    const auto document =
        formats::parse_json(file.string(), platform::read_text(file), kMaxManifestBytes);
    JsonFields fields{document, "", file.string()};
    Manifest manifest{.created = set_of(fields, "created"), .added = set_of(fields, "added")};
    for (auto& entry : fields.objects("empty_elements", 0, kMaxEntries)) {
        const auto form = set_of(entry, "form");
        manifest.empty_elements[entry.text("name", kMaxManifestBytes)] =
            form.empty() ? "" : *form.begin();
        entry.finish();
    }
    for (auto& entry : fields.objects("written", 0, kMaxEntries)) {
        manifest.written[entry.text("file", kMaxManifestBytes)] = set_of(entry, "digests");
        entry.finish();
    }
    const auto schema = set_of(fields, "schema");
    if (!schema.empty()) manifest.schema = *schema.begin();
    fields.finish();
    return manifest;
}

void write_manifest(const std::filesystem::path& project, const Manifest& manifest) {
    const auto optional_text = [](const std::string& text) {
        return list_of(text.empty() ? std::set<std::string>{} : std::set{text});
    };
    json::Value::List empty_elements;
    for (const auto& [name, form] : manifest.empty_elements) {
        empty_elements.emplace_back().set("name", name).set("form", optional_text(form));
    }
    json::Value::List written;
    for (const auto& [file, digests] : manifest.written) {
        written.emplace_back().set("file", file).set("digests", list_of(digests));
    }
    json::Value data;
    data.set("created", list_of(manifest.created))
        .set("added", list_of(manifest.added))
        .set("empty_elements", std::move(empty_elements))
        .set("written", std::move(written))
        .set("schema", optional_text(manifest.schema));
    platform::replace_file(manifest_file(project), json::write_pretty(data) + "\n");
}

}  // namespace dedloc::official
