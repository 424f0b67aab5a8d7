#include "project_server/corpus/encoder.hpp"

#include <atomic>
#include <exception>
#include <thread>

#include "peer/base/check.hpp"

namespace dedloc::corpus {

Encoder::Encoder(const Tokenizer& tokenizer, const std::string& language, unsigned threads)
    : tokenizer_(tokenizer) {
    DEDLOC_CHECK(threads >= 1, "an encoder has a thread");
    for (unsigned i = 0; i < threads; ++i) {
        splitters_.push_back(std::make_unique<SentenceSplitter>(language));
    }
}

std::vector<EncodedText> Encoder::encode(std::span<const std::string> documents) {
    std::vector<EncodedText> encoded(documents.size());
    std::vector<std::exception_ptr> failures(splitters_.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&](std::size_t thread) {
        try {
            for (std::size_t i = next++; i < documents.size(); i = next++) {
                for (const auto& sentence : splitters_[thread]->split(documents[i])) {
                    auto tokens = tokenizer_.encode(sentence);
                    encoded[i].unknown += tokenizer_.unknown_count(sentence, tokens);
                    if (!tokens.empty()) encoded[i].document.push_back(std::move(tokens));
                }
            }
        } catch (...) {
            failures[thread] = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 1; i < splitters_.size(); ++i) threads.emplace_back(work, i);
        work(0);
    }
    for (const auto& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
    return encoded;
}

}  // namespace dedloc::corpus
