// What the README.md of an exported model says of its kind of network.
#pragma once

#include <string>

#include "peer/formats/run_file.hpp"

namespace dedloc::huggingface {

/// Parts of the text.
struct CardTexts {
    std::string front_matter;  ///< for Hugging Face's site, with a blank line behind
    std::string description;   ///< a sentence: the network and what it was trained for
    std::string loading;       ///< a section: how to load it
};

/// Those of the run's model. It was trained by volunteers, or no ledger says so.
CardTexts card_texts(const formats::RunFile& run, bool is_by_volunteers);

}  // namespace dedloc::huggingface
