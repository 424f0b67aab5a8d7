// Both documents walk through all_origins(), which is ordered, and list below each origin the files
// that have it. In the bill the files of unknown origin follow at the top level. licence_texts()
// prints each text once, under the first origin that has it, and refers to that origin elsewhere;
// the common licences that the texts name come last. Files are digested in pieces, because some
// libraries are large.
#include "project_server/packaging/bill_of_materials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/base/sha256.hpp"
#include "peer/base/version.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::packaging {
namespace {

namespace fs = std::filesystem;

/// SHA-256 of a file in hexadecimal digits.
std::string sha256_of(const fs::path& file) {
    Sha256 digest;
    std::ifstream input{file, std::ios::binary};
    std::array<char, 1 << 18> piece{};
    while (input.read(piece.data(), piece.size()), input.gcount() > 0) {
        digest.update(bytes_of({piece.data(), static_cast<std::size_t>(input.gcount())}));
    }
    if (!input.eof()) throw IoError(fmt::format("cannot read {}", file.string()));
    return digest.hex();
}

json::Value file_component(const Item& item) {
    json::Value digest;
    digest.set("alg", "SHA-256").set("content", sha256_of(item.file));
    json::Value file;
    file.set("type", "file").set("name", item.name).set("hashes", json::Value::List{digest});
    return file;
}

json::Value licences_of(const Origin& origin) {
    json::Value text;
    text.set("contentType", "text/plain").set("content", origin.text);
    json::Value licence;
    licence.set("name", origin.licences.empty() ? "see text" : origin.licences)
        .set("text", std::move(text));
    json::Value choice;
    choice.set("license", std::move(licence));
    return json::Value{json::Value::List{std::move(choice)}};
}

json::Value component_of(const Origin& origin, const Contents& contents) {
    json::Value supplier;
    supplier.set("name", origin.supplier);
    json::Value component;
    component.set("type", "library")
        .set("bom-ref", origin.name + '@' + origin.version)
        .set("supplier", std::move(supplier))
        .set("name", origin.name)
        .set("version", origin.version)
        .set("licenses", licences_of(origin));
    if (!origin.address.empty()) component.set("purl", origin.address);
    json::Value::List files;
    for (const Item& item : contents.items) {
        const auto found = contents.origins.find(item.file);
        if (found == contents.origins.end() || found->second != origin) continue;
        files.push_back(file_component(item));
    }
    if (!files.empty()) component.set("components", std::move(files));
    return component;
}

}  // namespace

std::vector<Origin> Contents::all_origins() const {
    std::set<Origin> all{compiled_in.begin(), compiled_in.end()};
    for (const auto& [file, origin] : origins) all.insert(origin);
    return {all.begin(), all.end()};
}

std::string bill_of_materials(const Contents& contents, std::string_view now) {
    json::Value::List components;
    for (const Origin& origin : contents.all_origins()) {
        components.push_back(component_of(origin, contents));
    }
    for (const Item& item : contents.items) {
        if (!contents.origins.contains(item.file)) components.push_back(file_component(item));
    }
    json::Value program;
    program.set("type", "application").set("name", contents.program).set("version", version());
    json::Value metadata;
    metadata.set("timestamp", std::string{now}).set("component", std::move(program));
    json::Value bill;
    bill.set("bomFormat", "CycloneDX")
        .set("specVersion", "1.5")
        .set("version", 1)
        .set("metadata", std::move(metadata))
        .set("components", std::move(components));
    return json::write(bill) + '\n';
}

std::string licence_texts(const Contents& contents) {
    const std::string line(78, '=');
    std::string all = fmt::format(
        "{} contains the following works. Debian publishes the sources of its packages, also of\n"
        "former versions, at https://snapshot.debian.org.\n",
        contents.program);
    std::vector<std::string> texts;
    std::map<std::string, std::string> names;  // the first origin that has a text
    for (const Origin& origin : contents.all_origins()) {
        all += fmt::format("\n{}\n{} {} ({})\n{}\n", line, origin.name, origin.version,
                           origin.supplier, origin.address);
        for (const Item& item : contents.items) {
            const auto found = contents.origins.find(item.file);
            if (found == contents.origins.end() || found->second != origin) continue;
            all += item.name + '\n';
        }
        const auto [first, is_new] = names.emplace(origin.text, origin.name);
        all += fmt::format("{}\n\n{}\n", line,
                           is_new ? origin.text : "The text is that of " + first->second + ".\n");
        if (is_new) texts.push_back(origin.text);
    }
    for (const auto& [name, text] : common_licences(texts)) {
        all += fmt::format("\n{}\ncommon-licenses/{}\n{}\n\n{}\n", line, name, line, text);
    }
    return all;
}

}  // namespace dedloc::packaging
