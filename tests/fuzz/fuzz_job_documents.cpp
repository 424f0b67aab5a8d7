// BOINC's documents of jobs and messages of jobs, and the escaper of all text that is written into
// XML and HTML. pugixml judges what is written.
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/base/markup.hpp"
#include "project_server/xml/job_documents.hpp"
#include "project_server/xml/xml.hpp"
#include "project_server/xml/xml_text.hpp"
#include "project_server/xml/xml_writer.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

void check_escaper(std::string_view text) {
    const std::string valid = valid_text(text);
    DEDLOC_CHECK(valid_text(valid) == valid, "valid text stays as it is", valid);
    DEDLOC_CHECK(valid.size() <= text.size(), "nothing is added", valid.size());
    const std::string escaped = escape_markup(text);
    DEDLOC_CHECK(escaped == escape_markup(valid), "escaped text is valid", escaped);
    DEDLOC_CHECK(escaped.find_first_of("<>\"'") == std::string::npos, "no markup is left", escaped);
    DEDLOC_CHECK(
        server::text_value(escaped, escaped.size()) == server::clean_text(valid, valid.size()),
        "our reader resolves what is escaped", escaped);
    // A carriage return is a line end to XML.
    if (valid.find('\r') != std::string::npos) return;
    const server::XmlText xml{"<a b=\"" + escaped + "\"><t>" + escaped + "</t></a>", "x", "a"};
    const auto children = xml.children({"a"});
    DEDLOC_CHECK(children.size() == 1, "escaped text has no elements", escaped);
    DEDLOC_CHECK(children[0].text == server::clean_text(valid, valid.size()),
                 "any reader of XML resolves what is escaped", escaped);
}

void check_documents(std::string_view text) {
    for (const auto& file : server::described_files(text)) {
        DEDLOC_CHECK(file.name.empty() || server::is_file_name(file.name), "a safe name",
                     file.name);
        DEDLOC_CHECK(std::isfinite(file.bytes) && file.bytes >= 0, "a size", file.bytes);
    }
    const std::string result = server::result_name_in(text);
    DEDLOC_CHECK(result.find_first_of("'\"\\;/ \n") == std::string::npos, "a plain name", result);
    const auto names = server::referenced_files(text);
    server::XmlWriter writer;
    writer.open("result");
    for (const std::string& name : names) {
        DEDLOC_CHECK(name.find('/') == std::string::npos && !name.starts_with('.'),
                     "a file is in no other folder", name);
        writer.open("file_ref");
        writer.add("file_name", name);
        writer.close("file_ref");
    }
    writer.close("result");
    DEDLOC_CHECK(server::referenced_files(writer.text()) == names, "names survive a document");
}

}  // namespace

void fuzz_job_documents(std::span<const std::byte> input) {
    const std::string_view text{reinterpret_cast<const char*>(input.data()), input.size()};
    check_escaper(text);
    check_documents(text);
}

}  // namespace dedloc::fuzz
