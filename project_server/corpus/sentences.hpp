// Splits documents into sentences, the units of the sentence-order task.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::corpus {

/// Longest sentence in bytes. SentencePiece ignores longer ones when it trains.
inline constexpr std::size_t kMaxSentenceBytes = 4'096;

/// Finds sentence ends by the rules of Unicode (UAX #29) and, where the Unicode CLDR lists them for
/// the language, by its abbreviations, which end no sentence. A danda (U+0964, U+0965) ends one in
/// every language; in those whose full stop it is, such as Bengali and Hindi, so does what stands
/// for it: a vertical bar before white space, U+09E4, U+09E5 and U+09F7. Uses ICU.
/// Cost: about 25 MB/s. Thread: one.
class SentenceSplitter final {
  public:
    /// `language` is a BCP 47 tag such as "en" or "pt-BR"; "root" applies the rules without a list
    /// of abbreviations. Errors: InputError if ISO 639 has no such language.
    explicit SentenceSplitter(const std::string& language);
    SentenceSplitter(const SentenceSplitter&) = delete;
    SentenceSplitter& operator=(const SentenceSplitter&) = delete;
    ~SentenceSplitter();

    /// The sentences in order, none empty. White space inside a sentence becomes single spaces; a
    /// line end also ends a sentence. A sentence of more than kMaxSentenceBytes is cut at a space
    /// if it has one, else between characters. Requires valid UTF-8 of less than 2 GiB.
    std::vector<std::string> split(std::string_view document);

  private:
    struct Rules;
    const std::unique_ptr<Rules> rules_;
};

}  // namespace dedloc::corpus
