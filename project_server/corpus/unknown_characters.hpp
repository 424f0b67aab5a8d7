// Examples of the characters of a text that are in no piece of its tokenizer.
#pragma once

#include <string>
#include <vector>

#include "project_server/corpus/tokenizer.hpp"

namespace dedloc::corpus {

/// Collects the first few of them.
class UnknownCharacters final {
  public:
    /// Looks for characters that the tokenizer does not know. Costs nothing once there are enough.
    void look_at(const std::string& text, const Tokenizer& tokenizer);
    /// ", such as A É 漢" for a sentence; empty if none was found.
    std::string examples() const;

  private:
    std::vector<std::string> found_;
};

}  // namespace dedloc::corpus
