// Each file becomes tokens, which a reader divides into declarations and uses: a declaration is a
// name before a parenthesis that follows a type, outside of function bodies, parameters and
// initialisers. The graph of includes then decides which uses can mean which declaration.
#include "tests/tidy_callers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace dedloc::tidy {
namespace {

/// Names that need no caller in the product.
constexpr std::array<std::string_view, 4> kExcused{
    "deallocate",    // of an allocator: containers call it
    "add_gradient",  // of a network: training::DrawingModel, a template, calls it
    // The memory that a reduction holds for others: its bound shows only from outside, in tests.
    "slice_bytes",
    "spent_bytes",
};

/// Whether a use in this file counts.
bool is_product(const std::string& path) {
    constexpr std::array<std::string_view, 5> kFolders{"peer/", "kernels/", "boinc_app/",
                                                       "project_server/", "validators/"};
    return (is_code(path) || path.ends_with(".cuh")) &&
           std::ranges::any_of(kFolders, [&](auto folder) { return path.starts_with(folder); });
}

/// Whether the names that the header declares need a user. Tests use the whole simulator.
bool is_checked(const std::string& path) {
    return (path.ends_with(".hpp") || path.ends_with(".cuh")) &&
           !path.starts_with("peer/simulation/");
}

// --- tokens ------------------------------------------------------------------

struct Token {
    std::string_view text;  ///< a name, a number or one character
    std::size_t line;
};

bool is_name_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_name(std::string_view token) {
    return is_name_character(token[0]) && std::isdigit(static_cast<unsigned char>(token[0])) == 0;
}

/// Divides a text without comments and literals into tokens, which are views into it.
struct Tokens {
    explicit Tokens(std::string_view text);

    std::vector<Token> code;
    std::set<std::string_view> directives;  ///< names in lines of the preprocessor
};

Tokens::Tokens(std::string_view text) {
    std::size_t line = 1;
    bool begins_line = true;
    bool is_directive = false;
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (c == '\n') {
            is_directive = is_directive && i > 0 && text[i - 1] == '\\';
            begins_line = true;
            ++line;
        }
        if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\\') {
            ++i;
            continue;
        }
        is_directive = is_directive || (begins_line && c == '#');
        begins_line = false;
        std::size_t end = i + 1;
        if (is_name_character(c)) {
            while (end < text.size() && (is_name_character(text[end]) || text[end] == '\'')) ++end;
        }
        const std::string_view token = text.substr(i, end - i);
        if (!is_directive) code.push_back({token, line});
        if (is_directive && is_name(token)) directives.insert(token);
        if (is_directive && token == "include") end = std::min(text.find('\n', end), text.size());
        i = end;
    }
}

// --- declarations and uses ---------------------------------------------------

/// The names of one file.
struct FileNames {
    std::map<std::string_view, std::size_t> functions;  ///< that need a caller, with their lines
    std::map<std::string_view, std::size_t> classes;    ///< that are defined here
    std::set<std::string_view> declared;                ///< functions and classes
    std::set<std::string_view> used;  ///< of a class: outside of its own body and members
};

class Reader {
  public:
    /// `members_of`: the classes whose members the file defines.
    Reader(const Tokens& tokens, const std::set<std::string_view>& members_of)
        : tokens_(tokens.code), members_of_(members_of) {
        names_.used = tokens.directives;
    }

    FileNames read() {
        for (; at_ < tokens_.size(); ++at_) {
            const Token& token = tokens_[at_];
            if (is_name(token.text)) {
                read_name(token);
            } else {
                read_sign(token.text[0]);
            }
        }
        return std::move(names_);
    }

  private:
    /// What an opening brace interrupts.
    struct Outer {
        bool is_code;
        std::size_t parentheses;
        bool has_value;
        std::string_view opened;  ///< the class whose body or member it begins; empty: none
    };

    std::string_view text(std::size_t at) const {
        return at < tokens_.size() ? tokens_[at].text : ";";
    }

    void read_name(const Token& token) {
        const bool is_qualifier = text(at_ + 1) == ":" && text(at_ + 2) == ":";
        if (is_qualifier && !is_code_ && parentheses_ == 0) qualifier_ = token.text;
        if (token.text == "operator") {
            while (text(at_ + 1) != "(" && text(at_ + 1) != ";") ++at_;
        } else if (token.text == "template" && text(at_ + 1) == "<") {
            skip_template_parameters();
        } else if (text(at_ + 1) == "(" && is_declared()) {
            declare(token);
        } else if (!is_own()) {
            names_.used.insert(token.text);
        }
    }

