#include "tests/tidy_rules.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tidy_layers.hpp"

namespace dedloc::tidy {
namespace {

constexpr std::size_t kMaxColumns = 100;
constexpr std::size_t kMaxFileLines = 500;
constexpr std::size_t kMaxFunctionLines = 70;
constexpr std::size_t kMaxRootCmakeLines = 150;
constexpr std::size_t kMaxCmakeLines = 40;
constexpr std::ptrdiff_t kMaxReadmeWords = 1'300;

bool is_script(const SourceFile& file) {
    return file.text.starts_with("#!");
}

bool is_cmake(std::string_view path) {
    return path.ends_with("CMakeLists.txt");
}

std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// Characters, not bytes: continuation bytes of UTF-8 do not count.
std::size_t columns(std::string_view line) {
    return static_cast<std::size_t>(
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::size_t line_at(std::string_view text, std::size_t position) {
    return 1 + static_cast<std::size_t>(std::count(
                   text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

bool starts_with_any(std::string_view text, const std::vector<std::string>& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const std::string& prefix) { return text.starts_with(prefix); });
}

bool is_standard_header(std::string_view name) {
    return name.find('/') == std::string_view::npos && name.find('.') == std::string_view::npos;
}

}  // namespace

bool is_code(std::string_view path) {
    return path.ends_with(".hpp") || path.ends_with(".cpp") || path.ends_with(".cu");
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

std::vector<SourceFile> read_tree(const std::filesystem::path& root) {
    std::vector<SourceFile> files;
    auto entry = std::filesystem::recursive_directory_iterator{root};
    for (; entry != std::filesystem::recursive_directory_iterator{}; ++entry) {
        const std::string name = entry->path().filename().string();
        if (entry->is_directory()) {
            const bool hidden = name.starts_with('.') && name != ".ci";
            const bool built = entry.depth() == 0 && name.starts_with("build");
            if (hidden || built) entry.disable_recursion_pending();
            continue;
        }
        // A linked work tree has a file of this name, which is not tracked.
        if (!entry->is_regular_file() || name == ".git") continue;
        std::ifstream stream{entry->path(), std::ios::binary};
        std::string text{std::istreambuf_iterator<char>{stream}, {}};
        if (text.find('\0') != std::string::npos) continue;
        files.push_back(
            {std::filesystem::relative(entry->path(), root).generic_string(), std::move(text)});
    }
    std::sort(files.begin(), files.end(),
              [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
    return files;
}

namespace {

/// Where the comment or literal that starts at `from` ends (one past); `from` if none starts there.
std::size_t end_of_opaque(std::string_view text, std::size_t from) {
    const auto past = [&](std::string_view mark, std::size_t search_from) {
        const auto found = text.find(mark, search_from);
        return found == std::string_view::npos ? text.size() : found + mark.size();
    };
    const std::string_view rest = text.substr(from);
    if (rest.starts_with("//")) return std::min(text.size(), past("\n", from) - 1);
    if (rest.starts_with("/*")) return past("*/", from + 2);
    if (rest.starts_with("R\"")) {
        const auto open = text.find('(', from);
        if (open == std::string_view::npos) return text.size();
        return past(")" + std::string{text.substr(from + 2, open - from - 2)} + "\"", open);
    }
    const char quote = text[from];
    const bool digit_separator =
        quote == '\'' && from > 0 && std::isxdigit(static_cast<unsigned char>(text[from - 1])) != 0;
    if ((quote != '"' && quote != '\'') || digit_separator) return from;
    for (std::size_t i = from + 1; i < text.size(); ++i) {
        if (text[i] == '\\') {
            ++i;
        } else if (text[i] == quote || text[i] == '\n') {
            return i + 1;
        }
    }
    return text.size();
}

}  // namespace

std::string code_only(std::string_view text) {
    std::string code{text};
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t end = end_of_opaque(text, i);
        if (end == i) {
            ++i;
            continue;
        }
        for (; i < end; ++i) {
            if (text[i] != '\n') code[i] = ' ';
        }
    }
    return code;
}

Findings check_layers(const SourceFile& file) {
    Findings findings;
    const Layer* layer = is_code(file.path) ? layer_of(file.path) : nullptr;
    if (layer == nullptr) return findings;
    static const std::regex include{R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])"};
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::smatch match;
        if (!std::regex_search(lines[i], match, include)) continue;
        const std::string name = match[1];
        const bool may = is_standard_header(name) ? !starts_with_any(name, layer->no_standard)
                                                  : starts_with_any(name, layer->may_include);
        if (!may) {
            findings.push_back({file.path, i + 1, layer->folder + " may not include " + name});
        }
    }
    const std::string code = code_only(file.text);
    for (const Ban& ban : layer->bans) {
        const std::regex pattern{ban.pattern};
        for (std::sregex_iterator it{code.begin(), code.end(), pattern}, end; it != end; ++it) {
            findings.push_back({file.path, line_at(code, static_cast<std::size_t>(it->position())),
                                layer->folder + " may not use " + it->str() + ": " + ban.why});
        }
    }
    return findings;
}

namespace {

/// Follows the braces of a file and measures what looks like a function: a brace after a closing
/// parenthesis, outside of other functions and not after class, namespace and their like.
class FunctionMeter {
  public:
    explicit FunctionMeter(std::string_view code) : code_(code) {}

    /// First line and number of lines of every function over the limit.
    std::vector<std::pair<std::size_t, std::size_t>> too_long() {
        for (at_ = 0; at_ < code_.size(); ++at_) {
            const char c = code_[at_];
            if (c == '\n') ++line_;
            if (c == '{') {
                open();
            } else if (c == '}') {
                close();
            } else if (depth_in_function_ == 0) {
                read_head(c);
            }
        }
        return std::move(too_long_);
    }

  private:
    void read_head(char c) {
        if (c == ';') return clear_head();
        if (head_.empty()) {
            if (std::isspace(static_cast<unsigned char>(c)) != 0) return;
            head_line_ = line_;
        }
        head_ += c;
    }
    void clear_head() { head_.clear(); }

    void open() {
        if (depth_in_function_ > 0) {
            ++depth_in_function_;
            return;
        }
        static const std::regex other{
            R"(^(template\s*<[^{]*>\s*)?(inline\s+)?(namespace|class|struct|union|enum|extern)\b)"};
        const bool is_function =
            head_.find(')') != std::string::npos && !std::regex_search(head_, other);
        if (is_function) {
            depth_in_function_ = 1;
        } else {
            clear_head();
        }
    }

    void close() {
        if (depth_in_function_ == 0) return clear_head();
        if (--depth_in_function_ > 0) return;
        // `: a_{1}, b_{2} {` – a member initialiser ended, the function goes on.
        const auto next = code_.find_first_not_of(" \n", at_ + 1);
        if (next != std::string_view::npos && (code_[next] == ',' || code_[next] == '{')) return;
        const std::size_t length = line_ - head_line_ + 1;
        if (length > kMaxFunctionLines) too_long_.emplace_back(head_line_, length);
        clear_head();
    }

    std::string_view code_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::string head_;  ///< what was read since the last `;` or brace
    std::size_t head_line_ = 1;
    std::size_t depth_in_function_ = 0;
    std::vector<std::pair<std::size_t, std::size_t>> too_long_;
};

/// Preprocessor lines blanked, with what they continue on: their braces need not balance.
std::string without_directives(std::string code) {
    bool blank = false;
    for (std::size_t from = 0; from < code.size();) {
        const std::size_t end = std::min(code.find('\n', from), code.size());
        const std::size_t first = std::min(code.find_first_not_of(" \t", from), end);
        const bool directive = blank || (first < end && code[first] == '#');
        blank = directive && end > from && code[end - 1] == '\\';
        if (directive)
            std::fill_n(code.begin() + static_cast<std::ptrdiff_t>(from), end - from, ' ');
        from = end + 1;
    }
    return code;
}

/// What the first #include of a text names, with its quotes or brackets.
std::string first_include(const std::string& text) {
    std::smatch match;
    static const std::regex include{"#include\\s+(\\S+)"};
    return std::regex_search(text, match, include) ? match[1].str() : "";
}

}  // namespace

namespace {

/// A name without the slash at its end, which both sides may leave out.
std::string plain(std::string name) {
    if (name.ends_with('/')) name.pop_back();
    return name;
}

/// The sentence that begins with `words`, up to a full stop or a semicolon outside of code.
std::optional<std::string> sentence_of(const std::string& text, const std::string& words) {
    const auto begin = text.find(words);
    if (begin == std::string::npos) return std::nullopt;
    bool is_code = false;
    auto end = begin;
    for (; end < text.size(); ++end) {
        if (text[end] == '`') is_code = !is_code;
        if (!is_code && (text[end] == '.' || text[end] == ';')) break;
    }
    std::string sentence = text.substr(begin, end - begin);
    std::replace(sentence.begin(), sentence.end(), '\n', ' ');
    return sentence;
}

std::set<std::string> names_in(const std::string& sentence) {
    static const std::regex quoted{"`([^`]+)`"};
    std::set<std::string> names;
    for (std::sregex_iterator found{sentence.begin(), sentence.end(), quoted}, end; found != end;
         ++found) {
        names.insert(plain((*found)[1]));
    }
    return names;
}

/// What a sentence for this row must name.
std::set<std::string> names_of(const Layer& row) {
    const std::string server = "project_server/";
    const auto& system = system_headers();
    std::set<std::string> names;
    for (std::string name : row.may_include) {
        const bool is_system = std::find(system.begin(), system.end(), name) != system.end();
        if (is_system || name == "fmt/" || folder_of(name) + "/" == row.folder) continue;
        if (row.folder.starts_with(server) && name.starts_with(server))
            name.erase(0, server.size());
        names.insert(plain(name));
    }
    return names;
}

}  // namespace

Findings check_may_include(const SourceFile& file) {
    const std::string folder = folder_of(file.path) + "/";
    const Layer* const row = layer_of(folder);
    if (!file.path.ends_with("README.md") || row == nullptr || row->folder != folder ||
        starts_with_any("", row->may_include)) {
        return {};
    }
    const auto sentence = sentence_of(file.text, "May include ");
    if (!sentence) return {{file.path, 0, "has no sentence that begins with \"May include\""}};
    Findings findings;
    const std::set<std::string> said = names_in(*sentence);
    const std::set<std::string> allowed = names_of(*row);
    const std::size_t line = line_at(file.text, file.text.find("May include "));
    for (const std::string& name : allowed) {
        if (!said.contains(name)) findings.push_back({file.path, line, "does not name " + name});
    }
    for (const std::string& name : said) {
        if (!allowed.contains(name)) {
            findings.push_back({file.path, line, "names " + name + ", which its row does not"});
        }
    }
    const bool has_system = std::find(row->may_include.begin(), row->may_include.end(),
                                      system_headers().front()) != row->may_include.end();
    if ((sentence->find("system headers") != std::string::npos) != has_system) {
        findings.push_back({file.path, line, "and its row differ in the system headers"});
    }
    return findings;
}

Findings check_sql(const std::vector<SourceFile>& files) {
    static const std::regex statement{
        "\"(select [a-z0-9(*{]|insert (into|ignore)|update [a-z_{]+ (set|[a-z]+ (set|join))|"
        "delete from|(create|alter|drop) table|replace into)"};
    std::set<std::string> named;
    std::set<std::string> used;
    Findings findings;
    for (const SourceFile& file : files) {
        if (file.path != "project_server/database/README.md") continue;
        if (const auto said = sentence_of(file.text, "SQL stands in ")) named = names_in(*said);
    }
    for (const SourceFile& file : files) {
        const bool is_server = file.path.starts_with("project_server/");
        if (!is_code(file.path) || (!is_server && !file.path.starts_with("validators/"))) continue;
        std::smatch match;
        if (!std::regex_search(file.text, match, statement)) continue;
        std::string folder = folder_of(file.path) + '/';
        if (is_server) folder.erase(0, std::string{"project_server/"}.size());
        folder = plain(folder);
        used.insert(folder);
        if (named.contains(folder)) continue;
        findings.push_back(
            {file.path, line_at(file.text, static_cast<std::size_t>(match.position())),
             "has SQL, and project_server/database/README.md does not name its folder"});
    }
    for (const std::string& folder : named) {
        if (used.contains(folder)) continue;
        findings.push_back(
            {"project_server/database/README.md", 0, "names " + folder + ", which has no SQL"});
    }
    return findings;
}

Findings check_limits(const SourceFile& file) {
    Findings findings;
    if (file.path.ends_with("README.md")) {
        std::istringstream text{file.text};
        using Words = std::istream_iterator<std::string>;
        const auto words = std::distance(Words{text}, Words{});
        if (words > kMaxReadmeWords) {
            findings.push_back({file.path, 0,
                                "has " + std::to_string(words) + " words, the limit is " +
                                    std::to_string(kMaxReadmeWords)});
        }
        return findings;
    }
    const bool code = is_code(file.path);
    const bool cmake = is_cmake(file.path);
    if (!code && !cmake && !is_script(file) && !file.path.ends_with(".fbs")) return findings;
    const auto lines = lines_of(file.text);
    const auto max_lines = !cmake                          ? kMaxFileLines
                           : file.path == "CMakeLists.txt" ? kMaxRootCmakeLines
                                                           : kMaxCmakeLines;
    if (lines.size() > max_lines) {
        findings.push_back({file.path, 0,
                            "has " + std::to_string(lines.size()) + " lines, the limit is " +
                                std::to_string(max_lines)});
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::size_t width = columns(lines[i]);
        if (width <= kMaxColumns) continue;
        findings.push_back({file.path, i + 1,
                            "has " + std::to_string(width) + " columns, the limit is " +
                                std::to_string(kMaxColumns)});
    }
    if (!code) return findings;
    const std::string plain = without_directives(code_only(file.text));
    for (const auto& [line, length] : FunctionMeter{plain}.too_long()) {
        findings.push_back({file.path, line,
                            "a function of " + std::to_string(length) + " lines, the limit is " +
                                std::to_string(kMaxFunctionLines)});
    }
    return findings;
}

Findings check_habits(const SourceFile& file) {
    Findings findings;
    const auto lines = lines_of(file.text);
    const bool code = is_code(file.path);
    if (file.path.ends_with(".hpp") && file.text.find("#pragma once\n") == std::string::npos) {
        findings.push_back({file.path, 0, "lacks #pragma once"});
    }
    const auto bare = code ? lines_of(code_only(file.text)) : lines;
    for (const Habit& habit : habits()) {
        if (!std::regex_search(file.path, std::regex{habit.files})) continue;
        const std::regex pattern{habit.pattern};
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (std::regex_search(habit.in_literals ? lines[i] : bare[i], pattern)) {
                findings.push_back({file.path, i + 1, habit.sentence});
            }
        }
    }
    return findings;
}

Findings check_tree(const std::vector<SourceFile>& files) {
    Findings findings;
    std::set<std::string> paths;
    std::set<std::string> folders;
    for (const SourceFile& file : files) {
        paths.insert(file.path);
        const bool is_source = is_code(file.path) || is_cmake(file.path) || is_script(file);
        if (is_source) folders.insert(folder_of(file.path));
    }
    for (const std::string& folder : folders) {
        if (folder.starts_with(".")) continue;
        // A folder of tests mirrors a folder of sources, whose README.md is enough.
        if (folder.starts_with("tests/") && folders.contains(folder.substr(6))) continue;
        if (!paths.contains(folder.empty() ? "README.md" : folder + "/README.md")) {
            findings.push_back({folder, 0, "is a folder without README.md"});
        }
    }
    const auto is_named = [&](const SourceFile& test) {
        for (std::string folder = folder_of(test.path);; folder = folder_of(folder)) {
            const auto list = std::find_if(files.begin(), files.end(), [&](const SourceFile& f) {
                return f.path == (folder.empty() ? "CMakeLists.txt" : folder + "/CMakeLists.txt");
            });
            const std::string name = test.path.substr(folder.empty() ? 0 : folder.size() + 1);
            if (list != files.end() && list->text.find(name) != std::string::npos) return true;
            if (folder.empty()) return false;
        }
    };
    for (const SourceFile& file : files) {
        if (file.path.ends_with("_test.cpp") && !is_named(file)) {
            findings.push_back({file.path, 0, "is in no CMakeLists.txt: it never runs"});
        }
        if (!file.path.ends_with(".cpp")) continue;
        const std::string own = file.path.substr(0, file.path.size() - 4) + ".hpp";
        if (paths.contains(own) && first_include(file.text) != '"' + own + '"') {
            findings.push_back({file.path, 0, "includes something before its own header"});
        }
    }
    return findings;
}

std::string describe(const Findings& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        text += finding.path;
        if (finding.line > 0) text += ":" + std::to_string(finding.line);
        text += ": " + finding.sentence + "\n";
    }
    return text;
}

}  // namespace dedloc::tidy
