// Rules about language that a program can check: constructions that no native reader expects,
// declarations that nothing explains, sources of the protocol without an introduction.
#pragma once

#include "tests/tidy_rules.hpp"

namespace dedloc::tidy {

/// Banned constructions in comments, messages (string literals with a space) and Markdown: "nobody"
/// and its kin for a peer, headless relative clauses ("for who comes late"), comments that begin
/// with a bare preposition ("of its ticket"), words that have a technical term (room, patience).
Findings check_prose(const SourceFile& file);

/// Public declarations and enumerators of a header with no comment above or beside them. Excused
/// are constructors, destructors, operators, overrides, deleted and defaulted functions, and,
/// within a run of lines without a gap, declarations after a commented one.
Findings check_documented(const SourceFile& file);

/// Sources of the protocol (peer/) that do not begin with a comment, nor their header.
Findings check_introduced(const SourceFile& file);

}  // namespace dedloc::tidy
