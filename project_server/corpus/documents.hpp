// Documents of a text: the units within which sentences follow each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "project_server/corpus/text_file.hpp"

namespace dedloc::corpus {

/// How a text is divided into documents.
enum class DocumentForm : std::uint8_t {
    kBlankLine,  ///< paragraphs between blank lines; the lines of a paragraph are joined by spaces
    kLine,       ///< every line that is not blank
    kJsonLines,  ///< every line is a JSON object whose field "text" is the document
};

/// The form of this name ("blank-line", "line" or "jsonl"); nothing for another name.
std::optional<DocumentForm> form_named(std::string_view name);
/// kJsonLines for *.jsonl, else kBlankLine.
DocumentForm form_of(const std::filesystem::path& text);

/// Reads documents one after the other. A paragraph or line of more than 8 MiB gives several
/// documents. Memory: one document, at most 64 MiB.
class DocumentReader final {
  public:
    /// Begins at byte `offset`: 0, or what offset() returned before. Errors: as TextFile.
    DocumentReader(const std::filesystem::path& text, DocumentForm form, std::uint64_t offset = 0);

    /// Reads the next document that has more than white space. In the form kJsonLines it may
    /// contain line ends. False at the end of the text. Errors: InputError (not UTF-8 text; not an
    /// object with a text), IoError.
    bool next(std::string& document);
    /// Position of the next document, in bytes.
    std::uint64_t offset() const { return file_.offset(); }

  private:
    bool next_paragraph(std::string& document);
    bool next_object(std::string& document);

    const DocumentForm form_;
    TextFile file_;
    std::string line_;
};

}  // namespace dedloc::corpus
