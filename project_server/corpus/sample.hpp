// A random sample of documents of bounded size, to train a tokenizer on a text of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "peer/base/random.hpp"

namespace dedloc::corpus {

/// Keeps each offered document with the same probability: 1 until the limit is exceeded, then half
/// of the former whenever it is exceeded again. Which documents are kept follows from the seed and
/// their numbers alone.
class DocumentSample final {
  public:
    /// Keeps documents of at most `limit` bytes together, and of more than about half of that if
    /// it was offered so much. Of one document at most the first MiB is kept.
    DocumentSample(std::uint64_t seed, std::size_t limit) : random_(seed), limit_(limit) {}

    /// Keeps or ignores a document. Each has its own `number`.
    void offer(std::uint64_t number, const std::string& document);
    /// The kept documents, in the order in which they were offered.
    std::vector<std::string> take() &&;

  private:
    struct Kept {
        std::uint64_t draw;
        std::string document;
    };
    void thin_out();

    const Random random_;
    const std::size_t limit_;
    std::uint64_t bound_ = ~std::uint64_t{0};  ///< documents with a draw up to this are kept
    std::size_t bytes_ = 0;
    std::vector<Kept> kept_;
};

}  // namespace dedloc::corpus
