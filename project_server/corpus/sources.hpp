// The sources of a corpus as a user names them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "peer/formats/source_spec.hpp"

namespace dedloc::corpus {

/// A source of a corpus.
struct SourceOption {
    std::string name;                          ///< as formats::is_source_name() takes it
    std::vector<std::filesystem::path> texts;  ///< its UTF-8 text files, at least one
    /// How often samples come from it, relative to the others. All sources have one, or none: then
    /// samples come in proportion to their sizes.
    std::optional<double> weight;
    std::string licence;  ///< a note of what may be done with the texts; empty: none
};

/// Reads "NAME=PATH" or "NAME=PATH:WEIGHT". A folder stands for the text files in it (*.txt,
/// *.jsonl), by name; what is in its folders is not read. A name that begins with a dot is passed
/// over.
/// Errors  InputError: a name that no source may have, nothing there, a weight below 0
SourceOption parse_source(const std::string& text);

/// Gives the sources their notes; each is "NAME=NOTE".
/// Errors  InputError: no such source, two notes for one, a note that is too long or no plain text
void set_licences(const std::vector<std::string>& notes, std::vector<SourceOption>& sources);

/// Throws InputError unless they can be the sources of a corpus: 1 to kMaxSources, different names
/// and files, a weight for each or for none, one of them above 0.
void check_sources(const std::vector<SourceOption>& sources);

/// What a corpus says of them while it is written: their weights are not known yet, and are 1.
std::vector<formats::SourceSpec> specs_of(const std::vector<SourceOption>& sources);
/// Their weights; empty if they have none.
std::vector<double> weights_of(const std::vector<SourceOption>& sources);

}  // namespace dedloc::corpus