    /// Whether the name at at_ declares a class, or is that of a class within its body, one of its
    /// members or the declaration of one.
    bool is_own() const {
        const std::string_view before = at_ > 0 ? text(at_ - 1) : "";
        return before == "class" || before == "struct" || before == "union" ||
               (!is_code_ && members_of_.contains(text(at_))) ||
               std::ranges::find(outer_, text(at_), &Outer::opened) != outer_.end();
    }

    void read_sign(char sign) {
        if (sign == '(') {
            ++parentheses_;
        } else if (sign == ')') {
            if (parentheses_ > 0) --parentheses_;
        } else if (sign == '=') {
            has_value_ = has_value_ || parentheses_ == 0;
        } else if (sign == ';' && parentheses_ == 0) {
            begin_statement();
            has_value_ = false;
        } else if (sign == '{') {
            const bool is_code = !holds_declarations();
            const bool is_member = is_code && !is_code_;
            const std::string_view opened = is_member ? qualifier_ : is_code ? "" : define_class();
            outer_.push_back({is_code_, parentheses_, has_value_, opened});
            is_code_ = is_code;
            parentheses_ = 0;
            has_value_ = false;
            begin_statement();
        } else if (sign == '}' && !outer_.empty()) {
            const bool was_code = is_code_;
            is_code_ = outer_.back().is_code;
            parentheses_ = outer_.back().parentheses;
            has_value_ = was_code && outer_.back().has_value;
            outer_.pop_back();
            begin_statement();
        }
    }

    void begin_statement() {
        begin_ = at_ + 1;
        qualifier_ = {};
    }

    /// Whether the brace at at_ opens a namespace or a class.
    bool holds_declarations() const {
        if (is_code_ || parentheses_ > 0 || has_value_) return false;
        for (std::size_t i = begin_; i < at_; ++i) {
            if (text(i) == "enum") return false;
            if (text(i) == "namespace" || text(i) == "class" || text(i) == "struct" ||
                text(i) == "union") {
                return true;
            }
            if (text(i) == "(") return false;
        }
        return at_ == begin_ + 1 && text(begin_) == "extern";
    }

    /// The class whose body begins at at_; empty if it is a namespace.
    std::string_view define_class() {
        std::size_t i = begin_;
        while (i < at_ && text(i) != "class" && text(i) != "struct" && text(i) != "union") ++i;
        for (; i < at_; ++i) {
            const std::string_view name = text(i);
            if (std::isupper(static_cast<unsigned char>(name[0])) == 0) continue;
            names_.declared.insert(name);
            names_.classes.emplace(name, tokens_[i].line);
            return name;
        }
        return {};
    }

    void skip_template_parameters() {
        std::size_t depth = 0;
        for (++at_; at_ < tokens_.size(); ++at_) {
            if (text(at_) == "<") ++depth;
            if (text(at_) == ">" && --depth == 0) break;
            if (is_name(text(at_))) names_.used.insert(text(at_));
        }
        begin_ = at_ + 1;
    }

    /// Whether the name at at_, before a parenthesis, is that of a function that is declared here.
    bool is_declared() const {
        constexpr std::array<std::string_view, 6> kNoFunctions{
            "alignas", "decltype", "noexcept", "requires", "sizeof", "static_assert"};
        const std::string_view name = text(at_);
        const bool is_function = std::islower(static_cast<unsigned char>(name[0])) != 0 &&
                                 std::ranges::find(kNoFunctions, name) == kNoFunctions.end();
        if (is_code_ || parentheses_ > 0 || has_value_ || !is_function) return false;
        std::size_t i = at_;
        while (i >= begin_ + 3 && text(i - 1) == ":" && text(i - 2) == ":") {
            i -= 3;
            if (text(i) != ">") continue;
            for (std::size_t depth = 1; depth > 0 && i > begin_;) {
                --i;
                depth += text(i) == ">" ? 1u : 0u;
                depth -= text(i) == "<" ? 1u : 0u;
            }
            if (i > begin_) --i;
        }
        if (i <= begin_) return false;
        const std::string_view before = text(i - 1);
        return is_name(before) || before == ">" || before == "&" || before == "*" || before == "]";
    }

    void declare(const Token& token) {
        names_.declared.insert(token.text);
        std::size_t i = at_ + 1;
        for (std::size_t depth = 0; i < tokens_.size(); ++i) {
            depth += text(i) == "(" ? 1u : 0u;
            if (text(i) == ")" && --depth == 0) break;
        }
        bool is_excused = text(begin_) == "friend";
        for (; i < tokens_.size() && text(i) != ";" && text(i) != "{"; ++i) {
            is_excused =
                is_excused || text(i) == "override" || text(i) == "final" || text(i) == "delete";
        }
        if (!is_excused) names_.functions.emplace(token.text, token.line);
    }

