#include "tests/tidy_prose.hpp"

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace dedloc::tidy {
namespace {

struct Construction {
    std::regex pattern;
    std::string advice;
};

const std::vector<Construction>& constructions() {
    static const std::vector<Construction> all{
        {std::regex{R"(\b([Nn]o|[Ss]ome|[Aa]ny|[Ee]very)body\b|\b[Ww]ho(ever|m)\b)"},
         "names no one in particular: say peer, voter, client, ..."},
        {std::regex{R"(\b(for|of|to|from|by|than|with|as) who\b)"},
         "has a headless relative clause: say which peer"},
        {std::regex{R"((^|[.;:] )Who (?!is who\b)[a-z]+)"},
         "has a headless relative clause: say which peer"},
        {std::regex{R"(\b([Pp]atience|[Rr]oom)\b)"},
         "has a term of its own: timeout, space, buffer"},
    };
    return all;
}

/// What a comment must not begin with: it reads as half a sentence.
const std::regex& bare_preposition() {
    static const std::regex pattern{R"(^ *//[/<]* (Of|of|By|by|with|from|beside) (?!\d))"};
    return pattern;
}

bool is_header(std::string_view path) {
    return path.ends_with(".hpp");
}
std::string trimmed(std::string line) {
    line.erase(0, line.find_first_not_of(' '));
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
}

/// The comment at the end of a line of code, from its slashes on; empty if it has none.
std::string comment_of(const std::string& line, const std::string& code) {
    for (std::size_t at = line.find("//"); at != std::string::npos; at = line.find("//", at + 1)) {
        const bool is_blank = code.find_first_not_of(' ', at) == std::string::npos;
        if (is_blank && (at == 0 || line[at - 1] == ' ')) return line.substr(at);
    }
    return "";
}

/// String literals of the line that are sentences: they have a space.
std::string messages_of(const std::string& line) {
    static const std::regex literal{R"("(?:[^"\\]|\\.)*")"};
    std::string all;
    for (std::sregex_iterator found{line.begin(), line.end(), literal}, end; found != end;
         ++found) {
        if (found->str().find(' ') != std::string::npos) all += found->str() + " ";
    }
    return all;
}

void check_line(const std::string& path, std::size_t number, const std::string& text,
                Findings& findings) {
    for (const Construction& construction : constructions()) {
        if (std::regex_search(text, construction.pattern)) {
            findings.push_back({path, number, construction.advice + ": " + trimmed(text)});
        }
    }
}

}  // namespace

Findings check_prose(const SourceFile& file) {
    Findings findings;
    if (file.path.starts_with("tests/tidy_") || file.path.find("/captured/") != std::string::npos) {
        return findings;
    }
    const std::vector<std::string> lines = lines_of(file.text);
    if (file.path.ends_with(".md")) {
        for (std::size_t i = 0; i < lines.size(); ++i) {
            check_line(file.path, i + 1, lines[i], findings);
        }
    }
    if (!is_code(file.path)) return findings;
    const std::vector<std::string> code = lines_of(code_only(file.text));
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string comment = comment_of(lines[i], code[i]);
        if (!comment.empty()) {
            check_line(file.path, i + 1, comment, findings);
            const bool continues = i > 0 && trimmed(code[i]).empty() &&
                                   trimmed(code[i - 1]).empty() &&
                                   !comment_of(lines[i - 1], code[i - 1]).empty();
            if (!continues && std::regex_search(comment, bare_preposition())) {
                findings.push_back(
                    {file.path, i + 1, "begins with a bare preposition: " + comment});
            }
        }
        const std::string rest = lines[i].substr(0, lines[i].size() - comment.size());
        check_line(file.path, i + 1, messages_of(rest), findings);
    }
    return findings;
}

Findings check_documented(const SourceFile& file) {
    Findings findings;
    if (!is_header(file.path) || file.path.starts_with("tests/")) return findings;
    static const std::regex excused{
        R"(^(#|\}|\)|namespace|using|public:|private:|protected:|friend|template|extern)|)"
        R"(= (delete|default);|\boverride\b|\boperator\b|~|^(explicit )?[A-Z]\w*\()"};
    static const std::regex declaration{R"(^[A-Za-z_\[].*[;{,]$|^k[A-Z]\w*( = .*)?,?$)"};
    const std::vector<std::string> lines = lines_of(file.text);
    const std::vector<std::string> code = lines_of(code_only(file.text));
    bool is_explained = false;  // the lines since the last gap
    bool is_private = false;
    bool continues = false;  // the declaration above has not ended
    int parentheses = 0;
    std::vector<std::size_t> bodies;  // indentation of function bodies, which are skipped
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string text = trimmed(code[i]);
        const std::size_t indentation = code[i].find_first_not_of(' ');
        const bool has_comment = !comment_of(lines[i], code[i]).empty();
        if (text.empty()) {
            is_explained = has_comment;
            continue;
        }
        if (!bodies.empty()) {
            if (indentation == bodies.back() && text.starts_with("}")) bodies.pop_back();
            continue;
        }
        if (text == "private:") is_private = true;
        if (text == "public:" || (text.starts_with("};") && indentation == 0)) is_private = false;
        const bool begins = !continues && parentheses == 0;
        const bool is_type = std::regex_search(text, std::regex{R"(^(struct|class|enum|union)\b)"});
        parentheses += static_cast<int>(std::count(text.begin(), text.end(), '(') -
                                        std::count(text.begin(), text.end(), ')'));
        continues = !text.ends_with(";") && !text.ends_with("{") && !text.ends_with("}") &&
                    !text.ends_with(",") && !text.ends_with(":");
        const bool opens_body = text.ends_with("{") && !is_type && !text.starts_with("namespace") &&
                                !text.starts_with("extern");
        if (opens_body) bodies.push_back(indentation);
        if (!begins || is_private) continue;
        const bool is_declaration = std::regex_search(text, declaration) || continues;
        if (is_declaration && !std::regex_search(text, excused)) {
            if (has_comment) is_explained = true;
            const bool is_forward = is_type && text.ends_with(";") && text.find('{') == text.npos;
            if (!is_explained && !is_forward) {
                findings.push_back({file.path, i + 1, "explains nothing: " + text});
            }
        }
        if (is_type) is_explained = false;
    }
    return findings;
}

Findings check_introduced(const SourceFile& file) {
    if (!file.path.starts_with("peer/") || !file.path.ends_with(".cpp")) return {};
    if (file.text.starts_with("//")) return {};
    return {{file.path, 1, "begins without a paragraph that says how it works"}};
}

}  // namespace dedloc::tidy
