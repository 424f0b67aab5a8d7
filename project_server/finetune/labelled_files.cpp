// A file's size is known before it is read, and a line's before it is divided. All text must be
// UTF-8. Errors name the line and, if it is short and printable, the wrong word.
#include "project_server/finetune/labelled_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::finetune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kDocumentStart = "-DOCSTART-";

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/// A word of a stranger for a sentence.
std::string shown(std::string_view word) {
    const bool is_printable = std::ranges::none_of(
        word, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
    if (word.size() > kMaxLabelBytes || !is_printable) return "what is there";
    return fmt::format("'{}'", word);
}

/// Calls `take(line, number)` for each line, without its end.
/// Errors: InputError: one that is too long or not UTF-8.
template <class Take>
void for_each_line(const std::string& document, std::string_view text, const Take& take) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.size() > kMaxLineBytes) {
            throw InputError(
                fmt::format("{}:{}: a line has at most {} bytes", document, number, kMaxLineBytes));
        }
        if (!is_utf8(line)) {
            throw InputError(fmt::format("{}:{}: the text is not UTF-8", document, number));
        }
        try {
            take(line, number);
        } catch (const InputError& error) {
            throw InputError(fmt::format("{}:{}: {}", document, number, error.what()));
        }
    }
}

/// The first and the last column of a line; without a second one the last is empty.
std::pair<std::string_view, std::string_view> outer_columns(std::string_view line) {
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    const bool has_tabs = line.find('\t') != std::string_view::npos;
    const std::string_view separators = has_tabs ? "\t" : " ";
    const std::size_t first = line.find_first_of(separators);
    if (first == std::string_view::npos) return {line, {}};
    std::string_view last = line.substr(line.find_last_of(separators) + 1);
    while (!last.empty() && is_blank(last.front())) last.remove_prefix(1);
    return {line.substr(0, first), last};
}

void require_tag(std::string_view tag) {
    const bool is_tag =
        tag == "O" || ((tag.starts_with("B-") || tag.starts_with("I-")) && tag.size() > 2);
    if (!is_tag) {
        throw InputError(fmt::format("a tag is O, B-NAME or I-NAME, not {}", shown(tag)));
    }
}

std::vector<std::string_view> columns_of(std::string_view line) {
    std::vector<std::string_view> columns;
    for (;;) {
        const std::size_t end = line.find('\t');
        columns.push_back(line.substr(0, end));
        if (end == std::string_view::npos) return columns;
        line.remove_prefix(end + 1);
    }
}

/// Columns of a table, by their names.
struct Header {
    explicit Header(std::string_view line) {
        const auto names = columns_of(line);
        count = names.size();
        const auto place = [&](std::string_view name) {
            return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
        };
        text = place("text");
        label = place("category");
        if (label == count) label = place("label");
        if (text == count || label == count) {
            throw InputError(
                "the first line names the columns, 'text' and 'category' or 'label' among them, "
                "with tabs between them");
        }
    }

    std::size_t count = 0;
    std::size_t text = 0;
    std::size_t label = 0;
};

/// A file of the data by the first of its names that is there.
fs::path existing(const fs::path& folder, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (fs::is_regular_file(folder / name)) return folder / name;
    }
    throw InputError(fmt::format("{} has no {}", folder.string(), names.front()));
}

Labels given_labels(const fs::path& file) {
    std::vector<std::string> names;
    for_each_line(file.string(), platform::read_text(file, kMaxLabels * (kMaxLabelBytes + 2)),
                  [&](std::string_view line, std::size_t) {
                      if (!line.empty()) names.emplace_back(line);
                  });
    try {
        return Labels{names};
    } catch (const InputError& error) {
        throw InputError(fmt::format("{}: {}", file.string(), error.what()));
    }
}

}  // namespace

Labels::Labels(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (numbers_.contains(name)) {
            throw InputError(fmt::format("the label {} is there twice", shown(name)));
        }
        add(name);
    }
    is_closed_ = true;
}

std::uint16_t Labels::add(std::string_view name) {
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    if (name.empty() || name.size() > kMaxLabelBytes) {
        throw InputError(fmt::format("a label has 1 to {} bytes", kMaxLabelBytes));
    }
    if (is_closed_) throw InputError(fmt::format("labels.txt has no label {}", shown(name)));
    if (names_.size() == kMaxLabels) {
        throw InputError(fmt::format("a task has at most {} labels", kMaxLabels));
    }
    const auto number = static_cast<std::uint16_t>(names_.size());
    names_.emplace_back(name);
    numbers_.emplace(name, number);
    return number;
}

std::vector<Example> parse_tagged(const std::string& document, std::string_view text,
                                  Labels& labels) {
    std::vector<Example> examples;
    Example sentence;
    const auto finish = [&] {
        if (!sentence.words.empty()) examples.push_back(std::exchange(sentence, {}));
    };
    for_each_line(document, text, [&](std::string_view line, std::size_t) {
        if (std::ranges::all_of(line, is_blank) || line.starts_with(kDocumentStart)) {
            return finish();
        }
        const auto [word, tag] = outer_columns(line);
        if (word.empty() || tag.empty()) {
            throw InputError("a line has a word, a tab and a tag");
        }
        require_tag(tag);
        if (sentence.words.size() == kMaxWords) {
            throw InputError(fmt::format("a sentence has at most {} words", kMaxWords));
        }
        sentence.labels.push_back(labels.add(tag));
        sentence.words.emplace_back(word);
    });
    finish();
    return examples;
}

std::vector<Example> parse_classified(const std::string& document, std::string_view text,
                                      Labels& labels) {
    std::vector<Example> examples;
    std::optional<Header> header;
    for_each_line(document, text, [&](std::string_view line, std::size_t) {
        if (!header) {
            header.emplace(line);
            return;
        }
        if (line.empty()) return;
        const auto columns = columns_of(line);
        if (columns.size() != header->count) {
            throw InputError(fmt::format("the line has {} columns, and the first line {}",
                                         columns.size(), header->count));
        }
        const std::uint16_t label = labels.add(columns[header->label]);
        examples.push_back({.words = {std::string{columns[header->text]}}, .labels = {label}});
    });
    return examples;
}

LabelledData read_labelled(const fs::path& folder, Task task) {
    if (!fs::is_directory(folder)) {
        throw InputError(fmt::format("there is no folder {}", folder.string()));
    }
    LabelledData data;
    const bool has_names = task == Task::kNames;
    const std::string end = has_names ? ".iob" : ".tsv";
    const fs::path labels = folder / "labels.txt";
    if (fs::is_regular_file(labels)) data.labels = given_labels(labels);
    const auto read = [&](const fs::path& file) {
        const std::string text = platform::read_text(file, kMaxLabelledBytes);
        auto examples = has_names ? parse_tagged(file.string(), text, data.labels)
                                  : parse_classified(file.string(), text, data.labels);
        if (examples.empty()) {
            throw InputError(fmt::format("{} has no {}", file.string(),
                                         has_names ? "sentence" : "text with a class"));
        }
        return examples;
    };
    data.train = read(existing(folder, {"train" + end}));
    data.valid = read(existing(folder, {"valid" + end, "dev" + end}));
    data.test = read(existing(folder, {"test" + end}));
    if (data.labels.names().size() < 2) {
        throw InputError(
            fmt::format("{} has one label only: there is nothing to learn", folder.string()));
    }
    return data;
}

}  // namespace dedloc::finetune
