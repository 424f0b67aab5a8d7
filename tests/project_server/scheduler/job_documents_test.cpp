#include "project_server/xml/job_documents.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace dedloc::server {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("a job's files are those of its references, if their names are plain", "[server]") {
    const auto files = [](const std::string& references) {
        return referenced_files("<file_info><name>z</name></file_info>\n<result>\n    " +
                                references + "\n    <wu_name>w</wu_name>\n</result>\n");
    };
    const auto reference = [](const std::string& name) {
        return "<file_ref>\n<file_name>" + name + "</file_name>\n<open_name>out</open_name>\n" +
               "</file_ref>\n";
    };
    CHECK(files(reference("a_r1_0") + reference(" b\n")) == Names{"a_r1_0", "b"});
    CHECK(files(reference("../secret") + reference("") + reference(".x") + reference("a/b") +
                reference("a&#0;b") + reference("a\\b") + reference(std::string(300, 'a')))
              .empty());
    CHECK(files("<file_name>without_reference</file_name>").empty());
    CHECK(files("<file_ref><file_name>cut").empty());
    // No job's own words count.
    CHECK(files("<!-- " + reference("a") + "--><![CDATA[" + reference("b") + "]]>").empty());
    CHECK(referenced_files(reference("outside")).empty());
    CHECK(referenced_files("<workunit>" + reference("in") + "</workunit>") == Names{"in"});
    CHECK(referenced_files("").empty());
}

TEST_CASE("a document describes files with sizes that can be true", "[server]") {
    const auto files = described_files(
        "<file_info><name>a.so</name><nbytes>12.000000</nbytes></file_info>"
        "<file_info><name>../b</name><nbytes>1e300</nbytes></file_info>"
        "<file_info><nbytes>-5</nbytes></file_info><file_ref><file_name>c</file_name></file_ref>"
        "<file_info><name>cut");
    REQUIRE(files.size() == 3);
    CHECK(files[0].name == "a.so");
    CHECK(files[0].bytes == 12);
    for (const std::size_t i : {1u, 2u}) {
        CHECK(files[i].name.empty());
        CHECK(files[i].bytes == 0);
    }
}

TEST_CASE("a message names the result that the client has written before its text", "[server]") {
    CHECK(result_name_in("<result_name>demo_5_0</result_name>\n<time>1</time>\n"
                         "<result_name>other</result_name>") == "demo_5_0");
    CHECK(result_name_in("<time>1</time><text><result_name>x</result_name></text>").empty());
    CHECK(result_name_in("<result_name>x' or 'a' = 'a</result_name>").empty());
    CHECK(result_name_in("<result_name></result_name>").empty());
    CHECK(result_name_in("<result_name>cut").empty());
}

}  // namespace
}  // namespace dedloc::server
