#include "project_server/corpus/sample.hpp"

namespace dedloc::corpus {
namespace {

/// So much of a document is kept at most, so that one document cannot fill the sample.
constexpr std::size_t kMaxBytesOfOne = std::size_t{1} << 20;

std::string begin_of(const std::string& document) {
    if (document.size() <= kMaxBytesOfOne) return document;
    std::size_t end = kMaxBytesOfOne;
    while ((static_cast<unsigned char>(document[end]) & 0xC0) == 0x80) --end;
    return document.substr(0, end);
}

}  // namespace

void DocumentSample::offer(std::uint64_t number, const std::string& document) {
    const std::uint64_t draw = random_.split(number).next();
    if (draw > bound_) return;
    kept_.push_back({.draw = draw, .document = begin_of(document)});
    bytes_ += kept_.back().document.size();
    while (bytes_ > limit_ && bound_ > 0) thin_out();
}

void DocumentSample::thin_out() {
    bound_ /= 2;
    std::erase_if(kept_, [&](const Kept& kept) {
        if (kept.draw <= bound_) return false;
        bytes_ -= kept.document.size();
        return true;
    });
}

std::vector<std::string> DocumentSample::take() && {
    std::vector<std::string> documents;
    documents.reserve(kept_.size());
    for (auto& kept : kept_) documents.push_back(std::move(kept.document));
    return documents;
}

}  // namespace dedloc::corpus
