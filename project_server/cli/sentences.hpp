// From plain text to documents of sentences, the units of the sentence-order task.
#pragma once

#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::cli {

using Document = std::vector<std::string>;  ///< sentences in order, none empty

/// Splits a paragraph after `.`, `!` or `?` (with closing quotes or brackets) where white space and
/// then a capital, a digit or an opening quote follow, unless the word before the full stop is a
/// common abbreviation or one letter. White space inside a sentence becomes single spaces.
std::vector<std::string> split_sentences(std::string_view paragraph);

/// A text with one verse a line ("Ge1:1 In the beginning…", as `bible -f` prints) gives a document
/// a chapter with its verses as sentences; any other text a document a paragraph, that is, a line
/// that is not blank.
std::vector<Document> read_documents(std::istream& text);

}  // namespace dedloc::cli
