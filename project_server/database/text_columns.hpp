// How text is stored and compared. A name, a key or an address is itself and no other: by the usual
// collations "jose" equals "josé", "JOSE" and "jose ". So all text of the project's tables is UTF-8
// and is compared by its bytes, trailing blanks included; a statement that searches otherwise names
// the collation for that.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// The character set of all text, in the tables and of the connections.
inline constexpr const char* kTextCharacterSet = "utf8mb4";
/// Compares bytes.
inline constexpr const char* kTextCollation = "utf8mb4_nopad_bin";

/// A table whose text is stored or compared in another way.
struct OtherText {
    std::string table;                     ///< its name
    std::string table_collation;           ///< the default of its columns; empty: as it should be
    std::vector<std::string> columns;      ///< those that are not as they should be
    std::vector<std::string> collations;   ///< different ones of the columns and the table
    std::vector<std::string> definitions;  ///< the columns as they should be, in SQL
    std::int64_t rows = 0;                 ///< estimated
};

/// Those of the tables; absent ones are not among them. Errors: DatabaseError.
std::vector<OtherText> tables_with_other_text(Database& database,
                                              std::span<const std::string> tables);

/// Converts the text of the tables where it is not as it should be; the types of columns stay. A
/// table is converted by one statement, which rebuilds it. Returns a sentence for each.
/// Errors  DatabaseError; RefusedData: a column is too small for its text in UTF-8
/// Cost    two queries if nothing is to do, else about 20 s for each million results
std::vector<std::string> convert_text(Database& database, std::span<const std::string> tables);

/// The condition that a column equals a parameter by its bytes, in BOINC's tables too, whose
/// collation is the official server's: an index finds the rows that its collation takes for equal,
/// and of them the one with the same bytes is meant. Has two ?, both for the same value.
std::string same_text(const std::string& column);

/// The condition that a column contains a text, ignoring case and accents, for searches by people.
/// Has one ?, for like_pattern(text).
std::string like_text(const std::string& column);
/// The pattern of "like" for all that contains `text`, whose wildcards stand for themselves.
std::string like_pattern(std::string_view text);

}  // namespace dedloc::server