    const std::vector<Token>& tokens_;
    const std::set<std::string_view>& members_of_;
    FileNames names_;
    std::size_t at_ = 0;
    std::size_t begin_ = 0;       ///< where the statement begins
    std::string_view qualifier_;  ///< last name before a "::" in the statement
    std::size_t parentheses_ = 0;
    bool is_code_ = false;    ///< within a function body or braces of an initialiser
    bool has_value_ = false;  ///< an equals sign came before
    std::vector<Outer> outer_;
};

// --- the graph of includes ---------------------------------------------------

/// The paths in quotes that a text includes.
std::vector<std::string> included_by(const std::string& text) {
    std::vector<std::string> paths;
    for (const std::string& line : lines_of(text)) {
        const auto first = line.find_first_not_of(" \t");
        if (first == std::string::npos || line[first] != '#') continue;
        const auto open = line.find('"');
        const auto close = line.find('"', open + 1);
        const bool is_include = line.find("include") < open;
        if (is_include && close != std::string::npos) {
            paths.push_back(line.substr(open + 1, close - open - 1));
        }
    }
    return paths;
}

/// A file of the product as the rule needs it.
struct ReadFile {
    const SourceFile* file;
    std::string code;  ///< names point into it
    FileNames names;
    std::set<std::size_t> seen;  ///< itself, and all that it includes, directly or not
};

std::vector<ReadFile> read_product(const std::vector<SourceFile>& files) {
    std::vector<ReadFile> all;
    std::map<std::string, std::size_t> index_of;
    for (const SourceFile& file : files) {
        if (!is_product(file.path)) continue;
        index_of.emplace(file.path, all.size());
        all.push_back({&file, code_only(file.text), {}, {}});
    }
    // Headers first: sources define the members of their classes.
    std::vector<std::vector<std::size_t>> included(all.size());
    for (const bool is_header : {true, false}) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::string& path = all[i].file->path;
            if (path.ends_with(".hpp") != is_header) continue;
            std::set<std::string_view> members_of;
            const auto header = index_of.find(path.substr(0, path.rfind('.')) + ".hpp");
            if (!is_header && header != index_of.end()) {
                for (const auto& [name, line] : all[header->second].names.classes) {
                    members_of.insert(name);
                }
            }
            const Tokens tokens{all[i].code};
            all[i].names = Reader{tokens, members_of}.read();
            for (const std::string& other : included_by(all[i].file->text)) {
                const auto found = index_of.find(other);
                if (found != index_of.end()) included[i].push_back(found->second);
            }
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::vector<std::size_t> open{i};
        all[i].seen.insert(i);
        while (!open.empty()) {
            const std::size_t next = open.back();
            open.pop_back();
            for (const std::size_t header : included[next]) {
                if (all[i].seen.insert(header).second) open.push_back(header);
            }
        }
    }
    return all;
}

using Users = std::map<std::string_view, std::vector<std::size_t>>;

/// Whether a file uses this name of the header.
bool is_used(const std::vector<ReadFile>& all, const Users& users, const ReadFile& header,
             std::string_view name) {
    const auto found = users.find(name);
    if (found == users.end()) return false;
    const auto declares = [&](std::size_t i) {
        return header.seen.contains(i) && all[i].names.declared.contains(name);
    };
    return std::ranges::any_of(found->second, [&](std::size_t user) {
        return header.seen.contains(user) || std::ranges::any_of(all[user].seen, declares);
    });
}

}  // namespace

Findings check_callers(const std::vector<SourceFile>& files) {
    const std::vector<ReadFile> all = read_product(files);
    Users users;
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const std::string_view name : all[i].names.used) users[name].push_back(i);
    }
    Findings findings;
    for (const ReadFile& header : all) {
        if (!is_checked(header.file->path)) continue;
        std::map<std::string_view, std::size_t> names = header.names.functions;
        names.insert(header.names.classes.begin(), header.names.classes.end());
        for (const auto& [name, line] : names) {
            const bool is_excused = std::ranges::find(kExcused, name) != kExcused.end();
            if (is_excused || is_used(all, users, header, name)) continue;
            findings.push_back({header.file->path, line,
                                std::string{name} + " is used by no source of the product"});
        }
    }
    return findings;
}

}  // namespace dedloc::tidy
