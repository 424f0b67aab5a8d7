// Rules of the house that a compiler does not know: who may include whom, how long things may be,
// what must stand beside what. Each rule is a function from text to findings, so that tests can
// plant what it must find.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::tidy {

/// One text file of the tree; `path` is relative to the root, with forward slashes.
struct SourceFile {
    std::string path;
    std::string text;
};

/// Something to mend, as a compiler would say it. `line` is 0 when the whole file is meant.
struct Finding {
    std::string path;
    std::size_t line = 0;
    std::string sentence;
};
using Findings = std::vector<Finding>;

/// Every text file under `root` but for build folders and hidden ones (.ci is read), sorted by
/// path.
std::vector<SourceFile> read_tree(const std::filesystem::path& root);

/// Whether the file is C++ or CUDA.
bool is_code(std::string_view path);
/// The lines of a text, without their ends.
std::vector<std::string> lines_of(const std::string& text);

/// `text` of the same shape with comments, and the contents of string and character literals,
/// blanked out.
std::string code_only(std::string_view text);

/// Includes that the layer of the file may not make, and identifiers that it may not use.
Findings check_layers(const SourceFile& file);

/// README.md of a folder with a row of its own whose sentence "May include ..." does not name what
/// the row allows. The sentence ends with a full stop or a semicolon and has each name in code
/// quotes, in project_server/ without that folder, and "system headers" for all of those. The
/// folder's own files, the standard library and fmt are not named.
Findings check_may_include(const SourceFile& file);
/// Statements of SQL in a folder of project_server/, or in validators/, that the sentence "SQL
/// stands in ..." of project_server/database/README.md does not name, and names of folders without
/// any.
Findings check_sql(const std::vector<SourceFile>& files);
/// Lines over 100 columns, files over 500 lines, functions over 70, CMake files over 150 (root)
/// or 40.
Findings check_limits(const SourceFile& file);

/// `#pragma once`, no `using namespace std`, no sleeping tests, no file(GLOB), no tabs or trailing
/// blanks, no absolute paths of somebody's machine.
Findings check_habits(const SourceFile& file);

/// Every *_test.cpp is named in a CMakeLists.txt at or above its folder; every folder with sources
/// has a README.md; every source includes the header of its name first, which therefore compiles
/// alone.
Findings check_tree(const std::vector<SourceFile>& files);

/// "path:line: sentence" a line each; empty when all is well.
std::string describe(const Findings& findings);

}  // namespace dedloc::tidy
