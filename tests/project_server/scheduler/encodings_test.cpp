#include "project_server/xml/encodings.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "peer/base/utf8.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {

TEST_CASE("names in the code pages of Windows become UTF-8", "[server]") {
    // The bytes are those that `iconv -f UTF-8 -t CP1251` and its like print.
    CHECK(utf8_of("\xCA\xCE\xCC\xCF\xDC\xDE\xD2\xC5\xD0") == "КОМПЬЮТЕР");
    CHECK(utf8_of("\xEA\xEE\xEC\xEF\xFC\xFE\xF2\xE5\xF0") == "компьютер");
    CHECK(utf8_of("\xCE\xEB\xFC\xE3\xE0-\xCF\xCA") == "Ольга-ПК");
    CHECK(utf8_of("DESKTOP-\xC8\xE2\xE0\xED") == "DESKTOP-Иван");
    CHECK(utf8_of("\xCC\xC0\xD8\xC0") == "МАША");
    CHECK(utf8_of("\xD5\xF0\xE8\xF1\xF2\xE8\xED\xE0 \xB9 2") == "Христина № 2");
    CHECK(utf8_of("M\xFCller-PC") == "Müller-PC");
    CHECK(utf8_of("B\xDCRO") == "BÜRO");
    CHECK(utf8_of("Jos\xE9") == "José");
    CHECK(utf8_of("Ren\xE9"
                  "e's PC") == "Renée's PC");
    CHECK(utf8_of("\xCD\xF5\xD0\xA1\xC3\xF7") == "王小明");
    CHECK(utf8_of("\xCD\xF5\xD0\xA1\xC3\xF7\xB5\xC4\xB5\xE7\xC4\xD4") == "王小明的电脑");
    CHECK(utf8_of("\xD5\xC5\xCE\xB0-PC") == "张伟-PC");
    CHECK(utf8_of("\x91\xBE\x98Y\x82\xCCPC") == "太郎のPC");
    CHECK(utf8_of("\x83\x66\x83\x58\x83\x4E\x83\x67\x83\x62\x83\x76") == "デスクトップ");
    CHECK(utf8_of("\x93\x63\x92\x86") == "田中");
}

TEST_CASE("UTF-8 stays, without a character that is cut off", "[server]") {
    CHECK(utf8_of("") == "");
    CHECK(utf8_of("Müller 王小明 компьютер") == "Müller 王小明 компьютер");
    const std::string name = "Processor 王";
    CHECK(utf8_of(std::string_view{name}.substr(0, name.size() - 1)) != "Processor ?");
    const std::string longer = "компьютер";
    for (std::size_t cut = 1; cut + 1 < longer.size(); cut += 2) {
        CHECK(utf8_of(std::string_view{longer}.substr(0, longer.size() - cut)) ==
              longer.substr(0, longer.size() - cut - 1));
    }
}

TEST_CASE("no byte is lost, whatever the encoding", "[server]") {
    std::set<std::string> all;
    for (int byte = 0; byte < 256; ++byte) {
        const std::string one = utf8_of(std::string(1, static_cast<char>(byte)));
        CHECK(is_utf8(one));
        CHECK(all.insert(one).second);
    }
    for (int first = 128; first < 256; ++first) {
        for (int second = 1; second < 256; ++second) {
            const std::string pair{static_cast<char>(first), static_cast<char>(second)};
            REQUIRE(is_utf8(utf8_of(pair)));
            REQUIRE_FALSE(utf8_of(pair).empty());
        }
    }
}

TEST_CASE("a text is cut at a character", "[server]") {
    CHECK(cut_text("abc", 3) == "abc");
    CHECK(cut_text("abc", 2) == "ab");
    CHECK(cut_text("é王", 4) == "é");
    CHECK(cut_text("é王", 1) == "");
    CHECK(cut_text("é王", 0) == "");
    CHECK(cut_text(std::string(100, '\x80'), 50).size() == 50);
    // A client writes each byte of a name as a number.
    CHECK(text_value("&#202;&#206;&#204;&#207;&#220;&#222;&#210;&#197;&#208;") == "КОМПЬЮТЕР");
    CHECK(clean_text(" \xCC\xC0\xD8\xC0 ", 7) == "МАШ");
}

TEST_CASE("each line of a log is read in its own encoding", "[server][boinc]") {
    CHECK(utf8_lines_of("step 1: \xC3\xA9\n\xCE\xF8\xE8\xE1\xEA\xE0\n\nlast") ==
          "step 1: \u00E9\nОшибка\n\nlast");
    CHECK(utf8_lines_of("M\xFCller\n") == "Müller\n");
    CHECK(utf8_lines_of("").empty());
}

}  // namespace dedloc::server
