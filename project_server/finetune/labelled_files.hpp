// Files with labels for fine-tuning, of unknown authors: words with tags, and texts with classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::finetune {

/// Limits of a file. What is beyond one is refused in a sentence with file and line.
inline constexpr std::size_t kMaxLabelledBytes = std::size_t{256} << 20;  ///< most of a file
inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;        ///< most of a line
inline constexpr std::size_t kMaxWords = 10'000;                          ///< most of a sentence
inline constexpr std::size_t kMaxLabels = 1'000;                          ///< most of a task
inline constexpr std::size_t kMaxLabelBytes = 100;                        ///< most of a label

/// Kinds of tasks.
enum class Task : std::uint8_t {
    kNames,    ///< "ner": a tag for each word, IOB2
    kClasses,  ///< "classify": a class for each text
};

/// The labels of a task; a label's number is its place.
class Labels {
  public:
    /// Labels are those that the files have, in the order in which add() sees them.
    Labels() = default;
    /// Labels are these and no others.
    explicit Labels(const std::vector<std::string>& names);

    /// The number of this label, which is new or not. Errors: InputError: one that is not among
    /// those given, or one too many.
    std::uint16_t add(std::string_view name);
    /// All labels.
    const std::vector<std::string>& names() const { return names_; }

  private:
    std::vector<std::string> names_;
    std::map<std::string, std::uint16_t, std::less<>> numbers_;
    bool is_closed_ = false;
};

/// A sentence with a label for each word, or a text, as its only word, with its class.
struct Example {
    std::vector<std::string> words;     ///< UTF-8
    std::vector<std::uint16_t> labels;  ///< as many
    bool operator==(const Example&) const = default;
};

/// Reads a column file: in each line a word, blanks or a tab, and its tag, O, B-NAME or I-NAME;
/// columns between them are ignored. An empty line ends a sentence. `document` names the file in
/// errors: "FILE:LINE: …".
/// Errors   InputError
/// Memory   some times that of the text
std::vector<Example> parse_tagged(const std::string& document, std::string_view text,
                                  Labels& labels);

/// Reads a table with tabs between its columns and their names in the first line: "text" and
/// "category" or "label"; other columns are ignored. Errors: InputError: "FILE:LINE: …".
std::vector<Example> parse_classified(const std::string& document, std::string_view text,
                                      Labels& labels);

/// Training, validation and test data.
struct LabelledData {
    Labels labels;               ///< those of labels.txt if there is one, else of the files
    std::vector<Example> train;  ///< to learn from
    std::vector<Example> valid;  ///< to choose the best epoch
    std::vector<Example> test;   ///< to measure
};

/// Reads a folder: of names train.iob, valid.iob and test.iob, of classes the same with .tsv, and
/// labels.txt, a class in each line; "dev" may stand for "valid".
/// Errors   InputError in one sentence: a file is missing, empty or cannot be used; IoError
LabelledData read_labelled(const std::filesystem::path& folder, Task task);

}  // namespace dedloc::finetune
