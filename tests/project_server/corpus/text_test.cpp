// Reading text: valid UTF-8, lines, documents, sentences.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/platform/files.hpp"
#include "project_server/corpus/documents.hpp"
#include "project_server/corpus/sample.hpp"
#include "project_server/corpus/sentences.hpp"
#include "project_server/corpus/text_file.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::corpus {
namespace {

using Lines = std::vector<std::string>;

/// A file with this text in a folder of its own.
struct Text {
    TemporaryDirectory folder;
    std::filesystem::path path = folder.path() / "text";
    explicit Text(const std::string& text) { platform::replace_file(path, text); }
};

Lines documents_of(const std::string& text, DocumentForm form) {
    const Text file{text};
    DocumentReader reader{file.path, form};
    Lines documents;
    for (std::string document; reader.next(document);) documents.push_back(document);
    return documents;
}

TEST_CASE("text is valid up to the first byte that is NUL or no UTF-8", "[server]") {
    // Well-formed and ill-formed sequences of table 3-7 of the Unicode standard.
    for (const std::string good :
         {"", "plain", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEF\xBF\xBF",
          "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
        CHECK_FALSE(find_invalid_text(good));
        CHECK_FALSE(find_invalid_text("long before it " + good + " and after it"));
    }
    for (const std::string bad :
         {"\x80", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\x80", "\xED\xA0\x80",
          "\xE1\x80", "\xF0\x8F\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
        INFO(bad.size());
        CHECK(find_invalid_text(bad) == 0u);
        for (std::size_t before = 0; before < 20; ++before) {
            CHECK(find_invalid_text(std::string(before, 'x') + bad) == before);
            CHECK(find_invalid_text(std::string(before, 'x') + bad + "0123456789") == before);
        }
    }
    for (std::size_t before = 0; before < 20; ++before) {
        std::string text(20, 'x');
        text[before] = '\0';
        CHECK(find_invalid_text(text) == before);
    }
}

TEST_CASE("lines keep their order and offsets, whatever ends them", "[server]") {
    const Text text{
        "\xEF\xBB\xBF"
        "one\r\n\ntwo\nthree"};
    TextFile file{text.path, 0, 10'000};
    Lines lines;
    std::vector<std::uint64_t> offsets;
    for (std::string line; file.next(line);) {
        lines.push_back(line);
        offsets.push_back(file.offset());
    }
    CHECK(lines == Lines{"one", "", "two", "three"});
    CHECK(offsets == std::vector<std::uint64_t>{8, 9, 13, 18});
}

TEST_CASE("a long line comes in pieces that add up, from any of their offsets", "[server]") {
    std::string text;
    Random random{1};
    while (text.size() < 5'000'000) {
        // Words of two-byte characters, and stretches without white space.
        for (auto letters = random.below(random.below(50) == 0 ? 20'000 : 9); letters > 0;
             --letters) {
            text += "\xC3\xA4";
        }
        text += "x ";
    }
    const Text file{text};
    TextFile whole{file.path, 0, 8'192};
    std::string sum;
    Lines pieces;
    std::vector<std::uint64_t> offsets{0};
    for (std::string piece; whole.next(piece);) {
        CHECK(piece.size() <= 8'192);
        pieces.push_back(piece);
        sum += piece;
        offsets.push_back(whole.offset());
    }
    CHECK(sum == text);
    for (std::size_t i = 0; i + 1 < pieces.size(); i += 97) {
        TextFile later{file.path, offsets[i], 8'192};
        std::string piece;
        REQUIRE(later.next(piece));
        CHECK(piece == pieces[i]);
    }
}

TEST_CASE("text in another form is refused with the command that makes UTF-8 of it", "[server]") {
    const auto utf16 = [](std::u16string_view text, bool is_big) {
        std::string bytes;
        for (const char16_t c : text) {
            const char low = static_cast<char>(c & 0xFF);
            const char high = static_cast<char>(c >> 8);
            bytes += is_big ? high : low;
            bytes += is_big ? low : high;
        }
        return bytes;
    };
    const std::u16string_view english = u"It was day 1.\nThe people went home.\n";
    const std::u16string_view chinese = u"\u738B\u5C0F\u660E\u56DE\u5BB6\u3002\n";
    for (const auto& [bytes, reason] : std::initializer_list<std::pair<std::string, std::string>>{
             {utf16(u"\uFEFF" + std::u16string{english}, false),
              "UTF-16: iconv -f UTF-16 -t UTF-8"},
             {utf16(u"\uFEFF" + std::u16string{english}, true), "UTF-16: iconv -f UTF-16 -t UTF-8"},
             {utf16(u"\uFEFF" + std::u16string{chinese}, false), "UTF-16: iconv"},
             {utf16(english, false), "UTF-16LE: iconv -f UTF-16LE -t UTF-8"},
             {utf16(english, true), "UTF-16BE: iconv -f UTF-16BE -t UTF-8"},
             {"\x1F\x8B\x08\x00 compressed", "compressed: gunzip"},
             {"\x28\xB5\x2F\xFD compressed", "compressed: unzstd"},
             {"\xFD"
              "7zXZ\xFF",
              "compressed: unxz"},
             {"BZh91AY&SY\xFF", "compressed: bunzip2"},
             {"PK\x03\x04\xFF", "an archive: unzip"},
             {"%PDF-1.4\n%\xE2\xE3\n", "a PDF: pdftotext"}}) {
        for (const DocumentForm form :
             {DocumentForm::kBlankLine, DocumentForm::kLine, DocumentForm::kJsonLines}) {
            const Text text{bytes};
            DocumentReader reader{text.path, form};
            std::string document;
            CHECK_THROWS_WITH(reader.next(document),
                              Catch::Contains(" is not UTF-8 text, but " + reason));
        }
    }
    // UTF-16 without a byte order mark and without ASCII shows only by the NUL of its line ends.
    const Text text{utf16(chinese, false)};
    DocumentReader reader{text.path, DocumentForm::kLine};
    std::string document;
    CHECK_THROWS_WITH(reader.next(document),
                      Catch::Contains(" is not UTF-8 text: it has the byte"));
}

TEST_CASE("what is no text is refused with the offset of its first bad byte", "[server]") {
    const auto refusal = [](const std::string& bytes) {
        const Text text{bytes};
        try {
            DocumentReader reader{text.path, DocumentForm::kBlankLine};
            for (std::string document; reader.next(document);) continue;
        } catch (const InputError& error) {
            return std::string{error.what()}.substr(text.path.string().size());
        }
        return std::string{"accepted"};
    };
    CHECK(refusal("Good.\nBad: \xFF.\n") ==
          " is not UTF-8 text: it has the byte 0xFF at offset 11");
    CHECK(refusal(std::string("Good.\nBad: \0.\n", 14)) ==
          " is not UTF-8 text: it has the byte 0x00 at offset 11");
    CHECK(refusal(std::string(3'000'000, '.') + "\xC3") ==
          " is not UTF-8 text: it has the byte 0xC3 at offset 3000000");
    CHECK(refusal("\x7F"
                  "ELF\x02\x01\x01" +
                  std::string(64, '\0')) == " is not UTF-8 text: it has the byte 0x00 at offset 7");
    CHECK(refusal("Good.") == "accepted");
    CHECK(refusal("\xEF\xBB\xBFGood.\r\n") == "accepted");
    CHECK_THROWS_WITH(TextFile("/nonexistent/text", 0, 10'000),
                      "cannot read the text /nonexistent/text: No such file or directory");
    CHECK_THROWS_WITH(TextFile("/", 0, 10'000), "cannot read the text /: it is not a regular file");
}

TEST_CASE("the lines of a paragraph are joined, blank lines end it", "[server]") {
    CHECK(documents_of("It was\n  hard-wrapped. \nTwice.\n\n \t\nAnother\r\n\r\nLast",
                       DocumentForm::kBlankLine) ==
          Lines{"It was hard-wrapped. Twice.", "Another", "Last"});
    CHECK(documents_of("\n \n", DocumentForm::kBlankLine).empty());
    CHECK(documents_of("One. Two.\n\n  \nThree.\n", DocumentForm::kLine) ==
          Lines{"One. Two.", "Three."});
}

TEST_CASE("a paragraph without end gives documents of bounded size", "[server]") {
    std::string text;
    while (text.size() < 30'000'000) text += "A line of many. Nothing is between them.\n";
    const auto documents = documents_of(text, DocumentForm::kBlankLine);
    CHECK(documents.size() == 4);
    for (const auto& document : documents) CHECK(document.size() < 9'000'000);
}

TEST_CASE("a line of JSON gives its text, another line is refused with its offset", "[server]") {
    CHECK(documents_of("{\"id\":1,\"text\":\"One.\\nTwo \\u00e4.\"}\n\n{\"text\":\" \"}\n"
                       "{\"text\":\"Three.\"}",
                       DocumentForm::kJsonLines) == Lines{"One.\nTwo \xC3\xA4.", "Three."});
    const auto refused = [](const std::string& line, const std::string& why) {
        CHECK_THROWS_WITH(documents_of("{\"text\":\"x\"}\n" + line, DocumentForm::kJsonLines),
                          Catch::Matchers::Contains("the line at byte 13 " + why));
    };
    refused("plain text", "is not JSON: ");
    refused("[\"text\"]", "is not a JSON object");
    refused("{\"title\":\"x\"}", "has no field \"text\" that is a string");
    refused("{\"text\":7}", "has no field \"text\" that is a string");
    refused("{\"text\":\"a\\u0000b\"}", "has a NUL character in its text");
    refused("{\"text\":\"\\ud800\"}", "is not JSON: ");
    refused(std::string(100'000, '['), "is not JSON: ");
    CHECK(form_of("a/b.jsonl") == DocumentForm::kJsonLines);
    CHECK(form_of("a/b.txt") == DocumentForm::kBlankLine);
}

TEST_CASE("sentences end as Unicode and the language's abbreviations say", "[server]") {
    SentenceSplitter english{"en"};
    CHECK(english.split("Mr. Smith went  home. He slept!  \"No.\" So it was, e.g. odd.") ==
          Lines{"Mr. Smith went home.", "He slept!", "\"No.\"", "So it was, e.g. odd."});
    CHECK(english.split("version 1.5 of it") == Lines{"version 1.5 of it"});
    CHECK(english.split("At 10:30 it rained.\nThen it stopped") ==
          Lines{"At 10:30 it rained.", "Then it stopped"});
    CHECK(english.split(" \t ").empty());
    SentenceSplitter german{"de"};
    CHECK(german.split("Das gilt z.B. für Äpfel. Überall? Ja.") ==
          Lines{"Das gilt z.B. für Äpfel.", "Überall?", "Ja."});
    SentenceSplitter chinese{"zh"};
    CHECK(chinese.split("今天下雨。我们回家！") == Lines{"今天下雨。", "我们回家！"});
    SentenceSplitter any{"root"};
    CHECK(any.split("क्या हाल है? सब ठीक है। चलो।") == Lines{"क्या हाल है?", "सब ठीक है।", "चलो।"});
    // A danda ends a sentence in every language; what stands for it, where it is the full stop.
    SentenceSplitter bengali{"bn"};
    CHECK(bengali.split("আমি খাই।সে যায়॥ তারপর b. \"চল।\" ঠিক") ==
          Lines{"আমি খাই।", "সে যায়॥", "তারপর b.", "\"চল।\"", "ঠিক"});
    CHECK(bengali.split("খাই | সে যায় || ক|খ ৷ ঠিক৷") ==
          Lines{"খাই |", "সে যায় ||", "ক|খ ৷", "ঠিক৷"});
    CHECK(english.split("a | b || c") == Lines{"a | b || c"});
    CHECK(any.split("খাই। যায়।") == Lines{"খাই।", "যায়।"});
    for (const char* wrong : {"", "xx", "english", "en us", "-"}) {
        CHECK_THROWS_AS(SentenceSplitter{wrong}, InputError);
    }
}

TEST_CASE("a sentence without end is cut between words or characters", "[server]") {
    SentenceSplitter splitter{"en"};
    std::string words;
    while (words.size() < 20'000) words += "word ";
    std::string sum;
    for (const auto& piece : splitter.split(words)) {
        CHECK(piece.size() <= kMaxSentenceBytes);
        sum += piece + " ";
    }
    CHECK(sum == words);
    std::string letters;
    while (letters.size() < 20'000) letters += "\xE4\xB8\xAD";
    sum.clear();
    for (const auto& piece : splitter.split(letters)) {
        CHECK_FALSE(find_invalid_text(piece));
        sum += piece;
    }
    CHECK(sum == letters);
}

TEST_CASE("a sample keeps everything that fits and stays within its limit", "[server]") {
    DocumentSample small{7, 1'000};
    for (std::uint64_t i = 0; i < 10; ++i) small.offer(i, "document " + std::to_string(i));
    CHECK(std::move(small).take().size() == 10);
    // 10,000 documents of 100 bytes; the later ones are kept as often as the earlier ones.
    DocumentSample large{7, 100'000};
    for (std::uint64_t i = 0; i < 10'000; ++i) large.offer(i, fmt::format("{:100}", i));
    const auto kept = std::move(large).take();
    CHECK(kept.size() > 400);
    CHECK(kept.size() <= 1'000);
    double sum = 0;
    for (const auto& document : kept) sum += std::stod(document);
    CHECK(sum / static_cast<double>(kept.size()) == Approx(5'000).margin(500));
}

}  // namespace
}  // namespace dedloc::corpus
