// A weight comes after the last colon of the argument. If what follows is no number the colon is
// part of the path, so a file with a colon in its name needs a weight only if its name ends like
// one. Names of files are sorted as bytes, so that the order of texts, on which shards depend, is
// the same on every machine.
#include "project_server/corpus/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <system_error>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/base/utf8.hpp"

namespace dedloc::corpus {
namespace {

namespace fs = std::filesystem;

bool is_text_file(const fs::path& path) {
    const auto extension = path.extension();
    return fs::is_regular_file(path) && !path.filename().string().starts_with('.') &&
           (extension == ".txt" || extension == ".jsonl");
}

std::vector<fs::path> texts_at(const std::string& name, const fs::path& path) {
    std::error_code failed;
    if (!fs::exists(path, failed)) {
        throw InputError(fmt::format("source {}: there is no {}", name, path.string()));
    }
    if (!fs::is_directory(path)) return {path};
    std::vector<fs::path> texts;
    for (const auto& entry : fs::directory_iterator(path, failed)) {
        if (is_text_file(entry.path())) texts.push_back(entry.path());
    }
    if (failed) {
        throw InputError(fmt::format("source {}: cannot read the folder {}: {}", name,
                                     path.string(), failed.message()));
    }
    if (texts.empty()) {
        throw InputError(fmt::format("source {}: the folder {} has no file *.txt or *.jsonl", name,
                                     path.string()));
    }
    std::ranges::sort(texts);
    return texts;
}

/// The weight at the end of "PATH:WEIGHT", which is removed from it.
std::optional<double> take_weight(std::string& path) {
    const auto colon = path.rfind(':');
    if (colon == std::string::npos || colon == 0) return std::nullopt;
    const auto weight = parse_number<double>(std::string_view{path}.substr(colon + 1));
    if (weight) path.resize(colon);
    return weight;
}

}  // namespace

SourceOption parse_source(const std::string& text) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) {
        throw InputError(fmt::format("--source takes NAME=PATH or NAME=PATH:WEIGHT, not {}", text));
    }
    SourceOption source{.name = text.substr(0, equals), .texts = {}, .weight = {}, .licence = {}};
    if (!formats::is_source_name(source.name)) {
        throw InputError(fmt::format("a source's name has 1 to {} letters, digits, - and _: '{}'",
                                     formats::kMaxSourceName, source.name));
    }
    std::string path = text.substr(equals + 1);
    source.weight = take_weight(path);
    if (source.weight && !(std::isfinite(*source.weight) && *source.weight >= 0)) {
        throw InputError(fmt::format("source {}: a weight is a number of at least 0", source.name));
    }
    source.texts = texts_at(source.name, path);
    return source;
}

void set_licences(const std::vector<std::string>& notes, std::vector<SourceOption>& sources) {
    for (const std::string& note : notes) {
        const auto equals = std::min(note.find('='), note.size());
        const auto name = note.substr(0, equals);
        const auto source = std::ranges::find(sources, name, &SourceOption::name);
        if (equals == note.size() || source == sources.end()) {
            throw InputError(
                fmt::format("--licence takes NAME=NOTE with a source's name, not {}", note));
        }
        const std::string text = note.substr(equals + 1);
        const bool is_plain = is_utf8(text) && std::ranges::none_of(text, [](char c) {
                                  const auto byte = static_cast<unsigned char>(c);
                                  return byte < 0x20 || byte == 0x7F;
                              });
        if (text.empty() || text.size() > formats::kMaxLicenceBytes || !is_plain) {
            throw InputError(fmt::format("source {}: a note has 1 to {} bytes of plain text", name,
                                         formats::kMaxLicenceBytes));
        }
        if (!source->licence.empty()) {
            throw InputError(fmt::format("source {} has two notes of its licence", name));
        }
        source->licence = text;
    }
}

void check_sources(const std::vector<SourceOption>& sources) {
    if (sources.size() > formats::kMaxSources) {
        throw InputError(fmt::format("a corpus has at most {} sources", formats::kMaxSources));
    }
    std::set<std::string> names;
    std::set<fs::path> texts;
    std::size_t weighted = 0;
    double sum = 0;
    for (const SourceOption& source : sources) {
        if (!names.insert(source.name).second) {
            throw InputError(fmt::format("two sources are called {}", source.name));
        }
        for (const fs::path& text : source.texts) {
            if (texts.insert(fs::weakly_canonical(text)).second) continue;
            throw InputError(fmt::format("{} is in the sources twice", text.string()));
        }
        weighted += source.weight ? 1 : 0;
        sum += source.weight.value_or(0);
    }
    if (weighted != 0 && weighted != sources.size()) {
        throw InputError("give each source its weight, or none");
    }
    if (weighted != 0 && !(sum > 0 && std::isfinite(sum))) {
        throw InputError("one source has a weight above 0");
    }
}

std::vector<formats::SourceSpec> specs_of(const std::vector<SourceOption>& sources) {
    std::vector<formats::SourceSpec> specs;
    for (const SourceOption& source : sources) {
        specs.push_back({.name = source.name, .weight = 1, .licence = source.licence});
    }
    return specs;
}

std::vector<double> weights_of(const std::vector<SourceOption>& sources) {
    std::vector<double> weights;
    for (const SourceOption& source : sources) {
        if (source.weight) weights.push_back(*source.weight);
    }
    return weights;
}

}  // namespace dedloc::corpus
