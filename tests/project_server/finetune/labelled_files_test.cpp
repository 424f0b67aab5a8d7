// Files with labels: what is read, and the sentence for each fault.
#include "project_server/finetune/labelled_files.hpp"

#include <catch2/catch.hpp>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::finetune {
namespace {

std::string fault_of_tags(std::string_view text) {
    Labels labels;
    try {
        parse_tagged("f.iob", text, labels);
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

std::string fault_of_table(std::string_view text) {
    Labels labels;
    try {
        parse_classified("f.tsv", text, labels);
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("tagged sentences are read as people write them", "[server]") {
    Labels labels;
    const auto examples = parse_tagged("f.iob",
                                       "\xEF\xBB\xBF-DOCSTART- -X- O O\n\nবাংলা\tB-LOC\r\nyear "
                                       "1971\tO\n\n \t\n\nEU NNP B-NP B-ORG\nx O",
                                       labels);
    REQUIRE(examples.size() == 2);
    CHECK(examples[0].words == std::vector<std::string>{"বাংলা", "year 1971"});
    CHECK(examples[0].labels == std::vector<std::uint16_t>{0, 1});
    CHECK(examples[1].words == std::vector<std::string>{"EU", "x"});
    CHECK(examples[1].labels == std::vector<std::uint16_t>{2, 1});
    CHECK(labels.names() == std::vector<std::string>{"B-LOC", "O", "B-ORG"});
    CHECK(parse_tagged("f.iob", "", labels).empty());
}

TEST_CASE("a fault of a tagged file is one sentence with its line", "[server]") {
    CHECK(fault_of_tags("a\tO\nb\n") == "f.iob:2: a line has a word, a tab and a tag");
    CHECK(fault_of_tags("a\tO\n\tO\n") == "f.iob:2: a line has a word, a tab and a tag");
    CHECK(fault_of_tags("a\tO\n\na\tPER\n") == "f.iob:3: a tag is O, B-NAME or I-NAME, not 'PER'");
    CHECK(fault_of_tags("a\tB-\n") == "f.iob:1: a tag is O, B-NAME or I-NAME, not 'B-'");
    CHECK(fault_of_tags("a\t\x1b[31m\n") ==
          "f.iob:1: a tag is O, B-NAME or I-NAME, not what is there");
    CHECK(fault_of_tags("a\tO\n\xff\tO\n") == "f.iob:2: the text is not UTF-8");
    CHECK(fault_of_tags("a\tB-" + std::string(kMaxLabelBytes, 'X')) ==
          "f.iob:1: a label has 1 to 100 bytes");
    CHECK(fault_of_tags(std::string(kMaxLineBytes + 1, 'x')) ==
          "f.iob:1: a line has at most 1048576 bytes");
    std::string words, labels;
    for (std::size_t i = 0; i <= kMaxWords; ++i) words += "a\tO\n";
    CHECK(fault_of_tags(words) == "f.iob:10001: a sentence has at most 10000 words");
    for (std::size_t i = 0; i <= kMaxLabels; ++i) labels += "a\tB-" + std::to_string(i) + "\n\n";
    CHECK(fault_of_tags(labels) == "f.iob:2001: a task has at most 1000 labels");
}

TEST_CASE("a table is read by the names of its columns", "[server]") {
    Labels labels;
    const auto examples =
        parse_classified("f.tsv", "id\tcategory\ttext\n7\tnews\t\"a b\n8\tsport\tc\r\n\n", labels);
    REQUIRE(examples.size() == 2);
    CHECK(examples[0] == Example{.words = {"\"a b"}, .labels = {0}});
    CHECK(examples[1] == Example{.words = {"c"}, .labels = {1}});
    CHECK(parse_classified("f.tsv", "text\tlabel\nx\tsport\n", labels).at(0).labels.at(0) == 1);

    CHECK(fault_of_table("a\tb\n").starts_with("f.tsv:1: the first line names the columns"));
    CHECK(fault_of_table("text\tlabel\nx\n") ==
          "f.tsv:2: the line has 1 columns, and the first line 2");
    CHECK(fault_of_table("text\tlabel\nx\t\n") == "f.tsv:2: a label has 1 to 100 bytes");
}

TEST_CASE("a folder has three parts and their labels", "[server]") {
    const TemporaryDirectory folder;
    const auto write = [&](const char* name, std::string_view text) {
        platform::replace_file(folder.path() / name, text);
    };
    const auto fault = [&](Task task) -> std::string {
        try {
            read_labelled(folder.path(), task);
        } catch (const InputError& error) {
            return std::string{error.what()}.substr(folder.path().string().size());
        }
        return {};
    };
    CHECK(fault(Task::kNames) == " has no train.iob");
    write("train.iob", "a\tO\n");
    write("test.iob", "a\tO\n");
    CHECK(fault(Task::kNames) == " has no valid.iob");
    write("dev.iob", "\n");
    CHECK(fault(Task::kNames) == "/dev.iob has no sentence");
    write("valid.iob", "a\tO\n");
    CHECK(fault(Task::kNames) == " has one label only: there is nothing to learn");
    write("valid.iob", "a\tB-PER\n");
    const auto data = read_labelled(folder.path(), Task::kNames);
    CHECK(data.labels.names() == std::vector<std::string>{"O", "B-PER"});
    CHECK(data.train.size() + data.valid.size() + data.test.size() == 3);

    for (const char* const name : {"train.tsv", "dev.tsv", "test.tsv"}) {
        write(name, "category\ttext\nnews\tx\n");
    }
    write("labels.txt", "sport\nnews\n");
    CHECK(read_labelled(folder.path(), Task::kClasses).train.at(0).labels.at(0) == 1);
    write("dev.tsv", "category\ttext\nverse\tx\n");
    CHECK(fault(Task::kClasses) == "/dev.tsv:2: labels.txt has no label 'verse'");
    write("labels.txt", "sport\nsport\n");
    CHECK(fault(Task::kClasses) == "/labels.txt: the label 'sport' is there twice");
}

}  // namespace dedloc::finetune
