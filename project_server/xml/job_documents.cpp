// All documents are walked through one level at a time with XmlReader, which skips what is damaged.
// A name that is_file_name() refuses is as good as absent, and described_files() takes a size that
// cannot be true as 0. slot_bytes_of() notes the size in each <file_info>, which come first, and
// adds up those that the <app_version> behind them refers to, without its main program, which has
// no link in the slot.
#include "project_server/xml/job_documents.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "peer/base/text.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxName = 200;   // bytes
constexpr double kMaxFileBytes = 1e15;  // a file with more is a mistake in its description

/// The name in the first element `element` of `body`; empty if it is no file name.
std::string name_in(std::string_view body, std::string_view element) {
    const auto found = find_element(body, element);
    if (!found) return {};
    std::string name = text_value(found->body, found->body.size());
    return is_file_name(name) ? name : std::string{};
}

/// The size in the first element `element` of `body`; 0 if there is none that can be true.
double bytes_in(std::string_view body, std::string_view element) {
    const auto found = find_element(body, element);
    const double bytes = found ? real_value(found->body) : 0;
    return bytes > 0 && bytes < kMaxFileBytes ? bytes : 0;
}

void add_references(std::string_view job, std::vector<std::string>& names) {
    XmlReader reader{job};
    while (const auto element = reader.next()) {
        if (element->name != "file_ref") continue;
        if (auto name = name_in(element->body, "file_name"); !name.empty()) {
            names.push_back(std::move(name));
        }
    }
}

}  // namespace

bool is_file_name(std::string_view name) {
    return is_made_of_letters(name, ".-_+") && name.size() <= kMaxName && name.front() != '.';
}

std::vector<DescribedFile> described_files(std::string_view document) {
    std::vector<DescribedFile> files;
    XmlReader reader{document};
    while (const auto element = reader.next()) {
        if (element->name != "file_info") continue;
        const double bytes = bytes_in(element->body, "nbytes");
        const double compressed = bytes_in(element->body, "gzipped_nbytes");
        files.push_back({.name = name_in(element->body, "name"),
                         .bytes = bytes,
                         .download_bytes = compressed > 0 ? compressed : bytes});
    }
    return files;
}

std::set<std::string> described_names(std::string_view document) {
    std::set<std::string> names;
    for (DescribedFile& file : described_files(document)) {
        if (!file.name.empty()) names.insert(std::move(file.name));
    }
    return names;
}

std::vector<std::string> referenced_files(std::string_view document) {
    std::vector<std::string> names;
    XmlReader reader{document};
    while (const auto element = reader.next()) {
        const auto& name = element->name;
        if (name != "result" && name != "workunit" && name != "app_version") continue;
        add_references(element->body, names);
    }
    return names;
}

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
            if (reference->name != "file_ref" || find_element(reference->body, "main_program")) {
                continue;
            }
            const auto name = find_element(reference->body, "file_name");
            if (name && sizes.contains(name->body)) bytes += sizes[name->body];
        }
    }
    return bytes;
}

std::string result_of_output(std::string file) {
    constexpr std::string_view kUnfinished = ".unfinished";
    if (file.ends_with(kUnfinished)) file.resize(file.size() - kUnfinished.size());
    const auto number = file.rfind('_');
    if (number == std::string::npos || number == 0) return {};
    const auto random = file.rfind("_r", number - 1);
    return random == std::string::npos ? std::string{} : file.substr(0, random);
}

std::string result_name_in(std::string_view message) {
    return name_in(message, "result_name");
}

}  // namespace dedloc::server
