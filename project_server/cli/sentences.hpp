// Splits plain text into documents of sentences, the units of the sentence-order task.
#pragma once

#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::cli {

using Document = std::vector<std::string>;  ///< sentences in order, none empty

/// Splits a paragraph after `.`, `!` or `?` (and closing quotes or brackets) if white space and
/// then a capital, a digit or an opening quote or bracket follow, unless the word before the full
/// stop is a common abbreviation or one letter. White space inside a sentence becomes single
/// spaces.
std::vector<std::string> split_sentences(std::string_view paragraph);

/// Reads documents. Lines that are verses ("Ge1:1 In the beginning…", as `bible -f` prints them)
/// give one document per chapter with its verses as sentences; every other line that is not blank
/// is a paragraph and gives one document.
std::vector<Document> read_documents(std::istream& text);

}  // namespace dedloc::cli
