#include "project_server/check/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dedloc::check {

const char* name_of(Level level) {
    switch (level) {
        case Level::kGood:
            return "good";
        case Level::kUnknown:
            return "unknown";
        case Level::kWarning:
            return "warning";
        case Level::kBad:
            break;
    }
    return "bad";
}

void Findings::begin(std::string check) {
    check_ = std::move(check);
    kept_ = 0;
    is_clean_ = true;
}

void Findings::add(Level level, std::string sentence, std::string advice) {
    ++counts_[level];
    if (level != Level::kGood) is_clean_ = false;
    if (kept_ == kMaxPerCheck) {
        ++dropped_[check_];
        return;
    }
    ++kept_;
    findings_.push_back({.check = check_,
                         .level = level,
                         .sentence = std::move(sentence),
                         .advice = std::move(advice)});
}

void Findings::good(std::string sentence) {
    add(Level::kGood, std::move(sentence), {});
}

void Findings::unknown(std::string sentence, std::string advice) {
    add(Level::kUnknown, std::move(sentence), std::move(advice));
}

void Findings::warning(std::string sentence, std::string advice) {
    add(Level::kWarning, std::move(sentence), std::move(advice));
}

void Findings::bad(std::string sentence, std::string advice) {
    add(Level::kBad, std::move(sentence), std::move(advice));
}

bool Findings::is_clean() const {
    return is_clean_;
}

std::size_t Findings::count(Level level) const {
    const auto found = counts_.find(level);
    return found == counts_.end() ? 0 : found->second;
}

std::vector<Finding> Findings::all() const {
    std::vector<Finding> all;
    for (std::size_t i = 0; i < findings_.size(); ++i) {
        const Finding& finding = findings_[i];
        all.push_back(finding);
        const bool is_last = i + 1 == findings_.size() || findings_[i + 1].check != finding.check;
        const auto dropped = dropped_.find(finding.check);
        if (!is_last || dropped == dropped_.end()) continue;
        all.push_back({.check = finding.check,
                       .level = finding.level,
                       .sentence = fmt::format("{} more findings of this kind", dropped->second),
                       .advice = {}});
    }
    return all;
}

}  // namespace dedloc::check
