#include "project_server/corpus/documents.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/formats/json_fields.hpp"

namespace dedloc::corpus {
namespace {

constexpr std::size_t kMaxDocumentBytes = std::size_t{8} << 20;
constexpr std::size_t kMaxJsonLineBytes = std::size_t{64} << 20;
constexpr std::string_view kWhiteSpace = " \t\r\n\f\v";

}  // namespace

std::optional<DocumentForm> form_named(std::string_view name) {
    if (name == "blank-line") return DocumentForm::kBlankLine;
    if (name == "line") return DocumentForm::kLine;
    if (name == "jsonl") return DocumentForm::kJsonLines;
    return {};
}

DocumentForm form_of(const std::filesystem::path& text) {
    return text.extension() == ".jsonl" ? DocumentForm::kJsonLines : DocumentForm::kBlankLine;
}

DocumentReader::DocumentReader(const std::filesystem::path& text, DocumentForm form,
                               std::uint64_t offset)
    : form_(form),
      file_(text, offset,
            form == DocumentForm::kJsonLines ? kMaxJsonLineBytes : kMaxDocumentBytes) {}

bool DocumentReader::next(std::string& document) {
    if (form_ == DocumentForm::kBlankLine) return next_paragraph(document);
    if (form_ == DocumentForm::kJsonLines) return next_object(document);
    while (file_.next(document)) {
        if (!trimmed(document, kWhiteSpace).empty()) return true;
    }
    return false;
}

bool DocumentReader::next_paragraph(std::string& document) {
    document.clear();
    while (document.size() < kMaxDocumentBytes && file_.next(line_)) {
        const auto words = trimmed(line_, kWhiteSpace);
        if (words.empty() && document.empty()) continue;
        if (words.empty()) return true;
        if (!document.empty()) document.push_back(' ');
        document.append(words);
    }
    return !document.empty();
}

bool DocumentReader::next_object(std::string& document) {
    while (true) {
        const std::uint64_t begin = file_.offset();
        if (!file_.next(line_)) return false;
        const auto line = fmt::format("{}: the line at byte {}", file_.path().string(), begin);
        const auto refuse = [&](const char* why) { throw InputError(line + ' ' + why); };
        if (file_.is_cut()) refuse("is longer than 64 MiB");
        if (trimmed(line_, kWhiteSpace).empty()) continue;
        const rapidjson::Document object = formats::parse_json(line, line_, kMaxJsonLineBytes);
        if (!object.IsObject()) refuse("is not a JSON object");
        const auto text = object.FindMember("text");
        if (text == object.MemberEnd() || !text->value.IsString()) {
            refuse("has no field \"text\" that is a string");
        }
        document.assign(text->value.GetString(), text->value.GetStringLength());
        if (find_invalid_text(document)) refuse("has a NUL character in its text");
        if (!trimmed(document, kWhiteSpace).empty()) return true;
    }
}

}  // namespace dedloc::corpus
