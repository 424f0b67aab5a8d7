// The normaliser of a tokenizer: a list of steps.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/huggingface/tokenizer_spec.hpp"
#include "project_server/tokenizer/charsmap.hpp"

namespace dedloc::tokenizer {

/// Applies steps. Thread: any, several at a time.
class Normaliser final {
  public:
    /// Errors: InputError: a table that is damaged.
    explicit Normaliser(std::vector<huggingface::NormaliserStep> steps);
    ~Normaliser();
    Normaliser(const Normaliser&) = delete;
    Normaliser& operator=(const Normaliser&) = delete;

    /// The normalised text. Requires UTF-8.
    std::string apply(std::string_view text) const;

  private:
    struct Characters;
    std::vector<huggingface::NormaliserStep> steps_;
    std::vector<Charsmap> tables_;             ///< tables of Precompiled steps, in their order
    std::unique_ptr<const Characters> known_;  ///< those that UnicodeForm changes
};

}  // namespace dedloc::tokenizer
